/* SPDX-License-Identifier: Apache-2.0 */
/* The reader with bytes that nobody should trust: cut, flipped, made up. */
#include "tests/support/spt.h"
#include "tests/unit/wire/generator.h"
#include "tests/unit/wire/reference.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

enum { RANDOM_RECORDS = SPT_ASAN ? 1000 : 5000, FLIPS = 20 };

static const sp_wire_limits no_limits = {UINT32_MAX, 64, UINT32_MAX};

/* Touches every byte that a view gives out, so that the sanitizers can object. */
static uint64_t sum;

static void visit_text(spool_str text) {
    for (size_t i = 0; i < text.len; i++) {
        sum += (uint8_t)text.ptr[i];
    }
}

static void visit_attrs(const spool_attr *attrs, size_t count);

static void visit_value(const spool_value *value) {
    switch (value->type) {
    case SPOOL_VALUE_STRING:
    case SPOOL_VALUE_BYTES:
        visit_text(value->as.string);
        break;
    case SPOOL_VALUE_ARRAY:
        for (size_t i = 0; i < value->as.array.count; i++) {
            visit_value(&value->as.array.items[i]);
        }
        break;
    case SPOOL_VALUE_MAP:
        visit_attrs(value->as.map.items, value->as.map.count);
        break;
    default:
        cr_assert_leq(value->type, SPOOL_VALUE_DOUBLE);
        break;
    }
}

static void visit_attrs(const spool_attr *attrs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        visit_text(attrs[i].key);
        visit_value(&attrs[i].value);
    }
}

static void visit_span(const spool_span_data *span) {
    cr_assert_leq(span->kind, SPOOL_KIND_CONSUMER);
    cr_assert_leq(span->status, SPOOL_STATUS_ERROR);
    visit_text(span->name);
    visit_text(span->trace_state);
    visit_text(span->status_description);
    visit_attrs(span->attrs, span->attr_count);
    for (size_t i = 0; i < span->event_count; i++) {
        visit_text(span->events[i].name);
        visit_attrs(span->events[i].attrs, span->events[i].attr_count);
    }
    for (size_t i = 0; i < span->link_count; i++) {
        visit_text(span->links[i].trace_state);
        visit_attrs(span->links[i].attrs, span->links[i].attr_count);
    }
}

static void visit_log(const spool_log_data *log) {
    visit_text(log->severity_text);
    visit_text(log->event_name);
    visit_value(&log->body);
    visit_attrs(log->attrs, log->attr_count);
}

/* Reads as both kinds of record, from memory of exactly this size. Returns the two answers. */
static unsigned read_any(const uint8_t *bytes, size_t len, sp_arena *arena) {
    uint8_t *exact = malloc(len ? len : 1);
    unsigned answers = 0;
    spool_span_data span;
    spool_log_data log;
    memcpy(exact, bytes, len);
    sp_wire_piece message = {exact, len};
    if (sp_wire_read_span(message, arena, &span)) {
        answers |= 1;
        visit_span(&span);
    }
    if (sp_wire_read_log(message, arena, &log)) {
        answers |= 2;
        visit_log(&log);
    }
    sp_arena_reset(arena);
    free(exact);
    return answers;
}

static void mistreat(spt_generator *generator, const uint8_t *bytes, size_t len, sp_arena *arena) {
    uint8_t *copy = malloc(len + 1);
    for (unsigned i = 0; i < FLIPS; i++) {
        memcpy(copy, bytes, len);
        unsigned changes = 1 + (unsigned)spt_random_below(&generator->random, 4);
        for (unsigned j = 0; j < changes && len; j++) {
            copy[spt_random_below(&generator->random, len)] ^=
                (uint8_t)(1u << spt_random_below(&generator->random, 8));
        }
        read_any(copy, len, arena);
        read_any(copy, (size_t)spt_random_below(&generator->random, len + 1), arena);
    }
    free(copy);
}

Test(reader, flipped_bits_and_cut_ends_do_no_harm, .timeout = 300) {
    spt_generator generator;
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_arena arena = {NULL, 0};
    spt_generator_init(&generator, spt_seed(0x666C6970));
    for (size_t i = 0; i < RANDOM_RECORDS; i++) {
        spt_span_input input;
        size_t len;
        spt_random_span(&generator, &input);
        uint8_t *bytes = spt_span_bytes(&input, &no_limits, &scratch, &len);
        cr_assert_not_null(bytes);
        mistreat(&generator, bytes, len, &arena);
        free(bytes);
        spool_log_data log = spt_random_log(&generator);
        bytes = spt_log_bytes(&log, &no_limits, &scratch, &len);
        cr_assert_not_null(bytes);
        mistreat(&generator, bytes, len, &arena);
        free(bytes);
        spt_generator_reset(&generator);
    }
    sp_arena_fini(&arena);
    sp_scratch_fini(&scratch);
    spt_generator_fini(&generator);
    SPT_TEST_END;
}

