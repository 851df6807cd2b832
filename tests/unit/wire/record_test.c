/* SPDX-License-Identifier: Apache-2.0 */
/* Whole spans and log records: written, decoded by protobuf-c, read by our reader, compared. */
#include "tests/support/spt.h"
#include "tests/unit/wire/generator.h"
#include "tests/unit/wire/reference.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_RECORDS = SPT_ASAN ? 20000 : 100000 };

static const sp_wire_limits no_limits = {UINT32_MAX, 64, UINT32_MAX};

/* ---- log records ---- */

static spt_pb_log *decode_log(const spool_log_data *log, const sp_wire_limits *limits,
                              size_t number) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_arena arena = {NULL, 0};
    sp_wire_piece message;
    size_t len;
    uint8_t *bytes = spt_log_bytes(log, limits, &scratch, &len);
    cr_assert_not_null(bytes, "record %zu: size and bytes written differ", number);
    cr_assert(spt_unwrap(bytes, len, SP_WIRE_SCOPE_RECORDS, &message), "record %zu", number);
    spt_pb_log *got =
        opentelemetry__proto__logs__v1__log_record__unpack(NULL, message.len, message.bytes);
    cr_assert_not_null(got, "record %zu is not readable", number);
    cr_assert(spt_log_matches(log, got, limits), "record %zu differs", number);

    spool_log_data view;
    cr_assert(sp_wire_read_log(message, &arena, &view), "record %zu", number);
    cr_assert(spt_log_view_equals(&view, got), "record %zu is read otherwise", number);
    sp_arena_fini(&arena);
    sp_scratch_fini(&scratch);
    free(bytes);
    return got;
}

static void check_log(const spool_log_data *log, const sp_wire_limits *limits, size_t number) {
    opentelemetry__proto__logs__v1__log_record__free_unpacked(decode_log(log, limits, number),
                                                              NULL);
}

static spool_log_data empty_log(void) {
    spool_log_data log;
    memset(&log, 0, sizeof log);
    log.struct_size = sizeof log;
    return log;
}

