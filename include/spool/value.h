/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings, values and attributes (specification: common, "AnyValue", "Attribute").
 *
 * Everything here is a plain value that borrows the memory it points to. A call that takes one of
 * these reads it during the call and keeps nothing: the caller may reuse its buffers at once.
 *
 * Text is UTF-8. Bytes that are not valid UTF-8 are replaced by U+FFFD when a record is made, counted
 * and named once in a diagnostic; they never cost another attribute or record. NULL text is the empty
 * value. A key that is NULL or empty costs that attribute alone: it is left out and counted as dropped.
 */
#ifndef SPOOL_VALUE_H
#define SPOOL_VALUE_H

#include <spool/export.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

SPOOL_BEGIN_DECLS

/* A view of text that need not end in NUL. `ptr` may be NULL when `len` is 0. */
typedef struct spool_str {
    const char *ptr;
    size_t len; /* bytes */
} spool_str;

/* A view of a string literal; anything but a literal does not compile. */
#ifdef __cplusplus
#define SPOOL_STR(literal) (spool_str{"" literal "", sizeof(literal) - 1})
#else
#define SPOOL_STR(literal) ((spool_str){"" literal "", sizeof(literal) - 1})
#endif
/* The same for a static initialiser. */
#define SPOOL_STR_INIT(literal)                                                                    \
    { "" literal "", sizeof(literal) - 1 }

/* A view of a NUL-terminated text; NULL gives the empty view with a NULL pointer. */
static inline spool_str spool_str_of(const char *text) {
    spool_str view;
    view.ptr = text;
    view.len = text ? strlen(text) : 0;
    return view;
}

/* A view of `len` bytes at `ptr`. */
static inline spool_str spool_str_n(const char *ptr, size_t len) {
    spool_str view;
    view.ptr = ptr;
    view.len = ptr ? len : 0;
    return view;
}

enum {
    SPOOL_VALUE_EMPTY = 0,
    SPOOL_VALUE_STRING = 1,
    SPOOL_VALUE_BOOL = 2,
    SPOOL_VALUE_INT = 3,
    SPOOL_VALUE_DOUBLE = 4,
    SPOOL_VALUE_BYTES = 5,
    SPOOL_VALUE_ARRAY = 6,
    SPOOL_VALUE_MAP = 7,
    /* An unsigned integer above INT64_MAX: OTLP has no such type, it is recorded as decimal text. */
    SPOOL_VALUE_UINT = 8
};

struct spool_attr;

/*
 * One value. Arrays and maps point to the caller's items; they may nest, to the depth limit of the SDK
 * (default 64, the value itself is depth 1), beyond which an array or map becomes the empty value.
 */
typedef struct spool_value {
    uint32_t type; /* SPOOL_VALUE_* */
    union {
        bool boolean;
        int64_t integer;
        uint64_t unsigned_integer;
        double number;
        spool_str string;
        spool_str bytes;
        struct {
            const struct spool_value *items;
            size_t count;
        } array;
        struct {
            const struct spool_attr *items;
            size_t count;
        } map;
    } as;
} spool_value;

/* A key with its value. Keys are case-sensitive. */
typedef struct spool_attr {
    spool_str key;
    spool_value value;
} spool_attr;

/* ---- values: spool_value_*(), one for each kind ---- */

static inline spool_value spool_value_empty(void) {
    spool_value v;
    v.type = SPOOL_VALUE_EMPTY;
    v.as.string = spool_str_n(NULL, 0);
    return v;
}

static inline spool_value spool_value_string_n(spool_str text) {
    spool_value v;
    v.type = text.ptr ? SPOOL_VALUE_STRING : SPOOL_VALUE_EMPTY;
    v.as.string = text;
    return v;
}

static inline spool_value spool_value_string(const char *text) {
    return spool_value_string_n(spool_str_of(text));
}

static inline spool_value spool_value_bool(bool boolean) {
    spool_value v;
    v.type = SPOOL_VALUE_BOOL;
    v.as.boolean = boolean;
    return v;
}

static inline spool_value spool_value_int(int64_t integer) {
    spool_value v;
    v.type = SPOOL_VALUE_INT;
    v.as.integer = integer;
    return v;
}

