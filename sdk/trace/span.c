/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on a live span. Each one checks and encodes what the user gave into the thread's scratch
 * first, then takes the slot's lock for the time of a copy. Under the lock no memory of the user is read
 * and no foreign code runs.
 */
#include "sdk/trace/span.h"

#include "sdk/context/stack.h"
#include "sdk/platform/clock.h"
#include "sdk/subscriber/subscriber.h"
#include "sdk/trace/body.h"

#include <spool/trace.h>

#include <string.h>

/* ---- looking ---- */

bool sp_span_identity(sp_thread_block *thread, spool_span span, struct spool_span_context *out_ids,
                      sp_trace_state **out_trace_state) {
    sp_slot_view view;
    if (span.bits == 0 || !sp_slot_read(span, &view)) {
        return false;
    }
    *out_ids = view.context;
    if (!out_trace_state) {
        return true;
    }
    *out_trace_state = NULL;
    if (SP_UNLIKELY(view.has_trace_state)) {
        sp_slot *slot = sp_slot_pin(span);
        if (!slot) {
            return false;
        }
        *out_trace_state = sp_trace_state_retain(slot->trace_state);
        sp_slot_unpin(thread, slot);
    }
    return true;
}

bool sp_span_anchor(spool_span span, uint64_t *out_wall_ns, uint64_t *out_mono_ns) {
    sp_slot *slot = sp_registry_slot(span);
    /* Acquire pairs with sp_slot_publish(): the anchor was written before. */
    uint64_t word = slot ? sp_load_acquire(&slot->word) : 0;
    if (!slot || sp_slot_handle(slot).bits != span.bits ||
        (sp_slot_state(slot) != SP_SLOT_LIVE && sp_slot_state(slot) != SP_SLOT_ENDING)) {
        return false;
    }
    const sp_body *body = sp_slot_body(slot);
    if (!body) {
        return false;
    }
    *out_wall_ns = sp_load_relaxed(&body->anchor_wall_ns);
    *out_mono_ns = sp_load_relaxed(&body->anchor_mono_ns);
    /* The same generation before and after: what was read belongs to this span. */
    sp_fence_acquire();
    return sp_load_relaxed(&slot->word) >> 32 == word >> 32;
}

struct spool_span_context spool_span_context(spool_span span) {
    struct spool_span_context ids = {{0}, {0}, 0, 0, {0}};
    if (span.bits) {
        sp_slot_view view;
        if (sp_slot_read(span, &view)) {
            ids = view.context;
        } else {
            sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
        }
    }
    return ids;
}

bool spool_span_is_recording(spool_span span) {
    sp_slot_view view;
    return span.bits && sp_slot_read(span, &view) && view.state == SP_SLOT_LIVE;
}

/* ---- changing ---- */

/* One operation: the span's SDK is pinned and scratch is held; ended by change_end(). */
typedef struct span_change {
    sp_thread_block *thread;
    sp_subscriber *subscriber;
    sp_scratch_mark mark;
} span_change;

/* A light span takes everything and keeps nothing; any other that is not recorded is stale. */
static SP_COLD bool not_recorded(spool_span span) {
    sp_slot_view view;
    if (!sp_slot_read(span, &view) || view.state != SP_SLOT_LIGHT) {
        sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
    }
    return false;
}

static bool change_begin(spool_span span, span_change *change) {
    if (span.bits == 0) {
        return false;
    }
    sp_thread_block *thread = sp_thread();
    sp_slot_view view;
    if (!thread || !sp_slot_read(span, &view) || view.state == SP_SLOT_LIGHT ||
        view.sdk >= SP_MAX_SDKS) {
        return not_recorded(span);
    }
    sp_subscriber *subscriber = sp_pin(thread, &sp_subscribers[view.sdk], view.sdk_epoch);
    if (SP_UNLIKELY(!subscriber)) {
        sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
        return false;
    }
    change->thread = thread;
    change->subscriber = subscriber;
    change->mark = sp_scratch_hold(&thread->scratch);
    return true;
}

static void change_end(const span_change *change) {
    sp_scratch_release(&change->thread->scratch, change->mark);
    sp_unpin(change->thread);
}

/* The locked body, or NULL, counted; unlock the slot after. */
static sp_body *body_lock(const span_change *change, spool_span span, sp_slot **out_slot) {
    sp_slot *slot = sp_slot_lock(change->thread, span);
    if (SP_UNLIKELY(!slot)) {
        sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
        return NULL;
    }
    *out_slot = slot;
    return sp_slot_body(slot);
}

