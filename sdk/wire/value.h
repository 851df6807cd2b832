/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyValue, KeyValue and lists of attributes, for the other files of this folder. Two ways:
 *
 * Simple values (scalars, valid text and bytes within the limit) are measured and written
 * forwards by inline functions; that is nearly every attribute.
 *
 * Everything else goes through a builder, which writes from the end of its memory to the front:
 * the length of an array is then known when its header is written, so that nesting costs no
 * second count, and the last of equal keys comes first, which is the one to stay.
 */
#ifndef SPOOL_SDK_WIRE_VALUE_H
#define SPOOL_SDK_WIRE_VALUE_H

#include "sdk/wire/keys.h"
#include "sdk/wire/utf8.h"
#include "sdk/wire/varint.h"
#include "sdk/wire/wire.h"

/* ---- simple values ---- */

#define SP_NOT_SIMPLE SIZE_MAX

/* The size of the AnyValue, or SP_NOT_SIMPLE: then it takes a builder. */
static inline size_t sp_simple_value_size(const spool_value *value, uint32_t text_length) {
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        if (SP_UNLIKELY(!value->as.string.ptr)) {
            return 0;
        }
        /* No text has more characters than bytes. */
        if (value->as.string.len > text_length || value->as.string.len > SP_WIRE_SIZE_MAX ||
            !sp_utf8_is_valid(value->as.string.ptr, value->as.string.len)) {
            return SP_NOT_SIMPLE;
        }
        return sp_field_size(value->as.string.len);
    case SPOOL_VALUE_BOOL:
        return 2;
    case SPOOL_VALUE_INT:
        return 1 + sp_varint_size((uint64_t)value->as.integer);
    case SPOOL_VALUE_DOUBLE:
        return 1 + sizeof(double);
    case SPOOL_VALUE_BYTES:
        if (!value->as.bytes.ptr || value->as.bytes.len > text_length ||
            value->as.bytes.len > SP_WIRE_SIZE_MAX) {
            return SP_NOT_SIMPLE;
        }
        return sp_field_size(value->as.bytes.len);
    case SPOOL_VALUE_ARRAY:
    case SPOOL_VALUE_MAP:
    case SPOOL_VALUE_UINT:
        return SP_NOT_SIMPLE;
    default:
        return 0;
    }
}

static inline uint8_t *sp_simple_value_put(uint8_t *at, const spool_value *value) {
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        if (SP_UNLIKELY(!value->as.string.ptr)) {
            return at;
        }
        return sp_field_put(at, SP_KEY_STRING, value->as.string.ptr, value->as.string.len);
    case SPOOL_VALUE_BOOL:
        at[0] = SP_KEY_BOOL;
        at[1] = value->as.boolean ? 1 : 0;
        return at + 2;
    case SPOOL_VALUE_INT:
        *at = SP_KEY_INT;
        return sp_varint_put(at + 1, (uint64_t)value->as.integer);
    case SPOOL_VALUE_DOUBLE: {
        uint64_t bits;
        memcpy(&bits, &value->as.number, sizeof bits);
        return sp_fixed64_put(at, SP_KEY_DOUBLE, bits);
    }
    case SPOOL_VALUE_BYTES:
        return sp_field_put(at, SP_KEY_BYTES, value->as.bytes.ptr, value->as.bytes.len);
    default:
        return at;
    }
}

static inline bool sp_attr_has_key(const spool_attr *attr) {
    return attr->key.ptr != NULL && attr->key.len != 0;
}

/*
 * The size of the KeyValue message, or SP_NOT_SIMPLE. The attribute has a key. The value's size is
 * left in *out_value_size.
 */
