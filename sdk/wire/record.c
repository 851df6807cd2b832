/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole records. A span arrives in OTLP pieces and is put together; a log record arrives as the
 * caller made it and is measured, then written, each in one pass over its attributes.
 */
#include "sdk/platform/check.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/wire/value.h"

enum {
    TRACE_ID_BYTES = 16,
    SPAN_ID_BYTES = 8,
    FIXED64_BYTES = 9, /* with a key of one byte */
    FIXED32_BYTES = 5
};

/* The value of an attribute that is left out; no AnyValue is that large. */
#define LEFT_OUT UINT32_MAX

static inline bool id_is_zero(const uint8_t *id, size_t len) {
    uint64_t all = 0;
    for (size_t i = 0; i < len; i += sizeof all) {
        uint64_t word;
        memcpy(&word, id + i, sizeof word);
        all |= word;
    }
    return all == 0;
}

/* Fields that are absent when zero or empty. */

static inline size_t text_size(spool_str text) {
    return text.len ? sp_field_size(text.len) : 0;
}

static inline uint8_t *text_put(uint8_t *at, uint8_t key, spool_str text) {
    return text.len ? sp_field_put(at, key, text.ptr, text.len) : at;
}

static inline size_t number_size(uint64_t value) {
    return value ? 1 + sp_varint_size(value) : 0;
}

static inline uint8_t *number_put(uint8_t *at, uint8_t key, uint64_t value) {
    if (!value) {
        return at;
    }
    *at = key;
    return sp_varint_put(at + 1, value);
}

static inline size_t time_size(uint64_t value) {
    return value ? FIXED64_BYTES : 0;
}

static inline uint8_t *time_put(uint8_t *at, uint8_t key, uint64_t value) {
    return value ? sp_fixed64_put(at, key, value) : at;
}

/* ---- spans ---- */

static inline bool span_has_parent(const sp_wire_span *span) {
    return span->parent_span_id && !id_is_zero(span->parent_span_id, SPAN_ID_BYTES);
}

static inline size_t status_size(const sp_wire_span *span) {
    return text_size(span->status_description) + number_size(span->status);
}

static size_t span_message_size(const sp_wire_span *span) {
    size_t size = 2 + TRACE_ID_BYTES + 2 + SPAN_ID_BYTES;
    size += span_has_parent(span) ? 2 + SPAN_ID_BYTES : 0;
    size += text_size(span->trace_state) + text_size(span->name);
    size += number_size((uint64_t)span->kind + 1);
    size += time_size(span->start_time_ns) + time_size(span->end_time_ns);
    size += number_size(span->dropped_attrs) + number_size(span->dropped_events) +
            number_size(span->dropped_links);
    size_t status = status_size(span);
    size += status ? sp_field_size(status) : 0;
    size += span->flags ? 1 + FIXED32_BYTES : 0;
    for (size_t i = 0; i < span->content_count; i++) {
        size += span->content[i].len;
    }
    return size;
}

size_t sp_wire_span_size(const sp_wire_span *span) {
    return sp_field_size(span_message_size(span));
}

static uint8_t *status_put(uint8_t *at, const sp_wire_span *span) {
    size_t size = status_size(span);
    if (!size) {
        return at;
    }
    *at = SP_KEY_SPAN_STATUS;
    at = sp_varint_put(at + 1, size);
    at = text_put(at, SP_KEY_STATUS_MESSAGE, span->status_description);
    return number_put(at, SP_KEY_STATUS_CODE, span->status);
}

uint8_t *sp_wire_span_write(uint8_t *at, const sp_wire_span *span) {
    *at = SP_WIRE_SCOPE_RECORDS;
    at = sp_varint_put(at + 1, span_message_size(span));
    at = sp_field_put(at, SP_KEY_SPAN_TRACE_ID, span->trace_id, TRACE_ID_BYTES);
    at = sp_field_put(at, SP_KEY_SPAN_ID, span->span_id, SPAN_ID_BYTES);
    at = text_put(at, SP_KEY_SPAN_TRACE_STATE, span->trace_state);
    if (span_has_parent(span)) {
        at = sp_field_put(at, SP_KEY_SPAN_PARENT, span->parent_span_id, SPAN_ID_BYTES);
    }
    at = text_put(at, SP_KEY_SPAN_NAME, span->name);
    at = number_put(at, SP_KEY_SPAN_KIND, (uint64_t)span->kind + 1);
    at = time_put(at, SP_KEY_SPAN_START, span->start_time_ns);
    at = time_put(at, SP_KEY_SPAN_END, span->end_time_ns);
    for (size_t i = 0; i < span->content_count; i++) {
        if (span->content[i].len) {
            memcpy(at, span->content[i].bytes, span->content[i].len);
            at += span->content[i].len;
        }
    }
    at = number_put(at, SP_KEY_SPAN_DROPPED_ATTRS, span->dropped_attrs);
    at = number_put(at, SP_KEY_SPAN_DROPPED_EVENTS, span->dropped_events);
    at = number_put(at, SP_KEY_SPAN_DROPPED_LINKS, span->dropped_links);
    at = status_put(at, span);
    if (span->flags) {
        at = sp_varint_put(at, SP_KEY_SPAN_FLAGS);
        uint32_t flags = sp_fixed32_order(span->flags);
        memcpy(at, &flags, sizeof flags);
        at += sizeof flags;
    }
    return at;
}

