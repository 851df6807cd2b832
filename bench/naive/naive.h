/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The naive arms: what a competent programmer writes in an afternoon. Spans are allocated and found in
 * one hash table under one lock, extensions are allocated and found in a table of each span, texts are
 * made with snprintf, free indices are a flat bitmap, queues have a lock.
 */
#ifndef SPOOL_BENCH_NAIVE_NAIVE_H
#define SPOOL_BENCH_NAIVE_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- spans ---- */

/* A counted span; a child keeps its parent alive. `text` is its "name{fields}:". */
uint64_t naive_span_new(const char *text, uint64_t parent);
/* Drops one reference; the last one frees the span, then drops the parent's. */
void naive_span_drop(uint64_t id);
/* Extension `type` of the span, allocated and zeroed on first use. */
void *naive_span_extension(uint64_t id, unsigned type, size_t size);
/* The thread's stack of entered spans holds a reference on each. */
void naive_span_enter(uint64_t id);
void naive_span_exit(void);
/* Formats "time level scope: target: n=<value>" and hands it to the discarding writer. */
void naive_event(const char *target, int64_t value);

/* ---- indices ---- */

/* One bit each, 1 = taken, scanned from the start: the system that row 13 comes from. */
typedef struct naive_bitmap {
    uint64_t *words;
    size_t length;
} naive_bitmap;
bool naive_bitmap_init(naive_bitmap *map, size_t length);
void naive_bitmap_fini(naive_bitmap *map);
size_t naive_bitmap_take(naive_bitmap *map); /* SIZE_MAX: none */
void naive_bitmap_free(naive_bitmap *map, size_t index);

/* A stack of free indices: fast, and two bytes each instead of a bit. */
typedef struct naive_stack {
    uint16_t *free;
    size_t count;
} naive_stack;
bool naive_stack_init(naive_stack *stack, size_t length);
void naive_stack_fini(naive_stack *stack);
static inline size_t naive_stack_take(naive_stack *stack) {
    return stack->count ? stack->free[--stack->count] : SIZE_MAX;
}
static inline void naive_stack_free(naive_stack *stack, size_t index) {
    stack->free[stack->count++] = (uint16_t)index;
}

/* ---- a queue ---- */

typedef struct naive_queue naive_queue;
naive_queue *naive_queue_create(size_t capacity);
void naive_queue_destroy(naive_queue *queue);
bool naive_queue_push(naive_queue *queue, uint64_t value);
bool naive_queue_pop(naive_queue *queue, uint64_t *out_value);

#endif /* SPOOL_BENCH_NAIVE_NAIVE_H */
