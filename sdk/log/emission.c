/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of a log record: filters, times, ids, unique attributes, processors. No allocation: what does
 * not fit the frame goes to the thread's scratch.
 */
#include "sdk/log/emission.h"

#include "sdk/context/stack.h"
#include "sdk/log/log_record.h"
#include "sdk/platform/clock.h"
#include "sdk/resource/copy.h"

#include <spool/ext/box.h>
#include <spool/log.h>

#include <stdlib.h>
#include <string.h>

/* ---- attributes ---- */

enum { PAIRWISE = 32 }; /* up to this many, keys are compared pair by pair */

static bool key_is_valid(spool_str key) {
    return key.ptr && key.len;
}

/* True when the caller's array can be used as it is: valid and unique keys, within the limits. */
static bool attrs_are_clean(const spool_attr *attrs, size_t count, const sp_wire_limits *limits) {
    if (count > limits->attr_count || count > PAIRWISE ||
        (count && limits->text_length != SPOOL_NO_LIMIT)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!key_is_valid(attrs[i].key)) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (SP_UNLIKELY(attrs[j].key.len == attrs[i].key.len &&
                            memcmp(attrs[j].key.ptr, attrs[i].key.ptr, attrs[i].key.len) == 0)) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t key_hash(spool_str key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < key.len; i++) {
        hash = (hash ^ (uint8_t)key.ptr[i]) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 29;
}

/*
 * Cuts texts and bytes to the limit (LI-02), also inside arrays and maps, whose items are copied to
 * scratch for it. Without memory the value becomes empty, which is counted.
 */
static void value_trim(sp_scratch *scratch, spool_value *value, const sp_wire_limits *limits,
                       uint32_t depth) {
    bool map = value->type == SPOOL_VALUE_MAP;
    if (value->type == SPOOL_VALUE_STRING) {
        value->as.string = sp_wire_text(scratch, value->as.string, limits->text_length);
    } else if (value->type == SPOOL_VALUE_BYTES && value->as.bytes.len > limits->text_length) {
        value->as.bytes.len = limits->text_length;
    } else if ((map || value->type == SPOOL_VALUE_ARRAY) && depth < limits->depth) {
        size_t count = map ? value->as.map.count : value->as.array.count;
        size_t size = map ? sizeof(spool_attr) : sizeof(spool_value);
        void *items = count < SIZE_MAX / size ? sp_scratch_alloc(scratch, count * size) : NULL;
        if (!items) {
            *value = spool_value_empty();
            sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
            return;
        }
        if (count) {
            memcpy(items, map ? (const void *)value->as.map.items : value->as.array.items,
                   count * size);
        }
        for (size_t i = 0; i < count; i++) {
            value_trim(scratch, map ? &((spool_attr *)items)[i].value : &((spool_value *)items)[i],
                       limits, depth + 1);
        }
        if (map) {
            value->as.map.items = items;
        } else {
            value->as.array.items = items;
        }
    }
}

/*
 * Copies the valid attributes, each key once with its last value, at most `limit` of them, into scratch.
 * Keys are found through an open table of indices, so that a hostile number of attributes costs linear
 * time. False without memory.
 */
static SP_NOINLINE bool attrs_clean(sp_emission *emission, const spool_attr *attrs, size_t count) {
    sp_scratch *scratch = &emission->thread->scratch;
    uint32_t limit = emission->subscriber->log_attrs.attr_count;
    size_t capacity = count < limit ? count : limit;
    size_t slots = 16;
    if (count > UINT32_MAX / 4) {
        return false;
    }
    while (slots < capacity * 2) {
        slots *= 2;
    }
    spool_attr *clean = sp_scratch_alloc(scratch, (capacity + SP_EMISSION_SPARE) * sizeof *clean);
    uint32_t *table = sp_scratch_alloc(scratch, slots * sizeof *table);
    if (!clean || !table) {
        return false;
    }
    memset(table, 0, slots * sizeof *table);
    uint32_t kept = 0;
    uint32_t dropped = 0;
    for (size_t i = 0; i < count; i++) {
        if (!key_is_valid(attrs[i].key)) {
            dropped++;
            continue;
        }
        size_t slot = key_hash(attrs[i].key) & (slots - 1);
        while (table[slot] && !sp_text_equals(clean[table[slot] - 1].key, attrs[i].key)) {
            slot = (slot + 1) & (slots - 1);
        }
        if (table[slot]) {
            clean[table[slot] - 1].value = attrs[i].value;
        } else if (kept < limit) {
            clean[kept++] = attrs[i];
            table[slot] = kept;
        } else {
            dropped++;
        }
    }
    const sp_wire_limits *limits = &emission->subscriber->log_attrs;
    for (uint32_t i = 0; limits->text_length != SPOOL_NO_LIMIT && i < kept; i++) {
        value_trim(scratch, &clean[i].value, limits, 1);
    }
    emission->data.attrs = clean;
    emission->data.attr_count = kept;
    emission->data.dropped_attr_count = dropped;
    emission->own_capacity = (uint32_t)(capacity + SP_EMISSION_SPARE);
    if (dropped) {
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, dropped);
    }
    return true;
}

