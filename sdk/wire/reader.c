/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader. It meets bytes from disk and from other programs, so nothing about them is
 * trusted: every length is compared with what is left before it is used, lists are counted
 * before they are made, and recursion ends at SP_WIRE_DEPTH_MAX.
 */
#include "sdk/wire/value.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5, VARINT_BYTES_MAX = 10 };

/* ---- fields ---- */

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out_value) {
    const uint8_t *from = *at;
    if (SP_LIKELY(from < end && *from < 0x80)) {
        *out_value = *from;
        *at = from + 1;
        return true;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && from < end; i++) {
        uint8_t byte = *from++;
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *out_value = value;
            *at = from;
            return true;
        }
    }
    return false;
}

bool sp_wire_next_field(sp_wire_piece *rest, uint32_t *out_key, sp_wire_piece *out_bytes,
                        uint64_t *out_number) {
    const uint8_t *at = rest->bytes;
    if (rest->len == 0) {
        return false;
    }
    const uint8_t *end = at + rest->len;
    uint64_t key, number = 0;
    sp_wire_piece bytes = {NULL, 0};
    if (!read_varint(&at, end, &key) || key > UINT32_MAX || key >> 3 == 0) {
        return false;
    }
    switch (key & 7) {
    case WIRE_VARINT:
        if (!read_varint(&at, end, &number)) {
            return false;
        }
        break;
    case WIRE_FIXED64:
        if (end - at < 8) {
            return false;
        }
        memcpy(&number, at, 8);
        number = sp_fixed64_order(number);
        at += 8;
        break;
    case WIRE_FIXED32: {
        uint32_t half;
        if (end - at < 4) {
            return false;
        }
        memcpy(&half, at, 4);
        number = sp_fixed32_order(half);
        at += 4;
        break;
    }
    case WIRE_BYTES:
        if (!read_varint(&at, end, &number) || number > (uint64_t)(end - at)) {
            return false;
        }
        bytes = (sp_wire_piece){at, (size_t)number};
        at += number;
        break;
    default: /* groups are not part of proto3 */
        return false;
    }
    rest->bytes = at;
    rest->len = (size_t)(end - at);
    *out_key = (uint32_t)key;
    *out_bytes = bytes;
    *out_number = number;
    return true;
}

/* A walk over the fields of a message; `broken` tells its two ends apart. */
typedef struct walk {
    sp_wire_piece rest;
    uint32_t key;
    sp_wire_piece bytes;
    uint64_t number;
} walk;

static bool walk_next(walk *at) {
    return sp_wire_next_field(&at->rest, &at->key, &at->bytes, &at->number);
}

static bool walk_is_whole(const walk *at) {
    return at->rest.len == 0;
}

static bool count_fields(sp_wire_piece message, uint32_t key, size_t *count) {
    walk at = {.rest = message};
    while (walk_next(&at)) {
        *count += at.key == key;
    }
    return walk_is_whole(&at);
}

/* Room for a list; for an empty one NULL, which is no failure. */
static bool list_alloc(sp_arena *arena, size_t count, size_t item_size, void *out_list) {
    void *list = NULL;
    if (count) {
        list = count > SIZE_MAX / item_size ? NULL : sp_arena_alloc(arena, count * item_size);
        if (!list) {
            return false;
        }
        memset(list, 0, count * item_size);
    }
    memcpy(out_list, &list, sizeof list);
    return true;
}

static spool_str text_of(sp_wire_piece bytes) {
    return spool_str_n((const char *)bytes.bytes, bytes.len);
}

/* An id of the right length, or none. */
static bool read_id(sp_wire_piece bytes, uint8_t *out, size_t len) {
    if (bytes.len == len) {
        memcpy(out, bytes.bytes, len);
        return true;
    }
    memset(out, 0, len);
    return bytes.len == 0;
}

/* ---- values ---- */

static bool read_value(sp_wire_piece message, sp_arena *arena, unsigned depth, spool_value *out);

static bool read_attr(sp_wire_piece message, sp_arena *arena, unsigned depth, spool_attr *out) {
    walk at = {.rest = message};
    out->key = spool_str_n("", 0);
    out->value = spool_value_empty();
    while (walk_next(&at)) {
        if (at.key == SP_KEY_KEY) {
            out->key = text_of(at.bytes);
        } else if (at.key == SP_KEY_VALUE && !read_value(at.bytes, arena, depth, &out->value)) {
            return false;
        }
    }
    return walk_is_whole(&at);
}

