/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of JSON per span or log record, with every field, absent ones as their
 * defaults:
 *   {"resource":{..},"resourceSchemaUrl":"..","scope":{..},"scopeSchemaUrl":"..",
 *    "span":{..}}            or "log":{..}
 * Inside, names and forms are those of OTLP/JSON: ids in hex, 64-bit numbers as
 * strings, bytes in base64, enums as numbers. An absent attribute value, body,
 * resource, scope or status is null. The output is ASCII.
 */
#ifndef SPOOL_TOOLS_TAIL_JSON_H
#define SPOOL_TOOLS_TAIL_JSON_H

#include "opentelemetry/proto/logs/v1/logs.pb-c.h"
#include "opentelemetry/proto/trace/v1/trace.pb-c.h"

#include <stdbool.h>
#include <stdio.h>

/* Both return false without memory. */
bool sp_tail_json_span(FILE *out, const Opentelemetry__Proto__Trace__V1__ResourceSpans *group,
                       const Opentelemetry__Proto__Trace__V1__ScopeSpans *scope,
                       const Opentelemetry__Proto__Trace__V1__Span *span);
bool sp_tail_json_log(FILE *out, const Opentelemetry__Proto__Logs__V1__ResourceLogs *group,
                      const Opentelemetry__Proto__Logs__V1__ScopeLogs *scope,
                      const Opentelemetry__Proto__Logs__V1__LogRecord *log);

#endif /* SPOOL_TOOLS_TAIL_JSON_H */
