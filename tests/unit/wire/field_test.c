/* SPDX-License-Identifier: Apache-2.0 */
/* Single attributes, events, links and texts, decoded by protobuf-c. */
#include "sdk/platform/diagnostics.h"
#include "tests/support/spt.h"
#include "tests/unit/wire/reference.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const sp_wire_limits no_limits = {UINT32_MAX, 64, UINT32_MAX};

static spt_key_value *decode_attr(const spool_attr *attr, const sp_wire_limits *limits,
                                  sp_scratch *scratch) {
    sp_wire_field field;
    sp_wire_piece message;
    cr_assert(sp_wire_attr(scratch, SP_WIRE_SPAN_ATTRS, attr, limits, &field));
    cr_assert(spt_unwrap(field.bytes, field.len, SP_WIRE_SPAN_ATTRS, &message));
    spt_key_value *got =
        opentelemetry__proto__common__v1__key_value__unpack(NULL, message.len, message.bytes);
    cr_assert_not_null(got);
    cr_assert_eq(field.key_len, got->key.len);
    cr_assert(memcmp(field.key, got->key.data, got->key.len) == 0);
    cr_assert(field.key > field.bytes && field.key + field.key_len <= field.bytes + field.len);
    return got;
}

static void free_attr(spt_key_value *got) {
    opentelemetry__proto__common__v1__key_value__free_unpacked(got, NULL);
}

static void check_attr(spool_attr attr, const sp_wire_limits *limits) {
    sp_scratch scratch = {NULL, NULL, NULL};
    spt_key_value *got = decode_attr(&attr, limits, &scratch);
    cr_assert(spt_attr_matches(&attr, got, limits), "%.*s", (int)attr.key.len, attr.key.ptr);
    free_attr(got);
    sp_scratch_fini(&scratch);
}

static double from_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

Test(field, scalars_keep_every_bit) {
    static const int64_t ints[] = {0,     1,     -1,        63,        64,        127,      128,
                                   16383, 16384, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
        check_attr(spool_int("int", ints[i]), &no_limits);
    }
    const double doubles[] = {0.0,
                              -0.0,
                              1.0,
                              -1.5,
                              INFINITY,
                              -INFINITY,
                              from_bits(UINT64_C(0x7FF8DEADBEEF1234)),
                              from_bits(UINT64_C(0xFFF0000000000001)),
                              from_bits(1)};
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
        check_attr(spool_double("double", doubles[i]), &no_limits);
    }
    check_attr(spool_bool("bool", false), &no_limits);
    check_attr(spool_bool("bool", true), &no_limits);
    check_attr(spool_uint("uint", (uint64_t)INT64_MAX + 1), &no_limits);
    check_attr(spool_uint("uint", UINT64_MAX), &no_limits);
    check_attr(spool_string("empty", ""), &no_limits);
    check_attr(spool_string("none", NULL), &no_limits);
    check_attr(spool_bytes("bytes", "a\0b\0", 4), &no_limits);
    check_attr(spool_bytes("bytes", "", 0), &no_limits);
    check_attr(spool_bytes("bytes", NULL, 0), &no_limits);
    check_attr(spool_string_n(spool_str_n("nul\0key", 7), spool_str_n("a\0b", 3)), &no_limits);
    SPT_TEST_END;
}

Test(field, text_without_memory_is_the_empty_value) {
    spool_attr attr = spool_string("k", "");
    attr.value.as.string = spool_str_n(NULL, 0);
    check_attr(attr, &no_limits);
    attr.value.as.string.len = 7;
    check_attr(attr, &no_limits);
    spool_value list = attr.value;
    check_attr(spool_array("k", &list, 1), &no_limits);
    attr.value.type = SPOOL_VALUE_BYTES;
    check_attr(attr, &no_limits);
    SPT_TEST_END;
}

