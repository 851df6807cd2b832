/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of misuse. */
#include "sdk/platform/diagnostics.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>

Test(misuse, counters_are_apart_and_unknown_ones_are_harmless) {
    for (unsigned i = 0; i < SP_MISUSES; i++) {
        cr_assert_eq(sp_misuse_read(i), 0);
        sp_misuse_count(i, i + 1);
    }
    sp_misuse_count(SP_MISUSES, 5);
    sp_misuse_count(UINT32_MAX, 5);
    for (unsigned i = 0; i < SP_MISUSES; i++) {
        cr_assert_eq(sp_misuse_read(i), i + 1);
    }
    cr_assert_eq(sp_misuse_read(SP_MISUSES), 0);
    SPT_TEST_END;
}
