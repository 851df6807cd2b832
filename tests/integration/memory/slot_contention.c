/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads at one slot: its lock protects plain memory, one of them ends it, pins outlast
 * that. */
#include "sdk/memory/registry.h"

#include "tests/support/spt.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = SPT_TSAN ? 20000 : 200000, RACES = SPT_TSAN ? 500 : 5000 };

static spool_span span;
static pthread_barrier_t barrier;

static void run(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) {
        SPT_REQUIRE(pthread_create(&threads[i], NULL, body, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static sp_slot *start(void) {
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, &span);
    *(uint64_t *)(void *)slot->body = 0;
    sp_slot_publish(slot, SP_SLOT_LIVE);
    return slot;
}

static void end(void) {
    sp_slot *slot = sp_slot_begin_end(sp_thread(), span);
    SPT_REQUIRE(slot != NULL);
    sp_slot_freeze(slot);
    sp_registry_release(sp_thread(), slot);
}

/* Under the slot's lock alone: a plain variable, so that a thread sanitizer sees a lock that is
 * none. */
static uint64_t counter;

static void *count_under_lock(void *arg) {
    (void)arg;
    sp_thread_block *thread = sp_thread();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        sp_slot *slot = sp_slot_lock(thread, span);
        if (!SPT_CHECK(slot != NULL)) {
            break;
        }
        counter++;
        (*(uint64_t *)(void *)slot->body)++;
        sp_slot_unlock(slot);
    }
    return NULL;
}

static void the_lock_protects_plain_memory(void) {
    const sp_slot *slot = start();
    counter = 0;
    run(count_under_lock);
    SPT_CHECK_UINT(counter, (uint64_t)THREADS * ROUNDS);
    SPT_CHECK_UINT(*(const uint64_t *)(const void *)slot->body, (uint64_t)THREADS * ROUNDS);
    end();
}

/* ---- all end the same span ---- */

static spool_span races[RACES];
static _Atomic uint32_t winners[RACES];
static _Atomic uint32_t changes[RACES];
static _Atomic uint32_t late_changes;

static void *race_to_end(void *arg) {
    (void)arg;
    sp_thread_block *thread = sp_thread();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < RACES; i++) {
        sp_slot *slot = sp_slot_lock(thread, races[i]);
        if (slot != NULL) {
            (*(uint64_t *)(void *)slot->body)++;
            atomic_fetch_add(&changes[i], 1);
            sp_slot_unlock(slot);
        }
        slot = sp_slot_begin_end(thread, races[i]);
        if (slot != NULL) {
            atomic_fetch_add(&winners[i], 1);
            uint64_t seen = *(uint64_t *)(void *)slot->body;
            sp_slot_freeze(slot);
            if (seen != atomic_load(&changes[i])) {
                atomic_fetch_add(&late_changes, 1);
            }
            sp_registry_release(thread, slot);
        }
    }
    return NULL;
}

static void one_of_many_enders_wins_and_sees_every_change(void) {
    for (int i = 0; i < RACES; i++) {
        (void)start();
        races[i] = span;
    }
    run(race_to_end);
    for (int i = 0; i < RACES; i++) {
        if (!SPT_CHECK_UINT(winners[i], 1)) {
            break;
        }
    }
    SPT_CHECK_UINT(late_changes, 0);
}

static void *race_for_light(void *arg) {
    (void)arg;
    sp_thread_block *thread = sp_thread();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < RACES; i++) {
        sp_slot *pinned = i % 3 == 0 ? sp_slot_pin(races[i]) : NULL;
        sp_slot *slot = sp_slot_take_light(thread, races[i]);
        if (slot != NULL) {
            atomic_fetch_add(&winners[i], 1);
            sp_registry_release(thread, slot);
        }
        if (pinned != NULL) {
            sp_slot_unpin(thread, pinned);
        }
    }
    return NULL;
}

static void one_of_many_enders_takes_a_light_slot(void) {
    for (int i = 0; i < RACES; i++) {
        sp_slot *slot = sp_registry_acquire(sp_thread(), false, &races[i]);
        sp_slot_publish(slot, SP_SLOT_LIGHT);
        atomic_store(&winners[i], 0);
    }
    run(race_for_light);
    for (int i = 0; i < RACES; i++) {
        if (!SPT_CHECK_UINT(winners[i], 1)) {
            break;
        }
        SPT_CHECK(sp_slot_state(sp_registry_slot(races[i])) == SP_SLOT_FREE);
    }
}

/* ---- pins against ends ---- */

static _Atomic uint64_t current;
static _Atomic uint32_t reclaims;
static _Atomic uint32_t pins_won;

static void count_reclaim(sp_thread_block *thread, sp_slot *slot) {
    (void)thread;
    *(uint64_t *)(void *)slot->body = 0xdead; /* a pin that was no pin would see it */
    atomic_fetch_add(&reclaims, 1);
}

static void *pin_or_end(void *arg) {
    sp_thread_block *thread = sp_thread();
    pthread_barrier_wait(&barrier);
    if (arg == NULL) {
        for (int i = 0; i < RACES * 10; i++) {
            spool_span mine;
            sp_slot *slot = sp_registry_acquire(thread, true, &mine);
            *(uint64_t *)(void *)slot->body = mine.bits;
            sp_slot_publish(slot, SP_SLOT_LIVE);
            atomic_store_explicit(&current, mine.bits, memory_order_relaxed);
            if (i % 64 == 0) {
                (void)sched_yield(); /* let others find it alive */
            }
            slot = sp_slot_begin_end(thread, mine);
            sp_slot_freeze(slot);
            sp_registry_release(thread, slot);
        }
        atomic_store(&current, UINT64_MAX);
        return NULL;
    }
    uint64_t bits;
    while ((bits = atomic_load_explicit(&current, memory_order_relaxed)) != UINT64_MAX) {
        sp_slot *slot = sp_slot_pin((spool_span){bits});
        if (slot != NULL) {
            atomic_fetch_add_explicit(&pins_won, 1, memory_order_relaxed);
            SPT_CHECK_UINT(*(uint64_t *)(void *)slot->body, bits);
            SPT_CHECK_UINT(sp_slot_handle(slot).bits, bits);
            sp_slot_unpin(thread, slot);
        }
    }
    return NULL;
}

static void a_pin_is_a_pin_however_the_end_falls(void) {
    sp_registry_reclaims_with(count_reclaim);
    run(pin_or_end);
    SPT_CHECK_UINT(reclaims, RACES * 10);
    SPT_CHECK(pins_won > 0);
}

SPT_MAIN("memory_slot_contention", SPT_CASE(the_lock_protects_plain_memory),
         SPT_CASE(one_of_many_enders_wins_and_sees_every_change),
         SPT_CASE(one_of_many_enders_takes_a_light_slot),
         SPT_CASE(a_pin_is_a_pin_however_the_end_falls))
