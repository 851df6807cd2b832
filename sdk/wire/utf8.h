/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 (RFC 3629): checking, repair, and cutting by characters. Repair follows the Unicode
 * recommendation: each maximal subpart of an ill-formed sequence becomes one U+FFFD, which
 * counts as one character. Nothing is allocated.
 */
#ifndef SPOOL_SDK_WIRE_UTF8_H
#define SPOOL_SDK_WIRE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when the bytes are well-formed UTF-8; NUL is a character like any other. */
bool sp_utf8_is_valid(const char *text, size_t len);

/* What is left of a text after repair and after cutting it to a number of characters. */
typedef struct sp_utf8_extent {
    size_t taken;    /* bytes of the input that were looked at: the rest is cut off */
    size_t size;     /* bytes of the output */
    size_t replaced; /* how many U+FFFD it takes; 0: the output is the first `taken` bytes */
} sp_utf8_extent;

/* A character is never split. `max_chars` UINT32_MAX: no cutting. */
sp_utf8_extent sp_utf8_measure(const char *text, size_t len, uint32_t max_chars);

/* Writes extent->size bytes for the text that was measured. */
void sp_utf8_write(uint8_t *at, const char *text, const sp_utf8_extent *extent);

#endif /* SPOOL_SDK_WIRE_UTF8_H */
