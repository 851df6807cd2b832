/* SPDX-License-Identifier: Apache-2.0 */
/* See percent.h. */
#include "config/percent.h"

static int hex(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool sp_env_percent_decode(char *text, size_t *len) {
    size_t to = 0;
    for (size_t from = 0; from < *len; from++) {
        char byte = text[from];
        if (byte == '%') {
            int high = from + 2 < *len ? hex(text[from + 1]) : -1;
            int low = from + 2 < *len ? hex(text[from + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            byte = (char)(high << 4 | low);
            from += 2;
        }
        text[to++] = byte;
    }
    *len = to;
    return true;
}
