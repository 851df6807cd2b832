/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model is written for being plainly right: it shares no code and no method with the
 * library.
 */
#include "tests/unit/wire/reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY(name) OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_##name

/* ---- UTF-8 by brute force: a prefix is good if some way of going on makes a character ---- */

static bool is_character(const uint8_t *at, size_t len) {
    uint32_t code = at[0];
    if (len == 1) {
        return code < 0x80;
    }
    uint8_t again[4] = {0};
    code &= 0xFFu >> (len + 1);
    for (size_t i = 1; i < len; i++) {
        code = code << 6 | (at[i] & 0x3Fu);
    }
    if (code >= 0xD800 && code <= 0xDFFF) {
        return false;
    }
    if (code >= 0x80 && code < 0x800) {
        again[0] = (uint8_t)(0xC0 | code >> 6);
        again[1] = (uint8_t)(0x80 | (code & 0x3F));
        return len == 2 && memcmp(again, at, 2) == 0;
    }
    if (code >= 0x800 && code < 0x10000) {
        again[0] = (uint8_t)(0xE0 | code >> 12);
        again[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        again[2] = (uint8_t)(0x80 | (code & 0x3F));
        return len == 3 && memcmp(again, at, 3) == 0;
    }
    if (code >= 0x10000 && code < 0x110000) {
        again[0] = (uint8_t)(0xF0 | code >> 18);
        again[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        again[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        again[3] = (uint8_t)(0x80 | (code & 0x3F));
        return len == 4 && memcmp(again, at, 4) == 0;
    }
    return false;
}

static bool can_go_on(const uint8_t *at, size_t len) {
    static const uint8_t tries[] = {0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF};
    if (is_character(at, len)) {
        return true;
    }
    if (len == 4) {
        return false;
    }
    for (size_t i = 0; i < sizeof tries; i++) {
        uint8_t longer[4];
        memcpy(longer, at, len);
        longer[len] = tries[i];
        if (can_go_on(longer, len + 1)) {
            return true;
        }
    }
    return false;
}

spool_str spt_model_text(spool_str text, uint32_t max_chars) {
    char *out = malloc(text.len * 3 + 1);
    size_t size = 0;
    uint64_t chars = 0;
    for (size_t done = 0; done < text.len && chars < max_chars; chars++) {
        const uint8_t *at = (const uint8_t *)text.ptr + done;
        size_t left = text.len - done, len = 1;
        while (len <= left && len <= 4 && !is_character(at, len)) {
            len++;
        }
        if (len <= left && len <= 4) {
            memcpy(out + size, at, len);
            size += len;
            done += len;
            continue;
        }
        for (len = 1; len < left && len < 4 && can_go_on(at, len + 1); len++) {
        }
        memcpy(out + size, "\xEF\xBF\xBD", 3);
        size += 3;
        done += len;
    }
    return spool_str_n(out, size);
}

static bool model_text_is(spool_str want, uint32_t max_chars, ProtobufCBinaryData got) {
    spool_str model = spt_model_text(want, max_chars);
    bool same = model.len == got.len && (got.len == 0 || memcmp(model.ptr, got.data, got.len) == 0);
    free((void *)model.ptr);
    return same;
}

bool spt_text_matches(spool_str want, ProtobufCBinaryData got) {
    return model_text_is(want, UINT32_MAX, got);
}

bool spt_unwrap(const uint8_t *bytes, size_t len, uint32_t key, sp_wire_piece *out_message) {
    size_t at = 1, size = 0;
    unsigned shift = 0;
    if (len < 2 || bytes[0] != key) {
        return false;
    }
    do {
        size |= (size_t)(bytes[at] & 0x7F) << shift;
        shift += 7;
    } while (bytes[at++] & 0x80 && at < len);
    out_message->bytes = bytes + at;
    out_message->len = size;
    return at + size == len;
}

/* ---- values ---- */

static bool value_matches(const spool_value *want, const spt_any *got, const sp_wire_limits *limits,
                          uint32_t depth);

static bool has_key(const spool_attr *attr) {
    return attr->key.ptr && attr->key.len;
}

static bool same_text(spool_str a, spool_str b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool entry_matches(const spool_attr *want, const spt_key_value *got,
                          const sp_wire_limits *limits, uint32_t depth) {
    return got->value && model_text_is(want->key, UINT32_MAX, got->key) &&
           value_matches(&want->value, got->value, limits, depth);
}

/* Every key once, with the last value: the order is free. */
static bool list_matches(const spool_attr *const *want, size_t want_count, spt_key_value **got,
                         size_t got_count, const sp_wire_limits *limits, uint32_t depth) {
    spool_str *keys = malloc((want_count + 1) * sizeof *keys);
    bool *used = calloc(got_count + 1, sizeof *used);
    size_t unique = 0;
    bool good = true;
    for (size_t i = 0; i < want_count; i++) {
        keys[i] = spt_model_text(want[i]->key, UINT32_MAX);
    }
    for (size_t i = 0; i < want_count && good; i++) {
        bool again = false;
        for (size_t j = i + 1; j < want_count && !again; j++) {
            again = same_text(keys[i], keys[j]);
        }
        if (again) {
            continue;
        }
        unique++;
        bool found = false;
        /* Written in the order of the input, so the search nearly always succeeds at once. */
        for (size_t j = 0; j < got_count && !found; j++) {
            if (!used[j] && entry_matches(want[i], got[j], limits, depth)) {
                found = used[j] = true;
            }
        }
        good = found;
    }
    for (size_t i = 0; i < want_count; i++) {
        free((void *)keys[i].ptr);
    }
    free(keys);
    free(used);
    return good && unique == got_count;
}

static bool map_matches(const spool_value *want, const spt_any *got, const sp_wire_limits *limits,
                        uint32_t depth) {
    size_t count = want->as.map.items ? want->as.map.count : 0, kept = 0;
    const spool_attr **list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        if (has_key(&want->as.map.items[i])) {
            list[kept++] = &want->as.map.items[i];
        }
    }
    bool good = list_matches(list, kept, got->kvlist_value->values, got->kvlist_value->n_values,
                             limits, depth + 1);
    free((void *)list);
    return good;
}

static bool array_matches(const spool_value *want, const spt_any *got, const sp_wire_limits *limits,
                          uint32_t depth) {
    size_t count = want->as.array.items ? want->as.array.count : 0;
    if (got->array_value->n_values != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!value_matches(&want->as.array.items[i], got->array_value->values[i], limits,
                           depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool value_matches(const spool_value *want, const spt_any *got, const sp_wire_limits *limits,
                          uint32_t depth) {
    char digits[32];
    bool deep = depth > limits->depth || depth > SP_WIRE_DEPTH_MAX;
    switch (want->type) {
    case SPOOL_VALUE_STRING:
        if (!want->as.string.ptr) {
            return got->value_case == ANY(_NOT_SET);
        }
        return got->value_case == ANY(STRING_VALUE) &&
               model_text_is(want->as.string, limits->text_length, got->string_value);
    case SPOOL_VALUE_BOOL:
        return got->value_case == ANY(BOOL_VALUE) && got->bool_value == want->as.boolean;
    case SPOOL_VALUE_INT:
        return got->value_case == ANY(INT_VALUE) && got->int_value == want->as.integer;
    case SPOOL_VALUE_DOUBLE: /* the bits: NaN payloads and the sign of zero count */
        return got->value_case == ANY(DOUBLE_VALUE) &&
               memcmp(&got->double_value, &want->as.number, sizeof(double)) == 0;
    case SPOOL_VALUE_BYTES: {
        size_t len = want->as.bytes.ptr ? want->as.bytes.len : 0;
        len = len > limits->text_length ? limits->text_length : len;
        return got->value_case == ANY(BYTES_VALUE) && got->bytes_value.len == len &&
               (len == 0 || memcmp(got->bytes_value.data, want->as.bytes.ptr, len) == 0);
    }
    case SPOOL_VALUE_UINT:
        snprintf(digits, sizeof digits, "%" PRIu64, want->as.unsigned_integer);
        return got->value_case == ANY(STRING_VALUE) &&
               model_text_is(spool_str_of(digits), UINT32_MAX, got->string_value);
    case SPOOL_VALUE_ARRAY:
        return deep
                   ? got->value_case == ANY(_NOT_SET)
                   : got->value_case == ANY(ARRAY_VALUE) && array_matches(want, got, limits, depth);
    case SPOOL_VALUE_MAP:
        return deep ? got->value_case == ANY(_NOT_SET)
                    : got->value_case == ANY(KVLIST_VALUE) && map_matches(want, got, limits, depth);
    default:
        return got->value_case == ANY(_NOT_SET);
    }
}

bool spt_value_matches(const spool_value *want, const spt_any *got, const sp_wire_limits *limits) {
    return value_matches(want, got, limits, 1);
}

bool spt_attr_matches(const spool_attr *want, const spt_key_value *got,
                      const sp_wire_limits *limits) {
    return entry_matches(want, got, limits, 1);
}

bool spt_attrs_match(const spool_attr *want, size_t want_count, spt_key_value **got,
                     size_t got_count, uint32_t got_dropped, const sp_wire_limits *limits) {
    const spool_attr **list = malloc((want_count + 1) * sizeof *list);
    size_t kept = 0, dropped = 0;
    bool limited = want_count > limits->attr_count;
    for (size_t i = 0; i < want_count; i++) {
        size_t known = kept;
        if (!has_key(&want[i])) {
            dropped++;
            continue;
        }
        for (size_t j = 0; limited && j < kept && known == kept; j++) {
            known = same_text(want[i].key, list[j]->key) ? j : kept;
        }
        if (known < kept) {
            list[known] = &want[i];
        } else if (!limited || kept < limits->attr_count) {
            list[kept++] = &want[i];
        } else {
            dropped++;
        }
    }
    bool good = dropped == got_dropped && list_matches(list, kept, got, got_count, limits, 1);
    free((void *)list);
    return good;
}

/* ---- records ---- */

static bool id_matches(const uint8_t *want, size_t len, ProtobufCBinaryData got) {
    static const uint8_t zero[16] = {0};
    if (memcmp(want, zero, len) == 0) {
        return got.len == 0;
    }
    return got.len == len && memcmp(want, got.data, len) == 0;
}

bool spt_log_matches(const spool_log_data *want, const spt_pb_log *got,
                     const sp_wire_limits *limits) {
    sp_wire_limits attr_limits = *limits;
    bool body_good;
    if (want->body.type == SPOOL_VALUE_EMPTY ||
        (want->body.type == SPOOL_VALUE_STRING && !want->body.as.string.ptr)) {
        body_good = got->body == NULL;
    } else {
        sp_wire_limits unlimited = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
        body_good = got->body && spt_value_matches(&want->body, got->body, &unlimited);
    }
    return body_good && got->time_unix_nano == want->timestamp_ns &&
           got->observed_time_unix_nano == want->observed_timestamp_ns &&
           (int32_t)got->severity_number == want->severity &&
           spt_text_matches(want->severity_text, got->severity_text) &&
           spt_text_matches(want->event_name, got->event_name) &&
           got->flags == want->context.flags &&
           id_matches(want->context.trace_id, 16, got->trace_id) &&
           id_matches(want->context.span_id, 8, got->span_id) &&
           spt_attrs_match(want->attrs, want->attr_count, got->attributes, got->n_attributes,
                           got->dropped_attributes_count - want->dropped_attr_count, &attr_limits);
}

/* ---- views ---- */

static bool text_equals(spool_str view, ProtobufCBinaryData got) {
    return view.len == got.len && (got.len == 0 || memcmp(view.ptr, got.data, got.len) == 0);
}

static bool attrs_equal(const spool_attr *view, size_t count, spt_key_value **got,
                        size_t got_count);

static bool value_equals(const spool_value *view, const spt_any *got) {
    switch (got->value_case) {
    case ANY(STRING_VALUE):
        return view->type == SPOOL_VALUE_STRING && view->as.string.ptr &&
               text_equals(view->as.string, got->string_value);
    case ANY(BOOL_VALUE):
        return view->type == SPOOL_VALUE_BOOL && view->as.boolean == (got->bool_value != 0);
    case ANY(INT_VALUE):
        return view->type == SPOOL_VALUE_INT && view->as.integer == got->int_value;
    case ANY(DOUBLE_VALUE):
        return view->type == SPOOL_VALUE_DOUBLE &&
               memcmp(&view->as.number, &got->double_value, sizeof(double)) == 0;
    case ANY(BYTES_VALUE):
        return view->type == SPOOL_VALUE_BYTES && text_equals(view->as.bytes, got->bytes_value);
    case ANY(ARRAY_VALUE):
        if (view->type != SPOOL_VALUE_ARRAY || view->as.array.count != got->array_value->n_values) {
            return false;
        }
        for (size_t i = 0; i < view->as.array.count; i++) {
            if (!value_equals(&view->as.array.items[i], got->array_value->values[i])) {
                return false;
            }
        }
        return true;
    case ANY(KVLIST_VALUE):
        return view->type == SPOOL_VALUE_MAP &&
               attrs_equal(view->as.map.items, view->as.map.count, got->kvlist_value->values,
                           got->kvlist_value->n_values);
    default:
        return view->type == SPOOL_VALUE_EMPTY;
    }
}

static bool attrs_equal(const spool_attr *view, size_t count, spt_key_value **got,
                        size_t got_count) {
    if (count != got_count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!text_equals(view[i].key, got[i]->key) ||
            !value_equals(&view[i].value, got[i]->value)) {
            return false;
        }
    }
    return true;
}

static bool event_equals(const spool_event_data *view, const spt_pb_event *got) {
    return text_equals(view->name, got->name) && view->time_ns == got->time_unix_nano &&
           view->dropped_attr_count == got->dropped_attributes_count &&
           attrs_equal(view->attrs, view->attr_count, got->attributes, got->n_attributes);
}

static bool link_equals(const spool_link_data *view, const spt_pb_link *got) {
    return got->trace_id.len == 16 && memcmp(view->context.trace_id, got->trace_id.data, 16) == 0 &&
           got->span_id.len == 8 && memcmp(view->context.span_id, got->span_id.data, 8) == 0 &&
           view->context.flags == (got->flags & 0xFF) &&
           view->context.remote == ((got->flags & 0x200) != 0) &&
           text_equals(view->trace_state, got->trace_state) &&
           view->dropped_attr_count == got->dropped_attributes_count &&
           attrs_equal(view->attrs, view->attr_count, got->attributes, got->n_attributes);
}

static bool status_equals(const spool_span_data *view, const spt_pb_span *got) {
    if (!got->status) {
        return view->status == SPOOL_STATUS_UNSET && view->status_description.len == 0;
    }
    return view->status == (uint32_t)got->status->code &&
           text_equals(view->status_description, got->status->message);
}

bool spt_span_view_equals(const spool_span_data *view, const spt_pb_span *got) {
    bool good =
        view->struct_size == sizeof *view &&
        id_matches(view->context.trace_id, 16, got->trace_id) &&
        id_matches(view->context.span_id, 8, got->span_id) &&
        id_matches(view->parent_span_id, 8, got->parent_span_id) &&
        view->context.flags == (got->flags & 0xFF) && view->context.remote == 0 &&
        view->parent_remote == ((got->flags & 0x200) != 0) &&
        view->kind + 1 == (uint32_t)got->kind && text_equals(view->trace_state, got->trace_state) &&
        text_equals(view->name, got->name) && view->start_time_ns == got->start_time_unix_nano &&
        view->end_time_ns == got->end_time_unix_nano &&
        view->dropped_attr_count == got->dropped_attributes_count &&
        view->dropped_event_count == got->dropped_events_count &&
        view->dropped_link_count == got->dropped_links_count && status_equals(view, got) &&
        view->event_count == got->n_events && view->link_count == got->n_links &&
        attrs_equal(view->attrs, view->attr_count, got->attributes, got->n_attributes);
    for (size_t i = 0; good && i < view->event_count; i++) {
        good = event_equals(&view->events[i], got->events[i]);
    }
    for (size_t i = 0; good && i < view->link_count; i++) {
        good = link_equals(&view->links[i], got->links[i]);
    }
    return good;
}

bool spt_log_view_equals(const spool_log_data *view, const spt_pb_log *got) {
    bool body_good =
        got->body ? value_equals(&view->body, got->body) : view->body.type == SPOOL_VALUE_EMPTY;
    return body_good && view->struct_size == sizeof *view &&
           view->timestamp_ns == got->time_unix_nano &&
           view->observed_timestamp_ns == got->observed_time_unix_nano &&
           view->severity == (int32_t)got->severity_number &&
           text_equals(view->severity_text, got->severity_text) &&
           text_equals(view->event_name, got->event_name) &&
           view->dropped_attr_count == got->dropped_attributes_count &&
           view->context.flags == (got->flags & 0xFF) &&
           id_matches(view->context.trace_id, 16, got->trace_id) &&
           id_matches(view->context.span_id, 8, got->span_id) &&
           attrs_equal(view->attrs, view->attr_count, got->attributes, got->n_attributes);
}