void spool_span_set(spool_span span, spool_attr attr) {
    spool_span_set_all(span, &attr, 1);
}

/* What the attribute means to span parts of filters. The slot is locked: nobody else changes `own`. */
static SP_NOINLINE void conditions_update(const sp_filter_set *filters, sp_body *body,
                                          const spool_attr *attr) {
    if (sp_load_relaxed(&body->verdict.set_id) == filters->id) {
        uint32_t own = sp_load_relaxed(&body->verdict.own);
        sp_store_relaxed(&body->verdict.own, sp_filter_condition_update(filters, own, attr));
    }
}

/* Encodes and stores attributes one by one; the lock is taken for each, since encoding reads the user's
 * memory. */
void spool_span_set_all(spool_span span, const spool_attr *attrs, size_t count) {
    span_change change;
    if (!attrs || count == 0 || !change_begin(span, &change)) {
        return;
    }
    const sp_wire_limits *limits = &change.subscriber->span_attrs;
    const sp_filter_set *filters = sp_filters_of(change.subscriber);
    for (size_t i = 0; i < count; i++) {
        sp_wire_field field;
        bool made =
            sp_wire_attr(&change.thread->scratch, SP_WIRE_SPAN_ATTRS, &attrs[i], limits, &field);
        sp_slot *slot;
        sp_body *body = body_lock(&change, span, &slot);
        if (!body) {
            break;
        }
        if (SP_LIKELY(made)) {
            sp_body_set_attr(change.thread, body, &field, limits->attr_count);
            if (SP_UNLIKELY(filters && filters->condition_count)) {
                conditions_update(filters, body, &attrs[i]);
            }
        } else {
            body->dropped_attrs++;
        }
        sp_slot_unlock(slot);
        sp_scratch_release(&change.thread->scratch, change.mark);
    }
    change_end(&change);
}

void spool_span_event_at_n(spool_span span, spool_str name, uint64_t time_ns,
                           const spool_attr *attrs, size_t count) {
    span_change change;
    if (!change_begin(span, &change)) {
        return;
    }
    uint64_t wall = time_ns;
    uint64_t anchor_wall;
    uint64_t anchor_mono;
    if (!wall && sp_span_anchor(span, &anchor_wall, &anchor_mono)) {
        uint64_t mono = sp_clock_mono_ns(change.subscriber->clock);
        wall = mono >= anchor_mono ? anchor_wall + (mono - anchor_mono) : anchor_wall;
    }
    sp_wire_field field;
    bool made = sp_wire_event(&change.thread->scratch, name, wall, attrs, attrs ? count : 0,
                              &change.subscriber->event_attrs, &field);
    sp_slot *slot;
    sp_body *body = body_lock(&change, span, &slot);
    if (body) {
        if (made) {
            sp_body_add_event(change.thread, body, &field,
                              change.subscriber->limits.span_event_count);
        } else {
            body->dropped_events++;
        }
        sp_slot_unlock(slot);
    }
    change_end(&change);
}

void spool_span_link(spool_span span, const spool_link *link) {
    span_change change;
    if (!link || !change_begin(span, &change)) {
        return;
    }
    sp_wire_field field;
    bool made = sp_wire_link(&change.thread->scratch, link, &change.subscriber->link_attrs, &field);
    sp_slot *slot;
    sp_body *body = body_lock(&change, span, &slot);
    if (body) {
        if (made) {
            sp_body_add_link(change.thread, body, &field,
                             change.subscriber->limits.span_link_count);
        } else {
            body->dropped_links++;
        }
        sp_slot_unlock(slot);
    }
    change_end(&change);
}

void spool_span_status_n(spool_span span, int code, spool_str description) {
    span_change change;
    if ((code != SPOOL_STATUS_OK && code != SPOOL_STATUS_ERROR) || !change_begin(span, &change)) {
        return;
    }
    spool_str text = spool_str_n(NULL, 0);
    if (code == SPOOL_STATUS_ERROR) {
        text = sp_wire_text_of(&change.thread->scratch, description, SPOOL_NO_LIMIT,
                               "status description");
    }
    sp_slot *slot;
    sp_body *body = body_lock(&change, span, &slot);
    if (body) {
        if (body->status != SPOOL_STATUS_OK) {
            body->status = (uint8_t)code;
            (void)sp_body_set_description(change.thread, body, text);
        }
        sp_slot_unlock(slot);
    }
    change_end(&change);
}