static bool read_array(sp_wire_piece message, sp_arena *arena, unsigned depth, spool_value *out) {
    size_t count = 0;
    spool_value *items = NULL;
    if (depth > SP_WIRE_DEPTH_MAX || !count_fields(message, SP_KEY_ITEM, &count) ||
        !list_alloc(arena, count, sizeof *items, &items)) {
        return false;
    }
    walk at = {.rest = message};
    for (size_t i = 0; i < count && walk_next(&at);) {
        if (at.key == SP_KEY_ITEM && !read_value(at.bytes, arena, depth + 1, &items[i++])) {
            return false;
        }
    }
    *out = spool_value_array(items, count);
    return true;
}

static bool read_map(sp_wire_piece message, sp_arena *arena, unsigned depth, spool_value *out) {
    size_t count = 0;
    spool_attr *items = NULL;
    if (depth > SP_WIRE_DEPTH_MAX || !count_fields(message, SP_KEY_ITEM, &count) ||
        !list_alloc(arena, count, sizeof *items, &items)) {
        return false;
    }
    walk at = {.rest = message};
    for (size_t i = 0; i < count && walk_next(&at);) {
        if (at.key == SP_KEY_ITEM && !read_attr(at.bytes, arena, depth + 1, &items[i++])) {
            return false;
        }
    }
    *out = spool_value_map(items, count);
    return true;
}

/* `depth` is that of the value; the last member of the oneof wins. */
static bool read_value(sp_wire_piece message, sp_arena *arena, unsigned depth, spool_value *out) {
    walk at = {.rest = message};
    *out = spool_value_empty();
    while (walk_next(&at)) {
        switch (at.key) {
        case SP_KEY_STRING:
            *out = spool_value_string_n(text_of(at.bytes));
            break;
        case SP_KEY_BOOL:
            *out = spool_value_bool(at.number != 0);
            break;
        case SP_KEY_INT:
            *out = spool_value_int((int64_t)at.number);
            break;
        case SP_KEY_DOUBLE: {
            double number;
            memcpy(&number, &at.number, sizeof number);
            *out = spool_value_double(number);
            break;
        }
        case SP_KEY_BYTES:
            *out = spool_value_bytes(at.bytes.bytes, at.bytes.len);
            break;
        case SP_KEY_ARRAY:
            if (!read_array(at.bytes, arena, depth, out)) {
                return false;
            }
            break;
        case SP_KEY_MAP:
            if (!read_map(at.bytes, arena, depth, out)) {
                return false;
            }
            break;
        default:
            break;
        }
    }
    return walk_is_whole(&at);
}

static bool read_attrs(sp_wire_piece message, uint32_t key, sp_arena *arena,
                       const spool_attr **out_attrs, size_t *out_count) {
    size_t count = 0;
    spool_attr *attrs = NULL;
    if (!count_fields(message, key, &count) || !list_alloc(arena, count, sizeof *attrs, &attrs)) {
        return false;
    }
    walk at = {.rest = message};
    for (size_t i = 0; i < count && walk_next(&at);) {
        if (at.key == key && !read_attr(at.bytes, arena, 1, &attrs[i++])) {
            return false;
        }
    }
    *out_attrs = attrs;
    *out_count = count;
    return true;
}

/* ---- events and links ---- */

static bool read_event(sp_wire_piece message, sp_arena *arena, spool_event_data *out) {
    walk at = {.rest = message};
    out->name = spool_str_n("", 0);
    while (walk_next(&at)) {
        switch (at.key) {
        case SP_KEY_EVENT_TIME:
            out->time_ns = at.number;
            break;
        case SP_KEY_EVENT_NAME:
            out->name = text_of(at.bytes);
            break;
        case SP_KEY_EVENT_DROPPED:
            out->dropped_attr_count = (uint32_t)at.number;
            break;
        default:
            break;
        }
    }
    return walk_is_whole(&at) &&
           read_attrs(message, SP_WIRE_EVENT_ATTRS, arena, &out->attrs, &out->attr_count);
}

