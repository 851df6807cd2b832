/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/wire/generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 16, GUARD_FILL = 0xA5 };

void spt_generator_init(spt_generator *generator, uint64_t seed) {
    memset(generator, 0, sizeof *generator);
    generator->random.state = seed;
}

void spt_generator_reset(spt_generator *generator) {
    sp_arena_reset(&generator->memory);
}

void spt_generator_fini(spt_generator *generator) {
    sp_arena_fini(&generator->memory);
}

static size_t below(spt_generator *generator, size_t limit) {
    return (size_t)spt_random_below(&generator->random, limit);
}

static bool one_in(spt_generator *generator, size_t n) {
    return below(generator, n) == 0;
}

static void *memory(spt_generator *generator, size_t size) {
    void *at = sp_arena_alloc(&generator->memory, size + 1);
    if (!at) {
        abort();
    }
    return at;
}

sp_wire_limits spt_random_limits(spt_generator *generator) {
    sp_wire_limits limits = {UINT32_MAX, 64, UINT32_MAX};
    if (one_in(generator, 2)) {
        limits.text_length = (uint32_t)below(generator, 24);
    }
    if (one_in(generator, 2)) {
        limits.depth = (uint32_t)below(generator, 5);
    }
    if (one_in(generator, 2)) {
        limits.attr_count = (uint32_t)below(generator, 12);
    }
    return limits;
}

static size_t put_character(spt_generator *generator, uint8_t *at) {
    static const char *const characters[] = {
        "é",        "ß",           "€", "漢", "字", "😀", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF",
        "\xC2\x80", "\xE0\xA0\x80"};
    const char *text = characters[below(generator, sizeof characters / sizeof characters[0])];
    memcpy(at, text, strlen(text));
    return strlen(text);
}

spool_str spt_random_text(spt_generator *generator, size_t max_len) {
    size_t len = below(generator, max_len + 1), size = 0;
    uint8_t *text = memory(generator, len + 4);
    size_t kind = below(generator, 6); /* 0: bad, 1: of many scripts, else ASCII */
    while (size < len) {
        if (kind == 0 && one_in(generator, 4)) {
            text[size++] = (uint8_t)(0x80 + below(generator, 0x80));
        } else if (kind <= 1 && one_in(generator, 2)) {
            size += put_character(generator, text + size);
        } else {
            text[size++] = (uint8_t)(one_in(generator, 50) ? 0 : 0x20 + below(generator, 0x5F));
        }
    }
    /* What runs over may be cut in the middle of a character: one more kind of bad text. */
    return spool_str_n((const char *)text, kind == 0 && size > len ? len : size);
}

static int64_t random_int(spt_generator *generator) {
    static const int64_t edges[] = {0, -1, 1, 127, 128, INT64_MIN, INT64_MAX, INT32_MIN, 16383};
    if (one_in(generator, 3)) {
        return edges[below(generator, sizeof edges / sizeof edges[0])];
    }
    return (int64_t)(spt_random_next(&generator->random) >> below(generator, 64));
}

static double random_double(spt_generator *generator) {
    static const double edges[] = {0.0, -0.0, 1.5, INFINITY, -INFINITY, 1e308, 5e-324};
    uint64_t bits = spt_random_next(&generator->random);
    double number;
    if (one_in(generator, 2)) {
        return edges[below(generator, sizeof edges / sizeof edges[0])];
    }
    memcpy(&number, &bits, sizeof number);
    return number;
}

static spool_value random_list(spt_generator *generator, unsigned depth, bool map) {
    size_t count = below(generator, one_in(generator, 20) ? 40 : 5);
    if (map) {
        return spool_value_map(spt_random_attrs(generator, count, false), count);
    }
    spool_value *items = memory(generator, count * sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i] = spt_random_value(generator, depth + 1);
    }
    return spool_value_array(items, count);
}

spool_value spt_random_value(spt_generator *generator, unsigned depth) {
    size_t kind = below(generator, depth < 5 ? 12 : 9);
    spool_str text;
    switch (kind) {
    case 0:
        return spool_value_empty();
    case 1:
        return spool_value_bool(one_in(generator, 2));
    case 2:
        return spool_value_int(random_int(generator));
    case 3:
        return spool_value_double(random_double(generator));
    case 4:
        text = spt_random_text(generator, 30);
        return spool_value_bytes(text.ptr, text.len);
    case 5:
        return spool_value_uint(spt_random_next(&generator->random) | 1ull << 63);
    case 9:
    case 10:
        return random_list(generator, depth, kind == 9);
    case 11:
        return one_in(generator, 2) ? spool_value_array(NULL, 0) : spool_value_map(NULL, 0);
    default:
        return spool_value_string_n(spt_random_text(generator, one_in(generator, 9) ? 300 : 40));
    }
}