Test(field, what_no_message_can_hold_is_refused_unread) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_field field;
    size_t huge = (size_t)1 << 40;
    spool_value item = spool_value_string_n(spool_str_n("x", huge));
    spool_attr attrs[] = {spool_string_n(SPOOL_STR("k"), spool_str_n("x", huge)),
                          spool_bytes("k", "x", huge), spool_int_n(spool_str_n("x", huge), 1),
                          spool_array("k", &item, 1)};
    for (size_t i = 0; i < sizeof attrs / sizeof attrs[0]; i++) {
        cr_assert(!sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &attrs[i], &no_limits, &field));
        cr_assert_null(field.bytes);
    }
    cr_assert(!sp_wire_event(&scratch, SPOOL_STR("e"), 1, attrs, 2, &no_limits, &field));
    cr_assert_null(field.bytes);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

/* Not under AddressSanitizer: its shadow takes more address space than any useful limit. */
Test(field, without_memory_there_is_no_field, .disabled = SPT_ASAN) {
    size_t len = (size_t)64 << 20;
    char *text = malloc(len);
    memset(text, 'm', len);
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_field field;
    struct rlimit before, none;
    cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 1;
    uint64_t counted = sp_misuse_read(SP_MISUSE_NO_MEMORY);
    spool_attr simple = spool_string_n(SPOOL_STR("k"), spool_str_n(text, len));
    spool_attr nested = spool_array("k", &simple.value, 1);
    cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
    bool made = sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &simple, &no_limits, &field);
    made |= sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &nested, &no_limits, &field);
    text[0] = '\xFF';
    spool_str repaired = sp_wire_text(&scratch, simple.value.as.string, UINT32_MAX);
    cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
    cr_assert(!made);
    cr_assert_eq(repaired.len, 0);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_NO_MEMORY), counted + 3);
    sp_scratch_fini(&scratch);
    free(text);
    SPT_TEST_END;
}

Test(field, a_number_as_text_is_not_cut) {
    sp_wire_limits limits = {3, 64, UINT32_MAX};
    check_attr(spool_array("a", (spool_value[]){spool_value_int(123456)}, 1), &limits);
    sp_scratch scratch = {NULL, NULL, NULL};
    spool_attr attr = spool_uint("n", UINT64_MAX);
    spt_key_value *got = decode_attr(&attr, &limits, &scratch);
    cr_assert_eq(got->value->string_value.len, 20);
    cr_assert(memcmp(got->value->string_value.data, "18446744073709551615", 20) == 0);
    free_attr(got);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(field, texts_of_every_short_length_are_kept) {
    char text[300];
    for (size_t len = 0; len <= sizeof text; len++) {
        memset(text, 'k', sizeof text);
        check_attr(spool_string_n(spool_str_n("k", 1), spool_str_n(text, len)), &no_limits);
        if (len) {
            check_attr(spool_int_n(spool_str_n(text, len), 5), &no_limits);
        }
    }
    SPT_TEST_END;
}

Test(field, values_nest_and_the_depth_limit_leaves_the_empty_value) {
    spool_value one = spool_value_int(1);
    spool_value inner = spool_value_array(&one, 1);
    spool_attr outer = spool_array("a", &inner, 1);
    sp_wire_limits limits = {UINT32_MAX, 1, UINT32_MAX};
    sp_scratch scratch = {NULL, NULL, NULL};

    spt_key_value *got = decode_attr(&outer, &limits, &scratch);
    cr_assert_eq(got->value->value_case,
                 OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_ARRAY_VALUE);
    cr_assert_eq(got->value->array_value->n_values, 1);
    cr_assert_eq(got->value->array_value->values[0]->value_case, 0, "[[1]] becomes [null]");
    free_attr(got);

    for (uint32_t depth = 0; depth < 4; depth++) {
        limits.depth = depth;
        check_attr(outer, &limits);
        check_attr(spool_map("m", (spool_attr[]){spool_map("m", &outer, 1)}, 1), &limits);
    }
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(field, nothing_nests_deeper_than_the_writer_and_the_reader_can) {
    enum { LEVELS = 300 };
    spool_value levels[LEVELS];
    levels[0] = spool_value_int(1);
    for (size_t i = 1; i < LEVELS; i++) {
        levels[i] = spool_value_array(&levels[i - 1], 1);
    }
    sp_wire_limits limits = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    check_attr(spool_attr_of("deep", levels[LEVELS - 1]), &limits);
    SPT_TEST_END;
}

Test(field, a_value_that_contains_itself_ends) {
    spool_value loop[1] = {spool_value_empty()};
    loop[0] = spool_value_array(loop, 1);
    check_attr(spool_attr_of("loop", loop[0]), &no_limits);
    SPT_TEST_END;
}

Test(field, empty_things_inside_arrays_keep_their_place) {
    spool_value items[] = {spool_value_empty(),      spool_value_string(""),
                           spool_value_string(NULL), spool_value_int(0),
                           spool_value_bool(false),  spool_value_array(NULL, 0),
                           spool_value_map(NULL, 0), spool_value_double(0.0)};
    spool_attr attr = spool_array("a", items, sizeof items / sizeof items[0]);
    check_attr(attr, &no_limits);
    attr.value.as.array.items = NULL; /* by hand, with its count left */
    check_attr(attr, &no_limits);
    attr.value.type = 77;
    check_attr(attr, &no_limits);
    SPT_TEST_END;
}

Test(field, maps_have_each_key_once_with_its_last_value) {
    spool_attr items[] = {spool_int("a", 1),         spool_int("b", 2),     spool_int("A", 3),
                          spool_int("a", 4),         spool_int(NULL, 5),    spool_int("", 6),
                          spool_string("b", "last"), spool_int("c\xFF", 7), spool_int("c\xFE", 8)};
    uint64_t dropped = sp_misuse_read(SP_MISUSE_DROPPED_ATTRIBUTE);
    spool_attr attr = spool_map("m", items, sizeof items / sizeof items[0]);
    sp_scratch scratch = {NULL, NULL, NULL};
    spt_key_value *got = decode_attr(&attr, &no_limits, &scratch);
    cr_assert(spt_attr_matches(&attr, got, &no_limits));
    cr_assert_eq(got->value->kvlist_value->n_values, 4);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_DROPPED_ATTRIBUTE), dropped + 2);
    free_attr(got);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(field, large_maps_are_made_unique_too) {
    enum { COUNT = 5000 };
    spool_attr *items = malloc(COUNT * sizeof *items);
    char(*keys)[16] = malloc(COUNT * sizeof *keys);
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "key.%d", i % 600);
        items[i] = spool_int(keys[i], i);
    }
    check_attr(spool_map("m", items, COUNT), &no_limits);
    free(items);
    free(keys);
    SPT_TEST_END;
}

