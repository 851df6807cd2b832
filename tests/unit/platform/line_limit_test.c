/* SPDX-License-Identifier: Apache-2.0 */
/* Ten lines a minute, the rest counted. */
#include "sdk/platform/clock.h"
#include "sdk/platform/line_limit.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>

Test(line_limit, ten_pass_and_the_rest_are_counted_until_the_minute_is_over) {
    sp_line_limit limit = {0, 0, 0};
    uint64_t held_back = 99;
    uint64_t start = 5 * SP_NS_PER_S;
    for (int i = 0; i < SP_LINES_PER_MINUTE; i++) {
        cr_assert(sp_line_limit_pass(&limit, start + (uint64_t)i, &held_back));
        cr_assert_eq(held_back, 0);
    }
    for (int i = 0; i < 7; i++) {
        cr_assert_not(sp_line_limit_pass(&limit, start + 59 * SP_NS_PER_S, &held_back));
    }
    cr_assert(sp_line_limit_pass(&limit, start + 60 * SP_NS_PER_S, &held_back));
    cr_assert_eq(held_back, 7);
    cr_assert(sp_line_limit_pass(&limit, start + 60 * SP_NS_PER_S, &held_back));
    cr_assert_eq(held_back, 0);
    SPT_TEST_END;
}
