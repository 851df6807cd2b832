/* SPDX-License-Identifier: Apache-2.0 */
/* Index allocators and a queue the naive way; see naive.h. */
#include "bench/naive/naive.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

bool naive_bitmap_init(naive_bitmap *map, size_t length) {
    size_t words = (length + 63) / 64;
    map->length = length;
    map->words = calloc(words ? words : 1, sizeof *map->words);
    if (map->words && length % 64) {
        map->words[words - 1] = UINT64_MAX << (length % 64);
    }
    return map->words != NULL;
}

void naive_bitmap_fini(naive_bitmap *map) {
    free(map->words);
}

size_t naive_bitmap_take(naive_bitmap *map) {
    for (size_t w = 0; w * 64 < map->length; w++) {
        if (map->words[w] != UINT64_MAX) {
            unsigned bit = (unsigned)__builtin_ctzll(~map->words[w]);
            map->words[w] |= UINT64_C(1) << bit;
            return w * 64 + bit;
        }
    }
    return SIZE_MAX;
}

void naive_bitmap_free(naive_bitmap *map, size_t index) {
    map->words[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

bool naive_stack_init(naive_stack *stack, size_t length) {
    stack->free = malloc(length * sizeof *stack->free);
    stack->count = 0;
    while (stack->free && stack->count < length) {
        stack->free[stack->count] = (uint16_t)(length - 1 - stack->count);
        stack->count++;
    }
    return stack->free != NULL;
}

void naive_stack_fini(naive_stack *stack) {
    free(stack->free);
}

struct naive_queue {
    pthread_mutex_t lock;
    uint64_t *values;
    size_t capacity;
    size_t first;
    size_t count;
};

naive_queue *naive_queue_create(size_t capacity) {
    naive_queue *queue = calloc(1, sizeof *queue);
    if (!queue || !(queue->values = calloc(capacity, sizeof *queue->values))) {
        free(queue);
        return NULL;
    }
    (void)pthread_mutex_init(&queue->lock, NULL);
    queue->capacity = capacity;
    return queue;
}

void naive_queue_destroy(naive_queue *queue) {
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue->values);
    free(queue);
}

bool naive_queue_push(naive_queue *queue, uint64_t value) {
    (void)pthread_mutex_lock(&queue->lock);
    bool room = queue->count < queue->capacity;
    if (room) {
        queue->values[(queue->first + queue->count++) % queue->capacity] = value;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return room;
}

bool naive_queue_pop(naive_queue *queue, uint64_t *out_value) {
    (void)pthread_mutex_lock(&queue->lock);
    bool any = queue->count != 0;
    if (any) {
        *out_value = queue->values[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return any;
}