/* The array that hooks may change: the caller's is copied on the first change. */
static spool_attr *attrs_own(sp_emission *emission, size_t room) {
    size_t count = emission->data.attr_count;
    if (emission->own_capacity >= count + room) {
        return (spool_attr *)(uintptr_t)emission->data.attrs;
    }
    spool_attr *own = emission->own;
    size_t capacity = sizeof emission->own / sizeof emission->own[0];
    if (count + room > capacity || emission->own_capacity) {
        capacity = (count + room) * 2;
        own = sp_scratch_alloc(&emission->thread->scratch, capacity * sizeof *own);
        if (!own || capacity > UINT32_MAX) {
            sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
            return NULL;
        }
    }
    if (count) {
        memcpy(own, emission->data.attrs, count * sizeof *own);
    }
    emission->data.attrs = own;
    emission->own_capacity = (uint32_t)capacity;
    return own;
}

static size_t attr_find(const spool_log_data *log, spool_str key) {
    size_t i = 0;
    while (i < log->attr_count && !sp_text_equals(log->attrs[i].key, key)) {
        i++;
    }
    return i;
}

bool spool_log_data_set(spool_log_data *log, spool_attr attr) {
    sp_emission *emission = sp_emission_of(log);
    if (!emission) {
        return false;
    }
    size_t place = attr_find(log, attr.key);
    if (!key_is_valid(attr.key) ||
        (place == log->attr_count && place >= emission->subscriber->log_attrs.attr_count)) {
        log->dropped_attr_count++;
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, 1);
        return false;
    }
    spool_attr *own = attrs_own(emission, place == log->attr_count);
    if (!own) {
        return false;
    }
    own[place] = attr;
    log->attr_count += place == log->attr_count;
    return true;
}

bool spool_log_data_remove(spool_log_data *log, spool_str key) {
    sp_emission *emission = sp_emission_of(log);
    size_t place = emission ? attr_find(log, key) : 0;
    if (!emission || place == log->attr_count) {
        return false;
    }
    spool_attr *own = attrs_own(emission, 0);
    if (!own) {
        return false;
    }
    memmove(&own[place], &own[place + 1], (log->attr_count - place - 1) * sizeof *own);
    log->attr_count--;
    return true;
}

/* ---- what processors of the library ask ---- */

const sp_wire_limits *sp_log_data_limits(const spool_log_data *log) {
    static const sp_wire_limits none = {SPOOL_NO_LIMIT, 64, SPOOL_NO_LIMIT};
    const sp_emission *emission = sp_emission_of(log);
    return emission ? &emission->subscriber->log_attrs : &none;
}

const sp_scope *sp_log_data_scope(const spool_log_data *log) {
    const sp_emission *emission = sp_emission_of(log);
    return emission ? emission->scope : NULL;
}

/* ---- boxes ---- */

/* A record's boxes are the thread's, one set for each depth of emission; reset when the emit ends. */
typedef struct thread_boxes {
    sp_box_set *sets[SP_MAX_HOOK_DEPTH + 1];
} thread_boxes;

static void boxes_end(sp_thread_block *thread, void *value) {
    (void)thread;
    thread_boxes *boxes = value;
    for (unsigned i = 0; i <= SP_MAX_HOOK_DEPTH; i++) {
        if (boxes->sets[i]) {
            sp_box_set_destroy(boxes->sets[i]);
        }
    }
    free(boxes);
}

/* Where this record's boxes are; NULL without memory. Inside its hooks, depth is 1 or more. */
static sp_box_set **boxes_of(sp_thread_block *thread, bool make) {
    thread_boxes *boxes = thread->parts[SP_PART_LOG_BOXES];
    if (!boxes && make) {
        sp_thread_part_ends_with(SP_PART_LOG_BOXES, boxes_end);
        boxes = calloc(1, sizeof *boxes);
        thread->parts[SP_PART_LOG_BOXES] = boxes;
    }
    return boxes ? &boxes->sets[thread->hook_depth] : NULL;
}

void *spool_ext_log_get(spool_log_data *log, spool_ext_id type) {
    sp_emission *emission = sp_emission_of(log);
    sp_box_set **set = emission ? boxes_of(emission->thread, false) : NULL;
    return set ? sp_box_get(*set, type) : NULL;
}

void *spool_ext_log_get_or_init(spool_log_data *log, spool_ext_id type, bool *out_fresh) {
    sp_emission *emission = sp_emission_of(log);
    sp_box_set **set = emission ? boxes_of(emission->thread, true) : NULL;
    return set ? sp_box_get_or_init(set, type, out_fresh) : NULL;
}

