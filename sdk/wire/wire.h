/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct writer and reader of OTLP protobuf bytes. Writing measures first and then writes
 * once, contiguously; text is checked in the same pass and repaired (each maximal invalid
 * sequence becomes U+FFFD, counted). Nothing here allocates but the reader, from the arena it
 * is given.
 *
 * What is written is pinned by tests that decode it with protobuf-c and compare field by field.
 */
#ifndef SPOOL_SDK_WIRE_WIRE_H
#define SPOOL_SDK_WIRE_WIRE_H

#include "sdk/memory/arena.h"
#include "sdk/memory/scratch.h"
#include "sdk/platform/compiler.h"

#include <spool/ext/data.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Field keys (number << 3 | wire type) of the repeated fields that are stored one by one. */
enum {
    SP_WIRE_SPAN_ATTRS = 9 << 3 | 2,
    SP_WIRE_SPAN_EVENTS = 11 << 3 | 2,
    SP_WIRE_SPAN_LINKS = 13 << 3 | 2,
    SP_WIRE_EVENT_ATTRS = 3 << 3 | 2,
    SP_WIRE_LINK_ATTRS = 4 << 3 | 2,
    SP_WIRE_LOG_ATTRS = 6 << 3 | 2,
    SP_WIRE_SCOPE_RECORDS = 2 << 3 | 2 /* ScopeSpans.spans and ScopeLogs.log_records alike */
};

/* Bits of Span.flags and Link.flags beside the trace flags (TS-14). */
enum { SP_WIRE_FLAG_REMOTE_KNOWN = 0x100, SP_WIRE_FLAG_REMOTE = 0x200 };

/*
 * No array or map is written or read below this depth, whatever the limit says and in bodies
 * too: the code recurses. Written deeper ones become the empty value; read ones make the
 * message invalid.
 */
enum { SP_WIRE_DEPTH_MAX = 100 };

/* What trims a value. */
typedef struct sp_wire_limits {
    uint32_t text_length; /* characters of text, bytes of bytes; SPOOL_NO_LIMIT: none */
    uint32_t depth;       /* of arrays and maps; the value itself is depth 1 */
    uint32_t attr_count;  /* of the list; SPOOL_NO_LIMIT: none */
} sp_wire_limits;

typedef struct sp_wire_piece {
    const uint8_t *bytes;
    size_t len;
} sp_wire_piece;

/* ---- single attributes, events and links, as a field of their parent ---- */

/*
 * One field, in the thread's scratch (the caller holds a mark): out->bytes is NULL when the
 * attribute is not valid (no key) or memory is out. `field` is SP_WIRE_*_ATTRS, one byte.
 */
typedef struct sp_wire_field {
    const uint8_t *bytes;
    size_t len;
    const uint8_t *key; /* the attribute's key inside bytes, valid UTF-8 */
    size_t key_len;
} sp_wire_field;
bool sp_wire_attr(sp_scratch *scratch, uint32_t field, const spool_attr *attr,
                  const sp_wire_limits *limits, sp_wire_field *out);
/*
 * Attributes are made unique (last write wins), cut to limits->attr_count, and counted as
 * dropped.
 */
bool sp_wire_event(sp_scratch *scratch, spool_str name, uint64_t time_ns, const spool_attr *attrs,
                   size_t count, const sp_wire_limits *limits, sp_wire_field *out);
bool sp_wire_link(sp_scratch *scratch, const spool_link *link, const sp_wire_limits *limits,
                  sp_wire_field *out);

/*
 * Text as valid UTF-8 of at most `max_chars` characters: (the start of) the input itself when
 * nothing is to be repaired, else a copy in scratch; the empty text without memory. A
 * diagnostic about repaired text calls it `what` ("span name").
 */
spool_str sp_wire_text(sp_scratch *scratch, spool_str text, uint32_t max_chars);
spool_str sp_wire_text_of(sp_scratch *scratch, spool_str text, uint32_t max_chars,
                          const char *what);

/* ---- whole records: SP_WIRE_SCOPE_RECORDS, length, message ---- */

