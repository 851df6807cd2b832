/* SPDX-License-Identifier: Apache-2.0 */
/* The text forms of values, times and ids, and the escapes. */
#include "exporters/console/text.h"
#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static sp_text text;

static const char *shown(void) {
    sp_text_raw(&text, "", 1);
    cr_assert_not(text.failed);
    text.len = 0;
    return text.bytes;
}

static const char *value_shown(spool_value value, bool nested) {
    sp_text_value(&text, &value, nested);
    return shown();
}

static const char *clean_shown(const char *bytes) {
    sp_text_clean(&text, spool_str_of(bytes));
    return shown();
}

static void expect_value(spool_value value, const char *top, const char *nested) {
    cr_expect_str_eq(value_shown(value, false), top);
    cr_expect_str_eq(value_shown(value, true), nested);
}

static void expect_bytes(const char *bytes, const char *base64) {
    cr_expect_str_eq(value_shown(spool_value_bytes(bytes, strlen(bytes)), false), base64);
}

Test(console_text, CM_12_scalars_at_the_top_and_nested) {
    expect_value(spool_value_string("a \"b\" \\ c"), "a \"b\" \\ c", "\"a \\\"b\\\" \\\\ c\"");
    expect_value(spool_value_string(""), "", "\"\"");
    expect_value(spool_value_bool(true), "true", "true");
    expect_value(spool_value_bool(false), "false", "false");
    expect_value(spool_value_int(INT64_MIN), "-9223372036854775808", "-9223372036854775808");
    expect_value(spool_value_int(INT64_MAX), "9223372036854775807", "9223372036854775807");
    expect_value(spool_value_uint(UINT64_MAX), "18446744073709551615", "18446744073709551615");
    expect_value(spool_value_empty(), "", "null");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, CM_12_doubles) {
    expect_value(spool_value_double(NAN), "NaN", "\"NaN\"");
    expect_value(spool_value_double(INFINITY), "Infinity", "\"Infinity\"");
    expect_value(spool_value_double(-INFINITY), "-Infinity", "\"-Infinity\"");
    expect_value(spool_value_double(0.1), "0.1", "0.1");
    expect_value(spool_value_double(-0.0), "-0", "-0");
    expect_value(spool_value_double(1e300), "1e+300", "1e+300");
    expect_value(spool_value_double(1.0 / 3.0), "0.3333333333333333", "0.3333333333333333");
    expect_value(spool_value_double(5e-324), "4.94065645841247e-324", "4.94065645841247e-324");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, CM_12_bytes_are_base64) {
    expect_bytes("", "");
    expect_bytes("f", "Zg==");
    expect_bytes("fo", "Zm8=");
    expect_bytes("foo", "Zm9v");
    expect_bytes("foobar", "Zm9vYmFy");
    expect_bytes("\xff\xfe\xfd", "//79");
    cr_expect_str_eq(value_shown(spool_value_bytes("f", 1), true), "\"Zg==\"");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, CM_12_arrays_and_maps_are_json) {
    spool_value items[] = {spool_value_int(1), spool_value_string("x\ny"), spool_value_empty(),
                           spool_value_double(NAN), spool_value_bytes("f", 1)};
    spool_attr pairs[] = {spool_array("a \"k\"", items, 5), spool_bool("b", true)};
    spool_value map = spool_map("", pairs, 2).value;
    cr_expect_str_eq(value_shown(map, false),
                     "{\"a \\\"k\\\"\":[1,\"x\\ny\",null,\"NaN\",\"Zg==\"],\"b\":true}");
    cr_expect_str_eq(value_shown(spool_array("", NULL, 0).value, false), "[]");
    cr_expect_str_eq(value_shown(spool_map("", NULL, 0).value, false), "{}");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, nesting_without_end_is_cut) {
    enum { LEVELS = 1000 };
    static spool_value levels[LEVELS];
    levels[0] = spool_value_int(1);
    for (size_t i = 1; i < LEVELS; i++) {
        levels[i] = spool_array("", &levels[i - 1], 1).value;
    }
    const char *all = value_shown(levels[LEVELS - 1], false);
    cr_expect_eq(strspn(all, "["), 64);
    cr_expect_eq(strlen(all), 128);
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, what_could_move_a_terminal_is_escaped) {
    cr_expect_str_eq(clean_shown("a\033[2Jb"), "a\\x1b[2Jb");
    cr_expect_str_eq(clean_shown("\r\n\t\b\x7f"), "\\x0d\\x0a\\x09\\x08\\x7f");
    cr_expect_str_eq(clean_shown("\xc2\x9b"
                                 "31m"),
                     "\\xc2\\x9b31m", "a C1 control");
    cr_expect_str_eq(clean_shown("\xc2\x80\xc2\x9f\xc2\xa0"), "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
    cr_expect_str_eq(clean_shown("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
                     "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "letters stay");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, what_is_not_utf8_is_escaped) {
    cr_expect_str_eq(clean_shown("\x9b"
                                 "2J"),
                     "\\x9b2J", "a bare C1 byte");
    cr_expect_str_eq(clean_shown("\xc3"), "\\xc3");
    cr_expect_str_eq(clean_shown("\xe2\x82"), "\\xe2\\x82");
    cr_expect_str_eq(clean_shown("\xc0\xaf"), "\\xc0\\xaf", "overlong");
    cr_expect_str_eq(clean_shown("\xe0\x80\x9b"), "\\xe0\\x80\\x9b", "overlong");
    cr_expect_str_eq(clean_shown("\xf0\x80\x80\x9b"), "\\xf0\\x80\\x80\\x9b", "overlong");
    cr_expect_str_eq(clean_shown("\xed\xa0\x80"), "\\xed\\xa0\\x80", "a surrogate");
    cr_expect_str_eq(clean_shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80", "past the last");
    cr_expect_str_eq(clean_shown("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
    cr_expect_str_eq(clean_shown("\xff"), "\\xff");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, escapes_in_quotes_are_those_of_json) {
    cr_expect_str_eq(value_shown(spool_value_string("\033\n\t\r\x7f"), true),
                     "\"\\u001b\\n\\t\\r\\u007f\"");
    cr_expect_str_eq(value_shown(spool_value_string("\xc2\x9b"
                                                    "m"),
                                 true),
                     "\"\\u009bm\"");
    cr_expect_str_eq(value_shown(spool_value_string("\xff"
                                                    "a\xc3"),
                                 true),
                     "\"\\ufffda\\ufffd\"");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, times_and_ids) {
    sp_text_time(&text, 0);
    cr_expect_str_eq(shown(), "-");
    sp_text_time(&text, UINT64_C(1796085843123456789));
    cr_expect_str_eq(shown(), "2026-12-01T00:44:03.123456Z");
    sp_text_time(&text, UINT64_MAX);
    cr_expect_str_eq(shown(), "2554-07-21T23:34:33.709551Z");
    static const uint8_t id[] = {0x00, 0x0f, 0xff};
    sp_text_hex(&text, id, 3);
    cr_expect_str_eq(shown(), "000fff");
    sp_text_fini(&text);
    SPT_TEST_END;
}

Test(console_text, doubles_do_not_depend_on_the_locale) {
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "fa_IR.UTF-8", "ps_AF"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof locales / sizeof locales[0]; i++) {
        found = setlocale(LC_ALL, locales[i]) != NULL;
    }
    if (!found) {
        cr_skip_test("no locale with a decimal comma is installed");
    }
    cr_expect_str_eq(value_shown(spool_value_double(0.5), false), "0.5");
    sp_text_fini(&text);
    SPT_TEST_END;
}
