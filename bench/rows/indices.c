/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row 13: all indices of an allocator taken and freed, the making of it included; and steady churn at
 * seven eighths full. Row 24 is the same file with the library's checks switched on: see CMakeLists.txt.
 * An operation of the first is a whole round, of the second one take and one free.
 */
#include "bench/harness/bench.h"
#include "bench/naive/naive.h"
#include "sdk/memory/index_alloc.h"

#include <stdlib.h>

enum { TAKEN = 4000000, CHURN = 1000000 };

/* What churn frees: a fixed sequence that looks random, the same for all arms. */
static inline uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* ---- rounds: make, take all, free all ---- */

static void spool_rounds(bench_thread *thread) {
    unsigned length = thread->bench->parameter;
    sp_index_alloc *alloc = aligned_alloc(64, sizeof *alloc);
    if (!alloc) {
        abort();
    }
    for (uint64_t round = 0; round < thread->ops; round++) {
        (void)sp_index_alloc_init(alloc, length);
        uint32_t taken = 0;
        while (sp_index_alloc_take(alloc) != SP_INDEX_NONE) {
            taken++;
        }
        if (taken != length) {
            abort();
        }
        for (uint32_t i = 0; i < length; i++) {
            if (!sp_index_alloc_free(alloc, i)) {
                abort();
            }
        }
        bench_use(alloc);
    }
    free(alloc);
}

static void bitmap_rounds(bench_thread *thread) {
    unsigned length = thread->bench->parameter;
    for (uint64_t round = 0; round < thread->ops; round++) {
        naive_bitmap map;
        if (!naive_bitmap_init(&map, length)) {
            abort();
        }
        unsigned taken = 0;
        while (naive_bitmap_take(&map) != SIZE_MAX) {
            taken++;
        }
        if (taken != length) {
            abort();
        }
        for (unsigned i = 0; i < length; i++) {
            naive_bitmap_free(&map, i);
        }
        bench_use(map.words);
        naive_bitmap_fini(&map);
    }
}

static void stack_rounds(bench_thread *thread) {
    unsigned length = thread->bench->parameter;
    for (uint64_t round = 0; round < thread->ops; round++) {
        naive_stack stack;
        if (!naive_stack_init(&stack, length)) {
            abort();
        }
        unsigned taken = 0;
        while (naive_stack_take(&stack) != SIZE_MAX) {
            taken++;
        }
        if (taken != length) {
            abort();
        }
        for (unsigned i = 0; i < length; i++) {
            naive_stack_free(&stack, i);
        }
        bench_use(stack.free);
        naive_stack_fini(&stack);
    }
}

static void nothing(bench_thread *thread) {
    unsigned length = thread->bench->parameter;
    for (uint64_t round = 0; round < thread->ops; round++) {
        for (unsigned i = 0; i < 2 * length; i++) {
            bench_use(&i);
        }
    }
}

/* ---- churn: full to seven eighths, then one freed and one taken ---- */

typedef struct churn {
    sp_index_alloc alloc;
    naive_bitmap map;
    naive_stack stack;
    uint32_t held[SP_INDEX_MAX];
    uint32_t held_count;
} churn;

static void churn_begin(bench_thread *thread) {
    unsigned length = thread->bench->parameter;
    churn *own = aligned_alloc(64, (sizeof *own + 63) / 64 * 64);
    if (!own || !naive_bitmap_init(&own->map, length) || !naive_stack_init(&own->stack, length)) {
        abort();
    }
    (void)sp_index_alloc_init(&own->alloc, length);
    own->held_count = length / 8 * 7;
    /* All three hand out 0, 1, 2 ... at first. */
    for (uint32_t i = 0; i < own->held_count; i++) {
        own->held[i] = sp_index_alloc_take(&own->alloc);
        if (own->held[i] != i || naive_bitmap_take(&own->map) != i ||
            naive_stack_take(&own->stack) != i) {
            abort();
        }
    }
    thread->own = own;
}

static void churn_end(bench_thread *thread) {
    churn *own = thread->own;
    naive_bitmap_fini(&own->map);
    naive_stack_fini(&own->stack);
    free(own);
}

