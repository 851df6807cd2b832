/* SPDX-License-Identifier: Apache-2.0 */
/* What the two listings of live spans share, and the text of a dump's line. */
#ifndef SPOOL_SDK_TRACE_LIVE_H
#define SPOOL_SDK_TRACE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sp_live_times {
    uint64_t anchor_wall_ns;
    uint64_t anchor_mono_ns;
    uint64_t start_ns;
} sp_live_times;

/* How old a span is when the monotonic clock says `mono_ns`, on the span's own time line. */
uint64_t sp_live_age_ns(const sp_live_times *times, uint64_t mono_ns);

/*
 * Memory that another thread may be writing. It is read byte by byte, `at` never passes `len`, and
 * nothing is believed of it before its slot's word was asked again.
 */
typedef struct sp_racy_bytes {
    const volatile uint8_t *bytes;
    size_t len;
    size_t at;
} sp_racy_bytes;

/* A line under construction; what does not fit is left out and makes `full` true. */
enum { SP_LIVE_LINE_BYTES = 1024 };
typedef struct sp_live_line {
    char text[SP_LIVE_LINE_BYTES];
    size_t len;
    bool full;
} sp_live_line;

/* All of these: async-signal-safe. */
void sp_live_put(sp_live_line *line, const char *text);
void sp_live_put_uint(sp_live_line *line, uint64_t number);
void sp_live_put_hex(sp_live_line *line, const volatile uint8_t *bytes, size_t len);
/* Seconds with three decimals. */
void sp_live_put_seconds(sp_live_line *line, uint64_t ns);
void sp_live_put_double(sp_live_line *line, double number);
void sp_live_put_quoted(sp_live_line *line, sp_racy_bytes text);
/* " key=value" of an OTLP KeyValue; all or nothing: false, and no change, without room. */
bool sp_live_put_attr(sp_live_line *line, sp_racy_bytes key_value);

/* The next field of an OTLP message: false at its end, and where it makes no sense. */
typedef struct sp_racy_field {
    uint32_t number;
    uint32_t type;       /* the wire type */
    uint64_t scalar;     /* varint or fixed */
    sp_racy_bytes bytes; /* length-delimited */
} sp_racy_field;
bool sp_racy_next(sp_racy_bytes *message, sp_racy_field *out_field);

#endif /* SPOOL_SDK_TRACE_LIVE_H */
