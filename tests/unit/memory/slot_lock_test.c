/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, ends and pins of one slot, step by step on one thread, with a second one where it matters.
 * */
#include "sdk/memory/box.h"
#include "sdk/memory/registry.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

static sp_slot *start(unsigned state, spool_span *out_handle) {
    sp_slot *slot = sp_registry_acquire(sp_thread(), state == SP_SLOT_LIVE, out_handle);
    sp_slot_publish(slot, state);
    return slot;
}

static void end(spool_span handle) {
    sp_slot *slot = sp_slot_begin_end(sp_thread(), handle);
    cr_assert_not_null(slot);
    sp_slot_freeze(slot);
    sp_registry_release(sp_thread(), slot);
}

/* Runs `body` on another thread and waits for it. */
static void elsewhere(void *(*body)(void *), void *arg) {
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, body, arg), 0);
    cr_assert_eq(pthread_join(other, NULL), 0);
}

typedef struct attempt {
    spool_span handle;
    sp_slot *locked;
    sp_slot *ended;
    sp_slot *pinned;
} attempt;

static void *try_all(void *arg) {
    attempt *try = arg;
    try->locked = sp_slot_lock(sp_thread(), try->handle);
    if (try->locked != NULL) {
        sp_slot_unlock(try->locked);
    }
    try->pinned = sp_slot_pin(try->handle);
    if (try->pinned != NULL) {
        sp_slot_unpin(sp_thread(), try->pinned);
    }
    return NULL;
}

Test(slot_lock, locks_again_after_an_unlock_but_not_before) {
    spool_span handle;
    sp_slot *slot = start(SP_SLOT_LIVE, &handle);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(sp_slot_lock(sp_thread(), handle), slot);
        cr_assert_null(sp_slot_lock(sp_thread(), handle), "locked by the caller already");
        cr_assert_null(sp_slot_begin_end(sp_thread(), handle), "locked by the caller already");
        cr_assert_eq(sp_slot_state(slot), SP_SLOT_LIVE);
        sp_slot_unlock(slot);
    }
    end(handle);
    SPT_TEST_END;
}

Test(slot_lock, lets_the_ender_alone_lock_an_ending_slot) {
    spool_span handle;
    sp_slot *slot = start(SP_SLOT_LIVE, &handle);
    cr_assert_eq(sp_slot_begin_end(sp_thread(), handle), slot);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(sp_slot_lock(sp_thread(), handle), slot);
        cr_assert_null(sp_slot_lock(sp_thread(), handle));
        sp_slot_unlock(slot);
        cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDING);
    }
    cr_assert_null(sp_slot_begin_end(sp_thread(), handle), "one end is enough");
    attempt try = {.handle = handle};
    elsewhere(try_all, &try);
    cr_assert_null(try.locked);
    cr_assert_null(try.pinned, "not pinned before: ended for all others");
    sp_slot_freeze(slot);
    cr_assert_null(sp_slot_lock(sp_thread(), handle));
    sp_registry_release(sp_thread(), slot);
    cr_assert_null(sp_slot_lock(sp_thread(), handle));
    SPT_TEST_END;
}

static void *lock_and_leave(void *arg) {
    attempt *try = arg;
    try->locked = sp_slot_lock(sp_thread(), try->handle);
    return NULL;
}

Test(slot_lock, gives_up_behind_a_dead_locker_at_once_and_counts_it) {
    attempt try;
    sp_slot *slot = start(SP_SLOT_LIVE, &try.handle);
    elsewhere(lock_and_leave, &try);
    cr_assert_eq(try.locked, slot);
    uint64_t before = spt_now_ns();
    cr_assert_null(sp_slot_lock(sp_thread(), try.handle));
    cr_assert_null(sp_slot_begin_end(sp_thread(), try.handle));
    cr_assert_null(sp_slot_pin(try.handle));
    cr_assert_lt(spt_now_ns() - before, UINT64_C(1500000000), "the last resort is for the living");
    sp_registry_counters counters;
    sp_registry_read_counters(&counters);
    cr_assert_eq(counters.lock_refusals, 3);
    SPT_TEST_END;
}

static pthread_barrier_t barrier;
static void *lock_until_told(void *arg) {
    attempt *try = arg;
    try->locked = sp_slot_lock(sp_thread(), try->handle);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    sp_slot_unlock(try->locked);
    return NULL;
}

Test(slot_lock, gives_up_after_two_seconds_behind_a_stuck_locker, .timeout = 60) {
    attempt try;
    cr_assert_not_null(start(SP_SLOT_LIVE, &try.handle));
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, lock_until_told, &try), 0);
    pthread_barrier_wait(&barrier);
    uint64_t before = spt_now_ns();
    cr_assert_null(sp_slot_lock(sp_thread(), try.handle));
    uint64_t waited = spt_now_ns() - before;
    cr_assert(waited >= UINT64_C(1900000000) && waited < UINT64_C(20000000000));
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    cr_assert_not_null(sp_slot_lock(sp_thread(), try.handle), "it came back");
    SPT_TEST_END;
}