static spool_str random_key(spt_generator *generator, size_t number, bool unique) {
    char *key = memory(generator, 16);
    size_t len = 0;
    key[len++] = (char)('a' + (unique ? number % 26 : below(generator, 12)));
    if (one_in(generator, 15)) {
        key[len++] = one_in(generator, 2) ? '\xFF' : '\xFE'; /* the same after repair */
    }
    if (unique) {
        key[len++] = (char)('a' + number / 26 % 26);
        key[len++] = (char)('a' + number / 676 % 26);
    }
    return spool_str_n(key, len);
}

spool_attr *spt_random_attrs(spt_generator *generator, size_t count, bool unique) {
    spool_attr *attrs = memory(generator, count * sizeof *attrs);
    for (size_t i = 0; i < count; i++) {
        /* Nested maps end on their own: half of the values in them are scalars. */
        attrs[i].key = random_key(generator, i, unique);
        attrs[i].value = spt_random_value(generator, one_in(generator, 2) ? 5 : 4);
        if (one_in(generator, 40)) {
            attrs[i].key = spool_str_n(one_in(generator, 2) ? NULL : "", 0);
        }
    }
    return attrs;
}

static void random_bytes(spt_generator *generator, uint8_t *at, size_t len) {
    for (size_t i = 0; i < len; i++) {
        at[i] = (uint8_t)spt_random_next(&generator->random);
    }
}

static size_t random_count(spt_generator *generator) {
    return below(generator, one_in(generator, 30) ? 60 : 8);
}

spool_log_data spt_random_log(spt_generator *generator) {
    spool_log_data log;
    memset(&log, 0, sizeof log);
    log.struct_size = sizeof log;
    log.timestamp_ns = one_in(generator, 4) ? 0 : spt_random_next(&generator->random);
    log.observed_timestamp_ns = one_in(generator, 4) ? 0 : spt_random_next(&generator->random);
    log.severity =
        one_in(generator, 10) ? (int32_t)random_int(generator) : (int32_t)below(generator, 25);
    if (one_in(generator, 2)) {
        random_bytes(generator, log.context.trace_id, 16);
        random_bytes(generator, log.context.span_id, 8);
        log.context.flags = (uint8_t)below(generator, 256);
        log.context.remote = (uint8_t)below(generator, 2);
    }
    log.dropped_attr_count = one_in(generator, 4) ? (uint32_t)below(generator, 1000) : 0;
    log.severity_text = spt_random_text(generator, 10);
    log.event_name = spt_random_text(generator, 20);
    log.body = spt_random_value(generator, 1);
    log.attr_count = random_count(generator);
    log.attrs = spt_random_attrs(generator, log.attr_count, true);
    return log;
}

static spool_str valid_text(spt_generator *generator, size_t max_len) {
    spool_str text = spt_random_text(generator, max_len);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] & 0x80) {
            return spool_str_n("häh", 4);
        }
    }
    return text;
}

static void random_events(spt_generator *generator, spt_span_input *out) {
    out->event_count = below(generator, 4);
    spt_event_input *events = memory(generator, out->event_count * sizeof *events);
    for (size_t i = 0; i < out->event_count; i++) {
        events[i].name = spt_random_text(generator, 20);
        events[i].time_ns = spt_random_next(&generator->random);
        events[i].attr_count = random_count(generator);
        events[i].attrs = spt_random_attrs(generator, events[i].attr_count, false);
    }
    out->events = events;
}

static void random_links(spt_generator *generator, spt_span_input *out) {
    out->link_count = below(generator, 3);
    spool_link *links = memory(generator, out->link_count * sizeof *links);
    memset(links, 0, out->link_count * sizeof *links);
    for (size_t i = 0; i < out->link_count; i++) {
        random_bytes(generator, links[i].context.trace_id, 16);
        random_bytes(generator, links[i].context.span_id, 8);
        links[i].context.flags = (uint8_t)below(generator, 256);
        links[i].context.remote = (uint8_t)below(generator, 2);
        links[i].trace_state = spt_random_text(generator, 20);
        links[i].attr_count = random_count(generator);
        links[i].attrs = spt_random_attrs(generator, links[i].attr_count, false);
    }
    out->links = links;
}

