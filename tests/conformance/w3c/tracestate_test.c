/* SPDX-License-Identifier: Apache-2.0 */
/* The tracestate header (W3C Trace Context level 2, 3.3; rows PR-07, PR-10). */
#include "carrier.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct state_row {
    spool_str in;
    const char *out; /* NULL: the whole trace state is dropped */
} state_row;

#define ROW(in, out)                                                                               \
    { SPOOL_STR_INIT(in), out }

static const state_row rows[] = {
    ROW("foo=1", "foo=1"),
    ROW("foo=1,bar=2", "foo=1,bar=2"),
    ROW("foo=1 \t , \t bar=2, \t baz=3", "foo=1,bar=2,baz=3"),
    ROW(" foo=1", "foo=1"),
    ROW("\tfoo=1\t", "foo=1"),
    ROW("foo=1,", "foo=1"),
    ROW(",foo=1", "foo=1"),
    ROW("foo=1,,,bar=2", "foo=1,bar=2"),
    ROW("foo=1, ,\t,bar=2", "foo=1,bar=2"),
    ROW("foo= 1", "foo= 1"),
    ROW("foo=  1  ", "foo=  1"),
    ROW("foo=a b", "foo=a b"),
    ROW("foo@=1,bar=2", "foo@=1,bar=2"),
    ROW("foo@@bar=1", "foo@@bar=1"),
    ROW("foo@bar@baz=1", "foo@bar@baz=1"),
    ROW("0foo=1", "0foo=1"),
    ROW("9t@vendor=1", "9t@vendor=1"),
    ROW("f_o-o*b/r=1", "f_o-o*b/r=1"),
    ROW("foo=~!\"#$%&'()*+-./:;<>?@[\\]^_`{|}", "foo=~!\"#$%&'()*+-./:;<>?@[\\]^_`{|}"),
    /* A repeated key: one of them stays, nothing fails. */
    ROW("foo=1,foo=1", "foo=1"),
    ROW("foo=1,bar=2,foo=3", "foo=1,bar=2"),
    ROW("", NULL),
    ROW(" ", NULL),
    ROW(",", NULL),
    ROW(" , ,", NULL),
    ROW("foo", NULL),
    ROW("foo=", NULL),
    ROW("foo= ", NULL),
    ROW("=1", NULL),
    ROW("FOO=1", NULL),
    ROW("foo=1,BAR=2", NULL),
    ROW("foo =1", NULL),
    ROW("foo\t=1", NULL),
    ROW("foo.bar=1", NULL),
    ROW("@foo=1", NULL),
    ROW("_foo=1", NULL),
    ROW("foo=bar=baz", NULL),
    ROW("foo=\tbar", NULL),
    ROW("foo=b\tr", NULL),
    ROW("foo=b\0r", NULL),
    ROW("foo=1\0", NULL),
    ROW("foo=\xc3\xa9", NULL),
    ROW("f\xc3\xa9=1", NULL),
    ROW("foo=1;bar=2", NULL),
    ROW("foo=\x7f", NULL),
    ROW("foo=1\r\n", NULL),
};

static spool_context with_states(const spool_str *lines, size_t count) {
    spool_header headers[200] = {{SPOOL_STR("traceparent"), SPOOL_STR(W3C_PARENT)}};
    cr_assert(count < 200);
    for (size_t i = 0; i < count; i++) {
        headers[i + 1] = (spool_header){SPOOL_STR("TraceState"), lines[i]};
    }
    return extracted(headers, count + 1);
}

static void expect_state(const spool_str *lines, size_t count, const char *expected,
                         const char *what) {
    spool_context context = with_states(lines, count);
    cr_assert(spool_span_context_is_valid(&context.span), "%s: traceparent stays", what);
    const char *out = injected(&context, "tracestate");
    if (expected) {
        cr_assert_str_eq(out, expected, "%s", what);
    } else {
        cr_assert_null(out, "%s", what);
    }
    spool_context_release(&context);
}

Test(w3c_tracestate, PR_10_every_row_of_the_table) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_state(&rows[i].in, 1, rows[i].out, rows[i].in.ptr);
    }
    SPT_TEST_END;
}

static void members_put(char *text, size_t size, int from, int to) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = from; i < to; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%sbar%d=%d", i == from ? "" : ",", i, i);
    }
}

Test(w3c_tracestate, PR_10_thirty_two_members_pass_and_a_33rd_drops_all) {
    char text[1024];
    members_put(text, sizeof text, 0, 32);
    const spool_str full = spool_str_of(text);
    expect_state(&full, 1, text, "32 members");
    members_put(text, sizeof text, 0, 33);
    const spool_str more = spool_str_of(text);
    expect_state(&more, 1, NULL, "33 members");
    char half[512];
    members_put(text, sizeof text, 0, 20);
    members_put(half, sizeof half, 20, 33);
    const spool_str halves[] = {spool_str_of(text), spool_str_of(half)};
    expect_state(halves, 2, NULL, "33 members in two headers");
    SPT_TEST_END;
}

Test(w3c_tracestate, PR_10_several_headers_are_one_list) {
    const spool_str lines[] = {SPOOL_STR("foo=1"), SPOOL_STR(""), SPOOL_STR("bar=2, "),
                               SPOOL_STR("baz=3")};
    expect_state(lines, 4, "foo=1,bar=2,baz=3", "several");
    const spool_str bad[] = {SPOOL_STR("foo=1"), SPOOL_STR("BAR=2")};
    expect_state(bad, 2, NULL, "one of them bad");
    SPT_TEST_END;
}

Test(w3c_tracestate, PR_10_lengths_of_key_and_value) {
    char text[1200];
    for (int key = 255; key <= 257; key++) {
        for (int value = 255; value <= 257; value++) {
            memset(text, 'z', sizeof text);
            text[key] = '=';
            text[key + 1 + value] = '\0';
            const spool_str line = spool_str_of(text);
            expect_state(&line, 1, key <= 256 && value <= 256 ? text : NULL, "lengths");
            memset(text + key + 1 + value, ' ', 3);
            text[key + 1 + value + 3] = '\0';
            const spool_str padded = spool_str_of(text);
            char trimmed[1200];
            memcpy(trimmed, text, sizeof trimmed);
            trimmed[key + 1 + value] = '\0';
            expect_state(&padded, 1, key <= 256 && value <= 256 ? trimmed : NULL, "padded");
        }
    }
    SPT_TEST_END;
}

Test(w3c_tracestate, PR_11_the_largest_legal_one_goes_through_whole) {
    static char text[32 * 515];
    size_t used = 0;
    for (int i = 0; i < 32; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%02d%0254d=%0256d",
                                 i ? "," : "", i, 0, 1);
    }
    const spool_str line = spool_str_n(text, used);
    expect_state(&line, 1, text, "32 of 513");
    SPT_TEST_END;
}

Test(w3c_tracestate, hostile_amounts_are_dropped_at_once) {
    enum { SIZE = 4 * 1024 * 1024 };
    char *text = malloc(SIZE);
    memset(text, ',', SIZE);
    spool_str lines[199];
    for (size_t i = 0; i < 199; i++) {
        lines[i] = spool_str_n(text, SIZE);
    }
    uint64_t start = spt_now_ns();
    spool_context context = with_states(lines, 199);
    cr_assert(spt_now_ns() - start < 100 * 1000 * 1000, "800 MB of commas are not looked at");
    cr_assert(spool_span_context_is_valid(&context.span));
    cr_assert_null(context.block);
    free(text);
    SPT_TEST_END;
}