Test(record, an_empty_log_is_an_empty_message) {
    spool_log_data log = empty_log();
    sp_scratch scratch = {NULL, NULL, NULL};
    size_t len;
    uint8_t *bytes = spt_log_bytes(&log, &no_limits, &scratch, &len);
    cr_assert_not_null(bytes);
    cr_assert_eq(len, 2);
    cr_assert_eq(bytes[0], SP_WIRE_SCOPE_RECORDS);
    cr_assert_eq(bytes[1], 0);
    check_log(&log, &no_limits, 0);
    free(bytes);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(record, a_log_has_its_fields_where_otlp_wants_them) {
    spool_attr attrs[] = {spool_int("k", 1)};
    spool_log_data log = empty_log();
    log.timestamp_ns = 0x0102030405060708;
    log.observed_timestamp_ns = 0x1112131415161718;
    log.severity = 17;
    log.severity_text = SPOOL_STR("E");
    log.event_name = SPOOL_STR("n");
    log.body = spool_value_string("b");
    log.attrs = attrs;
    log.attr_count = 1;
    log.dropped_attr_count = 3;
    memset(log.context.trace_id, 0xAA, 16);
    memset(log.context.span_id, 0xBB, 8);
    log.context.flags = 1;
    log.context.remote = 1;
    static const uint8_t want[] = {0x12, 79,   0x09, 8,    7,    6,    5,    4,    3,    2,    1,
                                   0x10, 17,   0x1A, 1,    'E',  0x2A, 3,    0x0A, 1,    'b',  0x32,
                                   7,    0x0A, 1,    'k',  0x12, 2,    0x18, 1,    0x38, 3,    0x45,
                                   1,    0,    0,    0,    0x4A, 16,   0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
                                   0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
                                   0x52, 8,    0xBB, 0xBB, 0xBB, 0xBB, 0xBB, 0xBB, 0xBB, 0xBB, 0x59,
                                   0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x62, 1,    'n'};
    sp_scratch scratch = {NULL, NULL, NULL};
    size_t len;
    uint8_t *bytes = spt_log_bytes(&log, &no_limits, &scratch, &len);
    cr_assert_not_null(bytes);
    cr_assert_eq(len, sizeof want);
    cr_assert_eq(bytes[1], len - 2);
    cr_assert(memcmp(bytes + 2, want + 2, len - 2) == 0);
    check_log(&log, &no_limits, 0);
    free(bytes);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(record, a_negative_severity_is_written_with_its_sign) {
    static const uint8_t want[] = {0x12, 11,   0x10, 0xFE, 0xFF, 0xFF, 0xFF,
                                   0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01};
    spool_log_data log = empty_log();
    log.severity = -2;
    sp_scratch scratch = {NULL, NULL, NULL};
    size_t len;
    uint8_t *bytes = spt_log_bytes(&log, &no_limits, &scratch, &len);
    cr_assert_not_null(bytes);
    cr_assert_eq(len, sizeof want);
    cr_assert(memcmp(bytes, want, len) == 0);
    check_log(&log, &no_limits, 0);
    free(bytes);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(record, a_log_that_no_message_can_hold_has_no_size) {
    spool_log_data log = empty_log();
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_log_plan plan;
    /* No byte of these may be read: the lengths are lies. */
    spool_attr attr = spool_attr_n(SPOOL_STR("k"), spool_value_bytes("x", (size_t)1 << 40));
    log.attrs = &attr;
    log.attr_count = 1;
    cr_assert_eq(sp_wire_log_size(&log, &no_limits, &scratch, &plan), 0);
    log.attr_count = 0;
    log.body = attr.value;
    cr_assert_eq(sp_wire_log_size(&log, &no_limits, &scratch, &plan), 0);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(record, a_log_body_of_every_kind_is_kept_without_limits) {
    spool_value ints[] = {spool_value_int(1), spool_value_empty(), spool_value_int(-1)};
    spool_value nested = spool_value_array(ints, 3);
    spool_attr members[] = {spool_array("list", &nested, 1), spool_string("s", "long enough"),
                            spool_int("s", 2)};
    spool_value bodies[] = {spool_value_empty(),
                            spool_value_string(NULL),
                            spool_value_string(""),
                            spool_value_string("long enough"),
                            spool_value_string("b\xFF d"),
                            spool_value_bool(false),
                            spool_value_int(0),
                            spool_value_double(0),
                            spool_value_bytes(NULL, 0),
                            spool_value_bytes("\0\0", 2),
                            spool_value_uint(UINT64_MAX),
                            spool_value_array(NULL, 0),
                            spool_value_map(NULL, 0),
                            spool_value_array(ints, 3),
                            spool_value_map(members, 3)};
    sp_wire_limits tight = {2, 0, 0};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        spool_log_data log = empty_log();
        log.body = bodies[i];
        check_log(&log, &tight, i);
    }
    SPT_TEST_END;
}

Test(record, a_log_leaves_out_what_is_over_the_limit_and_counts_it) {
    spool_attr attrs[] = {spool_int("a", 1), spool_int(NULL, 2), spool_string("b", "text"),
                          spool_int("c", 3), spool_int("d", 4)};
    spool_log_data log = empty_log();
    log.attrs = attrs;
    log.attr_count = 5;
    log.dropped_attr_count = 10;
    sp_wire_limits limits = {UINT32_MAX, 64, 2};
    for (int bad = 0; bad < 2; bad++) {
        if (bad) {
            attrs[2] = spool_string("b", "\xFF"); /* takes the other way through the writer */
        }
        spt_pb_log *got = decode_log(&log, &limits, (size_t)bad);
        cr_assert_eq(got->n_attributes, 2);
        cr_assert_eq(got->dropped_attributes_count, 13);
        opentelemetry__proto__logs__v1__log_record__free_unpacked(got, NULL);
    }
    SPT_TEST_END;
}

Test(record, keys_that_only_repair_makes_equal_are_joined) {
    spool_attr attrs[] = {spool_int("a\xFF", 1), spool_int("b", 2), spool_int("a\xFE", 3)};
    spool_log_data log = empty_log();
    log.attrs = attrs;
    log.attr_count = 3;
    spt_pb_log *got = decode_log(&log, &no_limits, 0);
    cr_assert_eq(got->n_attributes, 2);
    opentelemetry__proto__logs__v1__log_record__free_unpacked(got, NULL);
    SPT_TEST_END;
}

Test(record, a_log_takes_ten_thousand_attributes_and_a_megabyte) {
    enum { COUNT = 10000 };
    size_t len = 1024 * 1024;
    char *text = malloc(len);
    memset(text, 'm', len);
    spool_attr *attrs = malloc(COUNT * sizeof *attrs);
    char(*keys)[16] = malloc(COUNT * sizeof *keys);
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "key.%d", i);
        attrs[i] = spool_int(keys[i], i);
    }
    attrs[5] = spool_string_n(SPOOL_STR("large"), spool_str_n(text, len));
    spool_log_data log = empty_log();
    log.body = spool_value_string_n(spool_str_n(text, len));
    log.attrs = attrs;
    log.attr_count = COUNT;
    check_log(&log, &no_limits, 0);
    sp_wire_limits limits = {100, 64, 128};
    check_log(&log, &limits, 1);
    free(text);
    free(attrs);
    free(keys);
    SPT_TEST_END;
}

Test(record, random_logs_are_decoded_as_they_were_made, .timeout = 300) {
    spt_generator generator;
    spt_generator_init(&generator, spt_seed(0x6C6F67));
    for (size_t i = 0; i < RANDOM_RECORDS; i++) {
        sp_wire_limits limits = spt_random_limits(&generator);
        spool_log_data log = spt_random_log(&generator);
        check_log(&log, &limits, i);
        spt_generator_reset(&generator);
    }
    spt_generator_fini(&generator);
    SPT_TEST_END;
}

/* ---- spans ---- */

static bool bytes_are(ProtobufCBinaryData got, const uint8_t *want, size_t len) {
    return got.len == len && memcmp(got.data, want, len) == 0;
}

static bool core_matches(const sp_wire_span *want, const spt_pb_span *got) {
    bool status_good = want->status == SPOOL_STATUS_UNSET && want->status_description.len == 0
                           ? got->status == NULL
                           : got->status && (uint32_t)got->status->code == want->status &&
                                 spt_text_matches(want->status_description, got->status->message);
    bool parent_good = want->parent_span_id
                           ? bytes_are(got->parent_span_id, want->parent_span_id, 8)
                           : got->parent_span_id.len == 0;
    return status_good && parent_good && bytes_are(got->trace_id, want->trace_id, 16) &&
           bytes_are(got->span_id, want->span_id, 8) && got->flags == want->flags &&
           (uint32_t)got->kind == want->kind + 1 &&
           spt_text_matches(want->trace_state, got->trace_state) &&
           spt_text_matches(want->name, got->name) &&
           got->start_time_unix_nano == want->start_time_ns &&
           got->end_time_unix_nano == want->end_time_ns &&
           got->dropped_attributes_count == want->dropped_attrs &&
           got->dropped_events_count == want->dropped_events &&
           got->dropped_links_count == want->dropped_links;
}

static bool content_matches(const spt_span_input *want, const spt_pb_span *got,
                            const sp_wire_limits *limits) {
    size_t attr = 0;
    for (size_t i = 0; i < want->attr_count; i++) {
        if (want->attrs[i].key.len == 0) {
            continue;
        }
        if (attr == got->n_attributes ||
            !spt_attr_matches(&want->attrs[i], got->attributes[attr++], limits)) {
            return false;
        }
    }
    bool good = attr == got->n_attributes && got->n_events == want->event_count &&
                got->n_links == want->link_count;
    for (size_t i = 0; good && i < want->event_count; i++) {
        const spt_event_input *event = &want->events[i];
        good = got->events[i]->time_unix_nano == event->time_ns &&
               spt_text_matches(event->name, got->events[i]->name) &&
               spt_attrs_match(event->attrs, event->attr_count, got->events[i]->attributes,
                               got->events[i]->n_attributes,
                               got->events[i]->dropped_attributes_count, limits);
    }
    for (size_t i = 0; good && i < want->link_count; i++) {
        const spool_link *link = &want->links[i];
        uint32_t flags = 0x100u | link->context.flags | (link->context.remote ? 0x200u : 0u);
        good = bytes_are(got->links[i]->trace_id, link->context.trace_id, 16) &&
               bytes_are(got->links[i]->span_id, link->context.span_id, 8) &&
               got->links[i]->flags == flags &&
               spt_text_matches(link->trace_state, got->links[i]->trace_state) &&
               spt_attrs_match(link->attrs, link->attr_count, got->links[i]->attributes,
                               got->links[i]->n_attributes, got->links[i]->dropped_attributes_count,
                               limits);
    }
    return good;
}

static void check_span(const spt_span_input *input, const sp_wire_limits *limits, size_t number) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_arena arena = {NULL, 0};
    sp_wire_piece message;
    size_t len;
    uint8_t *bytes = spt_span_bytes(input, limits, &scratch, &len);
    cr_assert_not_null(bytes, "span %zu: size and bytes written differ", number);
    cr_assert(spt_unwrap(bytes, len, SP_WIRE_SCOPE_RECORDS, &message), "span %zu", number);
    spt_pb_span *got =
        opentelemetry__proto__trace__v1__span__unpack(NULL, message.len, message.bytes);
    cr_assert_not_null(got, "span %zu is not readable", number);
    cr_assert(core_matches(&input->span, got), "span %zu differs", number);
    cr_assert(content_matches(input, got, limits), "span %zu: content differs", number);

    spool_span_data view;
    cr_assert(sp_wire_read_span(message, &arena, &view), "span %zu", number);
    cr_assert(spt_span_view_equals(&view, got), "span %zu is read otherwise", number);
    opentelemetry__proto__trace__v1__span__free_unpacked(got, NULL);
    sp_arena_fini(&arena);
    sp_scratch_fini(&scratch);
    free(bytes);
}