static inline spool_value spool_value_uint(uint64_t integer) {
    spool_value v;
    if (integer <= (uint64_t)INT64_MAX) {
        return spool_value_int((int64_t)integer);
    }
    v.type = SPOOL_VALUE_UINT;
    v.as.unsigned_integer = integer;
    return v;
}

static inline spool_value spool_value_double(double number) {
    spool_value v;
    v.type = SPOOL_VALUE_DOUBLE;
    v.as.number = number;
    return v;
}

static inline spool_value spool_value_bytes(const void *bytes, size_t len) {
    spool_value v;
    v.type = SPOOL_VALUE_BYTES;
    v.as.bytes = spool_str_n((const char *)bytes, len);
    return v;
}

/* `items` may be NULL when `count` is 0; a NULL pointer with a count is taken as count 0. */
static inline spool_value spool_value_array(const spool_value *items, size_t count) {
    spool_value v;
    v.type = SPOOL_VALUE_ARRAY;
    v.as.array.items = items;
    v.as.array.count = items ? count : 0;
    return v;
}

static inline spool_value spool_value_map(const spool_attr *items, size_t count) {
    spool_value v;
    v.type = SPOOL_VALUE_MAP;
    v.as.map.items = items;
    v.as.map.count = items ? count : 0;
    return v;
}

/* ---- attributes ---- */

static inline spool_attr spool_attr_n(spool_str key, spool_value value) {
    spool_attr a;
    a.key = key;
    a.value = value;
    return a;
}

static inline spool_attr spool_attr_of(const char *key, spool_value value) {
    return spool_attr_n(spool_str_of(key), value);
}

static inline spool_attr spool_string(const char *key, const char *text) {
    return spool_attr_of(key, spool_value_string(text));
}

static inline spool_attr spool_string_n(spool_str key, spool_str text) {
    return spool_attr_n(key, spool_value_string_n(text));
}

static inline spool_attr spool_int(const char *key, int64_t integer) {
    return spool_attr_of(key, spool_value_int(integer));
}

static inline spool_attr spool_int_n(spool_str key, int64_t integer) {
    return spool_attr_n(key, spool_value_int(integer));
}

static inline spool_attr spool_uint(const char *key, uint64_t integer) {
    return spool_attr_of(key, spool_value_uint(integer));
}

static inline spool_attr spool_uint_n(spool_str key, uint64_t integer) {
    return spool_attr_n(key, spool_value_uint(integer));
}

static inline spool_attr spool_double(const char *key, double number) {
    return spool_attr_of(key, spool_value_double(number));
}

static inline spool_attr spool_double_n(spool_str key, double number) {
    return spool_attr_n(key, spool_value_double(number));
}

static inline spool_attr spool_bool(const char *key, bool boolean) {
    return spool_attr_of(key, spool_value_bool(boolean));
}

static inline spool_attr spool_bool_n(spool_str key, bool boolean) {
    return spool_attr_n(key, spool_value_bool(boolean));
}

static inline spool_attr spool_bytes(const char *key, const void *bytes, size_t len) {
    return spool_attr_of(key, spool_value_bytes(bytes, len));
}

static inline spool_attr spool_bytes_n(spool_str key, const void *bytes, size_t len) {
    return spool_attr_n(key, spool_value_bytes(bytes, len));
}

static inline spool_attr spool_array(const char *key, const spool_value *items, size_t count) {
    return spool_attr_of(key, spool_value_array(items, count));
}

static inline spool_attr spool_array_n(spool_str key, const spool_value *items, size_t count) {
    return spool_attr_n(key, spool_value_array(items, count));
}

static inline spool_attr spool_map(const char *key, const spool_attr *items, size_t count) {
    return spool_attr_of(key, spool_value_map(items, count));
}

static inline spool_attr spool_map_n(spool_str key, const spool_attr *items, size_t count) {
    return spool_attr_n(key, spool_value_map(items, count));
}

/* Ends the attribute lists that macros build; never part of a record. */
static inline spool_attr spool_attr_end(void) {
    return spool_attr_n(spool_str_n(NULL, 0), spool_value_empty());
}

SPOOL_END_DECLS
#endif /* SPOOL_VALUE_H */