void spt_random_span(spt_generator *generator, spt_span_input *out) {
    memset(out, 0, sizeof *out);
    random_bytes(generator, out->trace_id, 16);
    random_bytes(generator, out->span_id, 8);
    random_bytes(generator, out->parent_span_id, 8);
    sp_wire_span *span = &out->span;
    span->trace_id = out->trace_id;
    span->span_id = out->span_id;
    span->parent_span_id = one_in(generator, 2) ? out->parent_span_id : NULL;
    span->flags = SP_WIRE_FLAG_REMOTE_KNOWN | (uint32_t)below(generator, 256);
    span->flags |= one_in(generator, 2) ? SP_WIRE_FLAG_REMOTE : 0u;
    span->kind = (uint32_t)below(generator, 5);
    span->trace_state = valid_text(generator, 20);
    span->name = valid_text(generator, 40);
    span->start_time_ns = one_in(generator, 9) ? 0 : spt_random_next(&generator->random);
    span->end_time_ns = one_in(generator, 9) ? 0 : spt_random_next(&generator->random);
    span->dropped_attrs = (uint32_t)random_int(generator);
    span->dropped_events = (uint32_t)random_int(generator);
    span->dropped_links = (uint32_t)random_int(generator);
    span->status = (uint32_t)below(generator, 3);
    span->status_description =
        one_in(generator, 2) ? valid_text(generator, 20) : spool_str_n(NULL, 0);
    out->attr_count = random_count(generator);
    out->attrs = spt_random_attrs(generator, out->attr_count, true);
    random_events(generator, out);
    random_links(generator, out);
}

/* Room for exactly `size` bytes, with a guard behind it. */
static uint8_t *guarded(size_t size) {
    uint8_t *bytes = malloc(size + GUARD_BYTES);
    if (!bytes) {
        abort();
    }
    memset(bytes + size, GUARD_FILL, GUARD_BYTES);
    return bytes;
}

static uint8_t *checked(uint8_t *bytes, const uint8_t *end, size_t size) {
    bool good = end == bytes + size;
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        good &= bytes[size + i] == GUARD_FILL;
    }
    if (!good) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

uint8_t *spt_log_bytes(const spool_log_data *log, const sp_wire_limits *limits, sp_scratch *scratch,
                       size_t *out_len) {
    sp_scratch_mark mark = sp_scratch_hold(scratch);
    sp_wire_log_plan plan;
    size_t size = sp_wire_log_size(log, limits, scratch, &plan);
    uint8_t *bytes = NULL;
    if (size && size == plan.size) {
        bytes = guarded(size);
        bytes = checked(bytes, sp_wire_log_write(bytes, log, &plan), size);
    }
    sp_scratch_release(scratch, mark);
    *out_len = size;
    return bytes;
}

uint8_t *spt_span_bytes(const spt_span_input *input, const sp_wire_limits *limits,
                        sp_scratch *scratch, size_t *out_len) {
    sp_scratch_mark mark = sp_scratch_hold(scratch);
    size_t capacity = input->attr_count + input->event_count + input->link_count, count = 0;
    sp_wire_piece *content = sp_scratch_alloc(scratch, (capacity + 1) * sizeof *content);
    sp_wire_field field;
    for (size_t i = 0; i < input->attr_count; i++) {
        if (sp_wire_attr(scratch, SP_WIRE_SPAN_ATTRS, &input->attrs[i], limits, &field)) {
            content[count++] = (sp_wire_piece){field.bytes, field.len};
        }
    }
    for (size_t i = 0; i < input->event_count; i++) {
        const spt_event_input *event = &input->events[i];
        sp_wire_event(scratch, event->name, event->time_ns, event->attrs, event->attr_count, limits,
                      &field);
        content[count++] = (sp_wire_piece){field.bytes, field.len};
    }
    for (size_t i = 0; i < input->link_count; i++) {
        sp_wire_link(scratch, &input->links[i], limits, &field);
        content[count++] = (sp_wire_piece){field.bytes, field.len};
    }
    sp_wire_span span = input->span;
    span.content = content;
    span.content_count = count;
    *out_len = sp_wire_span_size(&span);
    uint8_t *bytes = guarded(*out_len);
    bytes = checked(bytes, sp_wire_span_write(bytes, &span), *out_len);
    sp_scratch_release(scratch, mark);
    return bytes;
}
