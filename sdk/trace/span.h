/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the trace layer share: looking at spans, and ending them. */
#ifndef SPOOL_SDK_TRACE_SPAN_H
#define SPOOL_SDK_TRACE_SPAN_H

#include "sdk/context/trace_state.h"
#include "sdk/memory/registry.h"
#include "sdk/subscriber/subscriber.h"
#include "sdk/trace/span_record.h"

/* slot->sdk of a span that no SDK records. */
enum { SP_NO_SDK = 0xffff };

/*
 * A record is the address of a slot, which is a multiple of its size, plus the number of the processor
 * whose hook it is handed to, from 1; 0 is nobody's. So a look-up from a hook knows for whom it is, in
 * nested calls too. It is never dereferenced as such.
 */
enum { SP_RECORD_BITS = 63 };
_Static_assert(sizeof(sp_slot) == SP_RECORD_BITS + 1, "room for the number");
_Static_assert((int)SP_MAX_PROCESSORS <= (int)SP_RECORD_BITS, "each processor has a number");

static inline spool_span_record *sp_record_for(sp_slot *slot, unsigned processor) {
    return (spool_span_record *)(void *)((uint8_t *)slot + processor + 1);
}
static inline spool_span_record *sp_record_of_nobody(sp_slot *slot) {
    return (spool_span_record *)(void *)slot;
}
static inline sp_slot *sp_record_slot(const spool_span_record *record) {
    return (sp_slot *)((uintptr_t)record & ~(uintptr_t)SP_RECORD_BITS);
}
/* 0: nobody's; else the processor's number. */
static inline unsigned sp_record_number(const spool_span_record *record) {
    return (unsigned)((uintptr_t)record & SP_RECORD_BITS);
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
