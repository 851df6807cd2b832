/* SPDX-License-Identifier: Apache-2.0 */
/* See percent.h. */
#include "sdk/platform/percent.h"

int sp_hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool sp_percent_decode(const char *text, size_t len, char *to, size_t *out_len) {
    bool all_well = true;
    size_t made = 0;
    for (size_t i = 0; i < len; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = len - i > 2 ? sp_hex_digit(text[i + 1]) : -1;
            int low = len - i > 2 ? sp_hex_digit(text[i + 2]) : -1;
            if (high >= 0 && low >= 0) {
                byte = (char)(high << 4 | low);
                i += 2;
            } else {
                all_well = false;
            }
        }
        to[made++] = byte;
    }
    *out_len = made;
    return all_well;
}
