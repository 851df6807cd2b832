/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what printing needs out of decoded messages. */
#include "tools/tail/record.h"

#include "tools/tail/value_text.h"

#include <string.h>

typedef Opentelemetry__Proto__Common__V1__AnyValue any_value;
typedef Opentelemetry__Proto__Common__V1__KeyValue key_value;

bool sp_tail_id_is_zero(const uint8_t *id, size_t size) {
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++) {
        any |= id[i];
    }
    return any == 0;
}

static bool id_is_valid(ProtobufCBinaryData id, size_t size) {
    return id.len == size && !sp_tail_id_is_zero(id.data, size);
}

static bool id_is_valid_or_empty(ProtobufCBinaryData id, size_t size) {
    return id.len == 0 || id.len == size;
}

bool sp_tail_span_is_valid(const Opentelemetry__Proto__Trace__V1__Span *span) {
    return id_is_valid(span->trace_id, SP_TAIL_TRACE_ID_SIZE) &&
           id_is_valid(span->span_id, SP_TAIL_SPAN_ID_SIZE) &&
           id_is_valid_or_empty(span->parent_span_id, SP_TAIL_SPAN_ID_SIZE);
}

bool sp_tail_log_is_valid(const Opentelemetry__Proto__Logs__V1__LogRecord *log) {
    return id_is_valid_or_empty(log->trace_id, SP_TAIL_TRACE_ID_SIZE) &&
           id_is_valid_or_empty(log->span_id, SP_TAIL_SPAN_ID_SIZE);
}

sp_tail_text sp_tail_service_of(const Opentelemetry__Proto__Resource__V1__Resource *resource) {
    static const char key[] = "service.name";
    static const char unknown[] = "unknown_service";
    for (size_t i = 0; resource != NULL && i < resource->n_attributes; i++) {
        const key_value *attribute = resource->attributes[i];
        const any_value *value = attribute->value;
        if (attribute->key.len == sizeof key - 1 &&
            memcmp(attribute->key.data, key, sizeof key - 1) == 0 && value != NULL &&
            value->value_case == OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE &&
            value->string_value.len > 0) {
            return (sp_tail_text){value->string_value.data, value->string_value.len};
        }
    }
    return (sp_tail_text){(const uint8_t *)unknown, sizeof unknown - 1};
}

bool sp_tail_text_copy(sp_tail_arena *arena, sp_tail_text text, sp_tail_text *out_copy) {
    *out_copy = (sp_tail_text){NULL, 0};
    if (text.len == 0) {
        return true;
    }
    size_t size = text.len < SP_TAIL_TEXT_MAX ? text.len : SP_TAIL_TEXT_MAX;
    uint8_t *data = sp_tail_arena_take(arena, size);
    if (data == NULL) {
        return false;
    }
    sp_tail_text_buffer buffer = {data, size, 0, false};
    sp_tail_buffer_add(&buffer, text.data, text.len);
    *out_copy = (sp_tail_text){data, buffer.len};
    return true;
}

static bool bytes_copy(sp_tail_arena *arena, ProtobufCBinaryData bytes, sp_tail_text *out_copy) {
    return sp_tail_text_copy(arena, (sp_tail_text){bytes.data, bytes.len}, out_copy);
}

static bool attributes_copy(sp_tail_arena *arena, size_t count, key_value *const *attributes,
                            sp_tail_text *out_copy) {
    uint8_t room[SP_TAIL_TEXT_MAX];
    sp_tail_text_buffer buffer = {room, sizeof room, 0, false};
    sp_tail_buffer_add_attributes(&buffer, count, attributes);
    return sp_tail_text_copy(arena, (sp_tail_text){room, buffer.len}, out_copy);
}

static bool value_copy(sp_tail_arena *arena, const any_value *value, sp_tail_text *out_copy) {
    uint8_t room[SP_TAIL_TEXT_MAX];
    sp_tail_text_buffer buffer = {room, sizeof room, 0, false};
    sp_tail_buffer_add_value(&buffer, value);
    return sp_tail_text_copy(arena, (sp_tail_text){room, buffer.len}, out_copy);
}

