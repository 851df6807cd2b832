/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deep copies into an arena, and comparisons. Nesting is followed to COPY_DEPTH and cut there; a value
 * whose items are shared so that it has more than COPY_ITEMS of them is refused, like one for which there
 * is no memory. A NULL pointer has no length and no items, whatever the count beside it says.
 */
#include "sdk/resource/copy.h"

#include "sdk/platform/diagnostics.h"
#include "sdk/wire/utf8.h"

#include <stdint.h>
#include <string.h>

enum { COPY_DEPTH = 64, COPY_ITEMS = 1 << 20 };

/* One deep copy in progress. */
typedef struct copier {
    sp_arena *arena;
    size_t items_left;
    bool unique; /* keys are unique already */
} copier;

static bool items_take(copier *of, size_t count) {
    if (count > of->items_left) {
        return false;
    }
    of->items_left -= count;
    return true;
}

bool sp_copy_text(sp_arena *arena, spool_str text, spool_str *out_copy) {
    text.len = text.ptr ? text.len : 0;
    if (text.len == SIZE_MAX) {
        return false;
    }
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

static bool copy_attrs_at(copier *of, const spool_attr *attrs, size_t count,
                          const spool_attr **out_attrs, size_t *out_count, unsigned depth);

static bool copy_value_at(copier *of, const spool_value *value, spool_value *out_copy,
                          unsigned depth) {
    *out_copy = *value;
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        return sp_copy_text(of->arena, value->as.string, &out_copy->as.string);
    case SPOOL_VALUE_BYTES:
        return sp_copy_text(of->arena, value->as.bytes, &out_copy->as.bytes);
    case SPOOL_VALUE_ARRAY: {
        size_t count = value->as.array.items ? value->as.array.count : 0;
        out_copy->as.array.count = count;
        if (depth >= COPY_DEPTH || count > SIZE_MAX / sizeof(spool_value)) {
            *out_copy = spool_value_empty();
            return true;
        }
        if (!items_take(of, count)) {
            return false;
        }
        spool_value *items = sp_arena_alloc(of->arena, count * sizeof *items);
        for (size_t i = 0; items && i < count; i++) {
            if (!copy_value_at(of, &value->as.array.items[i], &items[i], depth + 1)) {
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
        return copy_attrs_at(of, value->as.map.items, value->as.map.count, &out_copy->as.map.items,
                             &out_copy->as.map.count, depth + 1);
    default:
        return true;
    }
}

bool sp_copy_value(sp_arena *arena, const spool_value *value, spool_value *out_copy) {
    copier of = {arena, COPY_ITEMS, false};
    return copy_value_at(&of, value, out_copy, 1);
}

/* The place of the key among the `kept` copies; `kept` when it is new. */
static size_t key_place(const spool_attr *copies, size_t kept, spool_str key) {
    size_t place = 0;
    while (place < kept && !sp_text_equals(copies[place].key, key)) {
        place++;
    }
    return place;
}

static bool copy_attrs_at(copier *of, const spool_attr *attrs, size_t count,
                          const spool_attr **out_attrs, size_t *out_count, unsigned depth) {
    *out_attrs = NULL;
    *out_count = 0;
    if (!attrs || count == 0) {
        return true;
    }
    if (count > SIZE_MAX / sizeof(spool_attr) || !items_take(of, count)) {
        return false;
    }
    spool_attr *copies = sp_arena_alloc(of->arena, count * sizeof *copies);
    size_t kept = 0;
    if (!copies) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!attrs[i].key.ptr || attrs[i].key.len == 0) {
            continue;
        }
        size_t place = of->unique ? kept : key_place(copies, kept, attrs[i].key);
        if (!sp_copy_text(of->arena, attrs[i].key, &copies[place].key) ||
            !copy_value_at(of, &attrs[i].value, &copies[place].value, depth)) {
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
    copier of = {arena, COPY_ITEMS, false};
    return copy_attrs_at(&of, attrs, count, out_attrs, out_count, 1);
}

bool sp_copy_unique_attrs(sp_arena *arena, const spool_attr *attrs, size_t count,
                          const spool_attr **out_attrs, size_t *out_count) {
    copier of = {arena, COPY_ITEMS, true};
    return copy_attrs_at(&of, attrs, count, out_attrs, out_count, 1);
}

bool sp_copy_valid_text(sp_arena *arena, spool_str text, spool_str *out_copy) {
    text.len = text.ptr ? text.len : 0;
    sp_utf8_extent extent = sp_utf8_measure(text.ptr, text.len, UINT32_MAX);
    char *copy = sp_arena_alloc(arena, extent.size + 1);
    if (!copy) {
        return false;
    }
    sp_utf8_write((uint8_t *)copy, text.ptr, &extent);
    copy[extent.size] = '\0';
    *out_copy = spool_str_n(copy, extent.size);
    if (extent.replaced) {
        sp_misuse_count(SP_MISUSE_REPAIRED_TEXT, 1);
    }
    return true;
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
