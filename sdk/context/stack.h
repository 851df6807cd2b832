/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's stack of attached contexts, as the trace and log layers see it. The stack lives in the
 * thread block (SP_PART_CONTEXT, 32 entries inline, then the heap), or is a spool_context_stack that was
 * swapped in. Owner: its thread.
 */
#ifndef SPOOL_SDK_CONTEXT_STACK_H
#define SPOOL_SDK_CONTEXT_STACK_H

#include "sdk/context/trace_state.h"
#include "sdk/memory/thread_block.h"

#include <spool/context.h>

extern const spool_context sp_context_empty;

/* The part's head: all that the hot path looks at. `top` follows every change and every swap. */
typedef struct sp_context_part {
    const spool_context *top;
} sp_context_part;

/*
 * The top entry: borrowed, valid until the next change of this thread's stack; the empty context when
 * nothing is attached, or `thread` is NULL. Never NULL. No reference is taken: this is the hot path of
 * start and emit.
 */
static inline const spool_context *sp_context_top(const sp_thread_block *thread) {
    const sp_context_part *part =
        SP_LIKELY(thread != NULL) ? (const sp_context_part *)thread->parts[SP_PART_CONTEXT] : NULL;
    return part ? part->top : &sp_context_empty;
}

/* The same for the calling thread. Looking makes no thread block. */
static inline const spool_context *sp_context_current(void) {
    return sp_context_top(sp_thread_of);
}

/*
 * Pushes a span with its trace state on top of the present baggage and keys. A block is made only when
 * the trace state differs from the one below. Zero token without memory, counted.
 */
spool_token sp_context_push_span(sp_thread_block *thread, spool_span span,
                                 const struct spool_span_context *context,
                                 sp_trace_state *trace_state);
/*
 * The same in the plain case: a live span without a trace state, no baggage and no keys below it, and
 * room. Zero otherwise, with nothing done and nothing counted.
 */
spool_token sp_context_push_plain(sp_thread_block *thread, spool_span span);
/*
 * Takes the token's entry off as spool_context_detach(). *out_span is the span that the entry held, also
 * when it was not on top; zero when it held none or nothing was taken off.
 */
spool_status sp_context_pop(sp_thread_block *thread, spool_token token, spool_span *out_span);

/* The trace state of a context, borrowed, or NULL. */
sp_trace_state *sp_context_trace_state_of(const spool_context *context);
/* A context with these ids, this trace state (a reference is taken), and base's baggage and keys. */
spool_context sp_context_make(const spool_context *base, const struct spool_span_context *span,
                              spool_span handle, sp_trace_state *trace_state);
/* The same; false when memory was missing for the block: the context then has ids alone. */
bool sp_context_make_into(spool_context *out_context, const spool_context *base,
                          const struct spool_span_context *span, spool_span handle,
                          sp_trace_state *trace_state);

/* Writes 2 * count lower-case hex digits. */
void sp_hex_put(char *at, const uint8_t *bytes, size_t count);

#endif /* SPOOL_SDK_CONTEXT_STACK_H */