sp_tail_span *sp_tail_span_copy(sp_tail_arena *arena,
                                const Opentelemetry__Proto__Trace__V1__Span *span,
                                sp_tail_text service) {
    sp_tail_span *copy = sp_tail_arena_take(arena, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = (sp_tail_span){
        .flags = span->flags,
        .kind = (int)span->kind,
        .status = span->status != NULL ? (int)span->status->code : 0,
        .start_ns = span->start_time_unix_nano,
        .end_ns = span->end_time_unix_nano,
        .dropped_attributes = span->dropped_attributes_count,
        .dropped_events = span->dropped_events_count,
        .dropped_links = span->dropped_links_count,
        .service = service,
    };
    memcpy(copy->id, span->span_id.data, sizeof copy->id);
    if (span->parent_span_id.len == sizeof copy->parent) {
        memcpy(copy->parent, span->parent_span_id.data, sizeof copy->parent);
    }
    bool ok = bytes_copy(arena, span->name, &copy->name) &&
              attributes_copy(arena, span->n_attributes, span->attributes, &copy->attributes) &&
              (span->status == NULL || bytes_copy(arena, span->status->message, &copy->message));
    return ok ? copy : NULL;
}

sp_tail_note *sp_tail_event_copy(sp_tail_arena *arena,
                                 const Opentelemetry__Proto__Trace__V1__Span__Event *event,
                                 const sp_tail_span *owner) {
    sp_tail_note *copy = sp_tail_arena_take(arena, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = (sp_tail_note){
        .kind = SP_TAIL_NOTE_EVENT,
        .owner = owner,
        .time_ns = event->time_unix_nano,
        .service = owner->service,
    };
    bool ok = bytes_copy(arena, event->name, &copy->label) &&
              attributes_copy(arena, event->n_attributes, event->attributes, &copy->attributes);
    return ok ? copy : NULL;
}

static void hex_add(sp_tail_text_buffer *buffer, ProtobufCBinaryData id) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < id.len; i++) {
        char pair[2] = {digits[id.data[i] >> 4], digits[id.data[i] & 15]};
        sp_tail_buffer_add(buffer, pair, sizeof pair);
    }
}

sp_tail_note *sp_tail_link_copy(sp_tail_arena *arena,
                                const Opentelemetry__Proto__Trace__V1__Span__Link *link,
                                const sp_tail_span *owner) {
    sp_tail_note *copy = sp_tail_arena_take(arena, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = (sp_tail_note){.kind = SP_TAIL_NOTE_LINK, .owner = owner, .service = owner->service};
    uint8_t room[96];
    sp_tail_text_buffer buffer = {room, sizeof room, 0, false};
    sp_tail_buffer_add(&buffer, "trace ", 6);
    hex_add(&buffer, link->trace_id);
    sp_tail_buffer_add(&buffer, " span ", 6);
    hex_add(&buffer, link->span_id);
    bool ok = sp_tail_text_copy(arena, (sp_tail_text){room, buffer.len}, &copy->label) &&
              attributes_copy(arena, link->n_attributes, link->attributes, &copy->attributes);
    return ok ? copy : NULL;
}

sp_tail_note *sp_tail_log_copy(sp_tail_arena *arena,
                               const Opentelemetry__Proto__Logs__V1__LogRecord *log,
                               sp_tail_text service) {
    sp_tail_note *copy = sp_tail_arena_take(arena, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = (sp_tail_note){
        .kind = SP_TAIL_NOTE_LOG,
        .time_ns = log->time_unix_nano != 0 ? log->time_unix_nano : log->observed_time_unix_nano,
        .severity = (int)log->severity_number,
        .service = service,
    };
    if (log->span_id.len == sizeof copy->span_id) {
        memcpy(copy->span_id, log->span_id.data, sizeof copy->span_id);
    }
    bool ok = bytes_copy(arena, log->event_name, &copy->label) &&
              bytes_copy(arena, log->severity_text, &copy->level) &&
              value_copy(arena, log->body, &copy->body) &&
              attributes_copy(arena, log->n_attributes, log->attributes, &copy->attributes);
    return ok ? copy : NULL;
}