Test(reader, a_record_cut_inside_a_field_is_refused) {
    spt_generator generator;
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_arena arena = {NULL, 0};
    spt_generator_init(&generator, spt_seed(0x637574));
    for (size_t i = 0; i < 200; i++) {
        spool_log_data log = spt_random_log(&generator);
        size_t len;
        uint8_t *bytes = spt_log_bytes(&log, &no_limits, &scratch, &len);
        sp_wire_piece message, rest;
        cr_assert(spt_unwrap(bytes, len, SP_WIRE_SCOPE_RECORDS, &message));
        uint8_t *boundary = calloc(message.len + 1, 1);
        uint32_t key;
        sp_wire_piece value;
        uint64_t number;
        boundary[0] = 1;
        for (rest = message; sp_wire_next_field(&rest, &key, &value, &number);) {
            boundary[rest.bytes - message.bytes] = 1;
        }
        cr_assert_eq(rest.len, 0);
        for (size_t cut = 0; cut <= message.len; cut++) {
            bool read = (read_any(message.bytes, cut, &arena) & 2) != 0;
            cr_assert_eq(read, boundary[cut] != 0, "record %zu cut at %zu", i, cut);
        }
        free(boundary);
        free(bytes);
        spt_generator_reset(&generator);
    }
    sp_arena_fini(&arena);
    sp_scratch_fini(&scratch);
    spt_generator_fini(&generator);
    SPT_TEST_END;
}

Test(reader, random_bytes_do_no_harm) {
    spt_generator generator;
    sp_arena arena = {NULL, 0};
    uint8_t bytes[64];
    spt_generator_init(&generator, spt_seed(0x72616E64));
    for (size_t i = 0; i < 200000; i++) {
        size_t len = (size_t)spt_random_below(&generator.random, sizeof bytes + 1);
        for (size_t j = 0; j < len; j++) {
            bytes[j] = (uint8_t)(spt_random_next(&generator.random) &
                                 (i % 2 ? 0xFF : 0x3F)); /* small numbers make more sense */
        }
        read_any(bytes, len, &arena);
    }
    sp_arena_fini(&arena);
    spt_generator_fini(&generator);
    SPT_TEST_END;
}

/* A log whose body is `depth` arrays, one in the other. */
static size_t nested_log(uint8_t *bytes, size_t room, unsigned depth) {
    uint8_t *at = bytes + room;
    const uint8_t *end = at;
    for (unsigned i = 0; i < depth; i++) {
        uint8_t keys[] = {5 << 3 | 2, 1 << 3 | 2};
        for (unsigned j = 0; j < (i ? 2 : 1); j++) {
            uint8_t header[8];
            uint8_t *header_end =
                sp_wire_open(header, i && j == 0 ? keys[1] : keys[0], (size_t)(end - at));
            at -= header_end - header;
            memcpy(at, header, (size_t)(header_end - header));
        }
    }
    uint8_t header[8];
    uint8_t *header_end = sp_wire_open(header, 5 << 3 | 2, (size_t)(end - at));
    at -= header_end - header;
    memcpy(at, header, (size_t)(header_end - header));
    size_t len = (size_t)(end - at);
    memmove(bytes, at, len);
    return len;
}

Test(reader, nesting_ends_where_the_writer_ends) {
    sp_arena arena = {NULL, 0};
    size_t room = 1024 * 1024;
    uint8_t *bytes = malloc(room);
    size_t len = nested_log(bytes, room, SP_WIRE_DEPTH_MAX);
    cr_assert(read_any(bytes, len, &arena) & 2);
    len = nested_log(bytes, room, SP_WIRE_DEPTH_MAX + 1);
    cr_assert(!(read_any(bytes, len, &arena) & 2));
    len = nested_log(bytes, room, 100000);
    cr_assert(!(read_any(bytes, len, &arena) & 2));
    free(bytes);
    sp_arena_fini(&arena);
    SPT_TEST_END;
}

