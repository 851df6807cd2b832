/* SPDX-License-Identifier: Apache-2.0 */
/* The baggage header (W3C Baggage; rows BG-06 to BG-11, PR-03). */
#include "carrier.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct baggage_row {
    spool_str in;
    const char *out; /* as it is sent on; NULL: nothing is left */
} baggage_row;

#define ROW(in, out)                                                                               \
    { SPOOL_STR_INIT(in), out }

static const baggage_row rows[] = {
    ROW("a=1", "a=1"),
    ROW("a=1,b=2", "a=1,b=2"),
    ROW(" a\t=\t1 , b = 2 ", "a=1,b=2"),
    ROW("a=1,,b=2,", "a=1,b=2"),
    ROW("a=", "a="),
    ROW("a=b=c", "a=b=c"),
    ROW("a=b==", "a=b=="),
    ROW("a=+", "a=+"),
    ROW("a=%20", "a=%20"),
    ROW("a=%25", "a=%25"),
    ROW("a=%2c%3B%5c%22", "a=%2C%3B%5C%22"),
    ROW("a=%41%7e", "a=A~"),
    ROW("a=Am%C3%A9lie", "a=Am%C3%A9lie"),
    ROW("a=%FF", "a=%EF%BF%BD"),
    ROW("a=%C3x", "a=%EF%BF%BDx"),
    ROW("a=%00", "a=%00"),
    ROW("a=!#$&'()*+-./:<=>?@[]^_`{|}~", "a=!#$&'()*+-./:<=>?@[]^_`{|}~"),
    ROW("!#$%&'*+-.^_`|~9Az=1", "!#$%&'*+-.^_`|~9Az=1"),
    /* Properties are kept as they are. */
    ROW("a=1;p", "a=1;p"),
    ROW("a=1 ; p=2 ;\tq ", "a=1;p=2 ;\tq"),
    ROW("a=1;p=%zz;;x=y", "a=1;p=%zz;;x=y"),
    ROW("a=1;", "a=1"),
    ROW("a=;p=q", "a=;p=q"),
    /* The last of a repeated name counts; names are case-sensitive. */
    ROW("a=1,b=2,a=3;m", "a=3;m,b=2"),
    ROW("a=1,A=2", "a=1,A=2"),
    /* Members that are not valid are skipped alone. */
    ROW("a", NULL),
    ROW("a,b=2", "b=2"),
    ROW("=1", NULL),
    ROW(" =1,b=2", "b=2"),
    ROW("a b=1,b=2", "b=2"),
    ROW("a@=1,b=2", "b=2"),
    ROW("a;p=1,b=2", "b=2"),
    ROW("\xc3\xa9=1,b=2", "b=2"),
    ROW("a=%zz,b=2", "b=2"),
    ROW("a=%,b=2", "b=2"),
    ROW("a=%4,b=2", "b=2"),
    ROW("a=%4g,b=2", "b=2"),
    ROW("a=x y,b=2", "b=2"),
    ROW("a=\"x\",b=2", "b=2"),
    ROW("a=x\\y,b=2", "b=2"),
    ROW("a=\xc3\xa9,b=2", "b=2"),
    ROW("a=x\0y,b=2", "b=2"),
    ROW("a=1;p\x01,b=2", "b=2"),
    ROW("a=1;p\r\nx: y,b=2", "b=2"),
    ROW("a=1;\xc3\xa9,b=2", "b=2"),
    ROW("", NULL),
    ROW(",", NULL),
    ROW(" , ;,=", NULL),
};

static const spool_str baggage_field = SPOOL_STR_INIT("baggage");

static void expect_out(const spool_context *context, const char *expected, const char *what) {
    const char *out = injected(context, "baggage");
    if (expected) {
        cr_assert_not_null(out, "%s", what);
        cr_assert_str_eq(out, expected, "%s", what);
    } else {
        cr_assert_null(out, "%s", what);
    }
}

Test(w3c_baggage, BG_09_BG_10_every_row_of_the_table) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_context context = extracted_one(baggage_field, rows[i].in);
        expect_out(&context, rows[i].out, rows[i].in.ptr);
        spool_context_release(&context);
    }
    SPT_TEST_END;
}

static void expect_value(const spool_context *context, const char *name, const char *value) {
    spool_str got = {NULL, 0};
    cr_assert(spool_baggage_get(spool_context_baggage(context), name, &got));
    cr_assert_eq(got.len, strlen(value));
    cr_assert_eq(memcmp(got.ptr, value, got.len), 0, "%.*s", (int)got.len, got.ptr);
}

Test(w3c_baggage, BG_10_values_are_decoded_and_bad_utf8_is_replaced) {
    spool_context context = extracted_one(
        baggage_field, SPOOL_STR("name=Am%C3%A9lie,plus=+,bad=%FF,eq=a=b=c,sp=%20x%20,pct=%25"));
    expect_value(&context, "name", "Am\xc3\xa9lie");
    expect_value(&context, "plus", "+");
    expect_value(&context, "bad", "\xef\xbf\xbd");
    expect_value(&context, "eq", "a=b=c");
    expect_value(&context, "sp", " x ");
    expect_value(&context, "pct", "%");
    spool_context_release(&context);
    SPT_TEST_END;
}

