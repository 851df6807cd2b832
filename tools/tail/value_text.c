/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats values into a bounded buffer. Recursion is bounded by the nesting limit
 * of the decoder and ends early once the buffer is full.
 */
#include "tools/tail/value_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef Opentelemetry__Proto__Common__V1__AnyValue any_value;
typedef Opentelemetry__Proto__Common__V1__KeyValue key_value;

void sp_tail_buffer_add(sp_tail_text_buffer *buffer, const void *data, size_t len) {
    size_t room = buffer->size - buffer->len;
    if (len > room) {
        len = room;
        buffer->cut = true;
        /* Not in the middle of a UTF-8 sequence. */
        const uint8_t *bytes = data;
        while (len > 0 && (bytes[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    if (len > 0) {
        memcpy(buffer->data + buffer->len, data, len);
        buffer->len += len;
    }
}

static void literal_add(sp_tail_text_buffer *buffer, const char *text) {
    sp_tail_buffer_add(buffer, text, strlen(text));
}

static void hex_add(sp_tail_text_buffer *buffer, ProtobufCBinaryData bytes) {
    static const char digits[] = "0123456789abcdef";
    literal_add(buffer, "0x");
    for (size_t i = 0; i < bytes.len && !buffer->cut; i++) {
        char pair[2] = {digits[bytes.data[i] >> 4], digits[bytes.data[i] & 15]};
        sp_tail_buffer_add(buffer, pair, sizeof pair);
    }
}

static void array_add(sp_tail_text_buffer *buffer,
                      const Opentelemetry__Proto__Common__V1__ArrayValue *array) {
    literal_add(buffer, "[");
    for (size_t i = 0; i < array->n_values && !buffer->cut; i++) {
        literal_add(buffer, i == 0 ? "" : ", ");
        sp_tail_buffer_add_value(buffer, array->values[i]);
    }
    literal_add(buffer, "]");
}

void sp_tail_buffer_add_value(sp_tail_text_buffer *buffer, const any_value *value) {
    char number[40];
    if (value == NULL || buffer->cut) {
        return;
    }
    switch (value->value_case) {
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE:
        sp_tail_buffer_add(buffer, value->string_value.data, value->string_value.len);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_BOOL_VALUE:
        literal_add(buffer, value->bool_value ? "true" : "false");
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE:
        snprintf(number, sizeof number, "%" PRId64, value->int_value);
        literal_add(buffer, number);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_DOUBLE_VALUE:
        snprintf(number, sizeof number, "%.15g", value->double_value);
        literal_add(buffer, number);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_ARRAY_VALUE:
        array_add(buffer, value->array_value);
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_KVLIST_VALUE:
        literal_add(buffer, "{");
        sp_tail_buffer_add_attributes(buffer, value->kvlist_value->n_values,
                                      value->kvlist_value->values);
        literal_add(buffer, "}");
        break;
    case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_BYTES_VALUE:
        hex_add(buffer, value->bytes_value);
        break;
    default:
        break;
    }
}

void sp_tail_buffer_add_attributes(sp_tail_text_buffer *buffer, size_t count,
                                   key_value *const *attributes) {
    for (size_t i = 0; i < count && !buffer->cut; i++) {
        literal_add(buffer, i == 0 ? "" : " ");
        sp_tail_buffer_add(buffer, attributes[i]->key.data, attributes[i]->key.len);
        literal_add(buffer, "=");
        sp_tail_buffer_add_value(buffer, attributes[i]->value);
    }
}