Test(record, the_smallest_and_the_fullest_span_are_right) {
    spt_span_input input;
    memset(&input, 0, sizeof input);
    input.trace_id[15] = input.span_id[0] = 1;
    input.span.trace_id = input.trace_id;
    input.span.span_id = input.span_id;
    check_span(&input, &no_limits, 0);

    spool_attr attrs[] = {spool_int("a", 1)};
    spt_event_input events[] = {{SPOOL_STR("e"), 5, attrs, 1}, {SPOOL_STR(""), 0, NULL, 0}};
    spool_link links[] = {{{{1}, {2}, 3, 1, {0}}, SPOOL_STR_INIT("a=b"), attrs, 1}};
    input.span.kind = SPOOL_KIND_CONSUMER;
    input.span.flags = 0x3FF;
    input.span.trace_state = SPOOL_STR("a=b");
    input.span.name = SPOOL_STR("name");
    input.span.start_time_ns = input.span.end_time_ns = UINT64_MAX;
    input.span.dropped_attrs = input.span.dropped_events = input.span.dropped_links = UINT32_MAX;
    input.span.status = SPOOL_STATUS_ERROR;
    input.span.status_description = SPOOL_STR("broken");
    memset(input.parent_span_id, 9, 8);
    input.span.parent_span_id = input.parent_span_id;
    input.attrs = attrs;
    input.attr_count = 1;
    input.events = events;
    input.event_count = 2;
    input.links = links;
    input.link_count = 1;
    check_span(&input, &no_limits, 1);
    SPT_TEST_END;
}

