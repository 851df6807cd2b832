/* SPDX-License-Identifier: Apache-2.0 */
/* Varints and fixed-width numbers of protobuf, inline for the writer. */
#ifndef SPOOL_SDK_WIRE_VARINT_H
#define SPOOL_SDK_WIRE_VARINT_H

#include "sdk/platform/compiler.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The largest message, by the protobuf specification; also keeps sums of sizes from wrapping. */
#define SP_WIRE_SIZE_MAX ((size_t)INT32_MAX)

static inline size_t sp_varint_size(uint64_t value) {
    if (SP_LIKELY(value < 0x80)) {
        return 1;
    }
    unsigned top_bit = 63u ^ (unsigned)__builtin_clzll(value);
    return (top_bit * 9 + 73) / 64;
}

static inline uint8_t *sp_varint_put(uint8_t *at, uint64_t value) {
    while (SP_UNLIKELY(value >= 0x80)) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint64_t sp_fixed64_order(uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

static inline uint32_t sp_fixed32_order(uint32_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(value);
#else
    return value;
#endif
}

/* A key of one byte and a fixed-width number. */
static inline uint8_t *sp_fixed64_put(uint8_t *at, uint8_t key, uint64_t value) {
    value = sp_fixed64_order(value);
    *at = key;
    memcpy(at + 1, &value, sizeof value);
    return at + 1 + sizeof value;
}

static inline uint8_t *sp_fixed32_put(uint8_t *at, uint8_t key, uint32_t value) {
    value = sp_fixed32_order(value);
    *at = key;
    memcpy(at + 1, &value, sizeof value);
    return at + 1 + sizeof value;
}

/* A length-delimited field with a key of one byte, and its size. */
static inline size_t sp_field_size(size_t len) {
    return 1 + sp_varint_size(len) + len;
}

static inline uint8_t *sp_field_put(uint8_t *at, uint8_t key, const void *bytes, size_t len) {
    *at = key;
    at = sp_varint_put(at + 1, len);
    if (len) {
        memcpy(at, bytes, len);
    }
    return at + len;
}

#endif /* SPOOL_SDK_WIRE_VARINT_H */
