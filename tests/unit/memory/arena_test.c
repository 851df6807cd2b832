/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: alignment, growth, what a reset keeps. */
#include "sdk/memory/arena.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(arena, keeps_every_allocation_until_the_reset) {
    enum { COUNT = 2000 };
    static uint8_t *made[COUNT];
    static size_t sizes[COUNT];
    spt_random random = {spt_seed(0x5eed0005)};
    sp_arena arena = {NULL, 0};
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = (size_t)spt_random_below(&random, i % 50 == 0 ? 30000 : 200);
        made[i] = sp_arena_alloc(&arena, sizes[i]);
        cr_assert_not_null(made[i]);
        cr_assert_eq((uintptr_t)made[i] % 16, 0);
        memset(made[i], i & 0xff, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        for (size_t b = 0; b < sizes[i]; b++) {
            cr_assert_eq(made[i][b], i & 0xff);
        }
    }
    sp_arena_reset(&arena);
    cr_assert_eq(sp_arena_alloc(&arena, 1), made[0], "the first chunk is used again");
    sp_arena_fini(&arena);
    sp_arena_fini(&arena);
    SPT_TEST_END;
}

Test(arena, is_empty_when_zero_and_refuses_what_cannot_be) {
    sp_arena arena = {NULL, 0};
    sp_arena_reset(&arena);
    cr_assert_null(sp_arena_alloc(&arena, SIZE_MAX));
    cr_assert_null(sp_arena_alloc(&arena, SIZE_MAX - 8));
    void *first = sp_arena_alloc(&arena, 0);
    cr_assert_not_null(first);
    sp_arena_fini(&arena);
    SPT_TEST_END;
}