Test(w3c_baggage, BG_06_metadata_is_kept_verbatim) {
    spool_context context = extracted_one(baggage_field, SPOOL_STR("a=1 ; p = %41 ;q\t"));
    spool_baggage_entry entry;
    cr_assert(spool_baggage_at(spool_context_baggage(&context), 0, &entry));
    cr_assert_eq(entry.metadata.len, strlen("p = %41 ;q"));
    cr_assert_eq(memcmp(entry.metadata.ptr, "p = %41 ;q", entry.metadata.len), 0);
    spool_context_release(&context);
    SPT_TEST_END;
}

Test(w3c_baggage, BG_11_several_headers_are_one_list) {
    static const spool_header headers[] = {{SPOOL_STR_INIT("baggage"), SPOOL_STR_INIT("a=1")},
                                           {SPOOL_STR_INIT("x"), SPOOL_STR_INIT("y=9")},
                                           {SPOOL_STR_INIT("Baggage"), {NULL, 0}},
                                           {SPOOL_STR_INIT("BAGGAGE"), SPOOL_STR_INIT("b=2,a=3")}};
    spool_context context = extracted(headers, 4);
    expect_out(&context, "a=3,b=2", "several");
    spool_context_release(&context);
    SPT_TEST_END;
}

Test(w3c_baggage, PR_03_nothing_valid_leaves_the_baggage_as_it_was) {
    spool_context base = extracted_one(baggage_field, SPOOL_STR("a=1"));
    const spool_header header = {SPOOL_STR("baggage"), SPOOL_STR("nonsense")};
    const spool_header_list list = {&header, 1};
    spool_context same = spool_extract(&base, &spool_header_getter, &list);
    cr_assert_eq(memcmp(&same, &base, sizeof same), 0);
    spool_context_release(&same);
    spool_context_release(&base);
    SPT_TEST_END;
}

/* `count` members, the last one padded so that the whole header has `size` bytes; from malloc. */
static char *header_of(int count, size_t size) {
    size_t room = size + (size_t)count * 16 + 16;
    char *text = malloc(room);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, room - used, "%skey%03d=value", i ? "," : "", i);
    }
    if (used < size) {
        memset(text + used, 'x', size - used);
        used = size;
    }
    text[used] = '\0';
    return text;
}

Test(w3c_baggage, BG_08_T63_64_members_and_8192_bytes_go_through_whole) {
    for (int count = 1; count <= 64; count += 63) {
        char *text = header_of(count, 8192);
        cr_assert_eq(strlen(text), 8192);
        spool_context context = extracted_one(baggage_field, spool_str_of(text));
        cr_assert_eq(spool_baggage_count(spool_context_baggage(&context)), (size_t)count);
        expect_out(&context, text, "the floor");
        spool_context_release(&context);
        free(text);
    }
    SPT_TEST_END;
}

Test(w3c_baggage, BG_08_spread_over_headers_it_is_the_same_floor) {
    char *text = header_of(64, 8192);
    char *second = strchr(text + 400, ',');
    const spool_header headers[] = {
        {baggage_field, spool_str_n(text, (size_t)(second - text))},
        {baggage_field, spool_str_of(second + 1)},
    };
    spool_context context = extracted(headers, 2);
    expect_out(&context, text, "two lines");
    spool_context_release(&context);
    free(text);
    SPT_TEST_END;
}

Test(w3c_baggage, T63_above_the_floor_whole_members_are_dropped) {
    char *text = header_of(1, 8193);
    spool_context context = extracted_one(baggage_field, spool_str_of(text));
    expect_out(&context, NULL, "one of 8193 bytes");
    free(text);

    text = header_of(500, 0);
    context = extracted_one(baggage_field, spool_str_of(text));
    cr_assert_eq(spool_baggage_count(spool_context_baggage(&context)), 64);
    char *first = header_of(64, 0);
    expect_out(&context, first, "500 members");
    spool_context_release(&context);
    free(first);
    free(text);

    /* A large one in the middle is dropped, the small ones around it stay. */
    char *large = header_of(1, 10 * 1024);
    char all[11 * 1024];
    snprintf(all, sizeof all, "a=1,%s,b=2", large);
    context = extracted_one(baggage_field, spool_str_of(all));
    expect_out(&context, "a=1,b=2", "10 KB in the middle");
    spool_context_release(&context);
    free(large);
    SPT_TEST_END;
}

