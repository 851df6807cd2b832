/* SPDX-License-Identifier: Apache-2.0 */
/* The index allocator: every length at a word's edge, checked frees, remote frees, and a model. */
#include "sdk/memory/index_alloc.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t lengths[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, 4095, 4096};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static sp_index_alloc alloc;

static void free_remote(uint32_t index) {
    bool first;
    cr_assert(sp_index_alloc_free_remote(&alloc, index, &first));
}

Test(index_alloc, hands_out_each_index_once_at_every_length) {
    for (int i = 0; i < LENGTHS; i++) {
        uint32_t length = lengths[i];
        bool seen[SP_INDEX_MAX] = {false};
        cr_assert(sp_index_alloc_init(&alloc, length));
        for (uint32_t n = 0; n < length; n++) {
            uint32_t index = sp_index_alloc_take(&alloc);
            cr_assert_lt(index, length, "length %u gave %u", length, index);
            cr_assert_not(seen[index], "length %u gave %u twice", length, index);
            seen[index] = true;
            cr_assert(sp_index_alloc_is_consistent(&alloc));
        }
        cr_assert_eq(sp_index_alloc_take(&alloc), SP_INDEX_NONE);
        cr_assert_eq(sp_index_alloc_take(&alloc), SP_INDEX_NONE);
    }
    SPT_TEST_END;
}

Test(index_alloc, gives_exactly_the_freed_half_back) {
    for (int i = 0; i < LENGTHS; i++) {
        uint32_t length = lengths[i];
        cr_assert(sp_index_alloc_init(&alloc, length));
        for (uint32_t n = 0; n < length; n++) {
            (void)sp_index_alloc_take(&alloc);
        }
        for (uint32_t index = 0; index < length; index += 2) {
            cr_assert(sp_index_alloc_free(&alloc, index));
            cr_assert(sp_index_alloc_is_consistent(&alloc));
        }
        uint32_t freed = (length + 1) / 2;
        cr_assert_eq(alloc.free_count, freed);
        bool seen[SP_INDEX_MAX] = {false};
        for (uint32_t n = 0; n < freed; n++) {
            uint32_t index = sp_index_alloc_take(&alloc);
            cr_assert(index < length && index % 2 == 0 && !seen[index]);
            seen[index] = true;
        }
        cr_assert_eq(sp_index_alloc_take(&alloc), SP_INDEX_NONE);
        cr_assert_eq(sp_index_alloc_take(&alloc), SP_INDEX_NONE);
        for (uint32_t index = 0; index < length; index++) {
            cr_assert(sp_index_alloc_free(&alloc, index));
        }
        cr_assert_eq(alloc.free_count, length);
    }
    SPT_TEST_END;
}

Test(index_alloc, refuses_a_length_that_it_has_no_room_for) {
    cr_assert_not(sp_index_alloc_init(&alloc, 4097));
    cr_assert_eq(sp_index_alloc_take(&alloc), SP_INDEX_NONE);
    cr_assert_not(sp_index_alloc_free(&alloc, 0));
    SPT_TEST_END;
}

Test(index_alloc, reports_a_double_free_and_an_index_that_is_none) {
    sp_index_alloc_init(&alloc, 65);
    uint32_t index = sp_index_alloc_take(&alloc);
    cr_assert(sp_index_alloc_free(&alloc, index));
    cr_assert_not(sp_index_alloc_free(&alloc, index));
    cr_assert_not(sp_index_alloc_free(&alloc, 64), "64 was never taken");
    cr_assert_not(sp_index_alloc_free(&alloc, 65));
    cr_assert_not(sp_index_alloc_free(&alloc, SP_INDEX_NONE));
    cr_assert_eq(alloc.double_frees, 2);
    cr_assert_eq(alloc.free_count, 65);
    cr_assert(sp_index_alloc_is_consistent(&alloc));
    SPT_TEST_END;
}

Test(index_alloc, rotates_inside_a_word_before_it_goes_on) {
    sp_index_alloc_init(&alloc, 4096);
    for (uint32_t n = 0; n < 1000; n++) {
        uint32_t index = sp_index_alloc_take(&alloc);
        cr_assert_eq(index, n % 64, "the first word alone, each index as late as can be");
        cr_assert(sp_index_alloc_free(&alloc, index));
    }
    uint32_t taken[65];
    for (uint32_t n = 0; n < 65; n++) {
        taken[n] = sp_index_alloc_take(&alloc);
    }
    for (uint32_t n = 0; n < 64; n++) {
        cr_assert_lt(taken[n], 64);
    }
    cr_assert_eq(taken[64], 64);
    SPT_TEST_END;
}