Test(field, length_limits_count_characters_of_text_and_bytes_of_bytes) {
    spool_value items[] = {spool_value_string("añ€😀z"), spool_value_bytes("añ€😀z", 11),
                           spool_value_int(123456)};
    spool_attr inner[] = {spool_string("añ€😀z is a key, never cut", "añ€😀z"),
                          spool_array("list", items, 3)};
    for (uint32_t length = 0; length < 13; length++) {
        sp_wire_limits limits = {length, 64, UINT32_MAX};
        check_attr(spool_string("text", "añ€😀z"), &limits);
        check_attr(spool_bytes("bytes", "añ€😀z", 11), &limits);
        check_attr(spool_array("array", items, 3), &limits);
        check_attr(spool_map("map", inner, 2), &limits);
    }
    SPT_TEST_END;
}

Test(field, a_text_of_a_megabyte_is_kept_or_cut) {
    size_t len = 1024 * 1024;
    char *text = malloc(len);
    memset(text, 'm', len);
    sp_wire_limits limits = {1000, 64, UINT32_MAX};
    spool_str view = spool_str_n(text, len);
    check_attr(spool_string_n(spool_str_n("k", 1), view), &no_limits);
    check_attr(spool_string_n(spool_str_n("k", 1), view), &limits);
    check_attr(spool_bytes("k", text, len), &no_limits);
    spool_value item = spool_value_string_n(view);
    check_attr(spool_array("k", &item, 1), &no_limits);
    text[len - 1] = '\xE2';
    check_attr(spool_array("k", &item, 1), &no_limits);
    check_attr(spool_string_n(spool_str_n("k", 1), view), &no_limits);
    free(text);
    SPT_TEST_END;
}

Test(field, an_attribute_without_a_key_is_left_out_and_counted) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_field field;
    uint64_t before = sp_misuse_read(SP_MISUSE_DROPPED_ATTRIBUTE);
    spool_attr none = spool_int(NULL, 1), empty = spool_int("", 1);
    cr_assert(!sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &none, &no_limits, &field));
    cr_assert_null(field.bytes);
    cr_assert(!sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &empty, &no_limits, &field));
    cr_assert_null(field.bytes);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_DROPPED_ATTRIBUTE), before + 2);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

