/* SPDX-License-Identifier: Apache-2.0 */
/* See text.h. Nothing here depends on the locale. */
#include "exporters/console/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_ROOM = 1024, DEPTH = 64 };

static bool reserve(sp_text *text, size_t more) {
    size_t need = text->len + more;
    if (text->failed || need <= text->room) {
        return !text->failed;
    }
    size_t room = text->room ? text->room : FIRST_ROOM;
    while (room < need) {
        room *= 2;
    }
    char *bytes = realloc(text->bytes, room);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

void sp_text_fini(sp_text *text) {
    free(text->bytes);
    *text = (sp_text){NULL, 0, 0, false};
}

void sp_text_raw(sp_text *text, const char *bytes, size_t len) {
    if (len && reserve(text, len)) {
        memcpy(text->bytes + text->len, bytes, len);
        text->len += len;
    }
}

void sp_text_format(sp_text *text, const char *format, ...) {
    char small[128];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (len > 0) {
        size_t kept = (size_t)len < sizeof small ? (size_t)len : sizeof small - 1;
        sp_text_raw(text, small, kept);
    }
}

/* The length of the valid, printable UTF-8 character at `at`; 0 when it is to be escaped. */
static size_t printable(const unsigned char *at, size_t left) {
    if (at[0] < 0x80) {
        return at[0] >= 0x20 && at[0] != 0x7f;
    }
    size_t len = at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc2 ? 2 : 0;
    if (at[0] >= 0xf5 || len == 0 || len > left) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* C1 controls, and overlong or surrogate forms. */
    if ((at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xe0 && at[1] < 0xa0) ||
        (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf0 && at[1] < 0x90) ||
        (at[0] == 0xf4 && at[1] >= 0x90)) {
        return 0;
    }
    return len;
}

/* Escapes what is not printable at `at`; returns how many bytes that was. */
static size_t escape_put(sp_text *text, const unsigned char *at, size_t left, bool json) {
    if (!json) {
        sp_text_format(text, "\\x%02x", at[0]);
        return 1;
    }
    if (at[0] == '\n' || at[0] == '\t' || at[0] == '\r') {
        sp_text_format(text, "\\%c", at[0] == '\n' ? 'n' : at[0] == '\t' ? 't' : 'r');
        return 1;
    }
    bool c1 = at[0] == 0xc2 && left > 1 && at[1] >= 0x80 && at[1] < 0xa0;
    unsigned code = c1 ? at[1] : at[0] < 0x80 ? at[0] : 0xfffd;
    sp_text_format(text, "\\u%04x", code);
    return c1 ? 2 : 1;
}

static void clean_put(sp_text *text, spool_str from, bool json) {
    const unsigned char *at = (const unsigned char *)from.ptr;
    for (size_t i = 0; i < from.len;) {
        size_t len = printable(at + i, from.len - i);
        if (len == 0) {
            i += escape_put(text, at + i, from.len - i, json);
        } else if (json && (at[i] == '"' || at[i] == '\\')) {
            sp_text_format(text, "\\%c", at[i]);
            i++;
        } else {
            sp_text_raw(text, from.ptr + i, len);
            i += len;
        }
    }
}

void sp_text_clean(sp_text *text, spool_str from) {
    clean_put(text, from, false);
}

static void quoted_put(sp_text *text, spool_str from) {
    sp_text_raw(text, "\"", 1);
    clean_put(text, from, true);
    sp_text_raw(text, "\"", 1);
}

static void base64_put(sp_text *text, spool_str bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t word = (uint32_t)at[i] << 16;
        word |= left > 1 ? (uint32_t)at[i + 1] << 8 : 0;
        word |= left > 2 ? at[i + 2] : 0;
        char out[4] = {digits[word >> 18], digits[word >> 12 & 63],
                       left > 1 ? digits[word >> 6 & 63] : '=', left > 2 ? digits[word & 63] : '='};
        sp_text_raw(text, out, 4);
    }
}

/* The shortest text that reads back as the same number, with '.' whatever the locale. */
static void double_put(sp_text *text, double number, bool nested) {
    const char *quote = nested ? "\"" : "";
    if (isnan(number) || isinf(number)) {
        const char *word = isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
        sp_text_format(text, "%s%s%s", quote, word, quote);
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number) {
            break;
        }
    }
    /* A locale's point may be several bytes: the first becomes '.', the others go. */
    size_t kept = 0;
    bool point = false;
    for (const char *at = digits; *at; at++) {
        if (strchr("0123456789+-e", *at)) {
            digits[kept++] = *at;
        } else if (!point) {
            point = true;
            digits[kept++] = '.';
        }
    }
    sp_text_raw(text, digits, kept);
}

static void value_put(sp_text *text, const spool_value *value, bool nested, unsigned depth);

static void items_put(sp_text *text, const spool_value *value, unsigned depth) {
    bool map = value->type == SPOOL_VALUE_MAP;
    size_t count = map ? value->as.map.count : value->as.array.count;
    sp_text_raw(text, map ? "{" : "[", 1);
    for (size_t i = 0; i < count && depth < DEPTH; i++) {
        if (i) {
            sp_text_raw(text, ",", 1);
        }
        if (map) {
            quoted_put(text, value->as.map.items[i].key);
            sp_text_raw(text, ":", 1);
        }
        value_put(text, map ? &value->as.map.items[i].value : &value->as.array.items[i], true,
                  depth + 1);
    }
    sp_text_raw(text, map ? "}" : "]", 1);
}

static void value_put(sp_text *text, const spool_value *value, bool nested, unsigned depth) {
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        if (nested) {
            quoted_put(text, value->as.string);
        } else {
            sp_text_clean(text, value->as.string);
        }
        break;
    case SPOOL_VALUE_BOOL:
        sp_text_format(text, "%s", value->as.boolean ? "true" : "false");
        break;
    case SPOOL_VALUE_INT:
        sp_text_format(text, "%" PRId64, value->as.integer);
        break;
    case SPOOL_VALUE_UINT:
        sp_text_format(text, "%" PRIu64, value->as.unsigned_integer);
        break;
    case SPOOL_VALUE_DOUBLE:
        double_put(text, value->as.number, nested);
        break;
    case SPOOL_VALUE_BYTES:
        sp_text_raw(text, "\"", nested);
        base64_put(text, value->as.bytes);
        sp_text_raw(text, "\"", nested);
        break;
    case SPOOL_VALUE_ARRAY:
    case SPOOL_VALUE_MAP:
        items_put(text, value, depth);
        break;
    default:
        sp_text_raw(text, "null", nested ? 4 : 0);
        break;
    }
}

void sp_text_value(sp_text *text, const spool_value *value, bool nested) {
    value_put(text, value, nested, 1);
}

void sp_text_time(sp_text *text, uint64_t time_ns) {
    if (time_ns == 0) {
        sp_text_raw(text, "-", 1);
        return;
    }
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts)) {
        sp_text_format(text, "%" PRIu64, time_ns);
        return;
    }
    sp_text_format(text, "%04d-%02d-%02dT%02d:%02d:%02d.%06uZ", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   (unsigned)(time_ns % 1000000000 / 1000));
}

void sp_text_hex(sp_text *text, const uint8_t *id, size_t len) {
    for (size_t i = 0; i < len; i++) {
        sp_text_format(text, "%02x", id[i]);
    }
}
