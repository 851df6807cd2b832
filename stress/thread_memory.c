/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1,000 threads with one live, current span each: what a thread costs in resident memory, its stack
 * apart. The same 1,000 threads are measured before their first call of the library, so that the
 * difference is the library's.
 */
#define SPOOL_SCOPE "stress.threads"
#include "stress/figures.h"

#include <pthread.h>

enum { THREADS = 1000, STACK_BYTES = 64 * 1024 };

static pthread_barrier_t step;
static _Atomic uint64_t ended;

static void span_end(void *self, spool_span_record *span) {
    (void)self;
    const spool_span_data *data = spool_span_record_data(span);
    STRESS_REQUIRE(data && data->attr_count == 4);
    (void)__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static void log_emit(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
}

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops ops = {.struct_size = sizeof ops,
                                        .name = "counts",
                                        .span_end = span_end,
                                        .log_emit = log_emit,
                                        .destroy = destroy};

static void *run(void *arg) {
    (void)pthread_barrier_wait(&step); /* all there */
    (void)pthread_barrier_wait(&step); /* measured */
    SPOOL_SPAN(span, SPOOL_TRACER(), "request", spool_string("http.request.method", "GET"),
               spool_int("thread", (int64_t)(intptr_t)arg), spool_bool("first", true),
               spool_double("ratio", 0.5));
    STRESS_REQUIRE(spool_span_is_recording(span));
    SPOOL_INFO("a record of the span");
    (void)pthread_barrier_wait(&step); /* live */
    (void)pthread_barrier_wait(&step); /* measured */
    return NULL;
}

int main(void) {
    static pthread_t threads[THREADS];
    /* Threads keep some of the room that a cap leaves: up to 32 spans each. */
    spool_sdk *sdk = sdk_with(&ops, 64 * THREADS, UINT64_C(256) << 20);
    pthread_attr_t attributes;
    STRESS_REQUIRE(pthread_attr_init(&attributes) == 0);
    STRESS_REQUIRE(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
    STRESS_REQUIRE(pthread_barrier_init(&step, NULL, THREADS + 1) == 0);
    for (intptr_t i = 0; i < THREADS; i++) {
        STRESS_REQUIRE(pthread_create(&threads[i], &attributes, run, (void *)i) == 0);
    }
    (void)pthread_barrier_wait(&step);
    uint64_t before = status_kib("VmRSS");
    (void)pthread_barrier_wait(&step);
    (void)pthread_barrier_wait(&step);
    uint64_t after = status_kib("VmRSS");
    struct spool_stats stats = {.struct_size = sizeof stats};
    STRESS_REQUIRE(spool_stats(sdk, &stats) == SPOOL_OK);
    STRESS_REQUIRE(stats.signals[SPOOL_SIGNAL_SPANS].live == THREADS);
    (void)pthread_barrier_wait(&step);
    for (unsigned i = 0; i < THREADS; i++) {
        STRESS_REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
    STRESS_REQUIRE(ended == THREADS);
    all_finished(sdk, THREADS);
    /* The pages of the stacks that the calls above touched are in it: it is an upper bound. */
    double each = (double)(after - before) * 1024 / THREADS;
    figure("resident_per_thread", each, "bytes, with one live span of 4 attributes");
    STRESS_REQUIRE(after > before && each < 100 * 1024);
    spool_sdk_free(sdk);
    return 0;
}
