/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one code point of UTF-8. */
#ifndef SPOOL_TOOLS_TAIL_UTF8_H
#define SPOOL_TOOLS_TAIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the code point at the start of `data` (`len` > 0) and returns how many
 * bytes it takes; 0 if they are not UTF-8 (overlong forms, surrogates and values
 * past U+10FFFF included).
 */
size_t sp_tail_utf8_next(const uint8_t *data, size_t len, uint32_t *out_code);

bool sp_tail_utf8_valid(const uint8_t *data, size_t len);

#endif /* SPOOL_TOOLS_TAIL_UTF8_H */
