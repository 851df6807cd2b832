/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as processors see them: the wire writer's view, the decoded view, boxes and pins. The decoded
 * view lives in one arena per thread and is valid until the next one is asked for on that thread.
 */
#include "sdk/trace/span_record.h"

#include "sdk/context/trace_state.h"
#include "sdk/memory/box.h"
#include "sdk/subscriber/subscriber.h"
#include "sdk/trace/body.h"
#include "sdk/trace/span.h"

#include <spool/ext/processor.h>

#include <stdlib.h>
#include <string.h>

enum { FLAG_REMOTE_KNOWN = 0x100, FLAG_REMOTE = 0x200, FLAG_BITS = 0xff };

size_t sp_span_record_wire(spool_span_record *span, sp_wire_span *out, sp_wire_piece *pieces,
                           size_t capacity) {
    const sp_slot *slot = sp_record_slot(span);
    const sp_body *body = sp_slot_body(slot);
    out->trace_id = slot->trace_id;
    out->span_id = slot->span_id;
    out->parent_span_id = body->has_parent ? body->parent_span_id : NULL;
    out->flags =
        (slot->flags & FLAG_BITS) | FLAG_REMOTE_KNOWN | (slot->remote_parent ? FLAG_REMOTE : 0U);
    out->kind = body->kind;
    out->trace_state = sp_trace_state_text(slot->trace_state);
    out->name = spool_str_n((const char *)body->name, body->name_len);
    out->start_time_ns = body->start_time_ns;
    out->end_time_ns = body->end_time_ns;
    out->dropped_attrs = body->dropped_attrs;
    out->dropped_events = body->dropped_events;
    out->dropped_links = body->dropped_links;
    out->status = body->status;
    out->status_description = spool_str_n((const char *)body->description, body->description_len);
    size_t count = sp_body_pieces(body, pieces, capacity);
    out->content = pieces;
    out->content_count = count <= capacity ? count : 0;
    return count;
}

const sp_scope *sp_span_record_scope(const spool_span_record *span) {
    return sp_slot_body(sp_record_slot(span))->scope;
}

bool sp_span_record_sampled(const spool_span_record *span) {
    return sp_record_slot(span)->flags & SPOOL_FLAG_SAMPLED;
}

spool_span spool_span_record_handle(const spool_span_record *span) {
    return span ? sp_slot_handle(sp_record_slot(span)) : (spool_span){0};
}

/* ---- the decoded view ---- */

typedef struct thread_view {
    sp_arena arena;
    spool_span_data data;
} thread_view;

static void view_end(sp_thread_block *thread, void *value) {
    (void)thread;
    thread_view *view = value;
    sp_arena_fini(&view->arena);
    free(view);
}

static thread_view *view_of_thread(sp_thread_block *thread) {
    thread_view *view = thread->parts[SP_PART_VIEW];
    if (!view) {
        sp_thread_part_ends_with(SP_PART_VIEW, view_end);
        view = calloc(1, sizeof *view);
        thread->parts[SP_PART_VIEW] = view;
    }
    return view;
}

static bool text_copy(sp_arena *arena, spool_str text, spool_str *out) {
    char *copy = sp_arena_alloc(arena, text.len + 1);
    if (!copy) {
        return false;
    }
    if (text.len) {
        memcpy(copy, text.ptr, text.len);
    }
    copy[text.len] = '\0';
    *out = spool_str_n(copy, text.len);
    return true;
}

/* Copies everything: the span may be changed or ended while the view is read. The slot is held. */
static bool view_fill(thread_view *view, spool_span_record *span, spool_span_data *data) {
    enum { PIECES_INLINE = 16 };
    sp_wire_piece inline_pieces[PIECES_INLINE];
    sp_wire_piece *pieces = inline_pieces;
    sp_wire_span wire;
    size_t count = sp_span_record_wire(span, &wire, pieces, PIECES_INLINE);
    if (count > PIECES_INLINE) {
        pieces = sp_arena_alloc(&view->arena, count * sizeof *pieces);
        if (!pieces) {
            return false;
        }
        count = sp_span_record_wire(span, &wire, pieces, count);
    }
    memcpy(data->context.trace_id, wire.trace_id, 16);
    memcpy(data->context.span_id, wire.span_id, 8);
    data->context.flags = sp_record_slot(span)->flags;
    if (wire.parent_span_id) {
        memcpy(data->parent_span_id, wire.parent_span_id, 8);
    }
    data->parent_remote = sp_record_slot(span)->remote_parent;
    data->kind = wire.kind;
    data->start_time_ns = wire.start_time_ns;
    data->end_time_ns = wire.end_time_ns;
    data->status = wire.status;
    data->dropped_attr_count = wire.dropped_attrs;
    data->dropped_event_count = wire.dropped_events;
    data->dropped_link_count = wire.dropped_links;
    for (size_t i = 0; i < count; i++) {
        uint8_t *copy = sp_arena_alloc(&view->arena, pieces[i].len);
        if (!copy) {
            return false;
        }
        memcpy(copy, pieces[i].bytes, pieces[i].len);
        pieces[i].bytes = copy;
    }
    return text_copy(&view->arena, wire.name, &data->name) &&
           text_copy(&view->arena, wire.trace_state, &data->trace_state) &&
           text_copy(&view->arena, wire.status_description, &data->status_description) &&
           sp_wire_read_content(pieces, count, &view->arena, data);
}

