/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings go in as raw JSON that is escaped here: cJSON's own strings end at a NUL
 * and print DEL and what is beyond ASCII as it is.
 */
#include "tools/tail/json_value.h"

#include "tools/tail/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef Opentelemetry__Proto__Common__V1__AnyValue any_value;
typedef Opentelemetry__Proto__Common__V1__KeyValue key_value;

enum { ESCAPED_MAX = 12 /* bytes: a surrogate pair */ };

static size_t code_escape(char *out, uint32_t code) {
    if (code >= 0x20 && code < 0x7F) {
        size_t len = 0;
        if (code == '"' || code == '\\') {
            out[len++] = '\\';
        }
        out[len++] = (char)code;
        return len;
    }
    if (code < 0x10000) {
        return (size_t)snprintf(out, ESCAPED_MAX + 1, "\\u%04x", (unsigned)code);
    }
    unsigned high = 0xD800u + ((code - 0x10000u) >> 10);
    unsigned low = 0xDC00u + ((code - 0x10000u) & 0x3FFu);
    return (size_t)snprintf(out, ESCAPED_MAX + 1, "\\u%04x\\u%04x", high, low);
}

cJSON *sp_tail_json_string(const uint8_t *text, size_t len) {
    /* A byte gives at most six characters, four bytes at most twelve. */
    if (len > (SIZE_MAX - ESCAPED_MAX - 4) / 6) {
        return NULL;
    }
    char *escaped = malloc(len * 6 + ESCAPED_MAX + 4);
    if (escaped == NULL) {
        return NULL;
    }
    size_t used = 0;
    escaped[used++] = '"';
    for (size_t at = 0; at < len;) {
        uint32_t code = 0xFFFD;
        size_t size = sp_tail_utf8_next(text + at, len - at, &code);
        at += size > 0 ? size : 1;
        used += code_escape(escaped + used, code);
    }
    escaped[used++] = '"';
    escaped[used] = '\0';
    cJSON *string = cJSON_CreateRaw(escaped);
    free(escaped);
    return string;
}

void sp_tail_json_text(cJSON *object, const char *name, ProtobufCBinaryData text) {
    cJSON_AddItemToObject(object, name, sp_tail_json_string(text.data, text.len));
}

void sp_tail_json_hex(cJSON *object, const char *name, ProtobufCBinaryData id) {
    char text[65] = "";
    for (size_t i = 0; i < id.len && i < (sizeof text - 1) / 2; i++) {
        snprintf(text + 2 * i, 3, "%02x", id.data[i]);
    }
    cJSON_AddStringToObject(object, name, text);
}

void sp_tail_json_u64(cJSON *object, const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    cJSON_AddStringToObject(object, name, text);
}

void sp_tail_json_number(cJSON *object, const char *name, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    cJSON_AddRawToObject(object, name, text);
}

static void double_add(cJSON *object, const char *name, double value) {
    char text[40];
    if (isnan(value)) {
        cJSON_AddStringToObject(object, name, "NaN");
    } else if (isinf(value)) {
        cJSON_AddStringToObject(object, name, value > 0 ? "Infinity" : "-Infinity");
    } else {
        snprintf(text, sizeof text, "%.17g", value);
        cJSON_AddRawToObject(object, name, text);
    }
}

static void base64_add(cJSON *object, const char *name, ProtobufCBinaryData bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(bytes.len / 3 * 4 + 8);
    size_t used = 0;
    if (text == NULL) {
        return;
    }
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[i + 2] : 0u;
        text[used++] = digits[group >> 18];
        text[used++] = digits[group >> 12 & 63];
        text[used++] = left > 1 ? digits[group >> 6 & 63] : '=';
        text[used++] = left > 2 ? digits[group & 63] : '=';
    }
    text[used] = '\0';
    cJSON_AddStringToObject(object, name, text);
    free(text);
}

static void array_add(cJSON *object, const Opentelemetry__Proto__Common__V1__ArrayValue *array) {
    cJSON *outer = cJSON_AddObjectToObject(object, "arrayValue");
    cJSON *values = cJSON_AddArrayToObject(outer, "values");
    for (size_t i = 0; i < array->n_values; i++) {
        cJSON_AddItemToArray(values, sp_tail_json_value(array->values[i]));
    }
}

cJSON *sp_tail_json_value(const any_value *value) {
    char text[24];
    if (value == NULL) {
        return cJSON_CreateNull();
    }
    cJSON *object = cJSON_CreateObject();
    switch (value->value_case) {
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE:
        sp_tail_json_text(object, "stringValue", value->string_value);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_BOOL_VALUE:
        cJSON_AddBoolToObject(object, "boolValue", value->bool_value);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE:
        snprintf(text, sizeof text, "%" PRId64, value->int_value);
        cJSON_AddStringToObject(object, "intValue", text);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_DOUBLE_VALUE:
        double_add(object, "doubleValue", value->double_value);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_ARRAY_VALUE:
        array_add(object, value->array_value);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_KVLIST_VALUE:
        sp_tail_json_attributes(cJSON_AddObjectToObject(object, "kvlistValue"), "values",
                                value->kvlist_value->n_values, value->kvlist_value->values);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_BYTES_VALUE:
        base64_add(object, "bytesValue", value->bytes_value);
        break;
    default:
        break;
    }
    return object;
}

void sp_tail_json_attributes(cJSON *object, const char *name, size_t count,
                             key_value *const *attributes) {
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; i < count; i++) {
        cJSON *attribute = cJSON_CreateObject();
        sp_tail_json_text(attribute, "key", attributes[i]->key);
        cJSON_AddItemToObject(attribute, "value", sp_tail_json_value(attributes[i]->value));
        cJSON_AddItemToArray(list, attribute);
    }
}