/* ---- log records ---- */

/* Measures the attributes if all are simple; their size goes to *out_size. */
static bool plan_simple_attrs(const spool_log_data *log, const sp_wire_limits *limits,
                              sp_wire_log_plan *plan, size_t *out_size) {
    size_t total = 0, kept = 0, keyless = 0;
    for (size_t i = 0; i < plan->attr_count; i++) {
        const spool_attr *attr = &log->attrs[i];
        plan->attr_sizes[i] = LEFT_OUT;
        if (SP_UNLIKELY(!sp_attr_has_key(attr))) {
            keyless++;
            continue;
        }
        if (SP_UNLIKELY(kept == limits->attr_count)) {
            continue;
        }
        size_t value_size;
        size_t size = sp_simple_attr_size(attr, limits->text_length, &value_size);
        if (SP_UNLIKELY(size > SP_WIRE_SIZE_MAX || total > SP_WIRE_SIZE_MAX)) {
            return false;
        }
        plan->attr_sizes[i] = (uint32_t)value_size;
        total += sp_field_size(size);
        kept++;
    }
    if (SP_UNLIKELY(keyless)) {
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, keyless);
    }
    plan->dropped_attrs += (uint32_t)(plan->attr_count - kept);
    *out_size = total;
    return true;
}

/* Makes all attributes in scratch. */
static bool plan_built_attrs(const spool_log_data *log, const sp_wire_limits *limits,
                             sp_scratch *scratch, sp_wire_log_plan *plan) {
    sp_wire_builder builder;
    sp_builder_init(&builder, scratch, limits);
    sp_builder_measure_attrs(&builder, log->attrs, plan->attr_count);
    if (!sp_builder_open(&builder)) {
        return false;
    }
    plan->dropped_attrs += (uint32_t)sp_builder_put_attrs(&builder, SP_WIRE_LOG_ATTRS, log->attrs,
                                                          plan->attr_count, limits->attr_count);
    plan->attrs = sp_builder_close(&builder);
    return plan->attrs.bytes != NULL;
}

static bool plan_attrs(const spool_log_data *log, const sp_wire_limits *limits, sp_scratch *scratch,
                       sp_wire_log_plan *plan, size_t *out_size) {
    plan->attrs = (sp_wire_piece){NULL, 0};
    plan->attr_count = log->attrs ? log->attr_count : 0;
    plan->attr_sizes = plan->attr_sizes_inline;
    if (plan->attr_count > SP_WIRE_PLAN_INLINE) {
        plan->attr_sizes = sp_scratch_alloc(scratch, plan->attr_count * sizeof *plan->attr_sizes);
        if (!plan->attr_sizes) {
            sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
            return false;
        }
    }
    if (SP_LIKELY(plan_simple_attrs(log, limits, plan, out_size))) {
        return true;
    }
    if (!plan_built_attrs(log, limits, scratch, plan)) {
        return false;
    }
    *out_size = plan->attrs.len;
    return true;
}

static bool plan_body(const spool_value *body, sp_scratch *scratch, sp_wire_log_plan *plan) {
    plan->body = (sp_wire_piece){NULL, 0};
    plan->body_size = sp_simple_value_size(body, UINT32_MAX);
    if (SP_LIKELY(plan->body_size != SP_NOT_SIMPLE)) {
        return true;
    }
    static const sp_wire_limits unlimited = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    sp_wire_builder builder;
    sp_builder_init(&builder, scratch, &unlimited);
    builder.current = spool_str_of("log body");
    sp_builder_measure_value(&builder, body);
    if (!sp_builder_open(&builder)) {
        return false;
    }
    sp_builder_put_value(&builder, body);
    plan->body = sp_builder_close(&builder);
    plan->body_size = plan->body.len;
    return plan->body.bytes != NULL;
}

/* A simple body of size 0 is the empty value, which is the same as none. */
static inline size_t body_field_size(const sp_wire_log_plan *plan) {
    return plan->body_size ? sp_field_size(plan->body_size) : 0;
}

