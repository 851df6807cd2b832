/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads start spans and end each other's, pin, lock and read with handles that may be
 * stale at any moment. What must hold: no slot has two tenants, each span ends once, nothing is
 * left.
 */
#include "sdk/memory/box.h"
#include "sdk/memory/registry.h"

#include "tests/support/spt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 8, CELLS = 512, STEPS = SPT_TSAN ? 30000 : 300000 };

/* Handles that all threads swap in and out of; zero is none. */
static _Atomic uint64_t cells[CELLS];
static _Atomic uint64_t started;
static _Atomic uint64_t ended;
static _Atomic uint64_t reclaimed;
static _Atomic uint64_t boxes_reset;
static _Atomic uint64_t boxes_made;
static spool_ext_id box_type;
static uint64_t seed;
static pthread_barrier_t barrier;

/* What a body holds while its span lives; written by whoever holds the slot. */
typedef struct content {
    uint64_t handle;
    uint64_t changes;
    uint64_t check; /* always handle + changes */
} content;

static void reclaim(sp_thread_block *thread, sp_slot *slot) {
    (void)thread;
    if (slot->body != NULL) {
        memset(slot->body, 0xee, sizeof(content));
    }
    atomic_fetch_add_explicit(&reclaimed, 1, memory_order_relaxed);
}

static void reset_box(void *value) {
    *(uint64_t *)value = 0;
    atomic_fetch_add_explicit(&boxes_reset, 1, memory_order_relaxed);
}

static spool_span start(sp_thread_block *thread, bool light) {
    spool_span handle = {0};
    sp_slot *slot = sp_registry_acquire(thread, !light, &handle);
    if (!SPT_CHECK(slot != NULL)) {
        return handle;
    }
    struct spool_span_context context = {.flags = 1};
    memcpy(context.trace_id, &handle.bits, sizeof handle.bits);
    memcpy(context.span_id, &handle.bits, sizeof handle.bits);
    sp_slot_describe(slot, &context, (uint16_t)(handle.bits >> 32), (uint32_t)handle.bits, NULL);
    if (!light) {
        *(content *)(void *)slot->body = (content){handle.bits, 0, handle.bits};
    }
    sp_slot_publish(slot, light ? SP_SLOT_LIGHT : SP_SLOT_LIVE);
    atomic_fetch_add_explicit(&started, 1, memory_order_relaxed);
    return handle;
}

static void check_content(const sp_slot *slot, spool_span handle) {
    const content *held = (const content *)(const void *)slot->body;
    SPT_CHECK_UINT(held->handle, handle.bits);
    SPT_CHECK_UINT(held->check, held->handle + held->changes);
}

static void end(sp_thread_block *thread, spool_span handle, bool with_box) {
    sp_slot *slot = sp_slot_begin_end(thread, handle);
    if (slot == NULL) {
        slot = sp_slot_take_light(thread, handle);
        if (slot != NULL) {
            sp_registry_release(thread, slot);
            atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
        }
        return;
    }
    check_content(slot, handle);
    if (with_box) {
        bool fresh;
        uint64_t *box = sp_box_get_or_init(sp_slot_boxes(slot), box_type, &fresh);
        SPT_CHECK(box != NULL && fresh && *box == 0);
        *box = handle.bits;
        atomic_fetch_add_explicit(&boxes_made, 1, memory_order_relaxed);
    }
    sp_slot_freeze(slot);
    sp_registry_release(thread, slot);
    atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
}

static void change(sp_thread_block *thread, spool_span handle) {
    sp_slot *slot = sp_slot_lock(thread, handle);
    if (slot != NULL) {
        check_content(slot, handle);
        content *held = (content *)(void *)slot->body;
        held->changes++;
        held->check++;
        sp_slot_unlock(slot);
    }
}

static void pin(sp_thread_block *thread, spool_span handle) {
    sp_slot *slot = sp_slot_pin(handle);
    if (slot != NULL) {
        /* Ended or not: while it is pinned the slot has no other tenant. */
        SPT_CHECK_UINT(sp_slot_handle(slot).bits, handle.bits);
        unsigned state = sp_slot_state(slot);
        SPT_CHECK(state >= SP_SLOT_STARTING && state <= SP_SLOT_ENDED);
        sp_slot_unpin(thread, slot);
    }
}

static void look(spool_span handle) {
    sp_slot_view view;
    if (sp_slot_read(handle, &view)) {
        uint64_t id;
        memcpy(&id, view.context.trace_id, sizeof id);
        SPT_CHECK_UINT(id, handle.bits);
        memcpy(&id, view.context.span_id, sizeof id);
        SPT_CHECK_UINT(id, handle.bits);
        SPT_CHECK_UINT(view.sdk_epoch, (uint32_t)handle.bits);
    }
}

