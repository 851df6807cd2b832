/* SPDX-License-Identifier: Apache-2.0 */
/* Spans and log records as lines of JSON. */
#include "tools/tail/json.h"

#include "tools/tail/json_value.h"

typedef Opentelemetry__Proto__Trace__V1__Span span_message;

static void entities_add(cJSON *object, size_t count,
                         Opentelemetry__Proto__Common__V1__EntityRef *const *refs) {
    cJSON *list = cJSON_AddArrayToObject(object, "entityRefs");
    for (size_t i = 0; i < count; i++) {
        cJSON *ref = cJSON_CreateObject();
        sp_tail_json_text(ref, "schemaUrl", refs[i]->schema_url);
        sp_tail_json_text(ref, "type", refs[i]->type);
        cJSON *ids = cJSON_AddArrayToObject(ref, "idKeys");
        for (size_t j = 0; j < refs[i]->n_id_keys; j++) {
            ProtobufCBinaryData key = refs[i]->id_keys[j];
            cJSON_AddItemToArray(ids, sp_tail_json_string(key.data, key.len));
        }
        cJSON *descriptions = cJSON_AddArrayToObject(ref, "descriptionKeys");
        for (size_t j = 0; j < refs[i]->n_description_keys; j++) {
            ProtobufCBinaryData key = refs[i]->description_keys[j];
            cJSON_AddItemToArray(descriptions, sp_tail_json_string(key.data, key.len));
        }
        cJSON_AddItemToArray(list, ref);
    }
}

static void resource_add(cJSON *line, const Opentelemetry__Proto__Resource__V1__Resource *resource,
                         ProtobufCBinaryData schema_url) {
    if (resource == NULL) {
        cJSON_AddNullToObject(line, "resource");
    } else {
        cJSON *object = cJSON_AddObjectToObject(line, "resource");
        sp_tail_json_attributes(object, "attributes", resource->n_attributes, resource->attributes);
        sp_tail_json_number(object, "droppedAttributesCount", resource->dropped_attributes_count);
        entities_add(object, resource->n_entity_refs, resource->entity_refs);
    }
    sp_tail_json_text(line, "resourceSchemaUrl", schema_url);
}

static void scope_add(cJSON *line,
                      const Opentelemetry__Proto__Common__V1__InstrumentationScope *scope,
                      ProtobufCBinaryData schema_url) {
    if (scope == NULL) {
        cJSON_AddNullToObject(line, "scope");
    } else {
        cJSON *object = cJSON_AddObjectToObject(line, "scope");
        sp_tail_json_text(object, "name", scope->name);
        sp_tail_json_text(object, "version", scope->version);
        sp_tail_json_attributes(object, "attributes", scope->n_attributes, scope->attributes);
        sp_tail_json_number(object, "droppedAttributesCount", scope->dropped_attributes_count);
    }
    sp_tail_json_text(line, "scopeSchemaUrl", schema_url);
}

static void events_add(cJSON *object, const span_message *span) {
    cJSON *list = cJSON_AddArrayToObject(object, "events");
    for (size_t i = 0; i < span->n_events; i++) {
        const Opentelemetry__Proto__Trace__V1__Span__Event *event = span->events[i];
        cJSON *item = cJSON_CreateObject();
        sp_tail_json_u64(item, "timeUnixNano", event->time_unix_nano);
        sp_tail_json_text(item, "name", event->name);
        sp_tail_json_attributes(item, "attributes", event->n_attributes, event->attributes);
        sp_tail_json_number(item, "droppedAttributesCount", event->dropped_attributes_count);
        cJSON_AddItemToArray(list, item);
    }
    sp_tail_json_number(object, "droppedEventsCount", span->dropped_events_count);
}

