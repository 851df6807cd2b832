/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around records: resource and scope, made once, and the pieces of which envelopes
 * are built.
 */
#include "sdk/wire/value.h"

#include <stdlib.h>

enum {
    FIXED_PARTS_BYTES = 32 /* more than headers and dropped count */
};

static const sp_wire_limits unlimited = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* Puts the attributes and their dropped count: those that had no key. */
static void put_attrs(sp_wire_builder *builder, uint8_t key, uint8_t dropped_key,
                      const spool_attr *attrs, size_t count) {
    size_t dropped = sp_builder_put_attrs(builder, key, attrs, count, UINT32_MAX);
    if (dropped) {
        sp_builder_put_varint(builder, dropped_key, (uint32_t)dropped);
    }
}

/* Closes the builder and moves the bytes out of scratch. */
static sp_wire_piece finish(sp_wire_builder *builder, uint8_t key) {
    sp_builder_put_header(builder, key, builder->end);
    sp_wire_piece piece = sp_builder_close(builder);
    uint8_t *copy = piece.bytes ? malloc(piece.len) : NULL;
    if (!copy) {
        return (sp_wire_piece){NULL, 0};
    }
    memcpy(copy, piece.bytes, piece.len);
    piece.bytes = copy;
    return piece;
}

sp_wire_piece sp_wire_resource(const spool_resource_data *resource) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_piece piece = {NULL, 0};
    size_t count = resource->attrs ? resource->attr_count : 0;
    sp_wire_builder builder;
    sp_builder_init(&builder, &scratch, &unlimited);
    sp_builder_measure_bytes(&builder, FIXED_PARTS_BYTES);
    sp_builder_measure_attrs(&builder, resource->attrs, count);
    if (sp_builder_open(&builder)) {
        put_attrs(&builder, SP_KEY_RESOURCE_ATTRS, SP_KEY_RESOURCE_DROPPED, resource->attrs, count);
        piece = finish(&builder, SP_KEY_RESOURCE);
    }
    sp_scratch_fini(&scratch);
    return piece;
}

sp_wire_piece sp_wire_scope(const spool_scope *scope) {
    sp_scratch scratch = {NULL, NULL, NULL};
    sp_wire_piece piece = {NULL, 0};
    size_t count = scope->attrs ? scope->attr_count : 0;
    sp_wire_builder builder;
    sp_builder_init(&builder, &scratch, &unlimited);
    sp_builder_measure_bytes(&builder, FIXED_PARTS_BYTES);
    sp_builder_measure_text(&builder, "scope name", scope->name);
    sp_builder_measure_text(&builder, "scope version", scope->version);
    sp_builder_measure_attrs(&builder, scope->attrs, count);
    if (sp_builder_open(&builder)) {
        put_attrs(&builder, SP_KEY_SCOPE_ATTRS, SP_KEY_SCOPE_DROPPED, scope->attrs, count);
        if (scope->version.ptr && scope->version.len) {
            sp_builder_put_text(&builder, SP_KEY_SCOPE_VERSION, scope->version);
        }
        if (scope->name.ptr && scope->name.len) {
            sp_builder_put_text(&builder, SP_KEY_SCOPE_NAME, scope->name);
        }
        piece = finish(&builder, SP_KEY_SCOPE);
    }
    sp_scratch_fini(&scratch);
    return piece;
}

size_t sp_wire_varint_size(uint64_t value) {
    return sp_varint_size(value);
}

uint8_t *sp_wire_varint(uint8_t *at, uint64_t value) {
    return sp_varint_put(at, value);
}

uint8_t *sp_wire_open(uint8_t *at, uint32_t key, size_t len) {
    return sp_varint_put(sp_varint_put(at, key), len);
}

uint8_t *sp_wire_bytes(uint8_t *at, uint32_t key, const void *bytes, size_t len) {
    at = sp_wire_open(at, key, len);
    if (len) {
        memcpy(at, bytes, len);
    }
    return at + len;
}
