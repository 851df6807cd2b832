/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as values: ids, a handle, and a reference to a block. */
#include "sdk/context/block.h"
#include "sdk/context/stack.h"
#include "sdk/memory/registry.h"
#include "sdk/platform/diagnostics.h"

#include <string.h>

const spool_context sp_context_empty = SPOOL_CONTEXT_INIT;

static const spool_context *given_or_current(const spool_context *context) {
    return context ? context : sp_context_current();
}

spool_context spool_context_capture(void) {
    return spool_context_copy(sp_context_current());
}

spool_context spool_context_copy(const spool_context *context) {
    spool_context copy = sp_context_empty;
    if (context) {
        copy = *context;
        sp_context_block_retain(copy.block);
    }
    return copy;
}

void spool_context_release(spool_context *context) {
    if (context) {
        /* Emptied first: a destroy function may come back to it. */
        sp_context_block *block = context->block;
        *context = sp_context_empty;
        sp_context_block_release(block);
    }
}

/* ---- new ones from old ---- */

static bool same_trace_state(sp_trace_state *a, sp_trace_state *b) {
    spool_str x = sp_trace_state_text(a);
    spool_str y = sp_trace_state_text(b);
    return a == b || (x.len == y.len && memcmp(x.ptr, y.ptr, x.len) == 0);
}

bool sp_context_make_into(spool_context *out_context, const spool_context *base,
                          const struct spool_span_context *span, spool_span handle,
                          sp_trace_state *trace_state) {
    sp_context_block *below = base ? base->block : NULL;
    spool_context made = sp_context_empty;
    bool complete = true;
    if (span) {
        made.span = *span;
    }
    made.handle = handle;
    if (same_trace_state(below ? below->trace_state : NULL, trace_state)) {
        made.block = sp_context_block_retain(below);
    } else {
        sp_context_parts parts = sp_context_parts_of(below);
        parts.trace_state = trace_state;
        /* Without memory there is no block at all: ids never travel with another span's state. */
        complete = sp_context_block_make(&parts, &made.block);
        if (!complete) {
            made.block = NULL;
        }
    }
    *out_context = made;
    return complete;
}

spool_context sp_context_make(const spool_context *base, const struct spool_span_context *span,
                              spool_span handle, sp_trace_state *trace_state) {
    spool_context made;
    sp_context_make_into(&made, base, span, handle, trace_state);
    return made;
}

spool_context spool_context_with_span(const spool_context *base, spool_span span) {
    sp_slot_view view;
    sp_trace_state *trace_state = NULL;
    bool known = false;
    if (span.bits) {
        known = sp_slot_read(span, &view) && view.state != SP_SLOT_ENDED;
        sp_slot *slot = known && view.has_trace_state ? sp_slot_pin(span) : NULL;
        if (slot) {
            trace_state = sp_trace_state_retain(slot->trace_state);
            sp_slot_unpin(sp_thread(), slot);
        }
        if (!known) {
            sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
        }
    }
    spool_context made = sp_context_make(given_or_current(base), known ? &view.context : NULL,
                                         known ? span : (spool_span){0}, trace_state);
    sp_trace_state_release(trace_state);
    return made;
}

spool_context spool_context_with_remote(const spool_context *base,
                                        const struct spool_span_context *remote,
                                        spool_str trace_state) {
    const spool_context *from = given_or_current(base);
    if (!spool_span_context_is_valid(remote)) {
        return spool_context_copy(from);
    }
    struct spool_span_context ids = *remote;
    ids.flags &= SPOOL_FLAG_SAMPLED | SPOOL_FLAG_RANDOM;
    ids.remote = 1;
    memset(ids.reserved, 0, sizeof ids.reserved);
    sp_trace_state *state = sp_trace_state_parse(trace_state);
    spool_context made = sp_context_make(from, &ids, (spool_span){0}, state);
    sp_trace_state_release(state);
    return made;
}

spool_context spool_context_with_baggage(const spool_context *base, const spool_baggage *baggage) {
    spool_context made = spool_context_copy(given_or_current(base));
    spool_baggage *held = spool_baggage_copy(baggage);
    sp_context_parts parts = sp_context_parts_of(made.block);
    parts.baggage = held;
    sp_context_block *block;
    if (sp_context_block_make(&parts, &block)) {
        sp_context_block_release(made.block);
        made.block = block;
    }
    spool_baggage_release(held);
    return made;
}

/* ---- reading ---- */

sp_trace_state *sp_context_trace_state_of(const spool_context *context) {
    return context && context->block ? context->block->trace_state : NULL;
}

spool_str spool_context_trace_state(const spool_context *context) {
    return sp_trace_state_text(sp_context_trace_state_of(given_or_current(context)));
}

const spool_baggage *spool_context_baggage(const spool_context *context) {
    const sp_context_block *block = given_or_current(context)->block;
    return block ? block->baggage : NULL;
}

void sp_hex_put(char *at, const uint8_t *bytes, size_t count) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        at[2 * i] = digits[bytes[i] >> 4];
        at[2 * i + 1] = digits[bytes[i] & 15];
    }
}

bool spool_trace_id_hex(char out[33]) {
    const struct spool_span_context *span = &sp_context_current()->span;
    if (out) {
        sp_hex_put(out, span->trace_id, sizeof span->trace_id);
        out[32] = '\0';
    }
    return spool_span_context_is_valid(span);
}

bool spool_span_id_hex(char out[17]) {
    const struct spool_span_context *span = &sp_context_current()->span;
    if (out) {
        sp_hex_put(out, span->span_id, sizeof span->span_id);
        out[16] = '\0';
    }
    return spool_span_context_is_valid(span);
}
