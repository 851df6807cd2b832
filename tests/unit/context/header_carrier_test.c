/* SPDX-License-Identifier: Apache-2.0 */
/* Header lists and buffers. */
#include <spool/propagation.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_text(spool_str got, const char *text) {
    cr_assert_eq(got.len, strlen(text), "%.*s", (int)got.len, got.ptr);
    cr_assert_eq(memcmp(got.ptr, text, got.len), 0, "%.*s", (int)got.len, got.ptr);
}

Test(header_carrier, PR_02_names_are_compared_without_case_and_repeat) {
    static const spool_header headers[] = {
        {SPOOL_STR_INIT("Host"), SPOOL_STR_INIT("x")},
        {SPOOL_STR_INIT("BaGGage"), SPOOL_STR_INIT("a=1")},
        {{NULL, 0}, {NULL, 0}},
        {SPOOL_STR_INIT("baggage"), {NULL, 7}},
        {SPOOL_STR_INIT("baggages"), SPOOL_STR_INIT("c=3")},
        {SPOOL_STR_INIT("BAGGAGE"), SPOOL_STR_INIT("d=4")},
    };
    const spool_header_list list = {headers, sizeof headers / sizeof headers[0]};
    spool_str value;
    cr_assert(spool_header_getter.get(&list, SPOOL_STR("baggage"), 0, &value));
    expect_text(value, "a=1");
    cr_assert(spool_header_getter.get(&list, SPOOL_STR("baggage"), 1, &value));
    cr_assert_eq(value.len, 0);
    cr_assert(spool_header_getter.get(&list, SPOOL_STR("baggage"), 2, &value));
    expect_text(value, "d=4");
    cr_assert_not(spool_header_getter.get(&list, SPOOL_STR("baggage"), 3, &value));
    cr_assert_not(spool_header_getter.get(&list, SPOOL_STR("traceparent"), 0, &value));
    cr_assert(spool_header_getter.key(&list, 1, &value));
    expect_text(value, "BaGGage");
    cr_assert_not(spool_header_getter.key(&list, 6, &value));
    SPT_TEST_END;
}

Test(header_carrier, T39_empty_carriers_are_harmless) {
    const spool_header_list none = {NULL, 4};
    spool_header_buffer nowhere = {0};
    spool_str value;
    cr_assert_not(spool_header_getter.get(&none, SPOOL_STR("a"), 0, &value));
    cr_assert_not(spool_header_getter.get(NULL, SPOOL_STR("a"), 0, &value));
    cr_assert_not(spool_header_getter.key(NULL, 0, &value));
    cr_assert_not(spool_header_getter.key(&none, 0, &value));
    spool_header_setter.set(NULL, SPOOL_STR("a"), SPOOL_STR("b"));
    spool_header_setter.set(&nowhere, SPOOL_STR("a"), SPOOL_STR("b"));
    cr_assert_eq(nowhere.dropped, 1);
    SPT_TEST_END;
}

Test(header_carrier, set_replaces_and_ends_texts_in_nul) {
    spool_header items[3];
    char text[64];
    memset(text, 'x', sizeof text);
    spool_header_buffer buffer = {items, 3, 0, text, sizeof text, 0, 0};
    spool_header_setter.set(&buffer, SPOOL_STR("one"), SPOOL_STR("1"));
    spool_header_setter.set(&buffer, SPOOL_STR("two"), SPOOL_STR("2"));
    spool_header_setter.set(&buffer, SPOOL_STR("ONE"), SPOOL_STR("longer"));
    cr_assert_eq(buffer.count, 2);
    cr_assert_str_eq(items[0].name.ptr, "two");
    cr_assert_str_eq(items[0].value.ptr, "2");
    cr_assert_str_eq(items[1].name.ptr, "ONE");
    cr_assert_str_eq(items[1].value.ptr, "longer");
    cr_assert_eq(buffer.dropped, 0);
    /* The last one's room is used again: a buffer may be set for ever. */
    size_t used = buffer.text_used;
    for (int i = 0; i < 100; i++) {
        spool_header_setter.set(&buffer, SPOOL_STR("one"), SPOOL_STR("longer"));
    }
    cr_assert_eq(buffer.text_used, used);
    cr_assert_eq(buffer.dropped, 0);
    SPT_TEST_END;
}

Test(header_carrier, what_does_not_fit_is_left_out_whole) {
    for (size_t room = 0; room <= 12; room++) {
        spool_header items[2];
        char text[13];
        memset(text, '#', sizeof text);
        spool_header_buffer buffer = {items, 2, 0, text, room, 0, 0};
        spool_header_setter.set(&buffer, SPOOL_STR("name"), SPOOL_STR("value"));
        cr_assert_eq(buffer.count, room >= 11, "with room %zu", room);
        cr_assert_eq(buffer.dropped, room < 11);
        cr_assert_eq(text[room < 11 ? 0 : 11], '#');
        cr_assert_eq(buffer.text_used, room >= 11 ? 11 : 0);
    }
    spool_header items[1];
    char text[64];
    spool_header_buffer buffer = {items, 1, 0, text, sizeof text, 0, 0};
    spool_header_setter.set(&buffer, SPOOL_STR("a"), SPOOL_STR("1"));
    spool_header_setter.set(&buffer, SPOOL_STR("b"), SPOOL_STR("2"));
    cr_assert_eq(buffer.count, 1);
    cr_assert_eq(buffer.dropped, 1);
    /* One that is out of date does not stay. */
    spool_header_setter.set(&buffer, SPOOL_STR("a"), (spool_str){text, SIZE_MAX});
    cr_assert_eq(buffer.count, 0);
    cr_assert_eq(buffer.dropped, 2);
    SPT_TEST_END;
}
