/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listing of live spans for ordinary code. A span is pinned, so that its slot stays; locked for
 * the time of the copy, so that it stands still; unlocked and unpinned; and only then shown. The
 * dump for signal handlers is in live_dump.c.
 */
#include "sdk/trace/live.h"
#include "sdk/memory/arena.h"
#include "sdk/platform/clock.h"
#include "sdk/subscriber/subscriber.h"
#include "sdk/trace/body.h"
#include "sdk/trace/span.h"

#include <spool/sdk/live.h>

#include <string.h>

uint64_t sp_live_age_ns(const sp_live_times *times, uint64_t mono_ns) {
    if (mono_ns < times->anchor_mono_ns) {
        return 0;
    }
    uint64_t now = times->anchor_wall_ns + (mono_ns - times->anchor_mono_ns);
    return now > times->start_ns ? now - times->start_ns : 0;
}

/* The body's own part; the slot is locked. */
static void body_copy(const sp_body *body, spool_live_span *out) {
    sp_live_times times = {sp_load_relaxed(&body->anchor_wall_ns),
                           sp_load_relaxed(&body->anchor_mono_ns), body->start_time_ns};
    out->age_ns = sp_live_age_ns(&times, sp_clock_mono_ns(SPOOL_CLOCK_PRECISE));
    out->thread = body->thread;
    out->scope = &body->scope->view;
}

static const spool_sdk *sdk_of(const sp_slot *slot) {
    if (slot->sdk >= SP_MAX_SDKS) {
        return NULL;
    }
    sp_thread_block *thread = sp_thread();
    sp_subscriber *subscriber = sp_pin(thread, &sp_subscribers[slot->sdk], slot->sdk_epoch);
    if (subscriber) {
        sp_unpin(thread);
    }
    return subscriber;
}

/* False: not live any more, or without memory. */
static bool span_copy(sp_thread_block *thread, sp_slot *pinned, spool_span handle, sp_arena *arena,
                      spool_live_span *out) {
    sp_slot *slot = sp_slot_lock(thread, handle);
    if (!slot) {
        return false;
    }
    spool_span_data data;
    bool copied = sp_span_record_copy(sp_record_of_nobody(slot), arena, &data);
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    body_copy(sp_slot_body(slot), out);
    sp_slot_unlock(slot);
    if (!copied) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return false;
    }
    out->span = handle;
    out->context = data.context;
    memcpy(out->parent_span_id, data.parent_span_id, sizeof out->parent_span_id);
    out->kind = data.kind;
    out->start_time_ns = data.start_time_ns;
    out->name = data.name;
    out->attrs = data.attrs;
    out->attr_count = data.attr_count;
    out->sdk = sdk_of(pinned);
    return true;
}

size_t spool_live_spans(spool_live_span_callback callback, void *arg) {
    sp_thread_block *thread = sp_thread();
    if (!callback || !thread) {
        return 0;
    }
    /* An arena of its own: the callback may list spans too. */
    sp_arena arena = {NULL, 0};
    size_t count = 0;
    bool more = true;
    sp_slot_walk walk = {0, 0, 0};
    for (sp_slot *at = sp_registry_next(&walk); at && more; at = sp_registry_next(&walk)) {
        unsigned state = sp_slot_state(at);
        if (state != SP_SLOT_LIVE && state != SP_SLOT_ENDING) {
            continue;
        }
        spool_span handle = sp_slot_handle(at);
        sp_slot *pinned = sp_slot_pin(handle);
        if (!pinned) {
            continue;
        }
        spool_live_span span;
        sp_arena_reset(&arena);
        bool copied = pinned->body && span_copy(thread, pinned, handle, &arena, &span);
        sp_slot_unpin(thread, pinned);
        if (copied) {
            count++;
            more = callback(arg, &span);
        }
    }
    sp_arena_fini(&arena);
    return count;
}
