/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of status codes and drop causes. */
#include <spool/sdk/stats.h>
#include <spool/status.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

Test(status, every_code_has_its_name_and_a_text_of_its_own) {
#define EXPECT_NAME(name, value, text) cr_assert_str_eq(spool_status_name(name), #name);
    SPOOL_STATUS_MAP(EXPECT_NAME)
#undef EXPECT_NAME
    for (int a = 0; a < SPOOL_STATUS_COUNT; a++) {
        const char *text = spool_status_text((spool_status)a);
        cr_assert(strlen(text) > 3);
        cr_assert_neq(text[strlen(text) - 1], '.');
        for (int b = 0; b < a; b++) {
            cr_assert_str_neq(text, spool_status_text((spool_status)b));
        }
    }
    SPT_TEST_END;
}

Test(status, an_unknown_code_says_so) {
    cr_assert_str_eq(spool_status_name(SPOOL_STATUS_COUNT), "unknown status");
    cr_assert_str_eq(spool_status_text((spool_status)-1), "unknown status");
    cr_assert_str_eq(spool_status_text((spool_status)100000), "unknown status");
    SPT_TEST_END;
}

Test(status, every_drop_cause_has_its_name) {
#define EXPECT_CAUSE(name, index, text)                                                            \
    cr_assert_str_eq(spool_drop_cause_name(SPOOL_DROP_##name), text);
    SPOOL_DROP_MAP(EXPECT_CAUSE)
#undef EXPECT_CAUSE
    cr_assert_str_eq(spool_drop_cause_name(SPOOL_DROP_CAUSES), "unknown");
    cr_assert_str_eq(spool_drop_cause_name(UINT32_MAX), "unknown");
    SPT_TEST_END;
}