static bool read_link(sp_wire_piece message, sp_arena *arena, spool_link_data *out) {
    walk at = {.rest = message};
    out->trace_state = spool_str_n("", 0);
    while (walk_next(&at)) {
        switch (at.key) {
        case SP_KEY_LINK_TRACE_ID:
            if (!read_id(at.bytes, out->context.trace_id, 16)) {
                return false;
            }
            break;
        case SP_KEY_LINK_SPAN_ID:
            if (!read_id(at.bytes, out->context.span_id, 8)) {
                return false;
            }
            break;
        case SP_KEY_LINK_TRACE_STATE:
            out->trace_state = text_of(at.bytes);
            break;
        case SP_KEY_LINK_DROPPED:
            out->dropped_attr_count = (uint32_t)at.number;
            break;
        case SP_KEY_LINK_FLAGS:
            out->context.flags = (uint8_t)at.number;
            out->context.remote = (at.number & SP_WIRE_FLAG_REMOTE) != 0;
            break;
        default:
            break;
        }
    }
    return walk_is_whole(&at) &&
           read_attrs(message, SP_WIRE_LINK_ATTRS, arena, &out->attrs, &out->attr_count);
}

/* ---- spans ---- */

typedef struct content {
    spool_attr *attrs;
    spool_event_data *events;
    spool_link_data *links;
    size_t attr_count, event_count, link_count;
} content;

/* Counts the content fields of all pieces and makes room for them. */
static bool content_alloc(const sp_wire_piece *pieces, size_t count, sp_arena *arena,
                          content *out) {
    for (size_t i = 0; i < count; i++) {
        walk at = {.rest = pieces[i]};
        while (walk_next(&at)) {
            out->attr_count += at.key == SP_WIRE_SPAN_ATTRS;
            out->event_count += at.key == SP_WIRE_SPAN_EVENTS;
            out->link_count += at.key == SP_WIRE_SPAN_LINKS;
        }
        if (!walk_is_whole(&at)) {
            return false;
        }
    }
    return list_alloc(arena, out->attr_count, sizeof *out->attrs, &out->attrs) &&
           list_alloc(arena, out->event_count, sizeof *out->events, &out->events) &&
           list_alloc(arena, out->link_count, sizeof *out->links, &out->links);
}

bool sp_wire_read_content(const sp_wire_piece *pieces, size_t count, sp_arena *arena,
                          spool_span_data *out_span) {
    content lists = {NULL, NULL, NULL, 0, 0, 0};
    if (!content_alloc(pieces, count, arena, &lists)) {
        return false;
    }
    spool_attr *attr = lists.attrs;
    spool_event_data *event = lists.events;
    spool_link_data *link = lists.links;
    for (size_t i = 0; i < count; i++) {
        walk at = {.rest = pieces[i]};
        while (walk_next(&at)) {
            bool good = true;
            if (at.key == SP_WIRE_SPAN_ATTRS) {
                good = read_attr(at.bytes, arena, 1, attr++);
            } else if (at.key == SP_WIRE_SPAN_EVENTS) {
                good = read_event(at.bytes, arena, event++);
            } else if (at.key == SP_WIRE_SPAN_LINKS) {
                good = read_link(at.bytes, arena, link++);
            }
            if (!good) {
                return false;
            }
        }
    }
    out_span->attrs = lists.attrs;
    out_span->attr_count = lists.attr_count;
    out_span->events = lists.events;
    out_span->event_count = lists.event_count;
    out_span->links = lists.links;
    out_span->link_count = lists.link_count;
    return true;
}

static bool read_status(sp_wire_piece message, spool_span_data *out) {
    walk at = {.rest = message};
    while (walk_next(&at)) {
        if (at.key == SP_KEY_STATUS_MESSAGE) {
            out->status_description = text_of(at.bytes);
        } else if (at.key == SP_KEY_STATUS_CODE) {
            out->status =
                at.number <= SPOOL_STATUS_ERROR ? (uint32_t)at.number : SPOOL_STATUS_UNSET;
        }
    }
    return walk_is_whole(&at);
}

