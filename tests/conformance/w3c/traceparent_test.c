/* SPDX-License-Identifier: Apache-2.0 */
/* The traceparent header (W3C Trace Context level 2, 3.2; rows PR-03, PR-07 to PR-09). */
#include "carrier.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct parent_row {
    spool_str in;
    const char *out; /* what is sent on; NULL: the header is not valid */
} parent_row;

#define ROW(in, out)                                                                               \
    { SPOOL_STR_INIT(in), out }
#define T W3C_TRACE
#define P W3C_SPAN
#define SENT(flags) "00-" T "-" P "-" flags

static const parent_row rows[] = {
    ROW("00-" T "-" P "-01", SENT("01")),
    ROW("00-" T "-" P "-00", SENT("00")),
    ROW(" \t00-" T "-" P "-01 \t", SENT("01")),
    ROW("00-" T "-" P "-01.", NULL),
    ROW("00-" T "-" P "-01-x", NULL),
    ROW("00-" T "-" P "-01-", NULL),
    ROW("00-" T "-" P "-01," W3C_PARENT, NULL),
    ROW("cc-" T "-" P "-01", SENT("01")),
    ROW("cc-" T "-" P "-01-x", SENT("01")),
    ROW("cc-" T "-" P "-01-", SENT("01")),
    ROW("01-" T "-" P "-01-extra", SENT("01")),
    ROW("cc-" T "-" P "-01.x", NULL),
    ROW("cc-" T "-" P "-01x", NULL),
    ROW("cc-" T "-" P "-0", NULL),
    ROW("cc-" T "-" P "-01-\0", NULL),
    ROW("fe-" T "-" P "-00", SENT("00")),
    ROW("ff-" T "-" P "-01", NULL),
    ROW("FF-" T "-" P "-01", NULL),
    ROW("0A-" T "-" P "-01", NULL),
    /* Flags: 0x03 known in version 00, the sampled bit alone in a later one. */
    ROW("00-" T "-" P "-03", SENT("03")),
    ROW("00-" T "-" P "-02", SENT("02")),
    ROW("00-" T "-" P "-ff", SENT("03")),
    ROW("00-" T "-" P "-fc", SENT("00")),
    ROW("01-" T "-" P "-03", SENT("01")),
    ROW("01-" T "-" P "-fe", SENT("00")),
    ROW("00-" T "-" P "-0A", NULL),
    ROW("00-" T "-" P "-zz", NULL),
    ROW("00-" T "-" P "-1", NULL),
    ROW("00-" T "-" P "-011", NULL),
    ROW("00-" T "-" P "-", NULL),
    ROW("00-" T "-" P, NULL),
    ROW("0-" T "-" P "-01", NULL),
    ROW("000-" T "-" P "-01", NULL),
    ROW("00-00000000000000000000000000000000-" P "-01", NULL),
    ROW("00-" T "-0000000000000000-01", NULL),
    ROW("00-4BF92F3577B34DA6A3CE929D0E0E4736-" P "-01", NULL),
    ROW("00-4bf92f3577b34da6a3ce929d0e0e473G-" P "-01", NULL),
    ROW("00-" T "-00F067AA0BA902B7-01", NULL),
    ROW("00-4bf92f3577b34da6a3ce929d0e0e473-" P "-01", NULL),
    ROW("00-4bf92f3577b34da6a3ce929d0e0e4736a-" P "-01", NULL),
    ROW("00-" T "-00f067aa0ba902b-01", NULL),
    ROW("00-" T "-00f067aa0ba902b7a-01", NULL),
    ROW("00_" T "-" P "-01", NULL),
    ROW("00-" T "_" P "-01", NULL),
    ROW("00-" T "-" P "_01", NULL),
    ROW("00 " T "-" P "-01", NULL),
    ROW("00-" T " " P "-01", NULL),
    ROW("00- bf92f3577b34da6a3ce929d0e0e4736-" P "-01", NULL),
    ROW("00-4bf92f35\0007b34da6a3ce929d0e0e4736-" P "-01", NULL),
    ROW("00-" T "-" P "-0\0", NULL),
    ROW("00-" T "-" P "-01\0", NULL),
    /* Digits of another script, of the same number of bytes and of the same number of characters. */
    ROW("00-\xef\xbc\x94\xef\xbc\x94\xef\xbc\x94\xef\xbc\x94\xef\xbc\x94"
        "77b34da6a3ce929d0-" P "-01",
        NULL),
    ROW("00-\xef\xbc\x94"
        "bf92f3577b34da6a3ce929d0e0e4736-" P "-01",
        NULL),
    ROW("", NULL),
    ROW(" ", NULL),
    ROW("-", NULL),
    ROW("\xff\xff\xff\xff", NULL),
};