static void links_add(cJSON *object, const span_message *span) {
    cJSON *list = cJSON_AddArrayToObject(object, "links");
    for (size_t i = 0; i < span->n_links; i++) {
        const Opentelemetry__Proto__Trace__V1__Span__Link *link = span->links[i];
        cJSON *item = cJSON_CreateObject();
        sp_tail_json_hex(item, "traceId", link->trace_id);
        sp_tail_json_hex(item, "spanId", link->span_id);
        sp_tail_json_text(item, "traceState", link->trace_state);
        sp_tail_json_number(item, "flags", link->flags);
        sp_tail_json_attributes(item, "attributes", link->n_attributes, link->attributes);
        sp_tail_json_number(item, "droppedAttributesCount", link->dropped_attributes_count);
        cJSON_AddItemToArray(list, item);
    }
    sp_tail_json_number(object, "droppedLinksCount", span->dropped_links_count);
}

static void span_add(cJSON *line, const span_message *span) {
    cJSON *object = cJSON_AddObjectToObject(line, "span");
    sp_tail_json_hex(object, "traceId", span->trace_id);
    sp_tail_json_hex(object, "spanId", span->span_id);
    sp_tail_json_text(object, "traceState", span->trace_state);
    sp_tail_json_hex(object, "parentSpanId", span->parent_span_id);
    sp_tail_json_number(object, "flags", span->flags);
    sp_tail_json_text(object, "name", span->name);
    sp_tail_json_number(object, "kind", (int64_t)span->kind);
    sp_tail_json_u64(object, "startTimeUnixNano", span->start_time_unix_nano);
    sp_tail_json_u64(object, "endTimeUnixNano", span->end_time_unix_nano);
    sp_tail_json_attributes(object, "attributes", span->n_attributes, span->attributes);
    sp_tail_json_number(object, "droppedAttributesCount", span->dropped_attributes_count);
    events_add(object, span);
    links_add(object, span);
    if (span->status == NULL) {
        cJSON_AddNullToObject(object, "status");
        return;
    }
    cJSON *status = cJSON_AddObjectToObject(object, "status");
    sp_tail_json_text(status, "message", span->status->message);
    sp_tail_json_number(status, "code", (int64_t)span->status->code);
}

static bool line_print(FILE *out, cJSON *line) {
    char *text = cJSON_PrintUnformatted(line);
    cJSON_Delete(line);
    if (text == NULL) {
        return false;
    }
    fputs(text, out);
    putc('\n', out);
    cJSON_free(text);
    return true;
}

bool sp_tail_json_span(FILE *out, const Opentelemetry__Proto__Trace__V1__ResourceSpans *group,
                       const Opentelemetry__Proto__Trace__V1__ScopeSpans *scope,
                       const span_message *span) {
    cJSON *line = cJSON_CreateObject();
    resource_add(line, group->resource, group->schema_url);
    scope_add(line, scope->scope, scope->schema_url);
    span_add(line, span);
    return line_print(out, line);
}

bool sp_tail_json_log(FILE *out, const Opentelemetry__Proto__Logs__V1__ResourceLogs *group,
                      const Opentelemetry__Proto__Logs__V1__ScopeLogs *scope,
                      const Opentelemetry__Proto__Logs__V1__LogRecord *log) {
    cJSON *line = cJSON_CreateObject();
    resource_add(line, group->resource, group->schema_url);
    scope_add(line, scope->scope, scope->schema_url);
    cJSON *object = cJSON_AddObjectToObject(line, "log");
    sp_tail_json_u64(object, "timeUnixNano", log->time_unix_nano);
    sp_tail_json_u64(object, "observedTimeUnixNano", log->observed_time_unix_nano);
    sp_tail_json_number(object, "severityNumber", (int64_t)log->severity_number);
    sp_tail_json_text(object, "severityText", log->severity_text);
    sp_tail_json_text(object, "eventName", log->event_name);
    cJSON_AddItemToObject(object, "body", sp_tail_json_value(log->body));
    sp_tail_json_attributes(object, "attributes", log->n_attributes, log->attributes);
    sp_tail_json_number(object, "droppedAttributesCount", log->dropped_attributes_count);
    sp_tail_json_number(object, "flags", log->flags);
    sp_tail_json_hex(object, "traceId", log->trace_id);
    sp_tail_json_hex(object, "spanId", log->span_id);
    return line_print(out, line);
}
