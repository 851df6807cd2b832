/* SPDX-License-Identifier: Apache-2.0 */
/* Values and attributes as one line for people. */
#ifndef SPOOL_TOOLS_TAIL_VALUE_TEXT_H
#define SPOOL_TOOLS_TAIL_VALUE_TEXT_H

#include "opentelemetry/proto/common/v1/common.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text of bounded size; what does not fit is left out and noted in `cut`. */
typedef struct sp_tail_text_buffer {
    uint8_t *data;
    size_t size;
    size_t len;
    bool cut;
} sp_tail_text_buffer;

void sp_tail_buffer_add(sp_tail_text_buffer *buffer, const void *data, size_t len);

/* "text", 17, 0.5, true, [1, 2], {a=1}, 0x00ff; nothing for the empty value. */
void sp_tail_buffer_add_value(sp_tail_text_buffer *buffer,
                              const Opentelemetry__Proto__Common__V1__AnyValue *value);

/* "key=value key=value". */
void sp_tail_buffer_add_attributes(sp_tail_text_buffer *buffer, size_t count,
                                   Opentelemetry__Proto__Common__V1__KeyValue *const *attributes);

#endif /* SPOOL_TOOLS_TAIL_VALUE_TEXT_H */
