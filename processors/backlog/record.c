/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deep copies of log records, each in one block: arrays first, where alignment matters, then bytes.
 * Scope and resource outlive the record and are not copied.
 */
#include "processors/backlog/backlog_internal.h"

#include <string.h>

enum { MAX_DEPTH = 64 }; /* what is nested deeper becomes empty */

/* Sizes first, then the places where the next array and the next bytes go. */
typedef struct copy_room {
    size_t arrays;
    size_t bytes;
    uint8_t *next_array;
    char *next_byte;
} copy_room;

static void measure_attrs(copy_room *room, const spool_attr *attrs, size_t count, unsigned depth);

static void measure_value(copy_room *room, const spool_value *value, unsigned depth) {
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        room->bytes += value->as.string.len;
        break;
    case SPOOL_VALUE_BYTES:
        room->bytes += value->as.bytes.len;
        break;
    case SPOOL_VALUE_ARRAY:
        if (depth < MAX_DEPTH) {
            room->arrays += value->as.array.count * sizeof(spool_value);
            for (size_t i = 0; i < value->as.array.count; i++) {
                measure_value(room, &value->as.array.items[i], depth + 1);
            }
        }
        break;
    case SPOOL_VALUE_MAP:
        if (depth < MAX_DEPTH) {
            measure_attrs(room, value->as.map.items, value->as.map.count, depth + 1);
        }
        break;
    default:
        break;
    }
}

static void measure_attrs(copy_room *room, const spool_attr *attrs, size_t count, unsigned depth) {
    room->arrays += count * sizeof(spool_attr);
    for (size_t i = 0; i < count; i++) {
        room->bytes += attrs[i].key.len;
        measure_value(room, &attrs[i].value, depth);
    }
}

static void *array_take(copy_room *room, size_t bytes) {
    void *array = room->next_array;
    room->next_array += bytes;
    return array;
}

static const char *bytes_copy(copy_room *room, const void *bytes, size_t len) {
    char *copy = room->next_byte;
    if (len) {
        memcpy(copy, bytes, len);
    }
    room->next_byte += len;
    return copy;
}

static void text_copy(copy_room *room, spool_str *text) {
    if (text->ptr) {
        text->ptr = bytes_copy(room, text->ptr, text->len);
    }
}

static const spool_attr *attrs_copy(copy_room *room, const spool_attr *attrs, size_t count,
                                    unsigned depth);

/* `value` is a copy whose pointers are still the original's. */
static void value_copy(copy_room *room, spool_value *value, unsigned depth) {
    bool nested = value->type == SPOOL_VALUE_ARRAY || value->type == SPOOL_VALUE_MAP;
    if (nested && depth >= MAX_DEPTH) {
        *value = spool_value_empty();
    } else if (value->type == SPOOL_VALUE_STRING) {
        text_copy(room, &value->as.string);
    } else if (value->type == SPOOL_VALUE_BYTES) {
        value->as.bytes.ptr =
            (const void *)bytes_copy(room, value->as.bytes.ptr, value->as.bytes.len);
    } else if (value->type == SPOOL_VALUE_ARRAY) {
        size_t count = value->as.array.count;
        spool_value *items = array_take(room, count * sizeof *items);
        for (size_t i = 0; i < count; i++) {
            items[i] = value->as.array.items[i];
            value_copy(room, &items[i], depth + 1);
        }
        value->as.array.items = items;
    } else if (value->type == SPOOL_VALUE_MAP) {
        value->as.map.items = attrs_copy(room, value->as.map.items, value->as.map.count, depth + 1);
    }
}

static const spool_attr *attrs_copy(copy_room *room, const spool_attr *attrs, size_t count,
                                    unsigned depth) {
    spool_attr *copy = array_take(room, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = attrs[i];
        text_copy(room, &copy[i].key);
        value_copy(room, &copy[i].value, depth);
    }
    return copy;
}

backlog_record *backlog_record_copy(backlog_pool *pool, const spool_log_data *log,
                                    uint64_t max_bytes, uint32_t *out_cause) {
    copy_room room = {0, log->severity_text.len + log->event_name.len, NULL, NULL};
    measure_value(&room, &log->body, 1);
    measure_attrs(&room, log->attrs, log->attr_count, 1);
    size_t size = sizeof(backlog_record) + room.arrays + room.bytes;
    if (size > max_bytes) {
        *out_cause = SPOOL_DROP_TOO_LARGE;
        return NULL;
    }
    size_t block_bytes;
    backlog_record *record = backlog_pool_take(pool, size, &block_bytes, out_cause);
    if (!record) {
        return NULL;
    }
    room.next_array = (uint8_t *)(record + 1);
    room.next_byte = (char *)room.next_array + room.arrays;
    record->next = NULL;
    record->block_bytes = block_bytes;
    record->data = *log;
    record->data.struct_size = sizeof record->data;
    text_copy(&room, &record->data.severity_text);
    text_copy(&room, &record->data.event_name);
    value_copy(&room, &record->data.body, 1);
    record->data.attrs = attrs_copy(&room, log->attrs, log->attr_count, 1);
    return record;
}

/* ---- queues ---- */

void backlog_queue_push(backlog_queue *queue, backlog_record *record) {
    record->next = NULL;
    if (queue->tail) {
        queue->tail->next = record;
    } else {
        queue->head = record;
    }
    queue->tail = record;
    queue->count++;
    queue->bytes += record->block_bytes;
}

void backlog_queue_append(backlog_queue *queue, backlog_queue *from) {
    if (!from->head) {
        return;
    }
    if (queue->tail) {
        queue->tail->next = from->head;
    } else {
        queue->head = from->head;
    }
    queue->tail = from->tail;
    queue->count += from->count;
    queue->bytes += from->bytes;
    *from = (backlog_queue){0};
}

static backlog_record *merge(backlog_record *a, backlog_record *b) {
    backlog_record *head = NULL;
    backlog_record **end = &head;
    while (a && b) {
        backlog_record **least = a->sequence <= b->sequence ? &a : &b;
        *end = *least;
        *least = (*least)->next;
        end = &(*end)->next;
    }
    *end = a ? a : b;
    return head;
}

/* Merges lists of 1, 2, 4, ... records, each kept at its power of two: no recursion, no memory. */
void backlog_queue_sort(backlog_queue *queue) {
    enum { POWERS = 40 };
    backlog_record *sorted[POWERS] = {NULL};
    backlog_record *at = queue->head;
    while (at) {
        backlog_record *next = at->next;
        at->next = NULL;
        unsigned power = 0;
        for (; power < POWERS - 1 && sorted[power]; power++) {
            at = merge(sorted[power], at);
            sorted[power] = NULL;
        }
        sorted[power] = merge(sorted[power], at);
        at = next;
    }
    queue->head = NULL;
    for (unsigned power = 0; power < POWERS; power++) {
        queue->head = merge(sorted[power], queue->head);
    }
    queue->tail = queue->head;
    while (queue->tail && queue->tail->next) {
        queue->tail = queue->tail->next;
    }
}
