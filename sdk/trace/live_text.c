/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of one line of a dump, and the reading of OTLP bytes that may change under the reader.
 * Every function is async-signal-safe: no library call but the compiler's own arithmetic.
 *
 * ThreadSanitizer is kept out where racy bytes are read: the reader throws away what it made of them
 * unless the slot's word stood still (see live_dump.c).
 */
#include "sdk/trace/live.h"

#include <string.h>

#define RACY __attribute__((no_sanitize("thread")))

enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum {
    ANY_STRING = 1,
    ANY_BOOL = 2,
    ANY_INT = 3,
    ANY_DOUBLE = 4,
    ANY_ARRAY = 5,
    ANY_MAP = 6,
    ANY_BYTES = 7
};
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LEN = 2, WIRE_FIXED32 = 5 };
/* The line's last byte is for the end of the line, and a few before it for " +N". */
enum { LINE_ROOM = SP_LIVE_LINE_BYTES - 16 };

/* ---- putting ---- */

static void put_byte(sp_live_line *line, char byte) {
    if (line->len < LINE_ROOM) {
        line->text[line->len++] = byte;
    } else {
        line->full = true;
    }
}

void sp_live_put(sp_live_line *line, const char *text) {
    while (*text) {
        put_byte(line, *text++);
    }
}

void sp_live_put_uint(sp_live_line *line, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (at < sizeof digits) {
        put_byte(line, digits[at++]);
    }
}

static void put_int(sp_live_line *line, uint64_t bits) {
    if (bits >> 63) {
        put_byte(line, '-');
        bits = 0 - bits;
    }
    sp_live_put_uint(line, bits);
}

static void put_hex_byte(sp_live_line *line, uint8_t byte) {
    static const char digits[] = "0123456789abcdef";
    put_byte(line, digits[byte >> 4]);
    put_byte(line, digits[byte & 15]);
}

RACY void sp_live_put_hex(sp_live_line *line, const volatile uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        put_hex_byte(line, bytes[i]);
    }
}

/* `number` as exactly `width` decimal digits. */
static void put_digits(sp_live_line *line, uint64_t number, unsigned width) {
    uint64_t unit = 1;
    for (unsigned i = 1; i < width; i++) {
        unit *= 10;
    }
    for (; unit; unit /= 10) {
        put_byte(line, (char)('0' + number / unit % 10));
    }
}

void sp_live_put_seconds(sp_live_line *line, uint64_t ns) {
    uint64_t ms = ns / 1000000;
    sp_live_put_uint(line, ms / 1000);
    put_byte(line, '.');
    put_digits(line, ms % 1000, 3);
}

