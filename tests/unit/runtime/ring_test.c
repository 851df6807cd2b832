/* SPDX-License-Identifier: Apache-2.0 */
/* Rings and budgets: order, sizes around the segment, invisibility, exact credit, warm state. */
#include "runtime/budget.h"
#include "runtime/ring.h"

#include "tests/support/spt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const sp_scope scope_a = {.id = 1}, scope_b = {.id = 2};

static void put(sp_ring *ring, uint64_t number, size_t len, const sp_scope *scope) {
    uint8_t *bytes = sp_ring_reserve(ring, len);
    SPT_REQUIRE(bytes != NULL);
    memset(bytes, (int)(number & 0xff), len);
    sp_ring_publish(ring, len, scope);
}

static bool is_filled(const sp_ring_record *record, uint64_t number) {
    for (size_t i = 0; i < record->len; i++) {
        if (record->bytes[i] != (uint8_t)(number & 0xff)) {
            return false;
        }
    }
    return true;
}

static void records_come_out_in_order_with_their_scope(void) {
    sp_ring *ring = sp_ring_create();
    sp_ring_record record;
    SPT_REQUIRE(ring);
    SPT_CHECK(!sp_ring_next(ring, &record));
    for (uint64_t i = 0; i < 5000; i++) {
        put(ring, i, i % 300, i % 2 ? &scope_a : &scope_b);
    }
    for (uint64_t i = 0; i < 5000; i++) {
        SPT_REQUIRE(sp_ring_next(ring, &record));
        SPT_CHECK_UINT(record.len, i % 300);
        SPT_CHECK(record.scope == (i % 2 ? &scope_a : &scope_b));
        SPT_CHECK(is_filled(&record, i));
    }
    SPT_CHECK(!sp_ring_next(ring, &record));
    sp_ring_destroy(ring);
}

static void sizes_around_a_segment_fit(void) {
    sp_ring *ring = sp_ring_create();
    SPT_REQUIRE(ring);
    uint64_t number = 0, expected = 0;
    sp_ring_record record;
    for (size_t len = SP_SEGMENT_BYTES - 300; len < SP_SEGMENT_BYTES + 300; len++) {
        put(ring, number++, len, &scope_a);
        put(ring, number++, 1, &scope_a);
        SPT_REQUIRE(sp_ring_next(ring, &record));
        SPT_CHECK_UINT(record.len, len);
        SPT_CHECK(is_filled(&record, expected++));
        SPT_REQUIRE(sp_ring_next(ring, &record));
        SPT_CHECK(is_filled(&record, expected++));
    }
    put(ring, number, 40 * SP_SEGMENT_BYTES, &scope_a);
    SPT_REQUIRE(sp_ring_next(ring, &record));
    SPT_CHECK_UINT(record.len, 40 * SP_SEGMENT_BYTES);
    SPT_CHECK(is_filled(&record, expected));
    sp_ring_destroy(ring);
}

static void unfinished_record_is_invisible_and_overwritten(void) {
    sp_ring *ring = sp_ring_create();
    sp_ring_record record;
    SPT_REQUIRE(ring);
    put(ring, 1, 10, &scope_a);
    memset(sp_ring_reserve(ring, 1000), 0xee, 1000);
    SPT_CHECK(sp_ring_next(ring, &record));
    SPT_CHECK(!sp_ring_next(ring, &record));
    /* One that does not fit any more: the segment is left, still nothing shows. */
    memset(sp_ring_reserve(ring, SP_SEGMENT_BYTES), 0xee, SP_SEGMENT_BYTES);
    SPT_CHECK(!sp_ring_next(ring, &record));
    put(ring, 2, 20, &scope_b);
    SPT_REQUIRE(sp_ring_next(ring, &record));
    SPT_CHECK_UINT(record.len, 20);
    SPT_CHECK(is_filled(&record, 2));
    SPT_CHECK(!sp_ring_next(ring, &record));
    sp_ring_destroy(ring);
}

static void warm_ring_maps_nothing(void) {
    sp_ring *ring = sp_ring_create();
    sp_ring_record record;
    SPT_REQUIRE(ring);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t before = sp_ring_mappings();
        for (unsigned i = 0; i < 2048; i++) {
            put(ring, i, 200, &scope_a);
        }
        for (unsigned i = 0; i < 2048; i++) {
            SPT_REQUIRE(sp_ring_next(ring, &record));
        }
        SPT_CHECK(round == 0 || sp_ring_mappings() == before);
    }
    sp_ring_destroy(ring);
}

/* ---- two threads ---- */

enum { STREAM = 300000 };

static size_t stream_len(uint64_t number) {
    return number % 5000 == 0 ? 70000 : number * 7 % 400;
}

static void *produce(void *arg) {
    sp_ring *ring = arg;
    for (uint64_t i = 0; i < STREAM; i++) {
        uint8_t *bytes = sp_ring_reserve(ring, stream_len(i));
        if (bytes) {
            memset(bytes, (int)(i & 0xff), stream_len(i));
            sp_ring_publish(ring, stream_len(i), &scope_a);
        }
    }
    sp_store_release(&ring->orphan, true);
    return NULL;
}

static void consumer_sees_whole_records_while_they_are_written(void) {
    sp_ring *ring = sp_ring_create();
    SPT_REQUIRE(ring);
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, produce, ring) == 0);
    uint64_t got = 0, wrong = 0;
    for (bool ended = false; !ended;) {
        ended = sp_load_acquire(&ring->orphan);
        sp_ring_record record;
        while (sp_ring_next(ring, &record)) {
            wrong += record.len != stream_len(got) || !is_filled(&record, got);
            got++;
        }
    }
    (void)pthread_join(thread, NULL);
    SPT_CHECK_UINT(got, STREAM);
    SPT_CHECK_UINT(wrong, 0);
    sp_ring_destroy(ring);
}

