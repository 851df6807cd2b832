/* SPDX-License-Identifier: Apache-2.0 */
/* Strict UTF-8 (RFC 3629). */
#include "tools/tail/utf8.h"

size_t sp_tail_utf8_next(const uint8_t *data, size_t len, uint32_t *out_code) {
    uint8_t lead = data[0];
    if (lead < 0x80) {
        *out_code = lead;
        return 1;
    }
    size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (lead < 0xC2 || lead > 0xF4 || len < size) {
        return 0;
    }
    uint32_t code = lead & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((data[i] & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (data[i] & 0x3Fu);
    }
    if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        return 0;
    }
    *out_code = code;
    return size;
}

bool sp_tail_utf8_valid(const uint8_t *data, size_t len) {
    size_t at = 0;
    while (at < len) {
        uint32_t code;
        size_t size = sp_tail_utf8_next(data + at, len - at, &code);
        if (size == 0) {
            return false;
        }
        at += size;
    }
    return true;
}