/* A finished span; texts are valid UTF-8 already. */
typedef struct sp_wire_span {
    const uint8_t *trace_id;       /* 16 */
    const uint8_t *span_id;        /* 8 */
    const uint8_t *parent_span_id; /* 8, or NULL for a root */
    uint32_t flags;                /* as on the wire: 0x100 and 0x200 included (TS-14) */
    uint32_t kind;                 /* SPOOL_KIND_* */
    spool_str trace_state;
    spool_str name;
    uint64_t start_time_ns;
    uint64_t end_time_ns;
    uint32_t dropped_attrs, dropped_events, dropped_links;
    uint32_t status; /* SPOOL_STATUS_* */
    spool_str status_description;
    const sp_wire_piece *content; /* fields 9, 11 and 13, made by the functions above */
    size_t content_count;
} sp_wire_span;
size_t sp_wire_span_size(const sp_wire_span *span) SP_SHARED("wire_span_size");
/* Writes exactly sp_wire_span_size() bytes; returns the end. */
uint8_t *sp_wire_span_write(uint8_t *at, const sp_wire_span *span) SP_SHARED("wire_span_write");

/*
 * A log record. The plan is filled by _size and used by _write on the same, unchanged record;
 * what it points to is in scratch, whose mark the caller holds until it has written. The body
 * is not limited (LI-06). Attribute keys are unique already (the log layer sees to it); nested
 * maps are made unique here (CM-05). Attributes over the limit or without a key are left out
 * and added to the dropped count. 0: no memory, or a record of 2 GiB.
 */
enum { SP_WIRE_PLAN_INLINE = 16 };
typedef struct sp_wire_log_plan {
    size_t size;
    size_t message_size;
    spool_str severity_text; /* valid UTF-8 */
    spool_str event_name;
    size_t body_size;    /* of the AnyValue */
    sp_wire_piece body;  /* the AnyValue, when it is made already */
    sp_wire_piece attrs; /* all attributes as fields, when they are made already; else: */
    size_t attr_count;
    uint32_t *attr_sizes; /* of each AnyValue */
    uint32_t attr_sizes_inline[SP_WIRE_PLAN_INLINE];
    uint32_t dropped_attrs;
} sp_wire_log_plan;
size_t sp_wire_log_size(const spool_log_data *log, const sp_wire_limits *limits,
                        sp_scratch *scratch, sp_wire_log_plan *out_plan) SP_SHARED("wire_log_size");
uint8_t *sp_wire_log_write(uint8_t *at, const spool_log_data *log, const sp_wire_log_plan *plan)
    SP_SHARED("wire_log_write");

/* ---- envelopes ---- */

/*
 * The parts around records. Resource and scope are encoded once, when the SDK or scope is made,
 * into memory from malloc that the caller frees; out->bytes is NULL without memory. The bytes
 * of _resource are `ResourceSpans.resource` (key 1, length, Resource), of _scope
 * `ScopeSpans.scope` (key 1, length, InstrumentationScope); logs use the same field numbers.
 */
sp_wire_piece sp_wire_resource(const spool_resource_data *resource) SP_SHARED("wire_resource");
sp_wire_piece sp_wire_scope(const spool_scope *scope) SP_SHARED("wire_scope");

/* Varints and lengths, for who builds envelopes. */
size_t sp_wire_varint_size(uint64_t value) SP_SHARED("wire_varint_size");
uint8_t *sp_wire_varint(uint8_t *at, uint64_t value) SP_SHARED("wire_varint");
/* key, length */
uint8_t *sp_wire_open(uint8_t *at, uint32_t key, size_t len) SP_SHARED("wire_open");
/* key, length, bytes */
uint8_t *sp_wire_bytes(uint8_t *at, uint32_t key, const void *bytes, size_t len)
    SP_SHARED("wire_bytes");

/*
 * ---- reading back what was written here: records into views ----
 *
 * The lists are in the arena; texts, bytes and keys point into the message. Any bytes may be given:
 * what is not well formed is refused, and unknown fields are skipped. Texts are not checked again.
 */

/* `bytes` is the message itself, without key and length. False: not well formed, or no memory. */
bool sp_wire_read_span(sp_wire_piece message, sp_arena *arena, spool_span_data *out_span)
    SP_SHARED("wire_read_span");
bool sp_wire_read_log(sp_wire_piece message, sp_arena *arena, spool_log_data *out_log)
    SP_SHARED("wire_read_log");
/*
 * The content fields 9, 11 and 13 of a span, in several pieces: fills attrs, events and links
 * of *out.
 */
bool sp_wire_read_content(const sp_wire_piece *pieces, size_t count, sp_arena *arena,
                          spool_span_data *out_span);
/*
 * Steps over one field: its key, and its bytes (length-delimited) or its number. False at the
 * end, where rest->len is 0, or on error, where *rest stays what it was.
 */
bool sp_wire_next_field(sp_wire_piece *rest, uint32_t *out_key, sp_wire_piece *out_bytes,
                        uint64_t *out_number) SP_SHARED("wire_next_field");

#endif /* SPOOL_SDK_WIRE_WIRE_H */
