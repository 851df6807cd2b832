/* SPDX-License-Identifier: Apache-2.0 */
/* Each row gets a resource of its own: order and grouping are the reader's business. */
#include "tests/tools/otlp_fixture.h"

#include "opentelemetry/proto/collector/logs/v1/logs_service.pb-c.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef Opentelemetry__Proto__Common__V1__AnyValue any_value;
typedef Opentelemetry__Proto__Common__V1__KeyValue key_value;

static ProtobufCBinaryData text_bytes(const char *text) {
    return (ProtobufCBinaryData){text == NULL ? 0 : strlen(text), (uint8_t *)(uintptr_t)text};
}

static ProtobufCBinaryData id_bytes(uint8_t value, size_t size) {
    static uint8_t ids[256][16];
    memset(ids[value], value, sizeof ids[value]);
    return (ProtobufCBinaryData){value == 0 ? 0 : size, ids[value]};
}

/* An attribute with a text value, and the nodes it consists of. */
typedef struct attribute {
    key_value pair;
    any_value value;
    key_value *list[1];
} attribute;

static void attribute_init(attribute *attribute_out, const char *key, const char *value) {
    opentelemetry__proto__common__v1__key_value__init(&attribute_out->pair);
    opentelemetry__proto__common__v1__any_value__init(&attribute_out->value);
    attribute_out->value.value_case =
        OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE;
    attribute_out->value.string_value = text_bytes(value);
    attribute_out->pair.key = text_bytes(key);
    attribute_out->pair.value = &attribute_out->value;
    attribute_out->list[0] = &attribute_out->pair;
}

typedef struct resource_nodes {
    Opentelemetry__Proto__Resource__V1__Resource resource;
    attribute service;
} resource_nodes;

static void resource_init(resource_nodes *nodes, const char *service) {
    opentelemetry__proto__resource__v1__resource__init(&nodes->resource);
    attribute_init(&nodes->service, "service.name", service);
    nodes->resource.n_attributes = 1;
    nodes->resource.attributes = nodes->service.list;
}

typedef struct span_nodes {
    resource_nodes resource;
    Opentelemetry__Proto__Trace__V1__ResourceSpans group;
    Opentelemetry__Proto__Trace__V1__ScopeSpans scope;
    Opentelemetry__Proto__Trace__V1__ScopeSpans *scopes[1];
    Opentelemetry__Proto__Trace__V1__Span span;
    Opentelemetry__Proto__Trace__V1__Span *spans[1];
    Opentelemetry__Proto__Trace__V1__Status status;
    Opentelemetry__Proto__Trace__V1__Span__Event events[2];
    Opentelemetry__Proto__Trace__V1__Span__Event *event_list[2];
    attribute event_attributes[2];
} span_nodes;

static void events_init(span_nodes *nodes, const spt_span_row *row) {
    size_t count = 0;
    for (; count < 2 && row->events[count].name != NULL; count++) {
        const spt_event_row *from = &row->events[count];
        Opentelemetry__Proto__Trace__V1__Span__Event *event = &nodes->events[count];
        opentelemetry__proto__trace__v1__span__event__init(event);
        event->time_unix_nano = SPT_TIME_ZERO_NS + from->time_us * UINT64_C(1000);
        event->name = text_bytes(from->name);
        if (from->key != NULL) {
            attribute_init(&nodes->event_attributes[count], from->key, from->value);
            event->n_attributes = 1;
            event->attributes = nodes->event_attributes[count].list;
        }
        nodes->event_list[count] = event;
    }
    nodes->span.n_events = count;
    nodes->span.events = nodes->event_list;
}

static void span_init(span_nodes *nodes, const spt_span_row *row) {
    Opentelemetry__Proto__Trace__V1__Span *span = &nodes->span;
    resource_init(&nodes->resource, row->service);
    opentelemetry__proto__trace__v1__resource_spans__init(&nodes->group);
    opentelemetry__proto__trace__v1__scope_spans__init(&nodes->scope);
    opentelemetry__proto__trace__v1__span__init(span);
    opentelemetry__proto__trace__v1__status__init(&nodes->status);
    nodes->group.resource = &nodes->resource.resource;
    nodes->group.n_scope_spans = 1;
    nodes->group.scope_spans = nodes->scopes;
    nodes->scopes[0] = &nodes->scope;
    nodes->scope.n_spans = 1;
    nodes->scope.spans = nodes->spans;
    nodes->spans[0] = span;
    span->trace_id = id_bytes(row->trace, 16);
    span->span_id = id_bytes(row->span, 8);
    span->parent_span_id = id_bytes(row->parent, 8);
    span->flags = row->flags;
    span->name = text_bytes(row->name);
    span->kind = (Opentelemetry__Proto__Trace__V1__Span__SpanKind)row->kind;
    span->start_time_unix_nano = SPT_TIME_ZERO_NS + row->start_us * UINT64_C(1000);
    span->end_time_unix_nano = SPT_TIME_ZERO_NS + row->end_us * UINT64_C(1000);
    nodes->status.code = (Opentelemetry__Proto__Trace__V1__Status__StatusCode)row->status;
    nodes->status.message = text_bytes(row->message);
    span->status = row->status != 0 ? &nodes->status : NULL;
    events_init(nodes, row);
}

