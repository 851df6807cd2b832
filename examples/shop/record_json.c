/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See record_json.h. Values carry their type beside them; 64-bit numbers and doubles are text, bytes are
 * base64. Flags are OTLP's: beside the W3C bits, whether it is known that the parent is remote, and
 * whether it is.
 */
#include "examples/shop/record_json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_REMOTE_KNOWN = 0x100, FLAG_REMOTE = 0x200, NUMBER_SIZE = 40 };

/* ---- values ---- */

/* cJSON wants a NUL. */
static cJSON *text_json(spool_str text) {
    char *copy = malloc(text.len + 1);
    if (!copy) {
        return NULL;
    }
    if (text.len) {
        memcpy(copy, text.ptr, text.len);
    }
    copy[text.len] = '\0';
    cJSON *json = cJSON_CreateString(copy);
    free(copy);
    return json;
}

static cJSON *unsigned_json(uint64_t number) {
    char text[NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    return cJSON_CreateString(text);
}

static cJSON *signed_json(int64_t number) {
    char text[NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return cJSON_CreateString(text);
}

static cJSON *double_json(double number) {
    char text[NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%.17g", number);
    return cJSON_CreateString(text);
}

/* Lower-case hex; nothing when all is zero. */
static cJSON *id_json(const uint8_t *id, size_t len) {
    char text[33];
    bool any = false;
    for (size_t i = 0; i < len; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", id[i]);
        any = any || id[i];
    }
    return cJSON_CreateString(any ? text : "");
}

static cJSON *base64_json(spool_str bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((bytes.len + 2) / 3 * 4 + 1);
    char *at = text;
    if (!text) {
        return NULL;
    }
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t three = (uint32_t)(uint8_t)bytes.ptr[i] << 16;
        three |= left > 1 ? (uint32_t)(uint8_t)bytes.ptr[i + 1] << 8 : 0;
        three |= left > 2 ? (uint32_t)(uint8_t)bytes.ptr[i + 2] : 0;
        *at++ = digits[three >> 18];
        *at++ = digits[three >> 12 & 63];
        *at++ = '=';
        *at++ = '=';
        if (left > 1) {
            at[-2] = digits[three >> 6 & 63];
        }
        if (left > 2) {
            at[-1] = digits[three & 63];
        }
    }
    *at = '\0';
    cJSON *json = cJSON_CreateString(text);
    free(text);
    return json;
}

static cJSON *attributes_json(const spool_attr *attrs, size_t count);

static cJSON *array_json(const spool_value *items, size_t count);

/* Adds "type" and "value" to the object. */
static void value_add(cJSON *object, const spool_value *value) {
    const char *type = "empty";
    cJSON *json = NULL;
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        type = "string";
        json = text_json(value->as.string);
        break;
    case SPOOL_VALUE_BOOL:
        type = "bool";
        json = cJSON_CreateBool(value->as.boolean);
        break;
    case SPOOL_VALUE_INT:
        type = "int";
        json = signed_json(value->as.integer);
        break;
    case SPOOL_VALUE_UINT:
        /* OTLP has no such type: it travels as decimal text. */
        type = "string";
        json = unsigned_json(value->as.unsigned_integer);
        break;
    case SPOOL_VALUE_DOUBLE:
        type = "double";
        json = double_json(value->as.number);
        break;
    case SPOOL_VALUE_BYTES:
        type = "bytes";
        json = base64_json(value->as.bytes);
        break;
    case SPOOL_VALUE_ARRAY:
        type = "array";
        json = array_json(value->as.array.items, value->as.array.count);
        break;
    case SPOOL_VALUE_MAP:
        type = "map";
        json = attributes_json(value->as.map.items, value->as.map.count);
        break;
    default:
        json = cJSON_CreateNull();
        break;
    }
    cJSON_AddStringToObject(object, "type", type);
    cJSON_AddItemToObject(object, "value", json);
}

static cJSON *array_json(const spool_value *items, size_t count) {
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *object = cJSON_CreateObject();
        value_add(object, &items[i]);
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

static cJSON *attributes_json(const spool_attr *attrs, size_t count) {
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddItemToObject(object, "key", text_json(attrs[i].key));
        value_add(object, &attrs[i].value);
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

/* ---- parts ---- */

static void origin_add(cJSON *object, const spool_scope *scope,
                       const spool_resource_data *resource) {
    cJSON *json = cJSON_AddObjectToObject(object, "scope");
    cJSON_AddItemToObject(json, "name", text_json(scope->name));
    cJSON_AddItemToObject(json, "version", text_json(scope->version));
    cJSON_AddItemToObject(json, "schema_url", text_json(scope->schema_url));
    cJSON_AddItemToObject(json, "attributes", attributes_json(scope->attrs, scope->attr_count));
    cJSON_AddItemToObject(object, "resource",
                          attributes_json(resource->attrs, resource->attr_count));
}

static cJSON *event_json(const spool_event_data *event) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "name", text_json(event->name));
    cJSON_AddItemToObject(object, "time", unsigned_json(event->time_ns));
    cJSON_AddItemToObject(object, "attributes", attributes_json(event->attrs, event->attr_count));
    cJSON_AddNumberToObject(object, "dropped_attributes", event->dropped_attr_count);
    return object;
}

static cJSON *link_json(const spool_link_data *link) {
    int flags = link->context.flags | FLAG_REMOTE_KNOWN | (link->context.remote ? FLAG_REMOTE : 0);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "trace_id", id_json(link->context.trace_id, 16));
    cJSON_AddItemToObject(object, "span_id", id_json(link->context.span_id, 8));
    cJSON_AddItemToObject(object, "trace_state", text_json(link->trace_state));
    cJSON_AddNumberToObject(object, "flags", flags);
    cJSON_AddItemToObject(object, "attributes", attributes_json(link->attrs, link->attr_count));
    cJSON_AddNumberToObject(object, "dropped_attributes", link->dropped_attr_count);
    return object;
}

