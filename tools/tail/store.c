/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of traces and a list of them by first arrival; each trace has an
 * arena of its own, so that forgetting it is one step. The ids of traces printed
 * lately are kept to tell a late part from a new trace.
 */
#include "tools/tail/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, PRINTED_KEPT = 1024, ARENA_CHUNK_BYTES = 4096, PATIENCE = 10 };

/* Flags of a span whose parent's place is known, and is this process. */
enum { FLAG_HAS_REMOTE = 0x100, FLAG_REMOTE = 0x200 };

struct sp_tail_store {
    sp_tail_store_options options;
    sp_tail_trace *buckets[BUCKETS];
    sp_tail_trace *oldest;
    sp_tail_trace *newest;
    size_t trace_count;
    size_t bytes; /* of all traces */
    uint8_t printed[PRINTED_KEPT][SP_TAIL_TRACE_ID_SIZE];
    size_t printed_count;
};

static sp_tail_trace **bucket_of(sp_tail_store *store, const uint8_t *id) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < SP_TAIL_TRACE_ID_SIZE; i++) {
        hash = (hash ^ id[i]) * 16777619u;
    }
    return &store->buckets[(hash ^ hash >> 16) % BUCKETS];
}

static bool was_printed(const sp_tail_store *store, const uint8_t *id) {
    size_t kept = store->printed_count < PRINTED_KEPT ? store->printed_count : PRINTED_KEPT;
    for (size_t i = 0; i < kept; i++) {
        if (memcmp(store->printed[i], id, SP_TAIL_TRACE_ID_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

static size_t trace_bytes(const sp_tail_trace *trace) {
    return sizeof *trace + trace->arena.bytes + trace->span_room * sizeof *trace->spans +
           trace->note_room * sizeof *trace->notes;
}

sp_tail_store *sp_tail_store_create(const sp_tail_store_options *options) {
    sp_tail_store *store = calloc(1, sizeof *store);
    if (store != NULL) {
        store->options = *options;
    }
    return store;
}

static sp_tail_trace *trace_find(sp_tail_store *store, const uint8_t *id) {
    sp_tail_trace *trace = *bucket_of(store, id);
    while (trace != NULL && memcmp(trace->id, id, SP_TAIL_TRACE_ID_SIZE) != 0) {
        trace = trace->same_bucket;
    }
    return trace;
}

/* Never NULL: where not even this fits, going on would only lose records. */
static sp_tail_trace *trace_find_or_add(sp_tail_store *store, const uint8_t *id) {
    sp_tail_trace *trace = trace_find(store, id);
    if (trace != NULL) {
        return trace;
    }
    trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        fputs("spool-tail: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memcpy(trace->id, id, sizeof trace->id);
    sp_tail_arena_init(&trace->arena, ARENA_CHUNK_BYTES, SIZE_MAX);
    trace->continued = was_printed(store, id);
    sp_tail_trace **bucket = bucket_of(store, id);
    trace->same_bucket = *bucket;
    *bucket = trace;
    trace->older = store->newest;
    *(store->newest != NULL ? &store->newest->newer : &store->oldest) = trace;
    store->newest = trace;
    store->trace_count++;
    store->bytes += trace_bytes(trace);
    return trace;
}

static void trace_free(sp_tail_trace *trace) {
    sp_tail_arena_clear(&trace->arena);
    free(trace->spans);
    free(trace->notes);
    free(trace);
}

static void trace_remove(sp_tail_store *store, sp_tail_trace *trace) {
    sp_tail_trace **link = bucket_of(store, trace->id);
    while (*link != trace) {
        link = &(*link)->same_bucket;
    }
    *link = trace->same_bucket;
    *(trace->older != NULL ? &trace->older->newer : &store->oldest) = trace->newer;
    *(trace->newer != NULL ? &trace->newer->older : &store->newest) = trace->older;
    store->trace_count--;
    store->bytes -= trace_bytes(trace);
    trace_free(trace);
}

static void trace_print(sp_tail_store *store, sp_tail_trace *trace, sp_tail_reason reason) {
    store->options.print_trace(store->options.self, trace, trace->lost ? SP_TAIL_LOST : reason);
    if (!trace->continued) {
        memcpy(store->printed[store->printed_count % PRINTED_KEPT], trace->id, sizeof trace->id);
        store->printed_count++;
    }
    trace_remove(store, trace);
}

/* Makes room for one more pointer in a growing array. */
static bool room_make(void *array_pointer, size_t count, size_t *room) {
    if (count < *room) {
        return true;
    }
    void **array;
    memcpy(&array, array_pointer, sizeof array);
    size_t more = *room == 0 ? 16 : *room * 2;
    void **grown = realloc(array, more * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    memcpy(array_pointer, &grown, sizeof grown);
    *room = more;
    return true;
}

static bool note_add(sp_tail_trace *trace, sp_tail_note *note) {
    if (note == NULL || !room_make(&trace->notes, trace->note_count, &trace->note_room)) {
        return false;
    }
    note->arrival = trace->note_count;
    trace->notes[trace->note_count++] = note;
    return true;
}

static bool service_share(sp_tail_trace *trace, sp_tail_text service) {
    size_t len = service.len < SP_TAIL_TEXT_MAX ? service.len : SP_TAIL_TEXT_MAX;
    if (trace->service.len == len && memcmp(trace->service.data, service.data, len) == 0) {
        return true;
    }
    return sp_tail_text_copy(&trace->arena, service, &trace->service);
}

static bool span_add(sp_tail_trace *trace, const Opentelemetry__Proto__Trace__V1__Span *span,
                     sp_tail_text service) {
    if (!service_share(trace, service) ||
        !room_make(&trace->spans, trace->span_count, &trace->span_room)) {
        return false;
    }
    sp_tail_span *copy = sp_tail_span_copy(&trace->arena, span, trace->service);
    if (copy == NULL) {
        return false;
    }
    copy->arrival = trace->span_count;
    trace->spans[trace->span_count++] = copy;
    bool ok = true;
    for (size_t i = 0; i < span->n_events; i++) {
        ok &= note_add(trace, sp_tail_event_copy(&trace->arena, span->events[i], copy));
    }
    for (size_t i = 0; i < span->n_links; i++) {
        ok &= note_add(trace, sp_tail_link_copy(&trace->arena, span->links[i], copy));
    }
    return ok;
}

static void limits_keep(sp_tail_store *store) {
    while (store->oldest != NULL && (store->trace_count > store->options.max_traces ||
                                     store->bytes > store->options.max_bytes)) {
        trace_print(store, store->oldest, SP_TAIL_TOO_MANY);
    }
}

static void trace_settle(sp_tail_store *store, sp_tail_trace *trace, size_t bytes_before,
                         uint64_t now_ns) {
    trace->last_ns = now_ns;
    trace->patient = false;
    store->bytes += trace_bytes(trace) - bytes_before;
    limits_keep(store);
}

void sp_tail_store_add_span(sp_tail_store *store, const Opentelemetry__Proto__Trace__V1__Span *span,
                            sp_tail_text service, uint64_t now_ns) {
    sp_tail_trace *trace = trace_find_or_add(store, span->trace_id.data);
    size_t before = trace_bytes(trace);
    if (!span_add(trace, span, service)) {
        trace->lost = true;
    }
    trace_settle(store, trace, before, now_ns);
}

static void loose_log_print(sp_tail_store *store,
                            const Opentelemetry__Proto__Logs__V1__LogRecord *log,
                            sp_tail_text service) {
    sp_tail_arena arena;
    sp_tail_arena_init(&arena, ARENA_CHUNK_BYTES, SIZE_MAX);
    const sp_tail_note *note = sp_tail_log_copy(&arena, log, service);
    if (note != NULL) {
        store->options.print_log(store->options.self, note);
    }
    sp_tail_arena_clear(&arena);
}

void sp_tail_store_add_log(sp_tail_store *store,
                           const Opentelemetry__Proto__Logs__V1__LogRecord *log,
                           sp_tail_text service, uint64_t now_ns) {
    if (log->trace_id.len == 0 || sp_tail_id_is_zero(log->trace_id.data, log->trace_id.len)) {
        loose_log_print(store, log, service);
        return;
    }
    sp_tail_trace *trace = trace_find_or_add(store, log->trace_id.data);
    size_t before = trace_bytes(trace);
    if (!service_share(trace, service) ||
        !note_add(trace, sp_tail_log_copy(&trace->arena, log, trace->service))) {
        trace->lost = true;
    }
    trace_settle(store, trace, before, now_ns);
}

static int span_id_compare(const void *left, const void *right) {
    const sp_tail_span *const *a = left;
    const sp_tail_span *const *b = right;
    return memcmp((*a)->id, (*b)->id, SP_TAIL_SPAN_ID_SIZE);
}

/* Whether more must come: no span at all, or one whose local parent is missing. */
static bool is_incomplete(const sp_tail_trace *trace) {
    if (trace->span_count == 0) {
        return true;
    }
    const sp_tail_span **sorted = malloc(trace->span_count * sizeof(const sp_tail_span *));
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        sorted[i] = trace->spans[i];
    }
    qsort(sorted, trace->span_count, sizeof(const sp_tail_span *), span_id_compare);
    bool incomplete = false;
    for (size_t i = 0; i < trace->span_count && !incomplete; i++) {
        const sp_tail_span *span = trace->spans[i];
        if ((span->flags & FLAG_HAS_REMOTE) == 0 || (span->flags & FLAG_REMOTE) != 0 ||
            sp_tail_id_is_zero(span->parent, sizeof span->parent)) {
            continue;
        }
        sp_tail_span wanted;
        memcpy(wanted.id, span->parent, sizeof wanted.id);
        const sp_tail_span *key = &wanted;
        incomplete = bsearch(&key, sorted, trace->span_count, sizeof(const sp_tail_span *),
                             span_id_compare) == NULL;
    }
    free(sorted);
    return incomplete;
}

static uint64_t due_ns(const sp_tail_store *store, const sp_tail_trace *trace) {
    return trace->last_ns + store->options.quiet_ns * (trace->patient ? PATIENCE : 1);
}

void sp_tail_store_print_due(sp_tail_store *store, uint64_t now_ns) {
    sp_tail_trace *trace = store->oldest;
    while (trace != NULL) {
        sp_tail_trace *newer = trace->newer;
        if (now_ns >= due_ns(store, trace) && !trace->patient) {
            trace->patient = is_incomplete(trace);
        }
        if (now_ns >= due_ns(store, trace)) {
            trace_print(store, trace, SP_TAIL_FINISHED);
        }
        trace = newer;
    }
}

uint64_t sp_tail_store_due_ns(const sp_tail_store *store) {
    uint64_t first = UINT64_MAX;
    for (const sp_tail_trace *trace = store->oldest; trace != NULL; trace = trace->newer) {
        uint64_t due = due_ns(store, trace);
        first = due < first ? due : first;
    }
    return first;
}

void sp_tail_store_print_rest(sp_tail_store *store, uint64_t now_ns) {
    sp_tail_store_print_due(store, now_ns);
    while (store->oldest != NULL) {
        trace_print(store, store->oldest, SP_TAIL_UNFINISHED);
    }
}

void sp_tail_store_destroy(sp_tail_store *store) {
    if (store == NULL) {
        return;
    }
    while (store->oldest != NULL) {
        trace_remove(store, store->oldest);
    }
    free(store);
}
