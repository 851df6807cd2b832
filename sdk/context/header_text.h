/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing header text: views, never a terminator, ASCII whatever the locale. */
#ifndef SPOOL_SDK_CONTEXT_HEADER_TEXT_H
#define SPOOL_SDK_CONTEXT_HEADER_TEXT_H

#include <spool/value.h>

#include <stdbool.h>
#include <string.h>

/* Values of one header name that are looked at: every further one costs the carrier a search. */
enum { SP_HEADER_LINES = 128 };

static inline bool sp_text_equal(spool_str a, spool_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline char sp_text_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Header names are compared without case (RFC 9110, 5.1). */
static inline bool sp_text_equal_caseless(spool_str a, spool_str b) {
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (sp_text_lower(a.ptr[i]) != sp_text_lower(b.ptr[i])) {
            return false;
        }
    }
    return true;
}

/* Without the optional white space (space, tab) around it. */
static inline spool_str sp_text_trimmed(spool_str text) {
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text.ptr++;
        text.len--;
    }
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

/*
 * Takes what stands before the next separator off the front of *rest. False when nothing is left; an
 * empty piece after a last separator is not reported, it never means anything here.
 */
static inline bool sp_text_split(spool_str *rest, char separator, spool_str *out_piece) {
    if (!rest->ptr || rest->len == 0) {
        return false;
    }
    const char *end = memchr(rest->ptr, separator, rest->len);
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    *out_piece = spool_str_n(rest->ptr, len);
    size_t taken = end ? len + 1 : len;
    rest->ptr += taken;
    rest->len -= taken;
    return true;
}

/* Copies the text and returns where the next byte goes. */
static inline char *sp_text_put(char *at, spool_str text) {
    if (text.len) {
        memcpy(at, text.ptr, text.len);
    }
    return at + text.len;
}

#endif /* SPOOL_SDK_CONTEXT_HEADER_TEXT_H */