static void children_add(cJSON *object, const spool_span_data *span) {
    cJSON *events = cJSON_AddArrayToObject(object, "events");
    for (size_t i = 0; i < span->event_count; i++) {
        cJSON_AddItemToArray(events, event_json(&span->events[i]));
    }
    cJSON_AddNumberToObject(object, "dropped_events", span->dropped_event_count);
    cJSON *links = cJSON_AddArrayToObject(object, "links");
    for (size_t i = 0; i < span->link_count; i++) {
        cJSON_AddItemToArray(links, link_json(&span->links[i]));
    }
    cJSON_AddNumberToObject(object, "dropped_links", span->dropped_link_count);
}

/* ---- records ---- */

cJSON *record_json_span(const spool_span_data *span) {
    int flags = span->context.flags | FLAG_REMOTE_KNOWN | (span->parent_remote ? FLAG_REMOTE : 0);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kind", "span");
    cJSON_AddItemToObject(object, "trace_id", id_json(span->context.trace_id, 16));
    cJSON_AddItemToObject(object, "span_id", id_json(span->context.span_id, 8));
    cJSON_AddItemToObject(object, "parent_span_id", id_json(span->parent_span_id, 8));
    cJSON_AddItemToObject(object, "name", text_json(span->name));
    cJSON_AddNumberToObject(object, "span_kind", span->kind + 1); /* OTLP has 0 for "unspecified" */
    cJSON_AddNumberToObject(object, "flags", flags);
    cJSON_AddItemToObject(object, "trace_state", text_json(span->trace_state));
    cJSON_AddItemToObject(object, "start", unsigned_json(span->start_time_ns));
    cJSON_AddItemToObject(object, "end", unsigned_json(span->end_time_ns));
    cJSON *status = cJSON_AddObjectToObject(object, "status");
    cJSON_AddNumberToObject(status, "code", span->status);
    cJSON_AddItemToObject(status, "message", text_json(span->status_description));
    cJSON_AddItemToObject(object, "attributes", attributes_json(span->attrs, span->attr_count));
    cJSON_AddNumberToObject(object, "dropped_attributes", span->dropped_attr_count);
    children_add(object, span);
    origin_add(object, span->scope, span->resource);
    return object;
}

cJSON *record_json_log(const spool_log_data *log) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kind", "log");
    cJSON_AddItemToObject(object, "trace_id", id_json(log->context.trace_id, 16));
    cJSON_AddItemToObject(object, "span_id", id_json(log->context.span_id, 8));
    cJSON_AddNumberToObject(object, "flags", log->context.flags);
    cJSON_AddItemToObject(object, "time", unsigned_json(log->timestamp_ns));
    cJSON_AddItemToObject(object, "observed", unsigned_json(log->observed_timestamp_ns));
    cJSON_AddNumberToObject(object, "severity_number", log->severity);
    cJSON_AddItemToObject(object, "severity_text", text_json(log->severity_text));
    cJSON_AddItemToObject(object, "event_name", text_json(log->event_name));
    cJSON *body = cJSON_AddObjectToObject(object, "body");
    value_add(body, &log->body);
    cJSON_AddItemToObject(object, "attributes", attributes_json(log->attrs, log->attr_count));
    cJSON_AddNumberToObject(object, "dropped_attributes", log->dropped_attr_count);
    origin_add(object, log->scope, log->resource);
    return object;
}
