/* SPDX-License-Identifier: Apache-2.0 */
/* Spill memory: sizes, reuse, return by another thread, the cap. */
#include "sdk/memory/registry.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

static const size_t sizes[] = {1, 512, 1024, 1025, 4096, 4097, 100000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

Test(spill, has_room_of_every_size_that_overlaps_nothing) {
    enum { EACH = 300 };
    static uint8_t *spills[SIZES][EACH];
    sp_thread_block *thread = sp_thread();
    for (int s = 0; s < SIZES; s++) {
        for (int i = 0; i < EACH; i++) {
            spills[s][i] = sp_spill_acquire(thread, sizes[s]);
            cr_assert_not_null(spills[s][i]);
            cr_assert_eq((uintptr_t)spills[s][i] % 16, 0);
            memset(spills[s][i], s * 7 + i, sizes[s]);
        }
    }
    for (int s = 0; s < SIZES; s++) {
        for (int i = 0; i < EACH; i++) {
            for (size_t b = 0; b < sizes[s]; b++) {
                cr_assert_eq(spills[s][i][b], (uint8_t)(s * 7 + i));
            }
            sp_spill_release(thread, spills[s][i], sizes[s]);
        }
    }
    sp_spill_release(thread, NULL, 1024);
    SPT_TEST_END;
}

Test(spill, maps_nothing_once_warm) {
    sp_thread_block *thread = sp_thread();
    sp_registry_counters before;
    sp_registry_counters after;
    void *spills[200];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 200; i++) {
            spills[i] = sp_spill_acquire(thread, i % 2 == 0 ? 1000 : 4000);
        }
        for (int i = 0; i < 200; i++) {
            sp_spill_release(thread, spills[(i * 7) % 200], (i * 7) % 2 == 0 ? 1000 : 4000);
        }
        if (round == 0) {
            sp_registry_read_counters(&before);
        }
    }
    sp_registry_read_counters(&after);
    cr_assert_eq(before.chunks_mapped, after.chunks_mapped);
    SPT_TEST_END;
}

static void *release_all(void *arg) {
    void **spills = arg;
    for (int i = 0; i < 100; i++) {
        sp_spill_release(sp_thread(), spills[i], 1024);
    }
    return NULL;
}

Test(spill, comes_back_to_its_owner_from_another_thread) {
    sp_thread_block *thread = sp_thread();
    void *spills[100];
    sp_registry_counters counters;
    uint64_t mapped = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++) {
            spills[i] = sp_spill_acquire(thread, 1024);
            cr_assert_not_null(spills[i]);
        }
        pthread_t other;
        cr_assert_eq(pthread_create(&other, NULL, release_all, spills), 0);
        cr_assert_eq(pthread_join(other, NULL), 0);
        sp_registry_read_counters(&counters);
        mapped = round == 0 ? counters.chunks_mapped : mapped;
    }
    cr_assert_eq(counters.chunks_mapped, mapped, "what came back is used again");
    cr_assert_gt(counters.remote_merges, 0);
    SPT_TEST_END;
}

Test(spill, is_refused_past_the_cap_in_bytes) {
    sp_thread_block *thread = sp_thread();
    sp_registry_set_caps(UINT64_MAX, 65536);
    int count = 0;
    while (sp_spill_acquire(thread, 1024) != NULL) {
        count++;
        cr_assert_lt(count, 64);
    }
    cr_assert_eq(count, 63, "one chunk of 64 blocks, one of which is its head");
    cr_assert_null(sp_spill_acquire(thread, 4096));
    sp_registry_counters counters;
    sp_registry_read_counters(&counters);
    cr_assert_eq(counters.cap_refusals, 2);
    SPT_TEST_END;
}
