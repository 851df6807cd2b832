/* SPDX-License-Identifier: Apache-2.0 */
/* Ten lines a minute, the last of them kept for the sum of the rest. */
#include "sdk/platform/clock.h"
#include "sdk/platform/line_limit.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>

Test(line_limit, nine_and_a_summary_pass_and_the_rest_are_counted_until_the_minute_is_over) {
    sp_line_limit limit = {0, 0, 0};
    uint64_t held_back = 99;
    uint64_t start = 5 * SP_NS_PER_S;
    cr_assert_not(sp_line_limit_pass_summary(&limit, start, &held_back));
    for (int i = 0; i < SP_LINES_PER_MINUTE - 1; i++) {
        cr_assert(sp_line_limit_pass(&limit, start + (uint64_t)i, &held_back));
        cr_assert_eq(held_back, 0);
    }
    for (int i = 0; i < 7; i++) {
        cr_assert_not(sp_line_limit_pass(&limit, start + 59 * SP_NS_PER_S, &held_back));
    }
    cr_assert(sp_line_limit_pass_summary(&limit, start + 59 * SP_NS_PER_S, &held_back));
    cr_assert_eq(held_back, 7);
    for (int i = 0; i < 7; i++) {
        cr_assert_not(sp_line_limit_pass(&limit, start + 59 * SP_NS_PER_S, &held_back));
    }
    cr_assert_not(sp_line_limit_pass_summary(&limit, start + 59 * SP_NS_PER_S, &held_back));
    cr_assert(sp_line_limit_pass(&limit, start + 60 * SP_NS_PER_S, &held_back));
    cr_assert_eq(held_back, 7);
    cr_assert(sp_line_limit_pass(&limit, start + 60 * SP_NS_PER_S, &held_back));
    cr_assert_eq(held_back, 0);
    SPT_TEST_END;
}