Test(reader, fields_are_stepped_over_by_their_wire_type) {
    static const uint8_t bytes[] = {0x08, 0x96, 0x01, 0x11, 1,    0,   0,   0,    0,
                                    0,    0,    0x80, 0x1A, 2,    'a', 'b', 0x25, 7,
                                    0,    0,    0,    0x85, 0x01, 1,   2,   0,    0};
    sp_wire_piece rest = {bytes, sizeof bytes}, value;
    uint32_t key;
    uint64_t number;
    cr_assert(sp_wire_next_field(&rest, &key, &value, &number));
    cr_assert_eq(key, 0x08);
    cr_assert_eq(number, 150);
    cr_assert(sp_wire_next_field(&rest, &key, &value, &number));
    cr_assert_eq(key, 0x11);
    cr_assert_eq(number, UINT64_C(0x8000000000000001));
    cr_assert(sp_wire_next_field(&rest, &key, &value, &number));
    cr_assert_eq(key, 0x1A);
    cr_assert_eq(value.len, 2);
    cr_assert_eq(value.bytes, bytes + 14);
    cr_assert(sp_wire_next_field(&rest, &key, &value, &number));
    cr_assert_eq(key, 0x25);
    cr_assert_eq(number, 7);
    cr_assert(sp_wire_next_field(&rest, &key, &value, &number));
    cr_assert_eq(key, 16 << 3 | 5);
    cr_assert_eq(number, 0x201);
    cr_assert(!sp_wire_next_field(&rest, &key, &value, &number));
    cr_assert_eq(rest.len, 0);
    SPT_TEST_END;
}

Test(reader, broken_fields_are_refused_and_left_in_place) {
    static const struct {
        uint8_t bytes[12];
        size_t len;
    } broken[] = {{{0x08}, 1},
                  {{0x08, 0x80}, 2},
                  {{0x0A, 5, 'a'}, 3},
                  {{0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}, 11},
                  {{0x09, 1, 2, 3, 4, 5, 6, 7}, 8},
                  {{0x0D, 1, 2, 3}, 4},
                  {{0x0B, 0x0C}, 2},
                  {{0x0E, 0}, 2},
                  {{0x00, 0}, 2},
                  {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 11},
                  {{0xF8, 0xFF, 0xFF, 0xFF, 0x7F, 0}, 6}};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        sp_wire_piece rest = {broken[i].bytes, broken[i].len}, value;
        uint32_t key;
        uint64_t number;
        cr_assert(!sp_wire_next_field(&rest, &key, &value, &number), "case %zu", i);
        cr_assert_eq(rest.len, broken[i].len, "case %zu", i);
        cr_assert_eq(rest.bytes, broken[i].bytes, "case %zu", i);
    }
    SPT_TEST_END;
}

Test(reader, unknown_fields_are_skipped_and_ids_of_a_wrong_length_are_refused) {
    sp_arena arena = {NULL, 0};
    static const uint8_t unknown[] = {0xF8, 0x07, 1, 0x2A, 1, 'n', 0xFA, 0x07, 1, 'x'};
    static const uint8_t short_id[] = {0x0A, 3, 1, 2, 3};
    spool_span_data span;
    cr_assert(sp_wire_read_span((sp_wire_piece){unknown, sizeof unknown}, &arena, &span));
    cr_assert_eq(span.name.len, 1);
    cr_assert_eq(span.name.ptr[0], 'n');
    cr_assert(!sp_wire_read_span((sp_wire_piece){short_id, sizeof short_id}, &arena, &span));
    sp_arena_fini(&arena);
    SPT_TEST_END;
}

Test(reader, content_is_read_from_several_pieces) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_arena arena = {NULL, 0};
    sp_wire_field fields[4];
    spool_attr a = spool_int("a", 1), b = spool_string("b", "text");
    spool_link link = {{{1}, {2}, 1, 1, {0}}, SPOOL_STR_INIT("k=v"), &a, 1};
    cr_assert(sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &a, &no_limits, &fields[0]));
    cr_assert(sp_wire_event(&scratch, SPOOL_STR("e"), 9, &b, 1, &no_limits, &fields[1]));
    cr_assert(sp_wire_attr(&scratch, SP_WIRE_SPAN_ATTRS, &b, &no_limits, &fields[2]));
    cr_assert(sp_wire_link(&scratch, &link, &no_limits, &fields[3]));
    sp_wire_piece pieces[5];
    for (size_t i = 0; i < 4; i++) {
        pieces[i] = (sp_wire_piece){fields[i].bytes, fields[i].len};
    }
    pieces[4] = (sp_wire_piece){NULL, 0};
    spool_span_data span;
    cr_assert(sp_wire_read_content(pieces, 5, &arena, &span));
    cr_assert_eq(span.attr_count, 2);
    cr_assert_eq(span.attrs[0].value.as.integer, 1);
    cr_assert_eq(span.attrs[1].key.ptr[0], 'b');
    cr_assert_eq(span.event_count, 1);
    cr_assert_eq(span.events[0].time_ns, 9);
    cr_assert_eq(span.events[0].attr_count, 1);
    cr_assert_eq(span.link_count, 1);
    cr_assert_eq(span.links[0].context.remote, 1);
    cr_assert_eq(span.links[0].attrs[0].value.as.integer, 1);
    pieces[2].len--;
    cr_assert(!sp_wire_read_content(pieces, 5, &arena, &span));
    sp_arena_fini(&arena);
    sp_scratch_fini(&scratch);
    SPT_TEST_END;
}
