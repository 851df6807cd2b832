/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that are still growing. A trace is handed to the sink, then forgotten,
 * when it is finished: it has a root (a span without a parent, or whose parent has
 * not come) and nothing came for the quiet time. A trace that is plainly incomplete
 * (only logs, or a span whose parent is local to its process and so must still end)
 * gets ten times that. One thread.
 */
#ifndef SPOOL_TOOLS_TAIL_STORE_H
#define SPOOL_TOOLS_TAIL_STORE_H

#include "tools/tail/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sp_tail_reason {
    SP_TAIL_FINISHED,
    SP_TAIL_UNFINISHED, /* spool-tail ends */
    SP_TAIL_TOO_MANY,   /* the oldest went because of the limits */
    SP_TAIL_LOST        /* and some of its records found no memory */
} sp_tail_reason;

typedef struct sp_tail_trace {
    uint8_t id[SP_TAIL_TRACE_ID_SIZE];
    sp_tail_span **spans; /* in order of arrival */
    size_t span_count;
    size_t span_room;
    sp_tail_note **notes; /* in order of arrival */
    size_t note_count;
    size_t note_room;
    bool continued;   /* a part of it was printed before */
    bool lost;        /* records found no memory */
    bool patient;     /* looked at after the quiet time and found incomplete */
    uint64_t last_ns; /* monotonic time of the last arrival */
    sp_tail_arena arena;
    sp_tail_text service; /* the last one, shared by records that follow each other */
    struct sp_tail_trace *same_bucket;
    struct sp_tail_trace *older;
    struct sp_tail_trace *newer;
} sp_tail_trace;

typedef struct sp_tail_store_options {
    uint64_t quiet_ns;
    size_t max_traces;
    size_t max_bytes;
    /* Both borrow their arguments for the call. */
    void (*print_trace)(void *self, const sp_tail_trace *trace, sp_tail_reason reason);
    void (*print_log)(void *self, const sp_tail_note *log);
    void *self;
} sp_tail_store_options;

typedef struct sp_tail_store sp_tail_store;

/* NULL without memory. */
sp_tail_store *sp_tail_store_create(const sp_tail_store_options *options);

void sp_tail_store_add_span(sp_tail_store *store, const Opentelemetry__Proto__Trace__V1__Span *span,
                            sp_tail_text service, uint64_t now_ns);

/* A log without a trace id is printed at once. */
void sp_tail_store_add_log(sp_tail_store *store,
                           const Opentelemetry__Proto__Logs__V1__LogRecord *log,
                           sp_tail_text service, uint64_t now_ns);

/* Prints what is finished, and the oldest while the limits are passed. */
void sp_tail_store_print_due(sp_tail_store *store, uint64_t now_ns);

/* When sp_tail_store_print_due() has work next; UINT64_MAX: never. */
uint64_t sp_tail_store_due_ns(const sp_tail_store *store);

/* Prints all that is left, in order of first arrival. */
void sp_tail_store_print_rest(sp_tail_store *store, uint64_t now_ns);

void sp_tail_store_destroy(sp_tail_store *store);

#endif /* SPOOL_TOOLS_TAIL_STORE_H */