spool_span_record *spool_ext_log_pin_span(spool_log_data *log) {
    sp_emission *emission = sp_emission_of(log);
    return emission
               ? sp_span_pin_admitted(emission->span, emission->subscriber, emission->processor)
               : NULL;
}

/* ---- emit ---- */

static void count(const sp_emission *emission, unsigned what) {
    sp_counters_add(emission->thread, emission->subscriber->index, emission->subscriber->epoch,
                    SPOOL_SIGNAL_LOGS, what);
}

static void hooks_run(sp_emission *emission, uint32_t admitted) {
    sp_thread_block *thread = emission->thread;
    sp_subscriber *subscriber = emission->subscriber;
    if (!sp_hooks_enter(thread)) {
        count(emission, SP_COUNT_FILTERED);
        return;
    }
    for (unsigned i = 0; i < subscriber->log_emit.count; i++) {
        unsigned index = subscriber->log_emit.index[i];
        const spool_processor *processor = &subscriber->processors[index];
        if (SP_LIKELY(admitted >> index & 1)) {
            emission->processor = index;
            processor->ops->log_emit(processor->self, &emission->data);
        }
    }
    sp_box_set **set = boxes_of(thread, false);
    if (SP_UNLIKELY(set && *set)) {
        sp_box_reset_all(*set);
    }
    sp_hooks_leave(thread);
    count(emission, SP_COUNT_FINISHED);
}

static void fields_set(sp_emission *emission, const spool_log_record *record) {
    const spool_context *context =
        record->context ? record->context : sp_context_top(emission->thread);
    spool_log_data *data = &emission->data;
    data->struct_size = sizeof *emission;
    data->observed_timestamp_ns = record->observed_timestamp_ns
                                      ? record->observed_timestamp_ns
                                      : sp_clock_wall_ns(emission->subscriber->clock);
    data->timestamp_ns = SP_LIKELY(record->timestamp_ns == SP_LOG_TIME_IS_NOW)
                             ? data->observed_timestamp_ns
                             : record->timestamp_ns;
    data->context = context->span;
    data->severity = record->severity;
    data->dropped_attr_count = 0;
    data->severity_text = record->severity_text;
    data->event_name = record->event_name;
    data->body = record->body;
    data->scope = &emission->scope->view;
    data->resource = spool_resource_data_of(emission->subscriber->resource);
    emission->span = context->handle;
    emission->own_capacity = 0;
}

SP_NOINLINE uint32_t sp_log_admitted(sp_thread_block *thread, const sp_subscriber *subscriber,
                                     const sp_scope *scope, const spool_context *context,
                                     int32_t severity, spool_str event_name) {
    const sp_filter_set *filters = sp_filters_of(subscriber);
    if (!filters) {
        return SP_ADMIT_ALL;
    }
    const spool_context *used = context ? context : sp_context_top(thread);
    spool_log_query query = {sizeof query, severity, 0, event_name, &scope->view, &used->span};
    sp_filter_question question = {NULL, &query, thread, sp_filter_matched(filters, used->handle),
                                   false};
    return sp_filter_set_ask(filters, subscriber->processor_count, &question, NULL);
}

void sp_emit(sp_thread_block *thread, sp_subscriber *subscriber, const sp_scope *scope,
             const spool_log_record *record, uint32_t admitted) {
    sp_emission emission;
    emission.thread = thread;
    emission.subscriber = subscriber;
    emission.scope = scope;
    count(&emission, SP_COUNT_CREATED);
    if (SP_UNLIKELY(record->severity && record->severity < subscriber->minimum_severity)) {
        admitted = 0;
    } else if (SP_UNLIKELY(sp_filters_of(subscriber) != NULL) && admitted == SP_ADMIT_ASK) {
        admitted = sp_log_admitted(thread, subscriber, scope, record->context, record->severity,
                                   record->event_name);
    }
    if (SP_UNLIKELY(!(admitted & subscriber->log_emit.mask))) {
        count(&emission, SP_COUNT_FILTERED);
        return;
    }
    sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
    fields_set(&emission, record);
    size_t attr_count = record->attrs ? record->attr_count : 0;
    if (SP_LIKELY(attrs_are_clean(record->attrs, attr_count, &subscriber->log_attrs))) {
        emission.data.attrs = record->attrs;
        emission.data.attr_count = attr_count;
    } else if (!attrs_clean(&emission, record->attrs, attr_count)) {
        emission.data.attrs = NULL;
        emission.data.attr_count = 0;
        emission.data.dropped_attr_count =
            attr_count < UINT32_MAX ? (uint32_t)attr_count : UINT32_MAX;
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    }
    hooks_run(&emission, admitted);
    sp_scratch_release(&thread->scratch, mark);
}
