/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that come and go: shards are adopted whole, with their live spans; numbers are unique;
 * memory does not grow with the number of threads that ever were.
 */
#include "sdk/memory/registry.h"

#include "tests/support/spt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { SHORT_THREADS = 1000, AT_ONCE = 20 };

static sp_registry_counters counters(void) {
    sp_registry_counters read;
    sp_registry_read_counters(&read);
    return read;
}

static void end(sp_thread_block *thread, spool_span handle) {
    sp_slot *slot = sp_slot_begin_end(thread, handle);
    SPT_REQUIRE(slot != NULL);
    SPT_CHECK(memcmp(slot->body, &handle, sizeof handle) == 0);
    sp_slot_freeze(slot);
    sp_registry_release(thread, slot);
}

static spool_span start(sp_thread_block *thread) {
    spool_span handle = {0};
    sp_slot *slot = sp_registry_acquire(thread, true, &handle);
    if (SPT_CHECK(slot != NULL)) {
        memcpy(slot->body, &handle, sizeof handle);
        sp_slot_publish(slot, SP_SLOT_LIVE);
    }
    return handle;
}

typedef struct visit {
    spool_span left;
    uint32_t number;
} visit;

static _Atomic uint32_t numbers_in_use[1 << 12];

static void *live_shortly(void *arg) {
    visit *mine = arg;
    sp_thread_block *thread = sp_thread();
    mine->number = thread->number;
    if (SPT_CHECK(thread->number < 1 << 12)) {
        SPT_CHECK_UINT(atomic_fetch_add(&numbers_in_use[thread->number], 1), 0);
    }
    for (int i = 0; i < 10; i++) {
        end(thread, start(thread));
    }
    mine->left = start(thread);
    void *spill = sp_spill_acquire(thread, 1000);
    SPT_CHECK(spill != NULL);
    sp_spill_release(thread, spill, 1000);
    atomic_fetch_sub(&numbers_in_use[thread->number], 1);
    return NULL;
}

static void a_thousand_short_threads_share_a_few_shards(void) {
    static visit visits[SHORT_THREADS];
    pthread_t threads[AT_ONCE];
    for (int done = 0; done < SHORT_THREADS; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            SPT_REQUIRE(pthread_create(&threads[i], NULL, live_shortly, &visits[done + i]) == 0);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    for (int i = 0; i < SHORT_THREADS; i++) {
        end(sp_thread(), visits[i].left);
    }
    sp_registry_counters after = counters();
    SPT_CHECK(after.adopted_shards >= SHORT_THREADS - AT_ONCE - 1);
    SPT_CHECK_UINT(after.local_acquires, SHORT_THREADS * 11);
    /* For each of the shards at once: two of slots at most (1,000 live spans in all), one of
     * spills. */
    SPT_CHECK(after.chunks_mapped <= (AT_ONCE + 1) * 3);
    SPT_CHECK(visits[SHORT_THREADS - 1].number <= AT_ONCE + 1);
}

static void *note_shard(void *arg) {
    sp_thread_block *thread = sp_thread();
    spool_span *handles = arg;
    for (int i = 0; i < 100; i++) {
        handles[i] = start(thread);
    }
    return NULL;
}

static void *end_as_owner(void *arg) {
    sp_thread_block *thread = sp_thread();
    spool_span *handles = arg;
    uint64_t before = counters().remote_frees;
    spool_span mine = start(thread);
    for (int i = 0; i < 100; i++) {
        SPT_CHECK_UINT(handles[i].bits >> 20 & 0xfff, mine.bits >> 20 & 0xfff);
        end(thread, handles[i]);
    }
    end(thread, mine);
    SPT_CHECK_UINT(counters().remote_frees, before);
    return NULL;
}

static void run_one(void *(*body)(void *), void *arg) {
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, body, arg) == 0);
    pthread_join(thread, NULL);
}

static void an_adopted_shard_comes_with_its_live_spans(void) {
    spool_span handles[100];
    uint64_t before = counters().adopted_shards;
    run_one(note_shard, handles);
    run_one(end_as_owner, handles);
    SPT_CHECK(counters().adopted_shards > before);
}

/* ---- ended while the owner is going, gone, and replaced ---- */

enum { HANDED = SPT_TSAN ? 3000 : 30000 };
static _Atomic uint64_t handed[64];

static void *hand_out(void *arg) {
    sp_thread_block *thread = sp_thread();
    uintptr_t at = (uintptr_t)arg;
    uint64_t none = 0;
    spool_span handle = start(thread);
    if (!atomic_compare_exchange_strong(&handed[at % 64], &none, handle.bits)) {
        end(thread, handle);
    }
    return NULL;
}

static void *end_handed(void *arg) {
    sp_thread_block *thread = sp_thread();
    _Atomic uint32_t *stop = arg;
    uint64_t count = 0;
    while (atomic_load(stop) == 0) {
        spool_span handle = {atomic_exchange(&handed[count++ % 64], 0)};
        if (handle.bits != 0) {
            end(thread, handle);
        }
    }
    return NULL;
}

static void spans_outlive_their_threads(void) {
    static _Atomic uint32_t stop;
    pthread_t enders[2];
    for (int i = 0; i < 2; i++) {
        SPT_REQUIRE(pthread_create(&enders[i], NULL, end_handed, &stop) == 0);
    }
    uint64_t mapped = counters().chunks_mapped;
    for (uintptr_t i = 0; i < HANDED / 10; i += 4) {
        pthread_t threads[4];
        for (uintptr_t k = 0; k < 4; k++) {
            SPT_REQUIRE(pthread_create(&threads[k], NULL, hand_out, (void *)(i + k)) == 0);
        }
        for (int k = 0; k < 4; k++) {
            pthread_join(threads[k], NULL);
        }
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) {
        pthread_join(enders[i], NULL);
    }
    for (int i = 0; i < 64; i++) {
        spool_span handle = {atomic_exchange(&handed[i], 0)};
        if (handle.bits != 0) {
            end(sp_thread(), handle);
        }
    }
    SPT_CHECK(counters().chunks_mapped - mapped <= 16);
    SPT_CHECK_UINT(sp_registry_count_live(0, 0), 0);
}

SPT_MAIN("memory_thread_exit", SPT_CASE(a_thousand_short_threads_share_a_few_shards),
         SPT_CASE(an_adopted_shard_comes_with_its_live_spans),
         SPT_CASE(spans_outlive_their_threads))
