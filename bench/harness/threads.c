/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of the harness. They live as long as the program; a repetition wakes them, lets them warm
 * up, and starts their loops together behind a barrier. Each takes the time itself.
 *
 * Owner: the main thread writes `job` while all workers wait at `gate`, and reads the results after
 * they came back to it. Cold cases run on threads of their own, one after another.
 */
#include "bench/harness/bench.h"
#include "tests/support/malloc_count.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP_SHARE = 8, COLD_THREADS = 16, COLD_STACK_BYTES = 256 * 1024 };

static pthread_t workers[BENCH_MAX_THREADS];
static pthread_barrier_t gate; /* the workers and the main thread */
static bench_thread parts[BENCH_MAX_THREADS];
static pthread_barrier_t line; /* the workers of one repetition */
static unsigned line_threads;
static const bench_case *job; /* NULL: the end */

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void pin(unsigned index) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(index % (unsigned)(processors > 0 ? processors : 1), &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void timed_loop(bench_thread *part) {
    const bench_case *bench = part->bench;
    uint64_t mallocs = spt_mallocs_of_thread();
    uint64_t mmaps = spt_mmaps_of_thread();
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    part->start_ns = clock_ns(CLOCK_MONOTONIC);
    bench->loop(part);
    part->end_ns = clock_ns(CLOCK_MONOTONIC);
    part->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    part->mallocs = spt_mallocs_of_thread() - mallocs;
    part->mmaps = spt_mmaps_of_thread() - mmaps;
}

static void work(bench_thread *part) {
    const bench_case *bench = part->bench;
    if (bench->thread_begin) {
        bench->thread_begin(part);
    }
    if (!bench->cold) {
        part->ops = bench->ops / WARM_UP_SHARE + 1;
        bench->loop(part);
    }
    part->ops = bench->ops;
    part->figure = 0;
    if (!bench->cold) {
        (void)pthread_barrier_wait(&line);
    }
    timed_loop(part);
    if (bench->thread_end) {
        bench->thread_end(part);
    }
}

static void *worker(void *arg) {
    bench_thread *part = arg;
    unsigned index = (unsigned)(part - parts);
    pin(index);
    for (;;) {
        (void)pthread_barrier_wait(&gate);
        const bench_case *bench = job;
        if (!bench) {
            return NULL;
        }
        if (index < line_threads) {
            work(part);
        }
        (void)pthread_barrier_wait(&gate);
    }
}

static void *cold_worker(void *arg) {
    pin(0);
    work(arg);
    return NULL;
}

bool bench_threads_start(void) {
    if (pthread_barrier_init(&gate, NULL, BENCH_MAX_THREADS + 1) != 0) {
        return false;
    }
    for (unsigned i = 0; i < BENCH_MAX_THREADS; i++) {
        if (pthread_create(&workers[i], NULL, worker, &parts[i]) != 0) {
            return false;
        }
    }
    return true;
}

void bench_threads_stop(void) {
    job = NULL;
    (void)pthread_barrier_wait(&gate);
    for (unsigned i = 0; i < BENCH_MAX_THREADS; i++) {
        (void)pthread_join(workers[i], NULL);
    }
}

static void part_prepare(bench_thread *part, const bench_case *bench, unsigned index,
                         void *shared) {
    memset(part, 0, sizeof *part);
    part->bench = bench;
    part->index = index;
    part->shared = shared;
}

static void add_up(const bench_thread *of, unsigned threads, uint64_t ops, bench_result *out) {
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    double total = (double)ops * threads;
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < threads; i++) {
        first = of[i].start_ns < first ? of[i].start_ns : first;
        last = of[i].end_ns > last ? of[i].end_ns : last;
        out->ns_per_op += (double)(of[i].end_ns - of[i].start_ns) / total;
        out->cpu_ns_per_op += (double)of[i].cpu_ns / total;
        out->mallocs_per_op += (double)of[i].mallocs / total;
        out->mmaps_per_op += (double)of[i].mmaps / total;
    }
    out->wall_ns_per_op = (double)(last - first) / total;
    out->figure = of[0].figure;
}

static int by_value(const void *a, const void *b) {
    const double *left = a;
    const double *right = b;
    return (*left > *right) - (*left < *right);
}

/* One operation on each of some fresh threads; the median, since a first operation may be anything. */
static void run_cold(const bench_case *bench, void *shared, bench_result *out) {
    double times[COLD_THREADS];
    double mallocs = 0;
    double mmaps = 0;
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, COLD_STACK_BYTES);
    for (unsigned i = 0; i < COLD_THREADS; i++) {
        bench_thread part;
        pthread_t thread;
        part_prepare(&part, bench, 0, shared);
        if (pthread_create(&thread, &attributes, cold_worker, &part) != 0) {
            abort();
        }
        (void)pthread_join(thread, NULL);
        add_up(&part, 1, bench->ops, out);
        times[i] = out->ns_per_op;
        mallocs += out->mallocs_per_op / COLD_THREADS;
        mmaps += out->mmaps_per_op / COLD_THREADS;
    }
    (void)pthread_attr_destroy(&attributes);
    qsort(times, COLD_THREADS, sizeof times[0], by_value);
    out->ns_per_op = times[COLD_THREADS / 2];
    out->mallocs_per_op = mallocs;
    out->mmaps_per_op = mmaps;
}

void bench_run(const bench_case *bench, bench_result *out_result) {
    void *shared = bench->begin ? bench->begin(bench) : NULL;
    if (bench->cold) {
        run_cold(bench, shared, out_result);
    } else {
        unsigned threads = bench->threads ? bench->threads : 1;
        for (unsigned i = 0; i < threads; i++) {
            part_prepare(&parts[i], bench, i, shared);
        }
        (void)pthread_barrier_init(&line, NULL, threads);
        line_threads = threads;
        job = bench;
        (void)pthread_barrier_wait(&gate);
        (void)pthread_barrier_wait(&gate);
        (void)pthread_barrier_destroy(&line);
        add_up(parts, threads, bench->ops, out_result);
    }
    if (bench->end) {
        bench->end(bench, shared);
    }
}
