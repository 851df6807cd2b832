/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single attributes, events, links and texts, in the thread's scratch. What is made here is
 * stored in a span as it is: the span's lock is not held while this runs, and copying is all
 * that is left to do.
 */
#include "sdk/platform/diagnostics.h"
#include "sdk/wire/value.h"

enum {
    /* More than all fixed parts of an event or link, headers and dropped count included. */
    FIXED_PARTS_BYTES = 64
};

static void attr_finish(sp_wire_field *out, const uint8_t *bytes, size_t len) {
    const uint8_t *at = bytes + 1;
    while (*at++ & 0x80) {
    }
    at++; /* SP_KEY_KEY */
    size_t key_len = 0;
    unsigned shift = 0;
    do {
        key_len |= (size_t)(*at & 0x7F) << shift;
        shift += 7;
    } while (*at++ & 0x80);
    *out = (sp_wire_field){bytes, len, at, key_len};
}

bool sp_wire_attr(sp_scratch *scratch, uint32_t field, const spool_attr *attr,
                  const sp_wire_limits *limits, sp_wire_field *out) {
    *out = (sp_wire_field){NULL, 0, NULL, 0};
    if (SP_UNLIKELY(!sp_attr_has_key(attr))) {
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, 1);
        return false;
    }
    size_t value_size;
    size_t size = sp_simple_attr_size(attr, limits->text_length, &value_size);
    if (SP_LIKELY(size < SP_WIRE_SIZE_MAX)) {
        uint8_t *bytes = sp_scratch_alloc(scratch, sp_field_size(size));
        if (!bytes) {
            sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
            return false;
        }
        bytes[0] = (uint8_t)field;
        uint8_t *message = sp_varint_put(bytes + 1, size);
        uint8_t *end = sp_simple_attr_put(message, attr, value_size);
        const uint8_t *key = message + 1 + sp_varint_size(attr->key.len);
        *out = (sp_wire_field){bytes, (size_t)(end - bytes), key, attr->key.len};
        return true;
    }
    sp_wire_builder builder;
    sp_builder_init(&builder, scratch, limits);
    sp_builder_measure_attrs(&builder, attr, 1);
    if (!sp_builder_open(&builder)) {
        return false;
    }
    sp_builder_put_attrs(&builder, (uint8_t)field, attr, 1, UINT32_MAX);
    sp_wire_piece piece = sp_builder_close(&builder);
    if (!piece.bytes) {
        return false;
    }
    attr_finish(out, piece.bytes, piece.len);
    return true;
}

static uint32_t saturated(size_t count) {
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static bool finish(sp_wire_builder *builder, uint32_t field, sp_wire_field *out) {
    sp_builder_put_header(builder, (uint8_t)field, builder->end);
    sp_wire_piece piece = sp_builder_close(builder);
    *out = (sp_wire_field){piece.bytes, piece.len, NULL, 0};
    return piece.bytes != NULL;
}

/* Puts the attributes behind their dropped count, which is found out last. */
static void put_attrs_and_dropped(sp_wire_builder *builder, uint8_t key, uint8_t dropped_key,
                                  const spool_attr *attrs, size_t count, uint32_t limit) {
    size_t dropped = sp_builder_put_attrs(builder, key, attrs, count, limit);
    if (dropped) {
        sp_builder_put_varint(builder, dropped_key, saturated(dropped));
    }
}

bool sp_wire_event(sp_scratch *scratch, spool_str name, uint64_t time_ns, const spool_attr *attrs,
                   size_t count, const sp_wire_limits *limits, sp_wire_field *out) {
    *out = (sp_wire_field){NULL, 0, NULL, 0};
    count = attrs ? count : 0;
    sp_wire_builder builder;
    sp_builder_init(&builder, scratch, limits);
    sp_builder_measure_bytes(&builder, FIXED_PARTS_BYTES);
    sp_builder_measure_text(&builder, "event name", name);
    sp_builder_measure_attrs(&builder, attrs, count);
    if (!sp_builder_open(&builder)) {
        return false;
    }
    put_attrs_and_dropped(&builder, SP_WIRE_EVENT_ATTRS, SP_KEY_EVENT_DROPPED, attrs, count,
                          limits->attr_count);
    if (name.ptr && name.len) {
        sp_builder_put_text(&builder, SP_KEY_EVENT_NAME, name);
    }
    if (time_ns) {
        sp_builder_put_fixed64(&builder, SP_KEY_EVENT_TIME, time_ns);
    }
    return finish(&builder, SP_WIRE_SPAN_EVENTS, out);
}

bool sp_wire_link(sp_scratch *scratch, const spool_link *link, const sp_wire_limits *limits,
                  sp_wire_field *out) {
    *out = (sp_wire_field){NULL, 0, NULL, 0};
    size_t count = link->attrs ? link->attr_count : 0;
    sp_wire_builder builder;
    sp_builder_init(&builder, scratch, limits);
    sp_builder_measure_bytes(&builder, FIXED_PARTS_BYTES);
    sp_builder_measure_text(&builder, "trace state of a link", link->trace_state);
    sp_builder_measure_attrs(&builder, link->attrs, count);
    if (!sp_builder_open(&builder)) {
        return false;
    }
    uint32_t flags = SP_WIRE_FLAG_REMOTE_KNOWN | link->context.flags;
    flags |= link->context.remote ? SP_WIRE_FLAG_REMOTE : 0u;
    sp_builder_put_fixed32(&builder, SP_KEY_LINK_FLAGS, flags);
    put_attrs_and_dropped(&builder, SP_WIRE_LINK_ATTRS, SP_KEY_LINK_DROPPED, link->attrs, count,
                          limits->attr_count);
    if (link->trace_state.ptr && link->trace_state.len) {
        sp_builder_put_text(&builder, SP_KEY_LINK_TRACE_STATE, link->trace_state);
    }
    sp_builder_put_bytes(&builder, SP_KEY_LINK_SPAN_ID, link->context.span_id, 8);
    sp_builder_put_bytes(&builder, SP_KEY_LINK_TRACE_ID, link->context.trace_id, 16);
    return finish(&builder, SP_WIRE_SPAN_LINKS, out);
}

spool_str sp_wire_text_of(sp_scratch *scratch, spool_str text, uint32_t max_chars,
                          const char *what) {
    if (!text.ptr || text.len == 0) {
        return spool_str_n("", 0);
    }
    sp_utf8_extent extent = sp_utf8_measure(text.ptr, text.len, max_chars);
    if (SP_LIKELY(extent.replaced == 0)) {
        text.len = extent.taken;
        return text;
    }
    sp_wire_report_repair(spool_str_of(what), 1);
    uint8_t *copy = sp_scratch_alloc(scratch, extent.size);
    if (!copy) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return spool_str_n("", 0);
    }
    sp_utf8_write(copy, text.ptr, &extent);
    return spool_str_n((const char *)copy, extent.size);
}

spool_str sp_wire_text(sp_scratch *scratch, spool_str text, uint32_t max_chars) {
    return sp_wire_text_of(scratch, text, max_chars, "a name or description");
}