Test(index_alloc, takes_remote_frees_over_at_the_merge) {
    sp_index_alloc_init(&alloc, 4096);
    for (uint32_t n = 0; n < 4096; n++) {
        (void)sp_index_alloc_take(&alloc);
    }
    bool first;
    cr_assert(sp_index_alloc_free_remote(&alloc, 5, &first));
    cr_assert(first);
    cr_assert(sp_index_alloc_free_remote(&alloc, 6, &first));
    cr_assert_not(first);
    cr_assert(sp_index_alloc_free_remote(&alloc, 4095, &first));
    cr_assert_not(first, "there is something to merge already");
    cr_assert_not(sp_index_alloc_free_remote(&alloc, 6, &first), "twice");
    cr_assert_not(sp_index_alloc_free_remote(&alloc, 4096, &first));
    cr_assert_not(sp_index_alloc_has_free(&alloc));
    cr_assert_eq(sp_index_alloc_merge(&alloc), 2, "two words");
    cr_assert_eq(alloc.free_count, 3);
    cr_assert(sp_index_alloc_is_consistent(&alloc));
    cr_assert_eq(sp_index_alloc_merge(&alloc), 0);
    cr_assert(sp_index_alloc_free_remote(&alloc, 7, &first));
    cr_assert(first, "the merge starts it anew");
    SPT_TEST_END;
}

Test(index_alloc, counts_what_was_freed_on_both_sides_once) {
    sp_index_alloc_init(&alloc, 64);
    uint32_t index = sp_index_alloc_take(&alloc);
    cr_assert(sp_index_alloc_free(&alloc, index));
    free_remote(index);
    cr_assert_eq(sp_index_alloc_merge(&alloc), 1);
    cr_assert_eq(alloc.double_frees, 1);
    cr_assert_eq(alloc.free_count, 64);
    SPT_TEST_END;
}

/* One length: random takes, frees, remote frees, merges and mistakes against an array of states. */
static void follow_model(uint32_t length, spt_random *random) {
    enum { FREE, TAKEN, FREED_AFAR };
    uint8_t model[SP_INDEX_MAX] = {FREE};
    uint32_t free_count = length;
    sp_index_alloc_init(&alloc, length);
    for (int step = 0; step < 20000; step++) {
        uint32_t index = (uint32_t)spt_random_below(random, length + 2);
        bool known = index < length;
        bool first;
        switch (spt_random_below(random, 8)) {
        default:
            index = sp_index_alloc_take(&alloc);
            cr_assert_eq(index == SP_INDEX_NONE, free_count == 0);
            if (index != SP_INDEX_NONE) {
                cr_assert(index < length && model[index] == FREE);
                model[index] = TAKEN;
                free_count--;
            }
            break;
        case 0:
        case 1:
            if (!known || model[index] != FREED_AFAR) {
                cr_assert_eq(sp_index_alloc_free(&alloc, index), known && model[index] == TAKEN);
                if (known && model[index] == TAKEN) {
                    model[index] = FREE;
                    free_count++;
                }
            }
            break;
        case 2:
        case 3:
            if (!known || model[index] != FREE) {
                cr_assert_eq(sp_index_alloc_free_remote(&alloc, index, &first),
                             known && model[index] == TAKEN);
                if (known) {
                    model[index] = FREED_AFAR;
                }
            }
            break;
        case 4:
            if (spt_random_below(random, 50) == 0) {
                (void)sp_index_alloc_merge(&alloc);
                for (uint32_t i = 0; i < length; i++) {
                    free_count += model[i] == FREED_AFAR;
                    model[i] = model[i] == FREED_AFAR ? FREE : model[i];
                }
            }
            break;
        }
        cr_assert_eq(alloc.free_count, free_count);
        if (length < 300 || step % 64 == 0) {
            cr_assert(sp_index_alloc_is_consistent(&alloc));
        }
    }
}

Test(index_alloc, follows_a_model_through_random_steps) {
    spt_random random = {spt_seed(0x5eed0001)};
    for (int i = 0; i < LENGTHS; i++) {
        follow_model(lengths[i], &random);
    }
    SPT_TEST_END;
}