const spool_span_data *spool_span_record_data(spool_span_record *span) {
    sp_thread_block *thread = sp_thread();
    thread_view *view = thread && span ? view_of_thread(thread) : NULL;
    if (!view || !sp_record_slot(span)->body) {
        return NULL;
    }
    sp_slot *slot = sp_record_slot(span);
    sp_arena_reset(&view->arena);
    memset(&view->data, 0, sizeof view->data);
    view->data.struct_size = sizeof view->data;
    /* A live span is locked for the copy; an ended or ending one is not changed by others. */
    sp_slot *locked = sp_slot_lock(thread, sp_slot_handle(slot));
    bool filled = view_fill(view, span, &view->data);
    if (locked) {
        sp_slot_unlock(locked);
    }
    view->data.scope = &sp_slot_body(slot)->scope->view;
    sp_subscriber *subscriber = sp_pin(thread, &sp_subscribers[slot->sdk], slot->sdk_epoch);
    view->data.resource = spool_resource_data_of(subscriber ? subscriber->resource : NULL);
    if (subscriber) {
        sp_unpin(thread);
    }
    if (!filled) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    }
    return filled ? &view->data : NULL;
}

/* ---- boxes ---- */

/* Where the span's boxes are; NULL without a span that is recorded. */
static sp_box_set **boxes_of(const spool_span_record *span) {
    sp_slot *slot = span ? sp_record_slot(span) : NULL;
    return slot && slot->body ? sp_slot_boxes(slot) : NULL;
}

void *spool_ext_get(spool_span_record *span, spool_ext_id type) {
    sp_box_set **boxes = boxes_of(span);
    return boxes ? sp_box_get(*boxes, type) : NULL;
}

void *spool_ext_get_or_init(spool_span_record *span, spool_ext_id type, bool *out_fresh) {
    sp_box_set **boxes = boxes_of(span);
    return boxes ? sp_box_get_or_init(boxes, type, out_fresh) : NULL;
}

bool spool_ext_take(spool_span_record *span, spool_ext_id type, void *out_value) {
    sp_box_set **boxes = boxes_of(span);
    return boxes && out_value && sp_box_take(*boxes, type, out_value);
}

/* ---- pins ---- */

spool_span_record *spool_ext_pin(spool_span span) {
    sp_thread_block *thread = sp_thread();
    spool_span behind = sp_span_behind(span);
    sp_slot *slot = thread && behind.bits ? sp_slot_pin(behind) : NULL;
    if (slot && !slot->body) {
        sp_slot_unpin(thread, slot);
        slot = NULL;
    }
    return slot ? sp_record_of_nobody(slot) : NULL;
}

void spool_ext_unpin(spool_span_record *span) {
    sp_thread_block *thread = sp_thread();
    if (thread && span) {
        sp_slot_unpin(thread, sp_record_slot(span));
    }
}

spool_span_record *sp_span_pin_admitted(spool_span span, const sp_subscriber *subscriber,
                                        unsigned processor) {
    while (span.bits) {
        spool_span_record *pinned = spool_ext_pin(span);
        if (!pinned) {
            break;
        }
        sp_slot *slot = sp_record_slot(pinned);
        const sp_body *body = sp_slot_body(slot);
        /* Relaxed: constant since the start, which the pin has seen. */
        if (slot->sdk == subscriber->index && slot->sdk_epoch == subscriber->epoch &&
            sp_load_relaxed(&body->verdict.admitted) >> processor & 1) {
            return sp_record_for(slot, processor);
        }
        span = body->parent;
        spool_ext_unpin(pinned);
    }
    return NULL;
}

spool_span_record *spool_ext_pin_parent(spool_span_record *span) {
    sp_slot *slot = span ? sp_record_slot(span) : NULL;
    sp_thread_block *thread = sp_thread();
    if (!slot || !slot->body || !thread) {
        return NULL;
    }
    unsigned number = sp_record_number(span);
    spool_span parent = sp_slot_body(slot)->parent;
    if (number == 0) {
        return spool_ext_pin(parent);
    }
    sp_subscriber *subscriber = sp_pin(thread, &sp_subscribers[slot->sdk], slot->sdk_epoch);
    if (!subscriber) {
        return NULL;
    }
    spool_span_record *pinned = sp_span_pin_admitted(parent, subscriber, number - 1);
    sp_unpin(thread);
    return pinned;
}
