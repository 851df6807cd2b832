/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What spool-tail keeps of a span, an event, a link or a log record until it is
 * printed. Texts are as received (escaping is done when printing) and cut to
 * SP_TAIL_TEXT_MAX bytes. Everything lives in the arena the record was made in.
 */
#ifndef SPOOL_TOOLS_TAIL_RECORD_H
#define SPOOL_TOOLS_TAIL_RECORD_H

#include "tools/tail/arena.h"

#include "opentelemetry/proto/logs/v1/logs.pb-c.h"
#include "opentelemetry/proto/trace/v1/trace.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SP_TAIL_TEXT_MAX = 1024, /* bytes kept of one text */
    SP_TAIL_TRACE_ID_SIZE = 16,
    SP_TAIL_SPAN_ID_SIZE = 8
};

typedef struct sp_tail_text {
    const uint8_t *data;
    size_t len;
} sp_tail_text;

typedef enum sp_tail_note_kind {
    SP_TAIL_NOTE_EVENT,
    SP_TAIL_NOTE_LINK,
    SP_TAIL_NOTE_LOG
} sp_tail_note_kind;

typedef struct sp_tail_span {
    uint8_t id[SP_TAIL_SPAN_ID_SIZE];
    uint8_t parent[SP_TAIL_SPAN_ID_SIZE]; /* zero: no parent */
    uint32_t flags;
    int kind;
    int status;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t dropped_attributes;
    uint32_t dropped_events;
    uint32_t dropped_links;
    size_t arrival; /* position in its trace */
    sp_tail_text service;
    sp_tail_text name;
    sp_tail_text message;
    sp_tail_text attributes; /* "key=value key=value" */
} sp_tail_span;

/* What is shown under a span. */
typedef struct sp_tail_note {
    sp_tail_note_kind kind;
    const sp_tail_span *owner;             /* of events and links; logs go by span_id */
    uint8_t span_id[SP_TAIL_SPAN_ID_SIZE]; /* of logs; zero: none */
    uint64_t time_ns;                      /* 0 for links */
    int severity;
    size_t arrival;
    sp_tail_text service;
    sp_tail_text label; /* event's name; log's event name; link's target */
    sp_tail_text level; /* severity text */
    sp_tail_text body;
    sp_tail_text attributes;
} sp_tail_note;

bool sp_tail_id_is_zero(const uint8_t *id, size_t size);

/* The resource's service.name, else "unknown_service"; points into the message. */
sp_tail_text sp_tail_service_of(const Opentelemetry__Proto__Resource__V1__Resource *resource);

/* Whether the ids have legal sizes and values, so that the record can be placed. */
bool sp_tail_span_is_valid(const Opentelemetry__Proto__Trace__V1__Span *span);
bool sp_tail_log_is_valid(const Opentelemetry__Proto__Logs__V1__LogRecord *log);

/* Copies of messages into `arena`; NULL without memory. `service` is not copied. */
sp_tail_span *sp_tail_span_copy(sp_tail_arena *arena,
                                const Opentelemetry__Proto__Trace__V1__Span *span,
                                sp_tail_text service);
sp_tail_note *sp_tail_event_copy(sp_tail_arena *arena,
                                 const Opentelemetry__Proto__Trace__V1__Span__Event *event,
                                 const sp_tail_span *owner);
sp_tail_note *sp_tail_link_copy(sp_tail_arena *arena,
                                const Opentelemetry__Proto__Trace__V1__Span__Link *link,
                                const sp_tail_span *owner);
sp_tail_note *sp_tail_log_copy(sp_tail_arena *arena,
                               const Opentelemetry__Proto__Logs__V1__LogRecord *log,
                               sp_tail_text service);
bool sp_tail_text_copy(sp_tail_arena *arena, sp_tail_text text, sp_tail_text *out_copy);

#endif /* SPOOL_TOOLS_TAIL_RECORD_H */