/* Exact, as by %a. */
static void put_hex_double(sp_live_line *line, uint64_t bits) {
    enum { BIAS = 1023, MANTISSA_BITS = 52 };
    uint64_t mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    int exponent = (int)(bits >> MANTISSA_BITS & 0x7ff);
    sp_live_put(line, exponent ? "0x1" : "0x0");
    if (mantissa) {
        put_byte(line, '.');
    }
    for (; mantissa; mantissa = mantissa << 4 & ((UINT64_C(1) << MANTISSA_BITS) - 1)) {
        put_byte(line, "0123456789abcdef"[mantissa >> (MANTISSA_BITS - 4)]);
    }
    exponent = exponent ? exponent - BIAS : (bits << 12 ? 1 - BIAS : 0);
    sp_live_put(line, exponent < 0 ? "p-" : "p+");
    sp_live_put_uint(line, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

void sp_live_put_double(sp_live_line *line, double number) {
    enum { DECIMALS = 1000000 };
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (number != number) {
        sp_live_put(line, "nan");
        return;
    }
    if (bits >> 63) {
        put_byte(line, '-');
        bits &= INT64_MAX;
        number = -number;
    }
    double scaled = number * DECIMALS;
    if (bits == UINT64_C(0x7ff0000000000000)) {
        sp_live_put(line, "inf");
    } else if (scaled > 9e15 || (scaled < 1 && scaled > 0)) {
        put_hex_double(line, bits);
    } else {
        uint64_t rounded = (uint64_t)(scaled + 0.5);
        sp_live_put_uint(line, rounded / DECIMALS);
        unsigned width = 6;
        uint64_t rest = rounded % DECIMALS;
        for (; rest && rest % 10 == 0; rest /= 10) {
            width--;
        }
        put_byte(line, '.');
        put_digits(line, rest, rest ? width : 1);
    }
}

/* A text is never cut inside a character: four bytes of room before a character's first. */
RACY static void put_escaped(sp_live_line *line, sp_racy_bytes text) {
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.bytes[i];
        if (line->full || line->len + 5 > LINE_ROOM) {
            line->full = true;
            return;
        }
        if (byte == '"' || byte == '\\') {
            put_byte(line, '\\');
            put_byte(line, (char)byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            sp_live_put(line, "\\x");
            put_hex_byte(line, byte);
        } else {
            put_byte(line, (char)byte);
        }
    }
}

/* The closing quote is written in any case: the room at the end of the line is for such. */
static void put_end(sp_live_line *line, char byte) {
    if (line->len < SP_LIVE_LINE_BYTES - 14) {
        line->text[line->len++] = byte;
    }
}

void sp_live_put_quoted(sp_live_line *line, sp_racy_bytes text) {
    put_byte(line, '"');
    put_escaped(line, text);
    put_end(line, '"');
}

static bool is_plain(uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-' || byte == '/';
}

RACY static void put_key(sp_live_line *line, sp_racy_bytes key) {
    bool plain = key.len != 0;
    for (size_t i = 0; i < key.len && plain; i++) {
        plain = is_plain(key.bytes[i]);
    }
    if (plain) {
        put_escaped(line, key);
    } else {
        sp_live_put_quoted(line, key);
    }
}

/* ---- reading ---- */

RACY static bool varint_next(sp_racy_bytes *from, uint64_t *out_value) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && from->at < from->len; shift += 7) {
        uint8_t byte = from->bytes[from->at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

RACY static bool fixed_next(sp_racy_bytes *from, size_t size, uint64_t *out_value) {
    if (from->len - from->at < size) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)from->bytes[from->at++] << (8 * i);
    }
    *out_value = value;
    return true;
}

bool sp_racy_next(sp_racy_bytes *message, sp_racy_field *out_field) {
    uint64_t tag;
    if (message->at >= message->len || !varint_next(message, &tag)) {
        return false;
    }
    out_field->number = (uint32_t)(tag >> 3);
    out_field->type = (uint32_t)(tag & 7);
    switch (out_field->type) {
    case WIRE_VARINT:
        return varint_next(message, &out_field->scalar);
    case WIRE_FIXED64:
        return fixed_next(message, 8, &out_field->scalar);
    case WIRE_FIXED32:
        return fixed_next(message, 4, &out_field->scalar);
    case WIRE_LEN: {
        uint64_t len;
        if (!varint_next(message, &len) || len > message->len - message->at) {
            return false;
        }
        out_field->bytes = (sp_racy_bytes){message->bytes + message->at, (size_t)len, 0};
        message->at += (size_t)len;
        return true;
    }
    default:
        return false;
    }
}

static void put_value(sp_live_line *line, sp_racy_bytes value) {
    sp_racy_field field;
    if (!sp_racy_next(&value, &field)) {
        sp_live_put(line, "null");
        return;
    }
    if (field.number == ANY_STRING && field.type == WIRE_LEN) {
        sp_live_put_quoted(line, field.bytes);
    } else if (field.number == ANY_BOOL && field.type == WIRE_VARINT) {
        sp_live_put(line, field.scalar ? "true" : "false");
    } else if (field.number == ANY_INT && field.type == WIRE_VARINT) {
        put_int(line, field.scalar);
    } else if (field.number == ANY_DOUBLE && field.type == WIRE_FIXED64) {
        double number;
        memcpy(&number, &field.scalar, sizeof number);
        sp_live_put_double(line, number);
    } else if (field.number == ANY_ARRAY && field.type == WIRE_LEN) {
        sp_live_put(line, "<array>");
    } else if (field.number == ANY_MAP && field.type == WIRE_LEN) {
        sp_live_put(line, "<map>");
    } else if (field.number == ANY_BYTES && field.type == WIRE_LEN) {
        sp_live_put(line, "<bytes ");
        sp_live_put_uint(line, field.bytes.len);
        sp_live_put(line, ">");
    } else {
        sp_live_put(line, "null");
    }
}

bool sp_live_put_attr(sp_live_line *line, sp_racy_bytes key_value) {
    sp_racy_bytes key = {NULL, 0, 0};
    sp_racy_bytes value = {NULL, 0, 0};
    sp_racy_field field;
    while (sp_racy_next(&key_value, &field)) {
        if (field.type == WIRE_LEN && field.number == KEY_VALUE_KEY) {
            key = field.bytes;
        } else if (field.type == WIRE_LEN && field.number == KEY_VALUE_VALUE) {
            value = field.bytes;
        }
    }
    size_t len = line->len;
    put_byte(line, ' ');
    put_key(line, key);
    put_byte(line, '=');
    put_value(line, value);
    if (line->full) {
        line->len = len;
        line->full = false;
        return false;
    }
    return true;
}
