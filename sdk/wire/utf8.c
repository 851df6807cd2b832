/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8. Nearly all telemetry text is short ASCII, so the checks look at eight bytes at a time
 * and fall back to sequences only around bytes with the high bit set.
 */
#include "sdk/wire/utf8.h"

#include "sdk/platform/compiler.h"

#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

enum { REPLACEMENT_BYTES = 3 };

static inline uint64_t word_at(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* True for up to seven ASCII bytes; overlapping loads stay inside the text. */
static inline bool short_is_ascii(const uint8_t *at, size_t len) {
    if (len >= 4) {
        uint32_t head, tail;
        memcpy(&head, at, sizeof head);
        memcpy(&tail, at + len - sizeof tail, sizeof tail);
        return ((head | tail) & (uint32_t)HIGH_BITS) == 0;
    }
    uint8_t all = 0;
    for (size_t i = 0; i < len; i++) {
        all |= at[i];
    }
    return all < 0x80;
}

/* How many ASCII bytes the text starts with, or some fewer: whole words, then single bytes. */
static size_t ascii_prefix(const uint8_t *at, size_t len) {
    size_t done = 0;
    while (len - done >= 16 && ((word_at(at + done) | word_at(at + done + 8)) & HIGH_BITS) == 0) {
        done += 16;
    }
    while (len - done >= 8 && (word_at(at + done) & HIGH_BITS) == 0) {
        done += 8;
    }
    while (done < len && at[done] < 0x80) {
        done++;
    }
    return done;
}

/*
 * The length of the sequence that starts here with a byte above 0x7F: a character when
 * *out_valid, else a maximal subpart of an ill-formed one (Unicode, table 3-7). At least 1.
 */
static size_t sequence(const uint8_t *at, size_t len, bool *out_valid) {
    uint8_t lead = at[0];
    uint8_t low = 0x80, high = 0xBF; /* of the second byte */
    size_t size;
    *out_valid = false;
    if (lead < 0xC2 || lead > 0xF4) {
        return 1;
    } else if (lead < 0xE0) {
        size = 2;
    } else if (lead < 0xF0) {
        size = 3;
        low = lead == 0xE0 ? 0xA0 : 0x80;  /* no overlong form */
        high = lead == 0xED ? 0x9F : 0xBF; /* no surrogate */
    } else {
        size = 4;
        low = lead == 0xF0 ? 0x90 : 0x80;
        high = lead == 0xF4 ? 0x8F : 0xBF; /* at most U+10FFFF */
    }
    if (len < 2 || at[1] < low || at[1] > high) {
        return 1;
    }
    for (size_t i = 2; i < size; i++) {
        if (i >= len || (at[i] & 0xC0) != 0x80) {
            return i;
        }
    }
    *out_valid = true;
    return size;
}

static bool long_is_valid(const uint8_t *at, size_t len) {
    size_t done = 0;
    for (;;) {
        done += ascii_prefix(at + done, len - done);
        /* Text of other scripts comes in runs. */
        while (done < len && at[done] >= 0x80) {
            bool valid;
            done += sequence(at + done, len - done, &valid);
            if (!valid) {
                return false;
            }
        }
        if (done >= len) {
            return true;
        }
    }
}

bool sp_utf8_is_valid(const char *text, size_t len) {
    const uint8_t *at = (const uint8_t *)text;
    if (len < 8) {
        return SP_LIKELY(short_is_ascii(at, len)) || long_is_valid(at, len);
    }
    if (len <= 16) {
        uint64_t all = word_at(at) | word_at(at + len - 8);
        return SP_LIKELY((all & HIGH_BITS) == 0) || long_is_valid(at, len);
    }
    return long_is_valid(at, len);
}

sp_utf8_extent sp_utf8_measure(const char *text, size_t len, uint32_t max_chars) {
    const uint8_t *at = (const uint8_t *)text;
    sp_utf8_extent extent = {len, len, 0};
    if (len <= max_chars && sp_utf8_is_valid(text, len)) {
        return extent;
    }
    uint64_t chars_left = max_chars == UINT32_MAX ? UINT64_MAX : max_chars;
    size_t done = 0, size = 0;
    while (done < len && chars_left > 0) {
        size_t ascii = len - done < chars_left ? len - done : (size_t)chars_left;
        ascii = ascii_prefix(at + done, ascii);
        done += ascii;
        size += ascii;
        chars_left -= ascii;
        if (done == len || chars_left == 0) {
            break;
        }
        if (at[done] < 0x80) {
            continue;
        }
        bool valid;
        size_t step = sequence(at + done, len - done, &valid);
        done += step;
        size += valid ? step : REPLACEMENT_BYTES;
        extent.replaced += !valid;
        chars_left--;
    }
    extent.taken = done;
    extent.size = size;
    return extent;
}

void sp_utf8_write(uint8_t *at, const char *text, const sp_utf8_extent *extent) {
    const uint8_t *from = (const uint8_t *)text;
    size_t len = extent->taken;
    if (extent->replaced == 0) {
        if (len) {
            memcpy(at, from, len);
        }
        return;
    }
    for (size_t done = 0; done < len;) {
        size_t step = ascii_prefix(from + done, len - done);
        if (step == 0) {
            bool valid;
            /* The cut never falls inside a sequence, so what follows it is not needed here. */
            step = sequence(from + done, len - done, &valid);
            if (!valid) {
                memcpy(at, "\xEF\xBF\xBD", REPLACEMENT_BYTES);
                at += REPLACEMENT_BYTES;
                done += step;
                continue;
            }
        }
        memcpy(at, from + done, step);
        at += step;
        done += step;
    }
}
