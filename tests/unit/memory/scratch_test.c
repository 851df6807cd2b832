/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory: marks in stack order, what is kept, and that it does not allocate once warm. */
#include "sdk/memory/scratch.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

static sp_scratch scratch;

static uint8_t *filled(size_t size, int value) {
    uint8_t *memory = sp_scratch_alloc(&scratch, size);
    cr_assert_not_null(memory);
    cr_assert_eq((uintptr_t)memory % 16, 0);
    memset(memory, value, size);
    return memory;
}

static void is_filled(const uint8_t *memory, size_t size, int value) {
    for (size_t i = 0; i < size; i++) {
        cr_assert_eq(memory[i], value);
    }
}

Test(scratch, gives_the_same_memory_after_a_release) {
    sp_scratch_mark mark = sp_scratch_hold(&scratch);
    uint8_t *first = filled(100, 1);
    sp_scratch_release(&scratch, mark);
    cr_assert_eq(filled(100, 2), first);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(scratch, keeps_what_is_below_the_mark_through_larger_chunks) {
    uint8_t *low = filled(1000, 1);
    sp_scratch_mark outer = sp_scratch_hold(&scratch);
    uint8_t *middle = filled(5000, 2);
    sp_scratch_mark inner = sp_scratch_hold(&scratch);
    uint8_t *high = filled(300000, 3);
    is_filled(high, 300000, 3);
    sp_scratch_release(&scratch, inner);
    (void)filled(300000, 4);
    is_filled(middle, 5000, 2);
    sp_scratch_release(&scratch, inner);
    sp_scratch_release(&scratch, outer);
    (void)filled(9000, 5);
    is_filled(low, 1000, 1);
    sp_scratch_release(&scratch, outer);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(scratch, keeps_a_chunk_up_to_64_KiB_for_the_next_need) {
    sp_scratch_mark mark = sp_scratch_hold(&scratch);
    (void)filled(10, 1);
    uint8_t *large = filled(20000, 1);
    sp_scratch_release(&scratch, mark);
    (void)filled(10, 1);
    cr_assert_eq(filled(20000, 1), large, "the chunk was kept");
    sp_scratch_release(&scratch, mark);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(scratch, refuses_a_size_that_cannot_be) {
    cr_assert_null(sp_scratch_alloc(&scratch, SIZE_MAX));
    cr_assert_null(sp_scratch_alloc(&scratch, SIZE_MAX - 15));
    cr_assert_null(sp_scratch_alloc(&scratch, SIZE_MAX / 2 + 1));
    (void)filled(16, 1);
    cr_assert_null(sp_scratch_alloc(&scratch, SIZE_MAX));
    cr_assert_not_null(sp_scratch_alloc(&scratch, 0));
    sp_scratch_fini(&scratch);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(scratch, survives_random_nesting) {
    enum { DEPTH = 40 };
    struct {
        sp_scratch_mark mark;
        uint8_t *memory;
        size_t size;
    } frames[DEPTH];
    int depth = 0;
    spt_random random = {spt_seed(0x5eed0004)};
    for (int step = 0; step < 20000; step++) {
        if (depth < DEPTH && spt_random_below(&random, 2) == 0) {
            size_t size = (size_t)spt_random_below(
                &random, spt_random_below(&random, 20) == 0 ? 200000 : 3000);
            frames[depth].mark = sp_scratch_hold(&scratch);
            frames[depth].size = size;
            frames[depth].memory = filled(size, depth);
            depth++;
        } else if (depth > 0) {
            int below = (int)spt_random_below(&random, (uint64_t)depth);
            for (int i = 0; i < depth; i++) {
                is_filled(frames[i].memory, frames[i].size < 64 ? frames[i].size : 64, i);
            }
            sp_scratch_release(&scratch, frames[below].mark);
            depth = below;
        }
    }
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}
