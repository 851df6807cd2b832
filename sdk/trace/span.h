/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the trace layer share: looking at spans, and ending them. */
#ifndef SPOOL_SDK_TRACE_SPAN_H
#define SPOOL_SDK_TRACE_SPAN_H

#include "sdk/context/trace_state.h"
#include "sdk/memory/registry.h"
#include "sdk/trace/span_record.h"

/* slot->sdk of a span that no SDK records. */
enum { SP_NO_SDK = 0xffff };

/* A record is a slot under its public name. */
struct spool_span_record {
    sp_slot slot;
};

static inline spool_span_record *sp_slot_record(sp_slot *slot) {
    return (spool_span_record *)slot;
}

/*
 * The ids and, with a reference of the caller's, the trace state of a live or light span. False: stale.
 * `out_trace_state` may be NULL.
 */
bool sp_span_identity(sp_thread_block *thread, spool_span span, struct spool_span_context *out_ids,
                      sp_trace_state **out_trace_state);
/* The clock anchor of a live recorded span; false when there is none to trust. */
bool sp_span_anchor(spool_span span, uint64_t *out_wall_ns, uint64_t *out_mono_ns);

/* Ends a span whose end came while its start hooks ran: called by the starter after them. */
void sp_span_finish_waiting(sp_thread_block *thread, sp_slot *slot, spool_span handle);

#endif /* SPOOL_SDK_TRACE_SPAN_H */