/* One field of a span that is not content. */
static bool read_span_field(const walk *at, spool_span_data *out) {
    switch (at->key) {
    case SP_KEY_SPAN_TRACE_ID:
        return read_id(at->bytes, out->context.trace_id, 16);
    case SP_KEY_SPAN_ID:
        return read_id(at->bytes, out->context.span_id, 8);
    case SP_KEY_SPAN_PARENT:
        return read_id(at->bytes, out->parent_span_id, 8);
    case SP_KEY_SPAN_STATUS:
        return read_status(at->bytes, out);
    case SP_KEY_SPAN_TRACE_STATE:
        out->trace_state = text_of(at->bytes);
        break;
    case SP_KEY_SPAN_NAME:
        out->name = text_of(at->bytes);
        break;
    case SP_KEY_SPAN_KIND: /* one more than ours; 0 is "unspecified" */
        out->kind = at->number >= 1 && at->number <= SPOOL_KIND_CONSUMER + 1
                        ? (uint32_t)at->number - 1
                        : SPOOL_KIND_INTERNAL;
        break;
    case SP_KEY_SPAN_START:
        out->start_time_ns = at->number;
        break;
    case SP_KEY_SPAN_END:
        out->end_time_ns = at->number;
        break;
    case SP_KEY_SPAN_DROPPED_ATTRS:
        out->dropped_attr_count = (uint32_t)at->number;
        break;
    case SP_KEY_SPAN_DROPPED_EVENTS:
        out->dropped_event_count = (uint32_t)at->number;
        break;
    case SP_KEY_SPAN_DROPPED_LINKS:
        out->dropped_link_count = (uint32_t)at->number;
        break;
    case SP_KEY_SPAN_FLAGS:
        out->context.flags = (uint8_t)at->number;
        out->parent_remote = (at->number & SP_WIRE_FLAG_REMOTE) != 0;
        break;
    default:
        break;
    }
    return true;
}

bool sp_wire_read_span(sp_wire_piece message, sp_arena *arena, spool_span_data *out_span) {
    walk at = {.rest = message};
    memset(out_span, 0, sizeof *out_span);
    out_span->struct_size = sizeof *out_span;
    out_span->trace_state = spool_str_n("", 0);
    out_span->name = spool_str_n("", 0);
    out_span->status_description = spool_str_n("", 0);
    while (walk_next(&at)) {
        if (!read_span_field(&at, out_span)) {
            return false;
        }
    }
    /* This walks the message again, to the same end. */
    return sp_wire_read_content(&message, 1, arena, out_span);
}

/* ---- log records ---- */

static bool read_log_field(const walk *at, sp_arena *arena, spool_log_data *out) {
    switch (at->key) {
    case SP_KEY_LOG_TRACE_ID:
        return read_id(at->bytes, out->context.trace_id, 16);
    case SP_KEY_LOG_SPAN_ID:
        return read_id(at->bytes, out->context.span_id, 8);
    case SP_KEY_LOG_BODY:
        return read_value(at->bytes, arena, 1, &out->body);
    case SP_KEY_LOG_TIME:
        out->timestamp_ns = at->number;
        break;
    case SP_KEY_LOG_OBSERVED:
        out->observed_timestamp_ns = at->number;
        break;
    case SP_KEY_LOG_SEVERITY:
        out->severity = (int32_t)(uint32_t)at->number;
        break;
    case SP_KEY_LOG_SEVERITY_TEXT:
        out->severity_text = text_of(at->bytes);
        break;
    case SP_KEY_LOG_EVENT_NAME:
        out->event_name = text_of(at->bytes);
        break;
    case SP_KEY_LOG_DROPPED_ATTRS:
        out->dropped_attr_count = (uint32_t)at->number;
        break;
    case SP_KEY_LOG_FLAGS:
        out->context.flags = (uint8_t)at->number;
        break;
    default:
        break;
    }
    return true;
}

bool sp_wire_read_log(sp_wire_piece message, sp_arena *arena, spool_log_data *out_log) {
    walk at = {.rest = message};
    memset(out_log, 0, sizeof *out_log);
    out_log->struct_size = sizeof *out_log;
    out_log->severity_text = spool_str_n("", 0);
    out_log->event_name = spool_str_n("", 0);
    out_log->body = spool_value_empty();
    while (walk_next(&at)) {
        if (!read_log_field(&at, arena, out_log)) {
            return false;
        }
    }
    return walk_is_whole(&at) &&
           read_attrs(message, SP_WIRE_LOG_ATTRS, arena, &out_log->attrs, &out_log->attr_count);
}
