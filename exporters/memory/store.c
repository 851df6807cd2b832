/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory exporter. Owners: the store is counted, one reference the caller's, one the exporter's;
 * its records are under its lock. Each record is one node with all its memory in an arena of its own, so a
 * pointer that was handed out stays valid while others are added.
 */
#include "sdk/memory/arena.h"
#include "sdk/platform/atomics.h"
#include "sdk/resource/copy.h"

#include <spool/sdk/memory.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_CAPACITY = 65536, FIRST_ROOM = 64 };

typedef struct record {
    sp_arena arena;
    spool_span_data span; /* one of the two is used */
    spool_log_data log;
} record;

typedef struct record_list {
    record **items;
    size_t count;
    size_t room;
} record_list;

struct spool_memory_store {
    _Atomic uint32_t references;
    pthread_mutex_t lock;
    size_t capacity;
    record_list lists[SPOOL_SIGNALS];
    bool shut; /* the exporter was shut down */
};

/* ---- deep copies ---- */

static bool copy_scope(sp_arena *arena, const spool_scope *from, const spool_scope **out) {
    spool_scope *scope = sp_arena_alloc(arena, sizeof *scope);
    *out = scope;
    if (!scope || !from) {
        *out = NULL;
        return !from;
    }
    return sp_copy_text(arena, from->name, &scope->name) &&
           sp_copy_text(arena, from->version, &scope->version) &&
           sp_copy_text(arena, from->schema_url, &scope->schema_url) &&
           sp_copy_unique_attrs(arena, from->attrs, from->attr_count, &scope->attrs,
                                &scope->attr_count);
}

static bool copy_resource(sp_arena *arena, const spool_resource_data *from,
                          const spool_resource_data **out) {
    spool_resource_data *resource = sp_arena_alloc(arena, sizeof *resource);
    *out = resource;
    if (!resource || !from) {
        *out = NULL;
        return !from;
    }
    return sp_copy_text(arena, from->schema_url, &resource->schema_url) &&
           sp_copy_unique_attrs(arena, from->attrs, from->attr_count, &resource->attrs,
                                &resource->attr_count);
}

static bool copy_events(sp_arena *arena, const spool_span_data *from, spool_span_data *to) {
    spool_event_data *events = sp_arena_alloc(arena, from->event_count * sizeof *events);
    bool ok = events != NULL;
    for (size_t i = 0; ok && i < from->event_count; i++) {
        events[i] = from->events[i];
        ok = sp_copy_text(arena, from->events[i].name, &events[i].name) &&
             sp_copy_unique_attrs(arena, from->events[i].attrs, from->events[i].attr_count,
                                  &events[i].attrs, &events[i].attr_count);
    }
    to->events = events;
    return ok;
}

static bool copy_links(sp_arena *arena, const spool_span_data *from, spool_span_data *to) {
    spool_link_data *links = sp_arena_alloc(arena, from->link_count * sizeof *links);
    bool ok = links != NULL;
    for (size_t i = 0; ok && i < from->link_count; i++) {
        links[i] = from->links[i];
        ok = sp_copy_text(arena, from->links[i].trace_state, &links[i].trace_state) &&
             sp_copy_unique_attrs(arena, from->links[i].attrs, from->links[i].attr_count,
                                  &links[i].attrs, &links[i].attr_count);
    }
    to->links = links;
    return ok;
}

static bool copy_span(sp_arena *arena, const spool_span_data *from, spool_span_data *to) {
    *to = *from;
    return sp_copy_text(arena, from->trace_state, &to->trace_state) &&
           sp_copy_text(arena, from->name, &to->name) &&
           sp_copy_text(arena, from->status_description, &to->status_description) &&
           sp_copy_unique_attrs(arena, from->attrs, from->attr_count, &to->attrs,
                                &to->attr_count) &&
           copy_events(arena, from, to) && copy_links(arena, from, to) &&
           copy_scope(arena, from->scope, &to->scope) &&
           copy_resource(arena, from->resource, &to->resource);
}

static bool copy_log(sp_arena *arena, const spool_log_data *from, spool_log_data *to) {
    *to = *from;
    to->struct_size = sizeof *to;
    return sp_copy_text(arena, from->severity_text, &to->severity_text) &&
           sp_copy_text(arena, from->event_name, &to->event_name) &&
           sp_copy_value(arena, &from->body, &to->body) &&
           sp_copy_unique_attrs(arena, from->attrs, from->attr_count, &to->attrs,
                                &to->attr_count) &&
           copy_scope(arena, from->scope, &to->scope) &&
           copy_resource(arena, from->resource, &to->resource);
}

/* ---- the store ---- */

static void record_free(record *one) {
    if (one) {
        sp_arena_fini(&one->arena);
        free(one);
    }
}

