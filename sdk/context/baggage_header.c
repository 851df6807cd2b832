/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The W3C baggage header. Written: members in order, at most 64 and 8,192 bytes; a member that does not
 * fit, or that the header cannot express (a name that is no token), is left out whole. Read: the same
 * limits for all header lines together, and a limit on the bytes looked at, so that a hostile request
 * costs no more than an honest one.
 */
#include "sdk/context/baggage.h"
#include "sdk/context/header_text.h"
#include "sdk/context/stack.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/percent.h"
#include "sdk/wire/utf8.h"

#include <spool/ext/propagator.h>

enum {
    MEMBERS = 64,
    HEADER_BYTES = 8192, /* commas included */
    LOOKED_BYTES = 32 * 1024
};

static const char header_name[] = "baggage";

static spool_str baggage_field(void) {
    return spool_str_n(header_name, sizeof header_name - 1);
}

/* ---- characters ---- */

/* RFC 7230 token. */
static bool is_token_char(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(spool_str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (!is_token_char((unsigned char)text.ptr[i])) {
            return false;
        }
    }
    return text.len > 0;
}

/* W3C baggage-octet; '%' is one, but only as the start of an escape. */
static bool is_value_char(unsigned char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

/* What may stand verbatim behind ';': printable ASCII and tabs, no comma. */
static bool is_metadata(spool_str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < 0x20 && c != '\t') || c > 0x7e || c == ',') {
            return false;
        }
    }
    return true;
}

/* ---- writing ---- */

static size_t encoded_bytes(spool_str value) {
    size_t bytes = 0;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        bytes += is_value_char(c) && c != '%' ? 1 : 3;
    }
    return bytes;
}

static char *encoded_put(char *at, spool_str value) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (is_value_char(c) && c != '%') {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
        }
    }
    return at;
}

/* Bytes that the member takes; 0 when the header cannot express it. */
static size_t member_bytes(const spool_baggage_entry *entry) {
    spool_str metadata = sp_text_trimmed(entry->metadata);
    if (entry->name.len > HEADER_BYTES || entry->value.len > HEADER_BYTES ||
        metadata.len > HEADER_BYTES || !is_token(entry->name) || !is_metadata(metadata)) {
        return 0;
    }
    return entry->name.len + 1 + encoded_bytes(entry->value) +
           (metadata.len ? metadata.len + 1 : 0);
}

static char *member_put(char *at, const spool_baggage_entry *entry) {
    spool_str metadata = sp_text_trimmed(entry->metadata);
    at = sp_text_put(at, entry->name);
    *at++ = '=';
    at = encoded_put(at, entry->value);
    if (metadata.len) {
        *at++ = ';';
        at = sp_text_put(at, metadata);
    }
    return at;
}

/* Chooses what goes into the header, as a bit for each entry looked at; returns the header's size. */
static size_t members_choose(const spool_baggage *baggage, uint16_t *chosen, size_t *out_count) {
    size_t total = 0;
    size_t members = 0;
    size_t count = spool_baggage_count(baggage);
    for (size_t i = 0; i < count && i <= UINT16_MAX && members < MEMBERS; i++) {
        spool_baggage_entry entry;
        spool_baggage_at(baggage, i, &entry);
        size_t bytes = member_bytes(&entry);
        size_t comma = members ? 1 : 0;
        if (bytes && bytes + comma <= HEADER_BYTES - total) {
            total += bytes + comma;
            chosen[members++] = (uint16_t)i;
        }
    }
    *out_count = members;
    return total;
}

static void header_write(char *text, const spool_baggage *baggage, const uint16_t *chosen,
                         size_t members) {
    for (size_t i = 0; i < members; i++) {
        spool_baggage_entry entry;
        spool_baggage_at(baggage, chosen[i], &entry);
        if (i > 0) {
            *text++ = ',';
        }
        text = member_put(text, &entry);
    }
}

static void baggage_inject(const spool_context *context, const spool_setter *setter,
                           void *carrier) {
    uint16_t chosen[MEMBERS];
    size_t members;
    if (!context || !setter || !setter->set) {
        return;
    }
    const spool_baggage *baggage = spool_context_baggage(context);
    size_t total = members_choose(baggage, chosen, &members);
    sp_thread_block *thread = members ? sp_thread() : NULL;
    if (members == 0) {
        return;
    }
    if (!thread) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return;
    }
    sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
    char *text = sp_scratch_alloc(&thread->scratch, total);
    if (text) {
        header_write(text, baggage, chosen, members);
        setter->set(carrier, baggage_field(), spool_str_n(text, total));
    } else {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    }
    sp_scratch_release(&thread->scratch, mark);
}

/* ---- reading ---- */

/* What was gathered from the header lines; entries borrow, but for values that had escapes. */
typedef struct baggage_reader {
    size_t count;
    size_t bytes;  /* of the members taken, with a comma for each but the first */
    size_t looked; /* of all lines */
    spool_baggage_entry entries[MEMBERS];
    size_t text_used;
    char text[HEADER_BYTES];    /* values: U+FFFD is no longer than the escape that it stands for */
    char decoded[HEADER_BYTES]; /* one value before its repair */
} baggage_reader;