void spool_span_rename_n(spool_span span, spool_str name) {
    span_change change;
    if (!change_begin(span, &change)) {
        return;
    }
    spool_str text = sp_wire_text_of(&change.thread->scratch, name, SPOOL_NO_LIMIT, "span name");
    sp_slot *slot;
    sp_body *body = body_lock(&change, span, &slot);
    if (body) {
        (void)sp_body_set_name(change.thread, body, text);
        sp_slot_unlock(slot);
    }
    change_end(&change);
}

void spool_span_record_error_n(spool_span span, spool_str type, spool_str message,
                               spool_str stack) {
    spool_attr attrs[3];
    size_t count = 0;
    if (type.ptr) {
        attrs[count++] = spool_string_n(SPOOL_STR("exception.type"), type);
    }
    if (message.ptr) {
        attrs[count++] = spool_string_n(SPOOL_STR("exception.message"), message);
    }
    if (stack.ptr) {
        attrs[count++] = spool_string_n(SPOOL_STR("exception.stacktrace"), stack);
    }
    spool_span_event_n(span, SPOOL_STR("exception"), attrs, count);
}

/* ---- current ---- */

static void current_hooks_run(sp_thread_block *thread, spool_span span, bool enter) {
    sp_slot_view view;
    if (!sp_slot_read(span, &view) || view.sdk >= SP_MAX_SDKS) {
        return;
    }
    sp_subscriber *subscriber = sp_pin(thread, &sp_subscribers[view.sdk], view.sdk_epoch);
    if (!subscriber) {
        return;
    }
    const sp_hook_list *list = enter ? &subscriber->span_enter : &subscriber->span_exit;
    sp_verdict_view verdict;
    if (SP_UNLIKELY(list->count) && sp_verdict_read(span, &verdict) &&
        sp_load_relaxed(&subscriber->state) == SP_SDK_OPEN && sp_hooks_enter(thread)) {
        for (unsigned i = 0; i < list->count; i++) {
            const spool_processor *processor = &subscriber->processors[list->index[i]];
            if (!(verdict.admitted >> list->index[i] & 1)) {
                continue;
            }
            if (enter) {
                processor->ops->span_enter(processor->self, span);
            } else {
                processor->ops->span_exit(processor->self, span);
            }
        }
        sp_hooks_leave(thread);
    }
    sp_unpin(thread);
}

/* A span with a trace state, on a context with baggage, on a thread's first stack, or a stale one. */
static SP_NOINLINE spool_token enter_any(sp_thread_block *thread, spool_span span) {
    struct spool_span_context ids = {{0}, {0}, 0, 0, {0}};
    sp_trace_state *trace_state = NULL;
    if (!sp_span_identity(thread, span, &ids, &trace_state)) {
        sp_misuse_count(SP_MISUSE_STALE_HANDLE, 1);
        return (spool_token){0};
    }
    spool_token token = sp_context_push_span(thread, span, &ids, trace_state);
    sp_trace_state_release(trace_state);
    return token;
}

/* Relaxed: whoever has a span of an SDK with such hooks has seen its making. */
static inline bool current_hooks_exist(void) {
    return sp_load_relaxed(&sp_sdks_with_current_hooks) != 0;
}

spool_token spool_span_enter(spool_span span) {
    sp_thread_block *thread = sp_thread();
    if (!thread || span.bits == 0) {
        return (spool_token){0};
    }
    spool_token token = sp_context_push_plain(thread, span);
    if (SP_UNLIKELY(token.bits == 0)) {
        token = enter_any(thread, span);
    }
    if (SP_UNLIKELY(current_hooks_exist()) && token.bits) {
        current_hooks_run(thread, span, true);
    }
    return token;
}

void spool_span_exit(spool_token token) {
    sp_thread_block *thread = sp_thread();
    spool_span span = {0};
    if (!thread || token.bits == 0) {
        return;
    }
    /* A span that was not on top is off the stack too. */
    (void)sp_context_pop(thread, token, &span);
    if (SP_UNLIKELY(current_hooks_exist()) && span.bits) {
        current_hooks_run(thread, span, false);
    }
}

spool_span spool_span_current(void) {
    sp_thread_block *thread = sp_thread();
    return thread ? sp_context_top(thread)->handle : (spool_span){0};
}
