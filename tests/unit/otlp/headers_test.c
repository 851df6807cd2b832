/* SPDX-License-Identifier: Apache-2.0 */
/* The configured request headers. */
#include "exporters/otlp/headers.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct header_case {
    const char *text;
    const char *lines; /* joined by "|" */
    size_t skipped;
    size_t first_skipped;
} header_case;

static const header_case CASES[] = {
    {NULL, "", 0, 0},
    {"", "", 0, 0},
    {" , ,, ", "", 0, 0},
    {"authorization=Basic%20YWJjZA==", "authorization: Basic YWJjZA==", 0, 0},
    {"authorization=Basic YWJjZA==", "authorization: Basic YWJjZA==", 0, 0},
    {"a=1,b=2,a=3", "a: 3|b: 2", 0, 0},
    {"a=1,A=2", "A: 2", 0, 0},
    {"=x", "", 1, 1},
    {"k", "", 1, 1},
    {"k=", "k: ", 0, 0},
    {" k = v ", "k: v", 0, 0},
    {"\tk\t=\tv\t,\tl = w w ", "k: v|l: w w", 0, 0},
    {"k=v;p=1;q", "k: v;p=1;q", 0, 0},
    {"k=a=b=c", "k: a=b=c", 0, 0},
    {"k=a%2Cb%3Dc%25", "k: a,b=c%", 0, 0},
    {"k=100%,l=%zz%4,m=%", "k: 100%|l: %zz%4|m: %", 0, 0},
    {"k=a+b", "k: a+b", 0, 0},
    {"k=%C3%A9", "k: \xc3\xa9", 0, 0},
    {"k=v%0d%0aX:1", "", 1, 1},
    {"k=v%0AX", "", 1, 1},
    {"k=v%00x", "", 1, 1},
    {"k=v%7f", "", 1, 1},
    {"k=a%09b", "k: a\tb", 0, 0},
    {"a key=v", "", 1, 1},
    {"a:b=v", "", 1, 1},
    {"k%0d=v", "k%0d: v", 0, 0},
    {"k\r\nX=v", "", 1, 1},
    {"\xc3\xa9=v", "", 1, 1},
    {"content-type=text/plain,a=1", "a: 1", 1, 1},
    {"a=1,Content-Length=3,TE=x,b", "a: 1", 3, 2},
    {"host=collector.example", "host: collector.example", 0, 0},
    {"good=1,bad,also good=2,fine=3", "good: 1|fine: 3", 2, 2},
};

static void lines_join(const sp_headers *headers, char *out, size_t size) {
    out[0] = '\0';
    for (size_t i = 0; i < headers->count; i++) {
        cr_assert(strlen(out) + strlen(headers->lines[i]) + 2 < size);
        strcat(out, i ? "|" : "");
        strcat(out, headers->lines[i]);
    }
    cr_assert_null(headers->lines[headers->count]);
}

Test(headers, each_form_gives_its_lines) {
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        sp_headers made;
        char joined[512];
        cr_assert(sp_headers_parse(CASES[i].text, &made));
        lines_join(&made, joined, sizeof joined);
        cr_expect_str_eq(joined, CASES[i].lines, "%s gives %s", CASES[i].text, joined);
        cr_expect_eq(made.skipped, CASES[i].skipped, "%s", CASES[i].text);
        cr_expect_eq(made.first_skipped, CASES[i].first_skipped, "%s", CASES[i].text);
        cr_expect_eq(made.first_reason != NULL, made.skipped > 0);
        sp_headers_fini(&made);
    }
    SPT_TEST_END;
}

Test(headers, reasons_hold_nothing_of_the_text) {
    sp_headers made;
    cr_assert(sp_headers_parse("se cret=1,secret,=secret,k=secret%0d", &made));
    cr_expect_eq(made.skipped, 4);
    cr_expect_null(strstr(made.first_reason, "cret"));
    sp_headers_fini(&made);
    SPT_TEST_END;
}

Test(headers, sizes_are_bounded) {
    enum { LONG = 65536, PAIRS = 200 };
    static char text[LONG + 8];
    sp_headers made;
    memset(text, 'v', LONG);
    memcpy(text, "k=", 2);
    cr_assert(sp_headers_parse(text, &made));
    cr_expect_eq(made.count, 0);
    cr_expect_eq(made.skipped, 1);
    sp_headers_fini(&made);
    text[16384] = '\0';
    cr_assert(sp_headers_parse(text, &made));
    cr_expect_eq(made.count, 1);
    cr_expect_eq(strlen(made.lines[0]), 16384 + 1);
    sp_headers_fini(&made);

    size_t used = 0;
    for (int i = 0; i < PAIRS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "k%d=%d,", i, i);
    }
    cr_assert(sp_headers_parse(text, &made));
    cr_expect_eq(made.count, 128);
    cr_expect_eq(made.skipped, PAIRS - 128);
    cr_expect_eq(made.first_skipped, 129);
    sp_headers_fini(&made);
    SPT_TEST_END;
}

Test(headers, default_gives_way_to_what_is_configured) {
    sp_headers made;
    char joined[256];
    cr_assert(sp_headers_parse("user-agent=mine", &made));
    cr_assert(sp_headers_default(&made, "User-Agent: ours"));
    cr_assert(sp_headers_default(&made, "Content-Type: x"));
    lines_join(&made, joined, sizeof joined);
    cr_expect_str_eq(joined, "user-agent: mine|Content-Type: x");
    sp_headers_fini(&made);
    SPT_TEST_END;
}

Test(headers, any_bytes_are_survived) {
    static const char ALPHABET[] = "ab=,% \t\r\n;0dA\xc3\x01:";
    spt_random random = {spt_seed(7)};
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t len = spt_random_below(&random, sizeof text);
        for (size_t i = 0; i < len; i++) {
            text[i] = ALPHABET[spt_random_below(&random, sizeof ALPHABET - 1)];
        }
        text[len] = '\0';
        sp_headers made;
        cr_assert(sp_headers_parse(text, &made));
        for (size_t i = 0; i < made.count; i++) {
            cr_assert_null(strpbrk(made.lines[i], "\r\n\x01"), "%s", text);
            cr_assert_neq(made.lines[i][0], ':');
        }
        sp_headers_fini(&made);
    }
    SPT_TEST_END;
}
