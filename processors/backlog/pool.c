/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog's memory: see backlog_internal.h. errno is left as it was. */
#include "processors/backlog/backlog_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t class_bytes(unsigned class) {
    return (size_t)BACKLOG_SMALLEST << (2 * class);
}

/* BACKLOG_CLASSES: larger than all. */
static unsigned class_of(size_t size) {
    unsigned class = 0;
    while (class < BACKLOG_CLASSES && class_bytes(class) < size) {
        class ++;
    }
    return class;
}

void backlog_pool_init(backlog_pool *pool, uint64_t limit) {
    memset(pool, 0, sizeof *pool);
    (void)pthread_mutex_init(&pool->lock, NULL);
    pool->limit = limit;
}

static void *pop(backlog_pool *pool, unsigned class) {
    void *block = pool->free[class];
    if (block) {
        memcpy(&pool->free[class], block, sizeof(void *));
    }
    return block;
}

/* Frees unused blocks until `size` bytes more are within the limit. */
static bool make_room(backlog_pool *pool, size_t size) {
    for (unsigned class = BACKLOG_CLASSES; class -- > 0;) {
        while (pool->held + size > pool->limit && pool->free[class]) {
            free(pop(pool, class));
            pool->held -= class_bytes(class);
        }
    }
    return size <= pool->limit && pool->held <= pool->limit - size;
}

void backlog_pool_fini(backlog_pool *pool) {
    pool->limit = 0;
    (void)make_room(pool, 0);
    (void)pthread_mutex_destroy(&pool->lock);
}

void *backlog_pool_take(backlog_pool *pool, size_t size, size_t *out_size, uint32_t *out_cause) {
    int saved_errno = errno;
    unsigned class = class_of(size);
    size_t bytes = class < BACKLOG_CLASSES ? class_bytes(class) : size;
    *out_size = bytes;
    *out_cause = SPOOL_DROP_LIMIT;
    (void)pthread_mutex_lock(&pool->lock);
    void *block = class < BACKLOG_CLASSES ? pop(pool, class) : NULL;
    if (!block && make_room(pool, bytes)) {
        *out_cause = SPOOL_DROP_MEMORY;
        block = malloc(bytes);
        pool->held += block ? bytes : 0;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    errno = saved_errno;
    return block;
}

void backlog_pool_give(backlog_pool *pool, void *block, size_t size) {
    unsigned class = class_of(size);
    (void)pthread_mutex_lock(&pool->lock);
    if (class < BACKLOG_CLASSES) {
        memcpy(block, &pool->free[class], sizeof(void *));
        pool->free[class] = block;
        block = NULL;
    } else {
        pool->held -= size;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    free(block);
}