static spt_body message_body(const ProtobufCMessage *message) {
    spt_body body = {NULL, protobuf_c_message_get_packed_size(message)};
    body.data = malloc(body.len + 1);
    if (body.data == NULL) {
        abort();
    }
    protobuf_c_message_pack(message, body.data);
    return body;
}

spt_body spt_traces_body(const spt_span_row *rows, size_t count) {
    static span_nodes nodes[SPT_ROWS_MAX];
    Opentelemetry__Proto__Trace__V1__ResourceSpans *groups[SPT_ROWS_MAX];
    Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest request =
        OPENTELEMETRY__PROTO__COLLECTOR__TRACE__V1__EXPORT_TRACE_SERVICE_REQUEST__INIT;
    for (size_t i = 0; i < count; i++) {
        span_init(&nodes[i], &rows[i]);
        groups[i] = &nodes[i].group;
    }
    request.n_resource_spans = count;
    request.resource_spans = groups;
    return message_body(&request.base);
}

typedef struct log_nodes {
    resource_nodes resource;
    Opentelemetry__Proto__Logs__V1__ResourceLogs group;
    Opentelemetry__Proto__Logs__V1__ScopeLogs scope;
    Opentelemetry__Proto__Logs__V1__ScopeLogs *scopes[1];
    Opentelemetry__Proto__Logs__V1__LogRecord log;
    Opentelemetry__Proto__Logs__V1__LogRecord *logs[1];
    any_value body;
} log_nodes;

static void log_init(log_nodes *nodes, const spt_log_row *row) {
    Opentelemetry__Proto__Logs__V1__LogRecord *log = &nodes->log;
    resource_init(&nodes->resource, row->service);
    opentelemetry__proto__logs__v1__resource_logs__init(&nodes->group);
    opentelemetry__proto__logs__v1__scope_logs__init(&nodes->scope);
    opentelemetry__proto__logs__v1__log_record__init(log);
    opentelemetry__proto__common__v1__any_value__init(&nodes->body);
    nodes->group.resource = &nodes->resource.resource;
    nodes->group.n_scope_logs = 1;
    nodes->group.scope_logs = nodes->scopes;
    nodes->scopes[0] = &nodes->scope;
    nodes->scope.n_log_records = 1;
    nodes->scope.log_records = nodes->logs;
    nodes->logs[0] = log;
    nodes->body.value_case = OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE;
    nodes->body.string_value = text_bytes(row->body);
    log->body = &nodes->body;
    log->time_unix_nano = SPT_TIME_ZERO_NS + row->time_us * UINT64_C(1000);
    log->observed_time_unix_nano = log->time_unix_nano;
    log->severity_number = (Opentelemetry__Proto__Logs__V1__SeverityNumber)row->severity;
    log->trace_id = id_bytes(row->trace, 16);
    log->span_id = id_bytes(row->span, 8);
}

spt_body spt_logs_body(const spt_log_row *rows, size_t count) {
    static log_nodes nodes[SPT_ROWS_MAX];
    Opentelemetry__Proto__Logs__V1__ResourceLogs *groups[SPT_ROWS_MAX];
    Opentelemetry__Proto__Collector__Logs__V1__ExportLogsServiceRequest request =
        OPENTELEMETRY__PROTO__COLLECTOR__LOGS__V1__EXPORT_LOGS_SERVICE_REQUEST__INIT;
    for (size_t i = 0; i < count; i++) {
        log_init(&nodes[i], &rows[i]);
        groups[i] = &nodes[i].group;
    }
    request.n_resource_logs = count;
    request.resource_logs = groups;
    return message_body(&request.base);
}

spt_body spt_gzip_body(spt_body body) {
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        abort();
    }
    size_t size = deflateBound(&stream, (uLong)body.len);
    spt_body packed = {malloc(size), 0};
    stream.next_in = body.data;
    stream.avail_in = (uInt)body.len;
    stream.next_out = packed.data;
    stream.avail_out = (uInt)size;
    if (packed.data == NULL || deflate(&stream, Z_FINISH) != Z_STREAM_END) {
        abort();
    }
    packed.len = size - stream.avail_out;
    deflateEnd(&stream);
    return packed;
}
