/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding of configuration texts. */
#include "exporters/otlp/percent.h"

static int digit_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

size_t sp_percent_decode(const char *text, size_t len, char *to) {
    size_t made = 0;
    for (size_t i = 0; i < len; i++) {
        int high = -1;
        int low = -1;
        if (text[i] == '%' && len - i > 2) {
            high = digit_value(text[i + 1]);
            low = digit_value(text[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            to[made++] = (char)(high * 16 + low);
            i += 2;
        } else {
            to[made++] = text[i];
        }
    }
    return made;
}
