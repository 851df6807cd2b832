/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: checking, repair and cutting, against a brute-force model. */
#include "sdk/wire/utf8.h"
#include "tests/support/spt.h"
#include "tests/unit/wire/generator.h"
#include "tests/unit/wire/reference.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, size_t len, uint32_t max_chars) {
    /* A copy of exactly this length, so that the sanitizers see a read past the end. */
    char *exact = malloc(len ? len : 1);
    memcpy(exact, text, len);
    spool_str model = spt_model_text(spool_str_n(exact, len), max_chars);
    sp_utf8_extent extent = sp_utf8_measure(exact, len, max_chars);
    uint8_t *out = malloc(extent.size ? extent.size : 1);
    sp_utf8_write(out, exact, &extent);
    cr_assert_eq(extent.size, model.len);
    cr_assert(memcmp(out, model.ptr, model.len) == 0);
    cr_assert(sp_utf8_is_valid(model.ptr, model.len));
    if (max_chars == UINT32_MAX) {
        bool same = model.len == len && memcmp(model.ptr, exact, len) == 0;
        /* A U+FFFD in the input is no repair. */
        cr_assert_eq(sp_utf8_is_valid(exact, len), same);
        cr_assert_eq(extent.replaced == 0, same);
        cr_assert_eq(extent.taken, len);
    }
    free(out);
    free((void *)model.ptr);
    free(exact);
}

static void check_repair(const char *bad, const char *good) {
    size_t len = strlen(bad);
    sp_utf8_extent extent = sp_utf8_measure(bad, len, UINT32_MAX);
    uint8_t out[128];
    cr_assert_lt(extent.size, sizeof out);
    sp_utf8_write(out, bad, &extent);
    cr_assert_eq(extent.size, strlen(good), "%s", good);
    cr_assert(memcmp(out, good, extent.size) == 0, "%s", good);
}

#define R "\xEF\xBF\xBD"

Test(utf8, maximal_subparts_become_one_replacement_each) {
    /* The example of the Unicode standard, section 3.9. */
    check_repair("a\xF1\x80\x80\xE1\x80\xC2"
                 "b\x80"
                 "c\x80\xBF"
                 "d",
                 "a" R R R "b" R "c" R R "d");
    check_repair("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", R R R R R R R R "A");
    check_repair("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", R R R R R R R R "A");
    check_repair("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", R R R R R "A" R R "B");
    check_repair("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", R R R R "A");
    check_repair("\xF0\x9F\x98", R);
    check_repair("caf\xE9", "caf" R);
    check_repair("", "");
    SPT_TEST_END;
}

Test(utf8, every_text_of_up_to_two_bytes_agrees_with_the_model) {
    char text[2];
    for (unsigned a = 0; a < 256; a++) {
        text[0] = (char)a;
        check_text(text, 1, UINT32_MAX);
        for (unsigned b = 0; b < 256; b++) {
            text[1] = (char)b;
            check_text(text, 2, UINT32_MAX);
        }
    }
    SPT_TEST_END;
}

Test(utf8, the_edges_of_longer_sequences_agree_with_the_model) {
    static const uint8_t edges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                    0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                    0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFE, 0xFF};
    enum { EDGES = sizeof edges };
    char text[5];
    for (size_t n = 0; n < (size_t)EDGES * EDGES * EDGES * EDGES; n++) {
        size_t rest = n;
        for (size_t i = 0; i < 4; i++, rest /= EDGES) {
            text[i] = (char)edges[rest % EDGES];
        }
        text[4] = 'z';
        check_text(text, 3 + n % 3, n % 7 == 0 ? (uint32_t)(n % 5) : UINT32_MAX);
    }
    SPT_TEST_END;
}

Test(utf8, a_bad_byte_is_found_at_every_place_of_every_length) {
    char text[80];
    for (size_t len = 1; len <= sizeof text; len++) {
        for (size_t bad = 0; bad < len; bad++) {
            memset(text, 'x', sizeof text);
            cr_assert(sp_utf8_is_valid(text, len));
            text[bad] = '\x80';
            cr_assert(!sp_utf8_is_valid(text, len), "length %zu, place %zu", len, bad);
        }
    }
    SPT_TEST_END;
}

Test(utf8, cutting_counts_characters_and_never_splits_one) {
    static const char text[] = "añ€😀z";
    static const size_t ends[] = {0, 1, 3, 6, 10, 11, 11};
    for (uint32_t chars = 0; chars < 7; chars++) {
        sp_utf8_extent extent = sp_utf8_measure(text, sizeof text - 1, chars);
        cr_assert_eq(extent.size, ends[chars]);
        cr_assert_eq(extent.taken, ends[chars]);
        cr_assert_eq(extent.replaced, 0);
    }
    SPT_TEST_END;
}

Test(utf8, random_texts_agree_with_the_model) {
    spt_generator generator;
    spt_generator_init(&generator, spt_seed(0x75746638));
    for (unsigned i = 0; i < 100000; i++) {
        spool_str text = spt_random_text(&generator, i % 100 == 0 ? 500 : 60);
        check_text(text.ptr, text.len, UINT32_MAX);
        check_text(text.ptr, text.len, (uint32_t)spt_random_below(&generator.random, 60));
        spt_generator_reset(&generator);
    }
    spt_generator_fini(&generator);
    SPT_TEST_END;
}