/* ---- events and links ---- */

static spt_pb_event *decode_event(spool_str name, uint64_t time_ns, const spool_attr *attrs,
                                  size_t count, const sp_wire_limits *limits) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_field field;
    sp_wire_piece message;
    cr_assert(sp_wire_event(&scratch, name, time_ns, attrs, count, limits, &field));
    cr_assert(spt_unwrap(field.bytes, field.len, SP_WIRE_SPAN_EVENTS, &message));
    spt_pb_event *got = (spt_pb_event *)(void *)protobuf_c_message_unpack(
        &opentelemetry__proto__trace__v1__span__event__descriptor, NULL, message.len,
        message.bytes);
    cr_assert_not_null(got);
    cr_assert(spt_text_matches(name, got->name));
    cr_assert_eq(got->time_unix_nano, time_ns);
    cr_assert(spt_attrs_match(attrs, count, got->attributes, got->n_attributes,
                              got->dropped_attributes_count, limits));
    sp_scratch_fini(&scratch);
    return got;
}

static void check_event(spool_str name, uint64_t time_ns, const spool_attr *attrs, size_t count,
                        const sp_wire_limits *limits, size_t kept, uint32_t dropped) {
    spt_pb_event *got = decode_event(name, time_ns, attrs, count, limits);
    cr_assert_eq(got->n_attributes, kept);
    cr_assert_eq(got->dropped_attributes_count, dropped);
    protobuf_c_message_free_unpacked(&got->base, NULL);
}

Test(field, events_have_unique_limited_attributes_and_count_the_rest) {
    spool_attr attrs[] = {spool_int("a", 1), spool_int("b", 2), spool_int(NULL, 0),
                          spool_int("c", 3), spool_int("a", 4), spool_int("d", 5)};
    check_event(SPOOL_STR("e"), 7, attrs, 6, &no_limits, 4, 1);
    sp_wire_limits limits = {UINT32_MAX, 64, 2};
    check_event(SPOOL_STR("e"), 7, attrs, 6, &limits, 2, 3);
    limits.attr_count = 0;
    check_event(SPOOL_STR("e"), 7, attrs, 6, &limits, 0, 6);
    check_event(spool_str_n(NULL, 0), 0, NULL, 0, &no_limits, 0, 0);
    check_event(SPOOL_STR("bad \xFF name"), UINT64_MAX, attrs, 2, &no_limits, 2, 0);
    SPT_TEST_END;
}

Test(field, an_event_takes_ten_thousand_attributes) {
    enum { COUNT = 10000 };
    spool_attr *attrs = malloc(COUNT * sizeof *attrs);
    char(*keys)[16] = malloc(COUNT * sizeof *keys);
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "key.%d", i);
        attrs[i] = spool_int(keys[i], i);
    }
    sp_wire_limits limits = {UINT32_MAX, 64, 128};
    check_event(SPOOL_STR("e"), 7, attrs, COUNT, &no_limits, COUNT, 0);
    check_event(SPOOL_STR("e"), 7, attrs, COUNT, &limits, 128, COUNT - 128);
    free(attrs);
    free(keys);
    SPT_TEST_END;
}

static void check_link(const spool_link *link, const sp_wire_limits *limits, uint32_t flags) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_field field;
    sp_wire_piece message;
    cr_assert(sp_wire_link(&scratch, link, limits, &field));
    cr_assert(spt_unwrap(field.bytes, field.len, SP_WIRE_SPAN_LINKS, &message));
    spt_pb_link *got = (spt_pb_link *)(void *)protobuf_c_message_unpack(
        &opentelemetry__proto__trace__v1__span__link__descriptor, NULL, message.len, message.bytes);
    cr_assert_not_null(got);
    cr_assert_eq(got->trace_id.len, 16);
    cr_assert(memcmp(got->trace_id.data, link->context.trace_id, 16) == 0);
    cr_assert_eq(got->span_id.len, 8);
    cr_assert(memcmp(got->span_id.data, link->context.span_id, 8) == 0);
    cr_assert_eq(got->flags, flags);
    cr_assert(spt_text_matches(link->trace_state, got->trace_state));
    cr_assert(spt_attrs_match(link->attrs, link->attr_count, got->attributes, got->n_attributes,
                              got->dropped_attributes_count, limits));
    protobuf_c_message_free_unpacked(&got->base, NULL);
    sp_scratch_fini(&scratch);
}

