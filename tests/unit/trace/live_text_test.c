/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers and texts of a dump's line, and reading OTLP bytes that are damaged. */
#include "sdk/trace/live.h"
#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *double_text(sp_live_line *line, double number) {
    line->len = 0;
    line->full = false;
    sp_live_put_double(line, number);
    line->text[line->len] = '\0';
    return line->text;
}

Test(live_text, doubles_are_short_or_exact) {
    sp_live_line line;
    cr_assert_str_eq(double_text(&line, 0.0), "0.0");
    cr_assert_str_eq(double_text(&line, 3.0), "3.0");
    cr_assert_str_eq(double_text(&line, -0.25), "-0.25");
    cr_assert_str_eq(double_text(&line, 1234.000001), "1234.000001");
    cr_assert_str_eq(double_text(&line, 0.05), "0.05");
    cr_assert_str_eq(double_text(&line, INFINITY), "inf");
    cr_assert_str_eq(double_text(&line, -INFINITY), "-inf");
    cr_assert_str_eq(double_text(&line, NAN), "nan");
    static const double exact[] = {1e-9, 1.5e300, -2.2250738585072014e-308, 4.9e-324, 1e17};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        cr_assert_eq(strtod(double_text(&line, exact[i]), NULL), exact[i]);
    }
    SPT_TEST_END;
}

Test(live_text, seconds_have_three_decimals) {
    sp_live_line line = {.len = 0};
    sp_live_put_seconds(&line, UINT64_C(61002999999));
    line.text[line.len] = '\0';
    cr_assert_str_eq(line.text, "61.002");
    SPT_TEST_END;
}

Test(live_text, a_line_never_passes_its_end) {
    static uint8_t bytes[3000];
    memset(bytes, '"', sizeof bytes);
    sp_live_line line = {.len = 0};
    for (int i = 0; i < 3; i++) {
        sp_live_put_quoted(&line, (sp_racy_bytes){bytes, sizeof bytes, 0});
    }
    cr_assert(line.full);
    cr_assert_leq(line.len, (size_t)SP_LIVE_LINE_BYTES - 14);
    SPT_TEST_END;
}

Test(live_text, damaged_bytes_are_never_left) {
    spt_random random = {spt_seed(7)};
    for (int round = 0; round < 20000; round++) {
        size_t len = (size_t)spt_random_below(&random, 64);
        uint8_t *bytes = malloc(len ? len : 1); /* its end is where AddressSanitizer looks */
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)spt_random_next(&random);
        }
        sp_racy_bytes message = {bytes, len, 0};
        sp_racy_field field;
        sp_live_line line = {.len = 0};
        while (sp_racy_next(&message, &field)) {
            if (field.type == 2) {
                (void)sp_live_put_attr(&line, field.bytes);
            }
        }
        cr_assert_leq(message.at, len);
        free(bytes);
    }
    SPT_TEST_END;
}
