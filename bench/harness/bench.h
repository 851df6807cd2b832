/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a benchmark is to the harness: a case with its loop, run by long-lived pinned threads that take
 * the time themselves. See bench/README.md.
 *
 * A name is row/workload/parameter/arm. Arms of one workload do the same work: `spool` and its
 * variants, `naive` (what one would write without Spool), `control` (the loop with nothing in it).
 */
#ifndef SPOOL_BENCH_HARNESS_BENCH_H
#define SPOOL_BENCH_HARNESS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_case bench_case;

/* One thread's part of one repetition. */
typedef struct bench_thread {
    const bench_case *bench;
    unsigned index;
    uint64_t ops;  /* to be done by the loop now */
    void *shared;  /* what `begin` returned */
    void *own;     /* the thread's, from thread_begin to thread_end */
    double figure; /* what the loop found out, printed if not zero: see bench_case.figure */

    /* Results, over the loop alone. */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;           /* CLOCK_THREAD_CPUTIME_ID */
    uint64_t mallocs, mmaps;
} bench_thread;

/* One benchmark. Functions but `loop` may be NULL. All but begin and end run on the threads. */
struct bench_case {
    const char *name;
    unsigned threads;   /* 0 means 1 */
    uint64_t ops;       /* of each thread in each repetition; what ns/op divides by */
    unsigned parameter; /* the workload's own: events per iteration, nodes, depth, ... */
    unsigned variant;   /* the same */
    bool cold;          /* fresh threads, no warm-up; for what the first operation costs */
    const char *figure; /* the name of bench_thread.figure (the first thread's) */
    void *(*begin)(const bench_case *bench);
    void (*end)(const bench_case *bench, void *shared);
    void (*thread_begin)(bench_thread *thread);
    void (*loop)(bench_thread *thread);
    void (*thread_end)(bench_thread *thread);
};

typedef struct bench_suite {
    const bench_case *cases;
    size_t count;
} bench_suite;

extern const bench_suite bench_suite_events;
extern const bench_suite bench_suite_spans;
extern const bench_suite bench_suite_filters;
extern const bench_suite bench_suite_current;
extern const bench_suite bench_suite_lists;
extern const bench_suite bench_suite_indices;
extern const bench_suite bench_suite_indices_checked;
extern const bench_suite bench_suite_polls;

/* What one repetition measured. */
typedef struct bench_result {
    double ns_per_op;      /* mean over the threads of the time inside each */
    double cpu_ns_per_op;  /* the same, of processor time */
    double wall_ns_per_op; /* first start to last end, by the operations of all threads */
    double mallocs_per_op, mmaps_per_op;
    double figure;
} bench_result;

enum { BENCH_MAX_THREADS = 4 };

/* Starts the threads, pinned to the processors in turn. False: not possible. */
bool bench_threads_start(void);
void bench_threads_stop(void);
/* Runs one repetition. */
void bench_run(const bench_case *bench, bench_result *out_result);

/* The value is used, and memory may be read and changed here, as far as the compiler can tell. */
static inline void bench_use(const volatile void *value) {
    __asm__ volatile("" : : "r"(value) : "memory");
}

#ifdef __cplusplus
}
#endif

#endif /* SPOOL_BENCH_HARNESS_BENCH_H */