static inline size_t sp_simple_attr_size(const spool_attr *attr, uint32_t text_length,
                                         size_t *out_value_size) {
    size_t value_size = sp_simple_value_size(&attr->value, text_length);
    if (value_size == SP_NOT_SIMPLE || attr->key.len > SP_WIRE_SIZE_MAX ||
        !sp_utf8_is_valid(attr->key.ptr, attr->key.len)) {
        return SP_NOT_SIMPLE;
    }
    *out_value_size = value_size;
    return sp_field_size(attr->key.len) + sp_field_size(value_size);
}

/* Writes the KeyValue message. */
static inline uint8_t *sp_simple_attr_put(uint8_t *at, const spool_attr *attr, size_t value_size) {
    at = sp_field_put(at, SP_KEY_KEY, attr->key.ptr, attr->key.len);
    *at = SP_KEY_VALUE;
    at = sp_varint_put(at + 1, value_size);
    return sp_simple_value_put(at, &attr->value);
}

/* ---- the builder ---- */

typedef struct sp_wire_builder {
    sp_scratch *scratch;
    uint32_t text_length;
    uint32_t depth; /* at most SP_WIRE_DEPTH_MAX */
    uint8_t *begin; /* the memory; what is written is at .. end */
    uint8_t *at;
    uint8_t *end;
    size_t measured;   /* a bound of the whole, to stop at SP_WIRE_SIZE_MAX */
    bool dirty;        /* measuring saw text that needs repair */
    bool failed;       /* no memory, or too large: there is no result */
    uint32_t repaired; /* texts */
    uint32_t keyless;  /* attributes left out for want of a key, at any depth */
    spool_str current; /* what is being measured: the key of an attribute or the name of a field */
    spool_str culprit; /* the first such thing with text that needs repair */
} sp_wire_builder;

/*
 * In this order: init, measure everything (each adds to `measured`), open, put the same things
 * from the last to the first, close. The caller holds a mark of the scratch.
 */
void sp_builder_init(sp_wire_builder *builder, sp_scratch *scratch, const sp_wire_limits *limits);

void sp_builder_measure_value(sp_wire_builder *builder, const spool_value *value);
void sp_builder_measure_text(sp_wire_builder *builder, const char *what, spool_str text);
/* One attribute or many, each as a field with a key of one byte. */
void sp_builder_measure_attrs(sp_wire_builder *builder, const spool_attr *attrs, size_t count);
/* Room for anything else. */
void sp_builder_measure_bytes(sp_wire_builder *builder, size_t size);

/* False without memory, or when the whole is too large. */
bool sp_builder_open(sp_wire_builder *builder);

/* An AnyValue, without key and length. */
void sp_builder_put_value(sp_wire_builder *builder, const spool_value *value);
void sp_builder_put_text(sp_wire_builder *builder, uint8_t key, spool_str text);
void sp_builder_put_varint(sp_wire_builder *builder, uint8_t key, uint64_t value);
void sp_builder_put_fixed64(sp_wire_builder *builder, uint8_t key, uint64_t value);
void sp_builder_put_fixed32(sp_wire_builder *builder, uint8_t key, uint32_t value);
void sp_builder_put_bytes(sp_wire_builder *builder, uint8_t key, const void *bytes, size_t len);
/*
 * Attributes as fields, each key once with its last value. Of more than `limit` keys the first ones
 * stay. Returns how many attributes were dropped: over the limit, or without a key.
 */
size_t sp_builder_put_attrs(sp_wire_builder *builder, uint8_t key, const spool_attr *attrs,
                            size_t count, uint32_t limit);
/* The header of a message that consists of what was put since `end` was builder->at. */
void sp_builder_put_header(sp_wire_builder *builder, uint8_t key, const uint8_t *end);

/* The bytes, in scratch; NULL on failure. Counts repairs and keyless attributes. */
sp_wire_piece sp_builder_close(sp_wire_builder *builder);

/* Counts repaired texts; the first time in a process one diagnostic names the culprit. */
SP_COLD void sp_wire_report_repair(spool_str culprit, uint64_t texts);

#endif /* SPOOL_SDK_WIRE_VALUE_H */
