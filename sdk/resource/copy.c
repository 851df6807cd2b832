/* SPDX-License-Identifier: Apache-2.0 */
/* Deep copies into an arena, and comparisons. Nesting is followed to COPY_DEPTH and cut there. */
#include "sdk/resource/copy.h"

#include <stdint.h>
#include <string.h>

enum { COPY_DEPTH = 64 };

bool sp_copy_text(sp_arena *arena, spool_str text, spool_str *out_copy) {
    char *copy = sp_arena_alloc(arena, text.len + 1);
    if (!copy) {
        return false;
    }
    if (text.len) {
        memcpy(copy, text.ptr, text.len);
    }
    copy[text.len] = '\0';
    *out_copy = spool_str_n(copy, text.len);
    return true;
}

static bool copy_attrs_at(sp_arena *arena, const spool_attr *attrs, size_t count,
                          const spool_attr **out_attrs, size_t *out_count, unsigned depth);

static bool copy_value_at(sp_arena *arena, const spool_value *value, spool_value *out_copy,
                          unsigned depth) {
    *out_copy = *value;
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        return sp_copy_text(arena, value->as.string, &out_copy->as.string);
    case SPOOL_VALUE_BYTES:
        return sp_copy_text(arena, value->as.bytes, &out_copy->as.bytes);
    case SPOOL_VALUE_ARRAY: {
        size_t count = value->as.array.count;
        if (depth >= COPY_DEPTH || count > SIZE_MAX / sizeof(spool_value)) {
            *out_copy = spool_value_empty();
            return true;
        }
        spool_value *items = sp_arena_alloc(arena, count * sizeof *items);
        for (size_t i = 0; items && i < count; i++) {
            if (!copy_value_at(arena, &value->as.array.items[i], &items[i], depth + 1)) {
                return false;
            }
        }
        out_copy->as.array.items = items;
        return items != NULL;
    }
    case SPOOL_VALUE_MAP:
        if (depth >= COPY_DEPTH) {
            *out_copy = spool_value_empty();
            return true;
        }
        return copy_attrs_at(arena, value->as.map.items, value->as.map.count,
                             &out_copy->as.map.items, &out_copy->as.map.count, depth + 1);
    default:
        return true;
    }
}

bool sp_copy_value(sp_arena *arena, const spool_value *value, spool_value *out_copy) {
    return copy_value_at(arena, value, out_copy, 1);
}

static bool copy_attrs_at(sp_arena *arena, const spool_attr *attrs, size_t count,
                          const spool_attr **out_attrs, size_t *out_count, unsigned depth) {
    *out_attrs = NULL;
    *out_count = 0;
    if (count == 0) {
        return true;
    }
    if (count > SIZE_MAX / sizeof(spool_attr)) {
        return false;
    }
    spool_attr *copies = sp_arena_alloc(arena, count * sizeof *copies);
    size_t kept = 0;
    if (!copies) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!attrs[i].key.ptr || attrs[i].key.len == 0) {
            continue;
        }
        size_t place = 0;
        while (place < kept && !sp_text_equals(copies[place].key, attrs[i].key)) {
            place++;
        }
        if (!sp_copy_text(arena, attrs[i].key, &copies[place].key) ||
            !copy_value_at(arena, &attrs[i].value, &copies[place].value, depth)) {
            return false;
        }
        kept += place == kept;
    }
    *out_attrs = copies;
    *out_count = kept;
    return true;
}

bool sp_copy_attrs(sp_arena *arena, const spool_attr *attrs, size_t count,
                   const spool_attr **out_attrs, size_t *out_count) {
    return copy_attrs_at(arena, attrs, count, out_attrs, out_count, 1);
}

static bool values_equal_at(const spool_value *a, const spool_value *b, unsigned depth);

static bool attrs_equal_at(const spool_attr *a, size_t a_count, const spool_attr *b, size_t b_count,
                           unsigned depth) {
    if (a_count != b_count) {
        return false;
    }
    for (size_t i = 0; i < a_count; i++) {
        size_t j = 0;
        while (j < b_count && !sp_text_equals(a[i].key, b[j].key)) {
            j++;
        }
        if (j == b_count || !values_equal_at(&a[i].value, &b[j].value, depth)) {
            return false;
        }
    }
    return true;
}

static bool values_equal_at(const spool_value *a, const spool_value *b, unsigned depth) {
    if (a->type != b->type || depth > COPY_DEPTH) {
        return false;
    }
    switch (a->type) {
    case SPOOL_VALUE_EMPTY:
        return true;
    case SPOOL_VALUE_BOOL:
        return a->as.boolean == b->as.boolean;
    case SPOOL_VALUE_STRING:
        return sp_text_equals(a->as.string, b->as.string);
    case SPOOL_VALUE_BYTES:
        return sp_text_equals(a->as.bytes, b->as.bytes);
    case SPOOL_VALUE_ARRAY:
        if (a->as.array.count != b->as.array.count) {
            return false;
        }
        for (size_t i = 0; i < a->as.array.count; i++) {
            if (!values_equal_at(&a->as.array.items[i], &b->as.array.items[i], depth + 1)) {
                return false;
            }
        }
        return true;
    case SPOOL_VALUE_MAP:
        return attrs_equal_at(a->as.map.items, a->as.map.count, b->as.map.items, b->as.map.count,
                              depth + 1);
    default:
        /* Integers and doubles, the latter by their bits: NaN equals itself. */
        return memcmp(&a->as, &b->as, sizeof a->as.integer) == 0;
    }
}

bool sp_value_equals(const spool_value *a, const spool_value *b) {
    return values_equal_at(a, b, 1);
}

bool sp_attrs_equal(const spool_attr *a, size_t a_count, const spool_attr *b, size_t b_count) {
    return attrs_equal_at(a, a_count, b, b_count, 1);
}
