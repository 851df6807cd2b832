/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a recorded span: what it says, kept as OTLP bytes. Attributes, events and links stand one
 * after another as the fields 9, 11 and 13 of an OTLP Span, first in the body itself, then in spill
 * chunks (1 KiB, then 4 KiB, larger ones for a single large entry); a finished span is written by copying
 * the chunks. A small index finds an attribute by its key.
 *
 * Owner: whoever holds the slot (STARTING, its lock, or ENDING as the ender). Nothing here locks, and no
 * memory of the user is read: what is added was checked and encoded before, in scratch.
 */
#ifndef SPOOL_SDK_TRACE_BODY_H
#define SPOOL_SDK_TRACE_BODY_H

#include "sdk/memory/registry.h"
#include "sdk/resource/scope.h"
#include "sdk/subscriber/filter.h"
#include "sdk/wire/wire.h"

enum {
    SP_BODY_INDEX_INLINE = 16, /* attributes found without spill memory */
    /* Phases of a start, so that an end inside a start hook waits for the others (see span.c). */
    SP_PHASE_QUIET = 0,
    SP_PHASE_STARTING = 1,
    SP_PHASE_END_WAITS = 2
};

/* One attribute in the index: a hash of its key, and where it stands: chunk:20 | offset:12. */
typedef struct sp_attr_place {
    uint32_t hash;
    uint32_t place;
} sp_attr_place;

/* Spill memory in a chain: for content (fields) or for text (name, status). */
typedef struct sp_spill {
    struct sp_spill *next;
    uint32_t size; /* of the whole block, as it was acquired */
    uint32_t used; /* bytes of `bytes` */
    uint8_t bytes[];
} sp_spill;

typedef struct sp_body {
    sp_span_verdict verdict; /* first: sp_verdict_read() knows it there */
    /* Atomic because a child's start reads the clock anchor of a parent that may be ending. */
    _Atomic uint64_t anchor_wall_ns;
    _Atomic uint64_t anchor_mono_ns;
    uint64_t start_time_ns;
    uint64_t end_time_ns;
    const sp_scope *scope;
    spool_span parent; /* the local parent's handle, or zero */
    uint8_t parent_span_id[8];
    const uint8_t *name;
    const uint8_t *description;
    uint32_t name_len;
    uint32_t description_len;
    uint32_t dropped_attrs, dropped_events, dropped_links;
    uint32_t attr_count, event_count, link_count;
    uint8_t has_parent;
    uint8_t kind;
    uint8_t status;
    _Atomic uint8_t phase; /* SP_PHASE_* */
    uint16_t text_used;    /* bytes at the start of `bytes` that hold the first name */
    uint16_t used;         /* bytes of `bytes` in use */
    uint32_t index_capacity;
    uint32_t thread; /* number of the thread that started it */
    sp_spill *spill; /* content chunks, oldest first */
    sp_spill *spill_last;
    sp_spill *texts;
    sp_spill *index_spill; /* holds the index once it has outgrown the inline one */
    uint64_t end_given_ns; /* the end time that waits for the start hooks */
    sp_attr_place index_inline[SP_BODY_INDEX_INLINE];
    uint8_t bytes[];
} sp_body;

enum { SP_BODY_INLINE_BYTES = SP_BODY_BYTES - (int)sizeof(sp_body) };
_Static_assert(offsetof(sp_body, verdict) == 0, "sp_verdict_read() finds it");
_Static_assert(sizeof(sp_body) <= 352, "a body keeps room for the attributes of a usual span");

static inline sp_body *sp_slot_body(const sp_slot *slot) {
    return (sp_body *)(void *)slot->body;
}

/* A body without content. */
void sp_body_init(sp_body *body);
/* Gives the spill memory back. */
void sp_body_fini(sp_thread_block *thread, sp_body *body);

/* Keep a copy of valid UTF-8. False without memory: the old text stays. */
bool sp_body_set_name(sp_thread_block *thread, sp_body *body, spool_str name);
bool sp_body_set_description(sp_thread_block *thread, sp_body *body, spool_str text);

/*
 * Add an encoded field. An attribute with a key that is there replaces it; a new one over `limit` is
 * counted as dropped in the body, as are events and links over theirs.
 */
void sp_body_set_attr(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                      uint32_t limit);
void sp_body_add_event(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                       uint32_t limit);
void sp_body_add_link(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                      uint32_t limit);

/* The content as pieces: at most `capacity` are stored, the number is returned. */
size_t sp_body_pieces(const sp_body *body, sp_wire_piece *out_pieces, size_t capacity);

#endif /* SPOOL_SDK_TRACE_BODY_H */