Test(w3c_baggage, BG_08_inject_drops_whole_members_too) {
    char name[16];
    spool_baggage *baggage = NULL;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "k%d", i);
        spool_baggage *more = spool_baggage_set(baggage, name, "v");
        spool_baggage_release(baggage);
        baggage = more;
    }
    spool_context context = spool_context_with_baggage(NULL, baggage);
    spool_baggage_release(baggage);
    const char *out = injected(&context, "baggage");
    unsigned commas = 0;
    for (const char *at = out; *at; at++) {
        commas += *at == ',';
    }
    cr_assert_eq(commas, 63);
    cr_assert_str_eq(strrchr(out, ','), ",k63=v");
    spool_context_release(&context);

    static char large[8193];
    memset(large, '%', sizeof large - 1);
    baggage = spool_baggage_set(NULL, "large", large);
    spool_baggage *both = spool_baggage_set(baggage, "small", "v");
    context = spool_context_with_baggage(NULL, both);
    expect_out(&context, "small=v", "encoded it is three times as long");
    spool_context_release(&context);
    spool_baggage_release(both);
    spool_baggage_release(baggage);
    SPT_TEST_END;
}

Test(w3c_baggage, PR_04_what_a_header_cannot_express_is_left_out_whole) {
    const spool_str none = SPOOL_STR("");
    spool_baggage *steps[5] = {NULL};
    steps[0] = spool_baggage_set(NULL, "na me", "v");
    steps[1] = spool_baggage_set(steps[0], "\xc3\xa9", "v");
    steps[2] =
        spool_baggage_set_n(steps[1], SPOOL_STR("a"), SPOOL_STR("v"), SPOOL_STR("x\r\ny: z"));
    steps[3] = spool_baggage_set_n(steps[2], SPOOL_STR("b"), SPOOL_STR("v"), SPOOL_STR("x,c=d"));
    steps[4] = spool_baggage_set_n(steps[3], SPOOL_STR("ok"), SPOOL_STR("\r\n\xe2\x82\xac"), none);
    cr_assert_eq(spool_baggage_count(steps[4]), 5);
    spool_context context = spool_context_with_baggage(NULL, steps[4]);
    expect_out(&context, "ok=%0D%0A%E2%82%AC", "header injection");
    spool_context_release(&context);
    for (size_t i = 0; i < 5; i++) {
        spool_baggage_release(steps[i]);
    }
    SPT_TEST_END;
}

Test(w3c_baggage, T63_a_hundred_lines_of_8_KB_cost_under_a_millisecond) {
    enum { LINES = 100, ROUNDS = 20 };
    static const char *const fillings[] = {",", "a=1,", "%41", "a=%41,", "=", ";", " ", "k=v;p,"};
    spool_header headers[LINES];
    char *line = malloc(8192);
    for (size_t filling = 0; filling < sizeof fillings / sizeof fillings[0]; filling++) {
        size_t len = strlen(fillings[filling]);
        for (size_t i = 0; i < 8192; i++) {
            line[i] = fillings[filling][i % len];
        }
        for (size_t i = 0; i < LINES; i++) {
            headers[i] = (spool_header){baggage_field, spool_str_n(line, 8192)};
        }
        uint64_t best = UINT64_MAX;
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t start = spt_now_ns();
            spool_context context = extracted(headers, LINES);
            uint64_t took = spt_now_ns() - start;
            best = took < best ? took : best;
            cr_assert(spool_baggage_count(spool_context_baggage(&context)) <= 64);
            spool_context_release(&context);
        }
        if (!SPT_ASAN) {
            cr_assert(best < 1000 * 1000, "%s: %llu ns", fillings[filling],
                      (unsigned long long)best);
        }
    }
    free(line);
    SPT_TEST_END;
}

/* What a request retains; the reader's temporary memory has its own bound where it is declared. */
Test(w3c_baggage, T63_what_is_kept_of_a_request_is_under_32_KiB) {
    enum { LINES = 100, SIZE = 8000 };
    static spool_header headers[LINES];
    char *line = header_of(500, SIZE);
    for (size_t i = 0; i < LINES; i++) {
        headers[i] = (spool_header){baggage_field, spool_str_n(line, SIZE)};
    }
    spool_context warm = extracted(headers, LINES);
    spool_context_release(&warm);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    spool_context context = extracted(headers, LINES);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    cr_assert_eq(spool_baggage_count(spool_context_baggage(&context)), 64);
    if (!SPT_ASAN) {
        cr_assert(after > before && after - before < 32 * 1024, "%zu bytes", after - before);
    }
    spool_context_release(&context);
    free(line);
    SPT_TEST_END;
}

Test(w3c_baggage, T63_ten_thousand_empty_lines_are_not_all_asked_for) {
    enum { LINES = 10000 };
    spool_header *headers = malloc(LINES * sizeof *headers);
    for (size_t i = 0; i < LINES; i++) {
        headers[i] = (spool_header){baggage_field, SPOOL_STR("")};
    }
    uint64_t start = spt_now_ns();
    spool_context context = extracted(headers, LINES);
    cr_assert(spt_now_ns() - start < 100 * 1000 * 1000);
    cr_assert_null(context.block);
    free(headers);
    SPT_TEST_END;
}