static void *mix(void *arg) {
    sp_thread_block *thread = sp_thread();
    spt_random random = {seed + (uint64_t)(uintptr_t)arg};
    pthread_barrier_wait(&barrier);
    for (int step = 0; step < STEPS; step++) {
        _Atomic uint64_t *cell = &cells[spt_random_below(&random, CELLS)];
        spool_span handle = {atomic_load_explicit(cell, memory_order_relaxed)};
        uint64_t dice = spt_random_below(&random, 16);
        if (dice < 6) {
            spool_span fresh = start(thread, dice == 0);
            handle.bits = atomic_exchange_explicit(cell, fresh.bits, memory_order_relaxed);
            end(thread, handle, dice < 3);
        } else if (dice < 8) {
            end(thread, handle, dice == 6); /* stays in the cell: others meet it stale */
        } else if (dice < 12) {
            change(thread, handle);
        } else if (dice < 14) {
            pin(thread, handle);
        } else {
            look(handle);
        }
    }
    return NULL;
}

static void run(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) {
        SPT_REQUIRE(pthread_create(&threads[i], NULL, body, (void *)(i + 1)) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void spans_that_any_thread_ends(void) {
    seed = spt_seed(0x5eed0101);
    sp_registry_reclaims_with(reclaim);
    box_type = spool_ext_register("mixed", 8, 8, reset_box, NULL);
    run(mix);
    for (int i = 0; i < CELLS; i++) {
        end(sp_thread(), (spool_span){cells[i]}, false);
    }
    SPT_CHECK_UINT(ended, started);
    SPT_CHECK_UINT(reclaimed, started);
    SPT_CHECK_UINT(boxes_reset, boxes_made);
    sp_registry_counters counters;
    sp_registry_read_counters(&counters);
    SPT_CHECK_UINT(counters.local_acquires, started);
    SPT_CHECK(counters.remote_frees > 1000);
    SPT_CHECK(counters.remote_merges > 0 && counters.remote_merges <= counters.remote_frees);
    SPT_CHECK_UINT(counters.lock_refusals, 0);
    /* What was freed from afar was used again: at most some hundred spans live at once. */
    SPT_CHECK(counters.chunks_mapped <= THREADS * 2 * 6);
}

/* ---- one makes, one ends ---- */

enum { BOXCAR = 64, BOXCARS = SPT_TSAN ? 500 : 5000 };
static spool_span boxcar[2][BOXCAR];

static void *make_all(void *arg) {
    sp_thread_block *thread = sp_thread();
    (void)arg;
    for (int round = 0; round < BOXCARS; round++) {
        for (int i = 0; i < BOXCAR; i++) {
            boxcar[round & 1][i] = start(thread, false);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void a_producer_reuses_what_a_consumer_ends(void) {
    sp_registry_counters before;
    sp_registry_counters after;
    sp_registry_read_counters(&before);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t maker;
    SPT_REQUIRE(pthread_create(&maker, NULL, make_all, NULL) == 0);
    for (int round = 0; round < BOXCARS; round++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < BOXCAR; i++) {
            end(sp_thread(), boxcar[round & 1][i], false);
        }
    }
    pthread_join(maker, NULL);
    sp_registry_read_counters(&after);
    uint64_t spans = (uint64_t)BOXCAR * BOXCARS;
    SPT_CHECK_UINT(after.local_acquires - before.local_acquires, spans);
    SPT_CHECK_UINT(after.remote_frees - before.remote_frees, spans);
    SPT_CHECK(after.remote_merges > before.remote_merges);
    SPT_CHECK(after.chunks_mapped - before.chunks_mapped <= 3);
}

/* ---- past the shard limit ---- */

static void threads_past_the_limit_share_one_shard(void) {
    sp_registry_limit_shards(0);
    sp_registry_counters counters;
    uint64_t before = atomic_load(&started);
    run(mix);
    for (int i = 0; i < CELLS; i++) {
        end(sp_thread(), (spool_span){cells[i]}, false);
    }
    SPT_CHECK(atomic_load(&started) > before);
    SPT_CHECK_UINT(ended, started);
    SPT_CHECK_UINT(reclaimed, started);
    sp_registry_read_counters(&counters);
    SPT_CHECK_UINT(counters.local_acquires, started);
    sp_registry_limit_shards(UINT32_MAX);
}

SPT_MAIN("memory_registry_threads", SPT_CASE(spans_that_any_thread_ends),
         SPT_CASE(a_producer_reuses_what_a_consumer_ends),
         SPT_CASE(threads_past_the_limit_share_one_shard))
