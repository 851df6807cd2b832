/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a span ends (design of a span's life, step 3).
 *
 * States: LIVE -> ENDING with the ender as locker: only it may still change the span, through the same
 * handle, until the span_ending hooks are over; -> ENDED: the span_end hooks read it; then the slot goes
 * back. Of several enders exactly one makes the first step; for the others the handle is stale.
 *
 * An end while the start hooks still run leaves the span in ENDING and its phase in END_WAITS; the starter
 * takes over from there.
 */
#include "sdk/platform/clock.h"
#include "sdk/subscriber/subscriber.h"
#include "sdk/trace/body.h"
#include "sdk/trace/span.h"

#include <spool/trace.h>

/* Now on the span's own time line: its anchor's wall time plus what the monotonic clock says. */
static uint64_t now_ns(const sp_body *body, uint32_t clock) {
    uint64_t mono = sp_clock_mono_ns(clock);
    uint64_t anchor = sp_load_relaxed(&body->anchor_mono_ns);
    uint64_t wall = sp_load_relaxed(&body->anchor_wall_ns);
    return mono >= anchor ? wall + (mono - anchor) : wall;
}

static void end_time_set(sp_body *body, uint64_t given_ns, uint32_t clock) {
    uint64_t end = given_ns ? given_ns : now_ns(body, clock);
    /* A time of ours never ends before it starts; a given one is taken as it is. */
    body->end_time_ns = !given_ns && end < body->start_time_ns ? body->start_time_ns : end;
}

static void hooks_run(sp_thread_block *thread, sp_subscriber *subscriber, sp_slot *slot,
                      const sp_hook_list *list, bool ending) {
    if (list->count == 0 || !sp_hooks_enter(thread)) {
        return;
    }
    /* Relaxed: constant since the start. */
    uint32_t admitted = sp_load_relaxed(&sp_slot_body(slot)->verdict.admitted);
    for (unsigned i = 0; i < list->count; i++) {
        unsigned index = list->index[i];
        const spool_processor *processor = &subscriber->processors[index];
        if (SP_UNLIKELY(!(admitted >> index & 1))) {
            continue;
        }
        if (ending) {
            processor->ops->span_ending(processor->self, sp_record_for(slot, index));
        } else {
            processor->ops->span_end(processor->self, sp_record_for(slot, index));
        }
    }
    sp_hooks_leave(thread);
}

/* A sampled span that comes after the shutdown, for each processor that would have seen it. */
static SP_COLD void late_count(sp_thread_block *thread, sp_subscriber *subscriber,
                               uint32_t admitted) {
    sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                    SP_COUNT_LATE);
    for (unsigned i = 0; i < subscriber->processor_count; i++) {
        if (!(admitted >> i & 1)) {
            (void)sp_add_relaxed(&subscriber->late_refused[i], 1);
        }
    }
}

/* The slot is ENDING and the caller its locker. */
static void finish(sp_thread_block *thread, sp_slot *slot, uint64_t given_ns) {
    sp_subscriber *subscriber =
        sp_pin_within(thread, &sp_subscribers[slot->sdk], slot->sdk_epoch, SP_PIN_PLACES);
    sp_body *body = sp_slot_body(slot);
    if (SP_UNLIKELY(!subscriber)) {
        sp_misuse_count(SP_MISUSE_RELEASED_SPAN, 1);
        sp_registry_release(thread, slot);
        return;
    }
    end_time_set(body, given_ns, subscriber->clock);
    bool open = sp_load_acquire(&subscriber->state) == SP_SDK_OPEN;
    if (SP_LIKELY(open)) {
        hooks_run(thread, subscriber, slot, &subscriber->span_ending, true);
    }
    sp_slot_freeze(slot);
    if (SP_LIKELY(open)) {
        hooks_run(thread, subscriber, slot, &subscriber->span_end, false);
    } else if (slot->flags & SPOOL_FLAG_SAMPLED) {
        late_count(thread, subscriber, sp_load_relaxed(&body->verdict.admitted));
    }
    sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                    SP_COUNT_FINISHED);
    sp_registry_release(thread, slot);
    sp_unpin(thread);
}

void sp_span_finish_waiting(sp_thread_block *thread, sp_slot *slot, spool_span handle) {
    (void)handle;
    sp_slot_adopt(thread, slot);
    finish(thread, slot, sp_slot_body(slot)->end_given_ns);
}

void spool_span_end_at(spool_span span, uint64_t end_time_ns) {
    if (span.bits == 0) {
        return;
    }
    sp_thread_block *thread = sp_thread();
    sp_slot *slot = thread ? sp_slot_begin_end(thread, span) : NULL;
    if (SP_UNLIKELY(!slot)) {
        slot = thread ? sp_slot_take_light(thread, span) : NULL;
        if (slot) {
            sp_registry_release(thread, slot);
        } else {
            sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
        }
        return;
    }
    sp_body *body = sp_slot_body(slot);
    if (SP_UNLIKELY(sp_load_acquire(&body->phase) != SP_PHASE_QUIET)) {
        body->end_given_ns = end_time_ns;
        /* Pairs with the exchange in start_hooks_run(): whoever comes second ends the span. */
        if (sp_exchange_acq_rel(&body->phase, SP_PHASE_END_WAITS) == SP_PHASE_STARTING) {
            return;
        }
    }
    finish(thread, slot, end_time_ns);
}

void spool_span_end(spool_span span) {
    spool_span_end_at(span, 0);
}