/* A hostile request may cost so much for its duration, whatever it sends; and as much is kept at most. */
_Static_assert(sizeof(baggage_reader) < 32 * 1024, "half of the 64 KiB that a request may cost");

/* Decodes the escapes to `out` (room for value.len); false when one is malformed or a byte illegal. */
static bool value_decode(spool_str value, char *out, size_t *out_len) {
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] != '%' && !is_value_char((unsigned char)value.ptr[i])) {
            return false;
        }
    }
    return sp_percent_decode(value.ptr, value.len, out, out_len);
}

/* The decoded value as valid UTF-8, kept in the reader's text. */
static bool value_take(baggage_reader *reader, spool_str value, spool_str *out_value) {
    size_t len;
    if (value.len > sizeof reader->decoded || !value_decode(value, reader->decoded, &len)) {
        return false;
    }
    sp_utf8_extent extent = sp_utf8_measure(reader->decoded, len, UINT32_MAX);
    if (extent.size > sizeof reader->text - reader->text_used) {
        return false;
    }
    char *at = reader->text + reader->text_used;
    sp_utf8_write((uint8_t *)at, reader->decoded, &extent);
    reader->text_used += extent.size;
    *out_value = spool_str_n(at, extent.size);
    return true;
}

static bool member_parse(baggage_reader *reader, spool_str member, spool_baggage_entry *out) {
    const char *equals = memchr(member.ptr, '=', member.len);
    const char *semicolon = memchr(member.ptr, ';', member.len);
    if (!equals || (semicolon && semicolon < equals)) {
        return false;
    }
    const char *end = member.ptr + member.len;
    const char *value_end = semicolon ? semicolon : end;
    spool_str value = spool_str_n(equals + 1, (size_t)(value_end - equals - 1));
    out->name = sp_text_trimmed(spool_str_n(member.ptr, (size_t)(equals - member.ptr)));
    out->metadata = spool_str_n("", 0);
    if (semicolon) {
        out->metadata = sp_text_trimmed(spool_str_n(semicolon + 1, (size_t)(end - semicolon - 1)));
    }
    return is_token(out->name) && is_metadata(out->metadata) &&
           value_take(reader, sp_text_trimmed(value), &out->value);
}

static void member_add(baggage_reader *reader, spool_str member) {
    spool_baggage_entry entry;
    size_t comma = reader->count ? 1 : 0;
    if (member.len + comma > HEADER_BYTES - reader->bytes ||
        !member_parse(reader, member, &entry)) {
        return;
    }
    reader->bytes += member.len + comma;
    /* The last of a repeated name counts, as if each had been set in turn. */
    for (size_t i = 0; i < reader->count; i++) {
        if (sp_text_equal(reader->entries[i].name, entry.name)) {
            reader->entries[i] = entry;
            return;
        }
    }
    if (reader->count < MEMBERS) {
        reader->entries[reader->count++] = entry;
    }
}

/* False once nothing more is looked at. */
static bool line_add(baggage_reader *reader, spool_str line) {
    spool_str rest = spool_str_n(line.ptr, line.len);
    spool_str member;
    if (rest.len > LOOKED_BYTES - reader->looked) {
        rest.len = LOOKED_BYTES - reader->looked;
        /* What is cut off is dropped whole: back to the last comma. */
        while (rest.len && rest.ptr[rest.len - 1] != ',') {
            rest.len--;
        }
        reader->looked = LOOKED_BYTES;
    } else {
        reader->looked += rest.len;
    }
    while (sp_text_split(&rest, ',', &member)) {
        member = sp_text_trimmed(member);
        if (member.len) {
            member_add(reader, member);
        }
    }
    return reader->looked < LOOKED_BYTES && reader->bytes < HEADER_BYTES;
}

static spool_context baggage_extract(const spool_context *base, const spool_getter *getter,
                                     const void *carrier) {
    const spool_context *from = base ? base : sp_context_current();
    sp_thread_block *thread = sp_thread();
    spool_str line = {NULL, 0};
    if (!getter || !getter->get || !thread || !getter->get(carrier, baggage_field(), 0, &line)) {
        return spool_context_copy(from);
    }
    sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
    baggage_reader *reader = sp_scratch_alloc(&thread->scratch, sizeof *reader);
    spool_baggage *baggage = NULL;
    if (reader) {
        reader->count = 0;
        reader->bytes = 0;
        reader->looked = 0;
        reader->text_used = 0;
        size_t index = 0;
        while (line_add(reader, line) && ++index < SP_HEADER_LINES) {
            line = (spool_str){NULL, 0};
            if (!getter->get(carrier, baggage_field(), index, &line)) {
                break;
            }
        }
        baggage = sp_baggage_make(reader->entries, reader->count);
    } else {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    }
    sp_scratch_release(&thread->scratch, mark);
    spool_context made =
        baggage ? spool_context_with_baggage(from, baggage) : spool_context_copy(from);
    spool_baggage_release(baggage);
    return made;
}

static size_t baggage_fields(spool_str *out_names, size_t capacity) {
    if (out_names && capacity) {
        out_names[0] = baggage_field();
    }
    return 1;
}

const spool_propagator spool_propagator_baggage = {
    sizeof(spool_propagator), "baggage", baggage_inject, baggage_extract, baggage_fields,
};
