/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row 25: looking before locking. What the consumer of a ring, and the owner of an allocator with remote
 * frees, pay when there is nothing; and a drain while a producer writes.
 */
#include "bench/harness/bench.h"
#include "bench/naive/naive.h"
#include "runtime/ring.h"
#include "sdk/memory/index_alloc.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { POLLS = 10000000, LOCKED_POLLS = 2000000, RECORDS = 500000, QUEUE = 4096 };

/* ---- empty ---- */

static void ring_begin(bench_thread *thread) {
    sp_ring *ring = sp_ring_create();
    uint8_t *at = ring ? sp_ring_reserve(ring, 8) : NULL;
    sp_ring_record record;
    if (!at) {
        abort();
    }
    memset(at, 0, 8);
    sp_ring_publish(ring, 8, NULL);
    if (!sp_ring_next(ring, &record)) {
        abort();
    }
    thread->own = ring;
}

static void ring_end(bench_thread *thread) {
    sp_ring_destroy(thread->own);
}

static void ring_polls(bench_thread *thread) {
    sp_ring *ring = thread->own;
    for (uint64_t i = 0; i < thread->ops; i++) {
        sp_ring_record record;
        if (sp_ring_next(ring, &record)) {
            abort();
        }
    }
}

static void alloc_begin(bench_thread *thread) {
    sp_index_alloc *alloc = aligned_alloc(64, sizeof *alloc);
    if (!alloc) {
        abort();
    }
    (void)sp_index_alloc_init(alloc, 4096);
    while (sp_index_alloc_take(alloc) != SP_INDEX_NONE) {
    }
    thread->own = alloc;
}

static void own_free(bench_thread *thread) {
    free(thread->own);
}

static void merge_polls(bench_thread *thread) {
    sp_index_alloc *alloc = thread->own;
    for (uint64_t i = 0; i < thread->ops; i++) {
        if (sp_index_alloc_merge(alloc) != 0) {
            abort();
        }
    }
}

static void queue_begin(bench_thread *thread) {
    thread->own = naive_queue_create(QUEUE);
    if (!thread->own) {
        abort();
    }
}

static void queue_end(bench_thread *thread) {
    naive_queue_destroy(thread->own);
}

static void queue_polls(bench_thread *thread) {
    naive_queue *queue = thread->own;
    for (uint64_t i = 0; i < thread->ops; i++) {
        uint64_t value;
        if (naive_queue_pop(queue, &value)) {
            abort();
        }
        bench_use(queue);
    }
}

static void nothing(bench_thread *thread) {
    for (uint64_t i = 0; i < thread->ops; i++) {
        bench_use(&i);
    }
}

/* ---- contended: the first thread drains what the second writes ---- */

static void *shared_ring(const bench_case *bench) {
    (void)bench;
    sp_ring *ring = sp_ring_create();
    if (!ring) {
        abort();
    }
    return ring;
}

static void shared_ring_free(const bench_case *bench, void *shared) {
    (void)bench;
    sp_ring_destroy(shared);
}

static void ring_transfer(bench_thread *thread) {
    sp_ring *ring = thread->shared;
    for (uint64_t i = 0; i < thread->ops;) {
        if (thread->index == 1) {
            uint8_t *at = sp_ring_reserve(ring, sizeof i);
            if (!at) {
                abort();
            }
            memcpy(at, &i, sizeof i);
            sp_ring_publish(ring, sizeof i, NULL);
            i++;
            continue;
        }
        sp_ring_record record;
        if (sp_ring_next(ring, &record)) {
            if (memcmp(record.bytes, &i, sizeof i) != 0) {
                abort();
            }
            i++;
        } else {
            (void)sched_yield();
        }
    }
}

static void *shared_queue(const bench_case *bench) {
    (void)bench;
    naive_queue *queue = naive_queue_create(QUEUE);
    if (!queue) {
        abort();
    }
    return queue;
}

static void shared_queue_free(const bench_case *bench, void *shared) {
    (void)bench;
    naive_queue_destroy(shared);
}

static void queue_transfer(bench_thread *thread) {
    naive_queue *queue = thread->shared;
    for (uint64_t i = 0; i < thread->ops;) {
        uint64_t value = i;
        if (thread->index == 1 ? naive_queue_push(queue, i) : naive_queue_pop(queue, &value)) {
            if (value != i) {
                abort();
            }
            i++;
        } else {
            (void)sched_yield();
        }
    }
}

static const bench_case cases[] = {
    {"25/empty_poll/ring/spool", 1, POLLS, 0, 0, false, NULL, NULL, NULL, ring_begin, ring_polls,
     ring_end},
    {"25/empty_poll/remote_frees/spool", 1, POLLS, 0, 0, false, NULL, NULL, NULL, alloc_begin,
     merge_polls, own_free},
    {"25/empty_poll/ring/naive", 1, LOCKED_POLLS, 0, 0, false, NULL, NULL, NULL, queue_begin,
     queue_polls, queue_end},
    {"25/empty_poll/ring/control", 1, POLLS, 0, 0, false, NULL, NULL, NULL, NULL, nothing, NULL},
    {"25/contended_drain/ring/spool", 2, RECORDS, 0, 0, false, NULL, shared_ring, shared_ring_free,
     NULL, ring_transfer, NULL},
    {"25/contended_drain/ring/naive", 2, RECORDS, 0, 0, false, NULL, shared_queue,
     shared_queue_free, NULL, queue_transfer, NULL},
};

const bench_suite bench_suite_polls = {cases, sizeof cases / sizeof cases[0]};