/* ---- budget ---- */

static void capacity_is_exact_for_one_thread(void) {
    static const uint64_t capacities[] = {1, 2, 8, 63, 64, 65, 2047, 2048, 5000};
    for (unsigned i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        sp_budget budget;
        sp_credit credit = 0;
        sp_budget_init(&budget, capacities[i], 1 << 30);
        uint64_t taken = 0;
        while (sp_credit_take(&credit, &budget, 100) <= SP_CREDIT_LAST) {
            taken++;
        }
        SPT_CHECK_UINT(taken, capacities[i]);
        sp_budget_give_records(&budget, 1);
        SPT_CHECK(sp_credit_take(&credit, &budget, 100) == SP_CREDIT_LAST);
        SPT_CHECK(sp_credit_take(&credit, &budget, 100) == SP_CREDIT_NO_RECORDS);
        sp_credit_revoke(&credit, &budget);
        SPT_CHECK_UINT(sp_load_relaxed(&budget.records), capacities[i]);
        SPT_CHECK_UINT(sp_load_relaxed(&budget.bytes), (taken + 1) * 100);
    }
}

static void bytes_are_limited_too(void) {
    sp_budget budget;
    sp_credit credit = 0;
    sp_budget_init(&budget, 1000, 10000);
    unsigned taken = 0;
    while (sp_credit_take(&credit, &budget, 999) <= SP_CREDIT_LAST) {
        taken++;
    }
    SPT_CHECK_UINT(taken, 10);
    SPT_CHECK(sp_credit_take(&credit, &budget, 999) == SP_CREDIT_NO_BYTES);
    SPT_CHECK(sp_credit_take(&credit, &budget, 10) <= SP_CREDIT_LAST);
    sp_credit_revoke(&credit, &budget);
    SPT_CHECK_UINT(sp_load_relaxed(&budget.records), 11);
    SPT_CHECK_UINT(sp_load_relaxed(&budget.bytes), 10000);
}

static void lot_ends_where_the_loop_is_to_be_woken(void) {
    static const uint64_t depths[] = {1, 5, 31, 32, 33, 100, 512};
    for (unsigned i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        sp_budget budget;
        sp_credit credit = 0;
        sp_budget_init(&budget, 4096, 1 << 30);
        sp_budget_set_wake(&budget, depths[i]);
        uint64_t written = 0, woken_at = 0;
        while (!woken_at && written < 4096) {
            sp_credit_result result = sp_credit_take(&credit, &budget, 10);
            written++;
            if (result == SP_CREDIT_LAST && sp_budget_reached(&budget)) {
                woken_at = written;
            }
        }
        SPT_CHECK_UINT(woken_at, depths[i]);
    }
}

static void many_idle_threads_do_not_use_the_budget_up(void) {
    enum { IDLE = 120 };
    static sp_credit credits[IDLE];
    sp_budget budget;
    sp_budget_init(&budget, 2048, 1 << 26);
    for (unsigned i = 0; i < IDLE; i++) {
        SPT_CHECK(sp_credit_take(&credits[i], &budget, 300) <= SP_CREDIT_LAST);
    }
    for (unsigned i = 0; i < IDLE; i++) {
        sp_credit_revoke(&credits[i], &budget);
    }
    SPT_CHECK_UINT(sp_load_relaxed(&budget.records), IDLE);
}

typedef struct taker {
    sp_budget *budget;
    sp_credit credit;
    uint64_t taken;
    atomic_bool done;
} taker;

static void *take_until_full(void *arg) {
    taker *mine = arg;
    for (unsigned i = 0; i < 200000; i++) {
        if (sp_credit_take(&mine->credit, mine->budget, 50) <= SP_CREDIT_LAST) {
            mine->taken++;
        }
    }
    atomic_store(&mine->done, true);
    return NULL;
}

static void credit_is_exact_while_it_is_taken_back(void) {
    sp_budget budget;
    sp_budget_init(&budget, 100000, 1 << 30);
    taker takers[4];
    pthread_t threads[4];
    for (unsigned t = 0; t < 4; t++) {
        memset(&takers[t], 0, sizeof takers[t]);
        takers[t].budget = &budget;
        SPT_REQUIRE(pthread_create(&threads[t], NULL, take_until_full, &takers[t]) == 0);
    }
    bool running = true;
    while (running) {
        running = false;
        for (unsigned t = 0; t < 4; t++) {
            running = running || !atomic_load(&takers[t].done);
            sp_credit_revoke(&takers[t].credit, &budget);
        }
    }
    uint64_t taken = 0;
    for (unsigned t = 0; t < 4; t++) {
        (void)pthread_join(threads[t], NULL);
        sp_credit_revoke(&takers[t].credit, &budget);
        taken += takers[t].taken;
    }
    SPT_CHECK_UINT(taken, 100000);
    SPT_CHECK_UINT(sp_load_relaxed(&budget.records), taken);
    SPT_CHECK_UINT(sp_load_relaxed(&budget.bytes), taken * 50);
}

SPT_MAIN("runtime.ring", SPT_CASE(records_come_out_in_order_with_their_scope),
         SPT_CASE(sizes_around_a_segment_fit),
         SPT_CASE(unfinished_record_is_invisible_and_overwritten), SPT_CASE(warm_ring_maps_nothing),
         SPT_CASE(consumer_sees_whole_records_while_they_are_written),
         SPT_CASE(capacity_is_exact_for_one_thread), SPT_CASE(bytes_are_limited_too),
         SPT_CASE(lot_ends_where_the_loop_is_to_be_woken),
         SPT_CASE(many_idle_threads_do_not_use_the_budget_up),
         SPT_CASE(credit_is_exact_while_it_is_taken_back))