Test(record, a_parent_id_of_zeros_is_a_root) {
    static const uint8_t zeros[8] = {0};
    spt_span_input input;
    memset(&input, 0, sizeof input);
    input.trace_id[15] = input.span_id[0] = 1;
    input.span.trace_id = input.trace_id;
    input.span.span_id = input.span_id;
    sp_scratch scratch = {NULL, NULL, NULL};
    size_t root_len, len;
    uint8_t *root = spt_span_bytes(&input, &no_limits, &scratch, &root_len);
    input.span.parent_span_id = zeros;
    uint8_t *bytes = spt_span_bytes(&input, &no_limits, &scratch, &len);
    cr_assert_not_null(root);
    cr_assert_not_null(bytes);
    cr_assert_eq(len, root_len);
    cr_assert(memcmp(bytes, root, len) == 0);
    free(root);
    free(bytes);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}

Test(record, a_status_code_is_written_without_a_description_and_the_other_way_round) {
    spt_span_input input;
    memset(&input, 0, sizeof input);
    input.trace_id[15] = input.span_id[0] = 1;
    input.span.trace_id = input.trace_id;
    input.span.span_id = input.span_id;
    input.span.status = SPOOL_STATUS_OK;
    check_span(&input, &no_limits, 0);
    input.span.status = SPOOL_STATUS_UNSET;
    input.span.status_description = SPOOL_STR("odd");
    check_span(&input, &no_limits, 1);
    SPT_TEST_END;
}

Test(record, random_spans_are_decoded_as_they_were_made, .timeout = 300) {
    spt_generator generator;
    spt_generator_init(&generator, spt_seed(0x7370616E));
    for (size_t i = 0; i < RANDOM_RECORDS; i++) {
        spt_span_input input;
        sp_wire_limits limits = spt_random_limits(&generator);
        spt_random_span(&generator, &input);
        check_span(&input, &limits, i);
        spt_generator_reset(&generator);
    }
    spt_generator_fini(&generator);
    SPT_TEST_END;
}
