/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar forms of OTLP/JSON, added to cJSON objects. */
#ifndef SPOOL_TOOLS_TAIL_JSON_VALUE_H
#define SPOOL_TOOLS_TAIL_JSON_VALUE_H

#include "opentelemetry/proto/common/v1/common.pb-c.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Each adds `name` to `object`. When memory runs out the member is missing;
 * cJSON_Print then still makes valid JSON.
 */
void sp_tail_json_text(cJSON *object, const char *name, ProtobufCBinaryData text);
void sp_tail_json_hex(cJSON *object, const char *name, ProtobufCBinaryData id);
void sp_tail_json_u64(cJSON *object, const char *name, uint64_t value);
void sp_tail_json_number(cJSON *object, const char *name, int64_t value); /* 32-bit fields */

/* NULL `value` is the absent value: null. */
cJSON *sp_tail_json_value(const Opentelemetry__Proto__Common__V1__AnyValue *value);
void sp_tail_json_attributes(cJSON *object, const char *name, size_t count,
                             Opentelemetry__Proto__Common__V1__KeyValue *const *attributes);

/* The text as a JSON string node: ASCII, any byte sequence, NUL included. */
cJSON *sp_tail_json_string(const uint8_t *text, size_t len);

#endif /* SPOOL_TOOLS_TAIL_JSON_VALUE_H */