static bool list_add(record_list *list, record *one) {
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : FIRST_ROOM;
        record **items = realloc(list->items, room * sizeof *items);
        if (!items) {
            return false;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = one;
    return true;
}

void spool_memory_clear(spool_memory_store *store) {
    if (!store) {
        return;
    }
    pthread_mutex_lock(&store->lock);
    for (unsigned signal = 0; signal < SPOOL_SIGNALS; signal++) {
        for (size_t i = 0; i < store->lists[signal].count; i++) {
            record_free(store->lists[signal].items[i]);
        }
        store->lists[signal].count = 0;
    }
    pthread_mutex_unlock(&store->lock);
}

void spool_memory_release(spool_memory_store *store) {
    /* Acquire-release: the last one sees what the other did. */
    if (!store || sp_sub_acq_rel(&store->references, 1) != 1) {
        return;
    }
    spool_memory_clear(store);
    free(store->lists[SPOOL_SIGNAL_SPANS].items);
    free(store->lists[SPOOL_SIGNAL_LOGS].items);
    (void)pthread_mutex_destroy(&store->lock);
    free(store);
}

static const record *record_at(spool_memory_store *store, unsigned signal, size_t index) {
    const record *found = NULL;
    if (store) {
        pthread_mutex_lock(&store->lock);
        if (index < store->lists[signal].count) {
            found = store->lists[signal].items[index];
        }
        pthread_mutex_unlock(&store->lock);
    }
    return found;
}

static size_t record_count(spool_memory_store *store, unsigned signal) {
    size_t count = 0;
    if (store) {
        pthread_mutex_lock(&store->lock);
        count = store->lists[signal].count;
        pthread_mutex_unlock(&store->lock);
    }
    return count;
}

size_t spool_memory_span_count(spool_memory_store *store) {
    return record_count(store, SPOOL_SIGNAL_SPANS);
}

size_t spool_memory_log_count(spool_memory_store *store) {
    return record_count(store, SPOOL_SIGNAL_LOGS);
}

const spool_span_data *spool_memory_span(spool_memory_store *store, size_t index) {
    const record *one = record_at(store, SPOOL_SIGNAL_SPANS, index);
    return one ? &one->span : NULL;
}

const spool_log_data *spool_memory_log(spool_memory_store *store, size_t index) {
    const record *one = record_at(store, SPOOL_SIGNAL_LOGS, index);
    return one ? &one->log : NULL;
}

/* ---- the exporter ---- */

/* Takes the batch's next record; NULL after the last, or without memory. */
static record *record_take(spool_batch *batch) {
    bool ok = false;
    record *one = calloc(1, sizeof *one);
    if (one && spool_batch_signal(batch) == SPOOL_SIGNAL_SPANS) {
        const spool_span_data *span = spool_batch_next_span(batch);
        ok = span && copy_span(&one->arena, span, &one->span);
    } else if (one) {
        const spool_log_data *log = spool_batch_next_log(batch);
        ok = log && copy_log(&one->arena, log, &one->log);
    }
    if (!ok) {
        record_free(one);
        return NULL;
    }
    return one;
}

static void export_batch(void *self, spool_batch *batch, uint64_t deadline_ns) {
    (void)deadline_ns;
    spool_memory_store *store = self;
    unsigned signal = spool_batch_signal(batch);
    spool_outcome outcome = {0};
    pthread_mutex_lock(&store->lock);
    outcome.drop_cause = store->shut ? SPOOL_DROP_SHUTDOWN : SPOOL_DROP_MEMORY;
    while (!store->shut) {
        if (store->lists[0].count + store->lists[1].count >= store->capacity) {
            outcome.drop_cause = SPOOL_DROP_LIMIT;
            break;
        }
        record *one = record_take(batch);
        if (!one) {
            break;
        }
        if (!list_add(&store->lists[signal], one)) {
            record_free(one);
            break;
        }
        outcome.delivered++;
    }
    pthread_mutex_unlock(&store->lock);
    spool_batch_done(spool_batch_id(batch), &outcome);
}

static spool_status shutdown(void *self, uint64_t deadline_ns) {
    (void)deadline_ns;
    spool_memory_store *store = self;
    pthread_mutex_lock(&store->lock);
    store->shut = true;
    pthread_mutex_unlock(&store->lock);
    return SPOOL_OK;
}

static void destroy(void *self) {
    spool_memory_release(self);
}

spool_status spool_memory_create(size_t capacity, spool_memory_store **out_store,
                                 spool_exporter *out_exporter) {
    static const spool_exporter_ops ops = {
        sizeof ops, "memory", export_batch, NULL, shutdown, destroy, 0,
    };
    if (!out_store || !out_exporter) {
        return SPOOL_ERR_INVALID;
    }
    spool_memory_store *store = calloc(1, sizeof *store);
    if (!store) {
        return SPOOL_ERR_NOMEM;
    }
    sp_store_relaxed(&store->references, 2);
    (void)pthread_mutex_init(&store->lock, NULL);
    store->capacity = capacity ? capacity : DEFAULT_CAPACITY;
    *out_store = store;
    out_exporter->ops = &ops;
    out_exporter->self = store;
    return SPOOL_OK;
}
