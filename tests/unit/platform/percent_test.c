/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding: whole escapes only, and a word about those that are not. */
#include "sdk/platform/percent.h"
#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

Test(percent, whole_escapes_of_either_case_are_decoded_and_plus_is_itself) {
    char text[] = "%41%4a%4A+%00x";
    size_t len = 0;
    cr_expect(sp_percent_decode(text, sizeof text - 1, text, &len));
    cr_expect_eq(len, 6);
    cr_expect_arr_eq(text, "AJJ+\0x", 6);
    SPT_TEST_END;
}

Test(percent, what_is_no_escape_stays_and_is_told) {
    static const char *const rows[] = {"%", "a%", "%4", "%g0", "%0g", "100%"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[8];
        size_t len = 0;
        cr_expect_not(sp_percent_decode(rows[i], strlen(rows[i]), out, &len), "%s", rows[i]);
        cr_expect_eq(len, strlen(rows[i]));
        cr_expect_arr_eq(out, rows[i], len);
    }
    SPT_TEST_END;
}