static inline uint64_t severity_of(const spool_log_data *log) {
    return (uint64_t)(int64_t)log->severity;
}

size_t sp_wire_log_size(const spool_log_data *log, const sp_wire_limits *limits,
                        sp_scratch *scratch, sp_wire_log_plan *out_plan) {
    sp_wire_log_plan *plan = out_plan;
    size_t attrs_size;
    plan->dropped_attrs = log->dropped_attr_count;
    if (!plan_body(&log->body, scratch, plan) ||
        !plan_attrs(log, limits, scratch, plan, &attrs_size)) {
        return 0;
    }
    plan->severity_text = sp_wire_text_of(scratch, log->severity_text, UINT32_MAX, "severity text");
    plan->event_name = sp_wire_text_of(scratch, log->event_name, UINT32_MAX, "event name");

    size_t size = time_size(log->timestamp_ns) + time_size(log->observed_timestamp_ns);
    size += number_size(severity_of(log));
    size += text_size(plan->severity_text) + text_size(plan->event_name);
    size += body_field_size(plan) + attrs_size + number_size(plan->dropped_attrs);
    size += log->context.flags ? FIXED32_BYTES : 0;
    size += id_is_zero(log->context.trace_id, TRACE_ID_BYTES) ? 0 : 2 + TRACE_ID_BYTES;
    size += id_is_zero(log->context.span_id, SPAN_ID_BYTES) ? 0 : 2 + SPAN_ID_BYTES;
    if (size > SP_WIRE_SIZE_MAX) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return 0;
    }
    plan->message_size = size;
    plan->size = sp_field_size(size);
    return plan->size;
}

static uint8_t *body_put(uint8_t *at, const spool_value *body, const sp_wire_log_plan *plan) {
    if (!plan->body_size) {
        return at;
    }
    *at = SP_KEY_LOG_BODY;
    at = sp_varint_put(at + 1, plan->body_size);
    if (SP_LIKELY(!plan->body.bytes)) {
        return sp_simple_value_put(at, body);
    }
    memcpy(at, plan->body.bytes, plan->body.len);
    return at + plan->body.len;
}

static uint8_t *attrs_put(uint8_t *at, const spool_log_data *log, const sp_wire_log_plan *plan) {
    if (SP_UNLIKELY(plan->attrs.bytes != NULL)) {
        memcpy(at, plan->attrs.bytes, plan->attrs.len);
        return at + plan->attrs.len;
    }
    for (size_t i = 0; i < plan->attr_count; i++) {
        uint32_t value_size = plan->attr_sizes[i];
        if (SP_UNLIKELY(value_size == LEFT_OUT)) {
            continue;
        }
        const spool_attr *attr = &log->attrs[i];
        *at = SP_WIRE_LOG_ATTRS;
        at = sp_varint_put(at + 1, sp_field_size(attr->key.len) + sp_field_size(value_size));
        at = sp_simple_attr_put(at, attr, value_size);
    }
    return at;
}

uint8_t *sp_wire_log_write(uint8_t *at, const spool_log_data *log, const sp_wire_log_plan *plan) {
    const uint8_t *start = at;
    *at = SP_WIRE_SCOPE_RECORDS;
    at = sp_varint_put(at + 1, plan->message_size);
    at = time_put(at, SP_KEY_LOG_TIME, log->timestamp_ns);
    at = number_put(at, SP_KEY_LOG_SEVERITY, severity_of(log));
    at = text_put(at, SP_KEY_LOG_SEVERITY_TEXT, plan->severity_text);
    at = body_put(at, &log->body, plan);
    at = attrs_put(at, log, plan);
    at = number_put(at, SP_KEY_LOG_DROPPED_ATTRS, plan->dropped_attrs);
    if (log->context.flags) {
        at = sp_fixed32_put(at, SP_KEY_LOG_FLAGS, log->context.flags);
    }
    if (!id_is_zero(log->context.trace_id, TRACE_ID_BYTES)) {
        at = sp_field_put(at, SP_KEY_LOG_TRACE_ID, log->context.trace_id, TRACE_ID_BYTES);
    }
    if (!id_is_zero(log->context.span_id, SPAN_ID_BYTES)) {
        at = sp_field_put(at, SP_KEY_LOG_SPAN_ID, log->context.span_id, SPAN_ID_BYTES);
    }
    at = time_put(at, SP_KEY_LOG_OBSERVED, log->observed_timestamp_ns);
    at = text_put(at, SP_KEY_LOG_EVENT_NAME, plan->event_name);
    SP_CHECK((size_t)(at - start) == plan->size);
    (void)start;
    return at;
}
