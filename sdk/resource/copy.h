/* SPDX-License-Identifier: Apache-2.0 */
/* Deep copies and comparisons of text, values and attributes, for what outlives a call. Not hot. */
#ifndef SPOOL_SDK_RESOURCE_COPY_H
#define SPOOL_SDK_RESOURCE_COPY_H

#include "sdk/memory/arena.h"
#include "sdk/platform/compiler.h"

#include <spool/value.h>

/* The copy ends in NUL. False without memory. */
bool sp_copy_text(sp_arena *arena, spool_str text, spool_str *out_copy) SP_SHARED("copy_text");
bool sp_copy_value(sp_arena *arena, const spool_value *value, spool_value *out_copy)
    SP_SHARED("copy_value");
/* Keys become unique: the last of equal ones stays, in the place of the first. Invalid keys are left
 * out. `count` may be 0. */
bool sp_copy_attrs(sp_arena *arena, const spool_attr *attrs, size_t count,
                   const spool_attr **out_attrs, size_t *out_count) SP_SHARED("copy_attrs");

/* For keys that are unique already: no search. */
bool sp_copy_unique_attrs(sp_arena *arena, const spool_attr *attrs, size_t count,
                          const spool_attr **out_attrs, size_t *out_count)
    SP_SHARED("copy_unique_attrs");
/* The text as valid UTF-8, repaired and counted; for what goes out as it is kept. */
bool sp_copy_valid_text(sp_arena *arena, spool_str text, spool_str *out_copy);

static inline bool sp_text_equals(spool_str a, spool_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
bool sp_value_equals(const spool_value *a, const spool_value *b);
/* The same keys with the same values, in any order; keys of each side are unique. */
bool sp_attrs_equal(const spool_attr *a, size_t a_count, const spool_attr *b, size_t b_count);

#endif /* SPOOL_SDK_RESOURCE_COPY_H */