Test(field, links_carry_ids_flags_state_and_attributes) {
    spool_attr attrs[] = {spool_int("a", 1), spool_int("a", 2), spool_int("b", 3)};
    spool_link link = {{{1, 2, 3}, {4, 5}, 0x03, 1, {0}}, SPOOL_STR_INIT("k=v"), attrs, 3};
    check_link(&link, &no_limits, 0x303);
    link.context.remote = 0;
    link.context.flags = 0xFF;
    check_link(&link, &no_limits, 0x1FF);
    sp_wire_limits limits = {UINT32_MAX, 64, 1};
    check_link(&link, &limits, 0x1FF);
    memset(&link, 0, sizeof link);
    check_link(&link, &no_limits, 0x100);
    SPT_TEST_END;
}

/* ---- text, repairs and what is said about them ---- */

static unsigned lines;
static char last_line[512];

static void keep_line(void *arg, const spool_diagnostic *line) {
    (void)arg;
    lines++;
    snprintf(last_line, sizeof last_line, "%s", line->text);
}

Test(field, the_first_repaired_text_is_named_once_and_all_are_counted) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_field field;
    spool_diagnostics_set(keep_line, NULL);
    uint64_t before = sp_misuse_read(SP_MISUSE_REPAIRED_TEXT);
    spool_value bad[] = {spool_value_string("\xFF"), spool_value_string("good"),
                         spool_value_string("\xC3")};
    spool_attr attr = spool_array("the.guilty.key", bad, 3);
    cr_assert(sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &attr, &no_limits, &field));
    cr_assert_eq(lines, 1);
    cr_assert_not_null(strstr(last_line, "the.guilty.key"), "%s", last_line);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_REPAIRED_TEXT), before + 2);
    attr = spool_string("other\xFF", "\xFF");
    cr_assert(sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &attr, &no_limits, &field));
    cr_assert_eq(lines, 1);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_REPAIRED_TEXT), before + 4);
    /* Of a value that is given up for a later one nothing is counted. */
    spool_attr twice[] = {spool_string("a", "\xFF"), spool_string("a", "\xFF")};
    attr = spool_map("m", twice, 2);
    cr_assert(sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &attr, &no_limits, &field));
    cr_assert_eq(sp_misuse_read(SP_MISUSE_REPAIRED_TEXT), before + 5);
    before++;
    attr = spool_string("fine", "漢字");
    cr_assert(sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &attr, &no_limits, &field));
    cr_assert_eq(sp_misuse_read(SP_MISUSE_REPAIRED_TEXT), before + 4);
    spool_diagnostics_set(NULL, NULL);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(field, good_text_is_not_copied_and_bad_text_is_repaired_in_a_copy) {
    sp_scratch scratch = {NULL, NULL, NULL};
    spool_diagnostics_set(keep_line, NULL);
    const char *good = "GET /größe";
    spool_str got = sp_wire_text(&scratch, spool_str_of(good), UINT32_MAX);
    cr_assert_eq(got.ptr, good);
    cr_assert_eq(got.len, strlen(good));
    got = sp_wire_text(&scratch, spool_str_of(good), 8);
    cr_assert_eq(got.ptr, good);
    cr_assert_eq(got.len, 9); /* "GET /grö" */
    got = sp_wire_text_of(&scratch, SPOOL_STR("GET \xFF/x"), 6, "span name");
    cr_assert_eq(got.len, 8);
    cr_assert(memcmp(got.ptr, "GET \xEF\xBF\xBD/", 8) == 0);
    cr_assert_not_null(strstr(last_line, "span name"), "%s", last_line);
    got = sp_wire_text(&scratch, spool_str_n(NULL, 0), UINT32_MAX);
    cr_assert_eq(got.len, 0);
    cr_assert_not_null(got.ptr);
    spool_diagnostics_set(NULL, NULL);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}