static const spool_str parent_field = SPOOL_STR_INIT("traceparent");

Test(w3c_traceparent, PR_08_T62_every_row_of_the_table) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_context context = extracted_one(parent_field, rows[i].in);
        cr_assert_eq(spool_span_context_is_valid(&context.span), rows[i].out != NULL, "row %zu: %s",
                     i, rows[i].in.ptr);
        const char *out = injected(&context, "traceparent");
        if (rows[i].out) {
            cr_assert_eq(context.span.remote, 1);
            cr_assert_eq(context.handle.bits, 0);
            cr_assert_str_eq(out, rows[i].out, "row %zu", i);
        } else {
            cr_assert_null(out, "row %zu", i);
        }
        spool_context_release(&context);
    }
    SPT_TEST_END;
}

Test(w3c_traceparent, T62_every_byte_in_every_place) {
    char text[sizeof W3C_PARENT];
    for (size_t place = 0; place < sizeof text - 1; place++) {
        bool dash = W3C_PARENT[place] == '-';
        for (int byte = 0; byte < 256; byte++) {
            memcpy(text, W3C_PARENT, sizeof text);
            text[place] = (char)byte;
            bool hex = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
            spool_context context = extracted_one(parent_field, spool_str_n(text, sizeof text - 1));
            cr_assert_eq(spool_span_context_is_valid(&context.span), dash ? byte == '-' : hex,
                         "byte %d in place %zu", byte, place);
        }
    }
    SPT_TEST_END;
}

Test(w3c_traceparent, T62_64_KiB_of_it_is_refused) {
    enum { SIZE = 64 * 1024 };
    char *text = malloc(SIZE);
    const char *starts[] = {"0", W3C_PARENT "-", "01-" T "-" P "-01-", " "};
    for (size_t i = 0; i < 4; i++) {
        memset(text, i == 3 ? ' ' : '0', SIZE);
        memcpy(text, starts[i], strlen(starts[i]));
        spool_context context = extracted_one(parent_field, spool_str_n(text, SIZE));
        cr_assert_not(spool_span_context_is_valid(&context.span), "case %zu", i);
    }
    free(text);
    SPT_TEST_END;
}

Test(w3c_traceparent, PR_09_two_headers_are_not_valid_even_when_equal) {
    static const spool_header headers[] = {
        {SPOOL_STR_INIT("traceparent"), SPOOL_STR_INIT(W3C_PARENT)},
        {SPOOL_STR_INIT("Traceparent"), SPOOL_STR_INIT(W3C_PARENT)},
        {SPOOL_STR_INIT("tracestate"), SPOOL_STR_INIT("a=b")}};
    spool_context context = extracted(headers, 3);
    cr_assert_not(spool_span_context_is_valid(&context.span));
    cr_assert_eq(spool_context_trace_state(&context).len, 0);
    SPT_TEST_END;
}

Test(w3c_traceparent, the_name_is_accepted_in_any_case) {
    const char *names[] = {"TRACEPARENT", "TraceParent", "traceparent", "tRACEpARENT"};
    for (size_t i = 0; i < 4; i++) {
        spool_context context = extracted_one(spool_str_of(names[i]), SPOOL_STR(W3C_PARENT));
        cr_assert(spool_span_context_is_valid(&context.span));
    }
    const char *others[] = {"trace-parent", "trace.parent", "traceparent ", "traceparen"};
    for (size_t i = 0; i < 4; i++) {
        spool_context context = extracted_one(spool_str_of(others[i]), SPOOL_STR(W3C_PARENT));
        cr_assert_not(spool_span_context_is_valid(&context.span));
    }
    SPT_TEST_END;
}

Test(w3c_traceparent, PR_03_what_is_not_valid_leaves_the_context_as_it_was) {
    spool_context base = extracted_one(parent_field, SPOOL_STR(W3C_PARENT));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!rows[i].out) {
            const spool_header header = {parent_field, rows[i].in};
            const spool_header_list list = {&header, 1};
            spool_context same = spool_extract(&base, &spool_header_getter, &list);
            cr_assert_eq(memcmp(&same, &base, sizeof same), 0);
        }
    }
    SPT_TEST_END;
}

Test(w3c_traceparent, without_one_trace_state_is_not_read) {
    spool_context context = extracted_one(SPOOL_STR("tracestate"), SPOOL_STR("a=b"));
    cr_assert_null(context.block);
    SPT_TEST_END;
}