static void spool_churn(bench_thread *thread) {
    churn *own = thread->own;
    uint32_t random = 1;
    for (uint64_t i = 0; i < thread->ops; i++) {
        uint32_t *at = &own->held[next_random(&random) % own->held_count];
        (void)sp_index_alloc_free(&own->alloc, *at);
        *at = sp_index_alloc_take(&own->alloc);
    }
    bench_use(own);
}

static void bitmap_churn(bench_thread *thread) {
    churn *own = thread->own;
    uint32_t random = 1;
    for (uint64_t i = 0; i < thread->ops; i++) {
        uint32_t *at = &own->held[next_random(&random) % own->held_count];
        naive_bitmap_free(&own->map, *at);
        *at = (uint32_t)naive_bitmap_take(&own->map);
    }
    bench_use(own);
}

static void stack_churn(bench_thread *thread) {
    churn *own = thread->own;
    uint32_t random = 1;
    for (uint64_t i = 0; i < thread->ops; i++) {
        uint32_t *at = &own->held[next_random(&random) % own->held_count];
        naive_stack_free(&own->stack, *at);
        *at = (uint32_t)naive_stack_take(&own->stack);
    }
    bench_use(own);
}

/* The random choice and the write-back, which are in all arms. */
static void churn_control(bench_thread *thread) {
    churn *own = thread->own;
    uint32_t random = 1;
    for (uint64_t i = 0; i < thread->ops; i++) {
        uint32_t *at = &own->held[next_random(&random) % own->held_count];
        *at ^= 1;
    }
    bench_use(own);
}

#define ROUND_CASE(name, length, loop)                                                             \
    { name, 1, TAKEN / (length), length, 0, false, NULL, NULL, NULL, NULL, loop, NULL }
#define CHURN_CASE(name, length, loop)                                                             \
    { name, 1, CHURN, length, 0, false, NULL, NULL, NULL, churn_begin, loop, churn_end }

#ifdef BENCH_CHECKED

static const bench_case cases[] = {
    ROUND_CASE("24/fill_drain/2048/checks2", 2048, spool_rounds),
    CHURN_CASE("24/churn/2048/checks2", 2048, spool_churn),
};

const bench_suite bench_suite_indices_checked = {cases, sizeof cases / sizeof cases[0]};

/* The arms of the other build are not in this one. */
static void (*const unused[])(bench_thread *) SP_UNUSED = {
    bitmap_rounds, stack_rounds, nothing, bitmap_churn, stack_churn, churn_control};

#else

#define ROUND_ARMS(length)                                                                         \
    ROUND_CASE("13/fill_drain/" #length "/spool", length, spool_rounds),                           \
        ROUND_CASE("13/fill_drain/" #length "/naive", length, bitmap_rounds),                      \
        ROUND_CASE("13/fill_drain/" #length "/stack", length, stack_rounds),                       \
        ROUND_CASE("13/fill_drain/" #length "/control", length, nothing)
#define CHURN_ARMS(length)                                                                         \
    CHURN_CASE("13/churn/" #length "/spool", length, spool_churn),                                 \
        CHURN_CASE("13/churn/" #length "/naive", length, bitmap_churn),                            \
        CHURN_CASE("13/churn/" #length "/stack", length, stack_churn),                             \
        CHURN_CASE("13/churn/" #length "/control", length, churn_control)

static const bench_case cases[] = {
    ROUND_ARMS(256),
    ROUND_ARMS(1024),
    ROUND_ARMS(2048),
    ROUND_ARMS(4096),
    ROUND_ARMS(65),
    ROUND_ARMS(257),
    ROUND_ARMS(4095),
    CHURN_ARMS(256),
    CHURN_ARMS(1024),
    CHURN_ARMS(2048),
    CHURN_ARMS(4096),
    ROUND_CASE("24/fill_drain/2048/checks0", 2048, spool_rounds),
    CHURN_CASE("24/churn/2048/checks0", 2048, spool_churn),
};

const bench_suite bench_suite_indices = {cases, sizeof cases / sizeof cases[0]};

#endif