static int reclaims;
static void count_reclaim(sp_thread_block *thread, sp_slot *slot) {
    (void)thread;
    (void)slot;
    reclaims++;
}

static int resets;
static void count_reset(void *value) {
    memset(value, 0, 8);
    resets++;
}

Test(slot_lock, a_pin_keeps_slot_and_boxes_past_the_end) {
    sp_registry_reclaims_with(count_reclaim);
    spool_ext_id type = spool_ext_register("kept", 8, 8, count_reset, NULL);
    spool_span handle;
    sp_slot *slot = start(SP_SLOT_LIVE, &handle);
    uint64_t *box = sp_box_get_or_init(sp_slot_boxes(slot), type, NULL);
    *box = 42;
    cr_assert_eq(sp_slot_pin(handle), slot);
    cr_assert_eq(sp_slot_pin(handle), slot);
    end(handle);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDED, "parked");
    cr_assert_eq(sp_slot_handle(slot).bits, handle.bits);
    cr_assert_null(sp_slot_lock(sp_thread(), handle));
    cr_assert_eq(sp_box_get(*sp_slot_boxes(slot), type), box);
    cr_assert_eq(*box, 42);
    cr_assert_eq(sp_slot_pin(handle), slot, "a pinned slot may be pinned again");
    sp_slot_unpin(sp_thread(), slot);
    sp_slot_unpin(sp_thread(), slot);
    cr_assert_eq(reclaims + resets, 0);
    sp_slot_view view;
    cr_assert(sp_slot_read(handle, &view));
    cr_assert_eq(view.state, SP_SLOT_ENDED);
    sp_slot_unpin(sp_thread(), slot);
    cr_assert_eq(reclaims, 1);
    cr_assert_eq(resets, 1);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE);
    cr_assert_null(sp_slot_pin(handle));
    cr_assert_not(sp_slot_read(handle, &view));
    SPT_TEST_END;
}

Test(slot_lock, pins_in_every_state_of_a_span) {
    spool_span handle;
    sp_slot *slot = start(SP_SLOT_LIVE, &handle);
    cr_assert_eq(sp_slot_lock(sp_thread(), handle), slot);
    cr_assert_eq(sp_slot_pin(handle), slot, "by the holder of the lock");
    sp_slot_unpin(sp_thread(), slot);
    sp_slot_unlock(slot);
    end(handle);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE, "a pin that is over keeps nothing");

    slot = start(SP_SLOT_LIVE, &handle);
    cr_assert_eq(sp_slot_begin_end(sp_thread(), handle), slot);
    cr_assert_eq(sp_slot_pin(handle), slot, "by the ender");
    attempt try = {.handle = handle};
    elsewhere(try_all, &try);
    cr_assert_eq(try.pinned, slot, "pinned already: by anybody");
    sp_slot_freeze(slot);
    sp_registry_release(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDED);
    elsewhere(try_all, &try);
    cr_assert_eq(try.pinned, slot);
    sp_slot_unpin(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE);

    slot = start(SP_SLOT_LIVE, &handle);
    cr_assert_eq(sp_slot_begin_end(sp_thread(), handle), slot);
    sp_slot_freeze(slot);
    cr_assert_eq(sp_slot_pin(handle), slot, "by the ender, frozen");
    sp_registry_release(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDED);
    sp_slot_unpin(sp_thread(), slot);

    slot = start(SP_SLOT_LIGHT, &handle);
    cr_assert_eq(sp_slot_pin(handle), slot);
    cr_assert_eq(sp_slot_take_light(sp_thread(), handle), slot);
    sp_registry_release(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDED);
    sp_slot_unpin(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE);
    SPT_TEST_END;
}

static void *unpin_elsewhere(void *arg) {
    sp_slot_unpin(sp_thread(), arg);
    return NULL;
}

Test(slot_lock, the_last_unpin_may_be_on_another_thread) {
    spool_span handle;
    sp_slot *slot = start(SP_SLOT_LIVE, &handle);
    cr_assert_eq(sp_slot_pin(handle), slot);
    end(handle);
    elsewhere(unpin_elsewhere, slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE);
    sp_registry_counters counters;
    sp_registry_read_counters(&counters);
    cr_assert_eq(counters.remote_frees, 1);
    SPT_TEST_END;
}

Test(slot_lock, the_next_tenant_of_a_pinned_slot_starts_unpinned) {
    spool_span handle;
    sp_slot *slot = start(SP_SLOT_LIVE, &handle);
    cr_assert_eq(sp_slot_pin(handle), slot);
    end(handle);
    sp_slot_unpin(sp_thread(), slot);
    for (int i = 0; i < 64; i++) { /* once round the word */
        sp_slot *next = start(SP_SLOT_LIVE, &handle);
        end(handle);
        cr_assert_eq(sp_slot_state(next), SP_SLOT_FREE);
        cr_assert_eq(next->pins, 0);
    }
    SPT_TEST_END;
}
