/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See counted.h. A head stands in front of each node. The pool has a reference for each node that is
 * taken and one until it is closed; a node's is given back after its slot, so that the slab is still
 * there.
 */
#include "sdk/memory/counted.h"

#include "sdk/memory/slab.h"
#include "sdk/platform/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct node_head {
    sp_counted_pool *pool;
    uint32_t index;
    uint32_t references;
} node_head;

_Static_assert(sizeof(node_head) == 16, "nodes are aligned as their heads");

struct sp_counted_pool {
    sp_slab slab;
    size_t node_bytes;
    void (*drop)(void *node);
    uint64_t references;
    bool closed;
};

static node_head *head_of(void *node) {
    return (node_head *)node - 1;
}

static void pool_unref(sp_counted_pool *pool) {
    if (--pool->references == 0) {
        sp_slab_fini(&pool->slab);
        free(pool);
    }
}

sp_counted_pool *sp_counted_pool_create(size_t node_bytes, uint64_t cap, void (*drop)(void *node)) {
    sp_counted_pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL) {
        sp_slab_init(&pool->slab, sizeof(node_head) + node_bytes, cap);
        pool->node_bytes = node_bytes;
        pool->drop = drop;
        pool->references = 1;
    }
    return pool;
}

void sp_counted_pool_close(sp_counted_pool *pool) {
    if (pool != NULL && !pool->closed) {
        pool->closed = true;
        pool_unref(pool);
    }
}

void *sp_counted_take(sp_counted_pool *pool) {
    uint32_t index;
    node_head *head = pool->closed ? NULL : sp_slab_take(&pool->slab, &index);
    if (head == NULL) {
        return NULL;
    }
    *head = (node_head){pool, index, 1};
    pool->references++;
    return memset(head + 1, 0, pool->node_bytes);
}

void sp_counted_ref(void *node) {
    SP_CHECK(head_of(node)->references > 0);
    head_of(node)->references++;
}

void sp_counted_unref(void *node) {
    if (node == NULL) {
        return;
    }
    node_head *head = head_of(node);
    SP_CHECK(head->references > 0);
    if (head->references != 1) {
        head->references--;
        return;
    }
    /* One more while it is dropped: a reference that is taken and given in there is no second end. */
    sp_counted_pool *pool = head->pool;
    head->references = 2;
    if (pool->drop != NULL) {
        pool->drop(node);
    }
    SP_CHECK(head->references == 2);
    head->references = 0;
    (void)sp_slab_free(&pool->slab, head->index);
    pool_unref(pool);
}

uint64_t sp_counted_used(const sp_counted_pool *pool) {
    return pool->slab.used;
}

uint64_t sp_counted_refused(const sp_counted_pool *pool) {
    return pool->slab.refused;
}
