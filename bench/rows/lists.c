/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows 11 and 12: 10,000 nodes with a number in each are taken and pushed on a list; then popped, checked
 * and given back. Row 11 links by index in a slab; row 12 by pointer, with a reference count in each node,
 * from a pool or from malloc, made in the timed part or before. An operation is one such round.
 */
#include "bench/harness/bench.h"
#include "sdk/memory/list.h"
#include "sdk/memory/slab.h"

#include <stdlib.h>

enum { NODES = 10000, ROUNDS = 50 };

/* ---- row 11: indices in a slab ---- */

typedef struct seat {
    uint64_t value;
    SP_LIST_INDEX_LINK link;
} seat;

static inline seat *seat_at(sp_slab *slab, uint32_t index) {
    return sp_slab_at(slab, index);
}

SP_LIST_INDICES(seat_list, sp_slab, seat_at, link);

static void slab_make(bench_thread *thread) {
    sp_slab *slab = calloc(1, sizeof *slab);
    if (!slab) {
        abort();
    }
    sp_slab_init(slab, sizeof(seat), NODES);
    thread->own = slab;
}

static void slab_free(bench_thread *thread) {
    sp_slab_fini(thread->own);
    free(thread->own);
}

static void check(uint64_t value, uint64_t expected) {
    if (value != expected) {
        abort();
    }
}

static void slab_list(bench_thread *thread) {
    sp_slab *slab = thread->own;
    for (uint64_t round = 0; round < thread->ops; round++) {
        seat_list list;
        seat_list_init(&list);
        uint32_t index;
        uint64_t value = 0;
        seat *node;
        while ((node = sp_slab_take(slab, &index)) != NULL) {
            node->value = value++;
            node->link.prev = SP_LIST_NO_INDEX;
            node->link.next = SP_LIST_NO_INDEX;
            seat_list_push_back(&list, slab, index);
        }
        check(value, NODES);
        for (value = 0; !seat_list_is_empty(&list); value++) {
            index = seat_list_pop_front(&list, slab);
            check(seat_at(slab, index)->value, value);
            (void)sp_slab_free(slab, index);
        }
        check(value, NODES);
    }
}

/* ---- row 12: counted nodes by pointer ---- */

typedef struct counted {
    uint64_t value;
    uint32_t references;
    uint32_t index; /* in its pool */
    SP_LIST_LINK(struct counted) link;
} counted;

SP_LIST_POINTERS(counted_list, counted, link);

typedef struct pool {
    sp_slab slab;
    counted *made[NODES];
} pool;

static void pool_make(bench_thread *thread) {
    pool *own = calloc(1, sizeof *own);
    if (!own) {
        abort();
    }
    sp_slab_init(&own->slab, sizeof(counted), NODES);
    thread->own = own;
}

static void pool_free(bench_thread *thread) {
    pool *own = thread->own;
    sp_slab_fini(&own->slab);
    free(own);
}

static inline counted *counted_new(pool *from, bool heap) {
    uint32_t index = 0;
    counted *node = heap ? malloc(sizeof *node) : sp_slab_take(&from->slab, &index);
    if (!node) {
        abort();
    }
    node->references = 1;
    node->index = index;
    node->link.prev = NULL;
    node->link.next = NULL;
    return node;
}

static inline void counted_drop(pool *from, bool heap, counted *node) {
    if (--node->references) {
        return;
    }
    if (heap) {
        free(node);
    } else {
        (void)sp_slab_free(&from->slab, node->index);
    }
}

static inline void counted_rounds(bench_thread *thread, bool heap) {
    pool *own = thread->own;
    for (uint64_t round = 0; round < thread->ops; round++) {
        counted_list list = {NULL, NULL};
        for (uint64_t value = 0; value < NODES; value++) {
            counted *node = counted_new(own, heap);
            node->value = value;
            node->references++; /* the list's */
            counted_list_push_back(&list, NULL, node);
            counted_drop(own, heap, node);
        }
        for (uint64_t value = 0; value < NODES; value++) {
            counted *node = counted_list_pop_front(&list, NULL);
            check(node->value, value);
            counted_drop(own, heap, node);
        }
    }
}

static void pool_list(bench_thread *thread) {
    counted_rounds(thread, false);
}

static void heap_list(bench_thread *thread) {
    counted_rounds(thread, true);
}

static inline void made_rounds(bench_thread *thread) {
    pool *own = thread->own;
    for (uint64_t round = 0; round < thread->ops; round++) {
        counted_list list = {NULL, NULL};
        for (uint64_t value = 0; value < NODES; value++) {
            counted *node = own->made[value];
            node->value = value;
            node->references++;
            counted_list_push_back(&list, NULL, node);
        }
        for (uint64_t value = 0; value < NODES; value++) {
            counted *node = counted_list_pop_front(&list, NULL);
            check(node->value, value);
            node->references--;
        }
    }
}

static void made_list(bench_thread *thread) {
    made_rounds(thread);
}

static void made_in_pool(bench_thread *thread) {
    pool_make(thread);
    pool *own = thread->own;
    for (unsigned i = 0; i < NODES; i++) {
        own->made[i] = counted_new(own, false);
    }
}

static void made_on_heap(bench_thread *thread) {
    pool_make(thread);
    pool *own = thread->own;
    for (unsigned i = 0; i < NODES; i++) {
        own->made[i] = counted_new(own, true);
    }
}

static void made_on_heap_end(bench_thread *thread) {
    pool *own = thread->own;
    for (unsigned i = 0; i < NODES; i++) {
        free(own->made[i]);
    }
    pool_free(thread);
}

static void nothing(bench_thread *thread) {
    for (uint64_t round = 0; round < thread->ops; round++) {
        for (uint64_t value = 0; value < NODES; value++) {
            bench_use(&value);
        }
    }
}

#define LIST_CASE(name, begin, loop, end)                                                          \
    { name, 1, ROUNDS, NODES, 0, false, NULL, NULL, NULL, begin, loop, end }

static const bench_case cases[] = {
    LIST_CASE("11/slab_list/10k/spool", slab_make, slab_list, slab_free),
    LIST_CASE("11/slab_list/10k/naive", pool_make, heap_list, pool_free),
    LIST_CASE("11/slab_list/10k/control", NULL, nothing, NULL),
    LIST_CASE("12/counted_list/pool/spool", pool_make, pool_list, pool_free),
    LIST_CASE("12/counted_list/heap/spool", pool_make, heap_list, pool_free),
    LIST_CASE("12/counted_list/made_in_pool/spool", made_in_pool, made_list, pool_free),
    LIST_CASE("12/counted_list/made_on_heap/spool", made_on_heap, made_list, made_on_heap_end),
    LIST_CASE("12/counted_list/pool/control", NULL, nothing, NULL),
};

const bench_suite bench_suite_lists = {cases, sizeof cases / sizeof cases[0]};
