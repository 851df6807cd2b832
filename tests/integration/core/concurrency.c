/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans, records and SDKs from many threads at once. Under ThreadSanitizer this is where races of the
 * core would be seen; the counts are checked in every build.
 */
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = SPT_TSAN ? 500 : 3000 };

static void run_threads(unsigned count, void *(*body)(void *), void *arg) {
    pthread_t threads[64];
    for (unsigned i = 0; i < count; i++) {
        if (!SPT_CHECK(pthread_create(&threads[i], NULL, body, arg) == 0)) {
            count = i;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* A processor that counts; spans end on any thread. */
static _Atomic uint64_t started, ended, logged;
static void on_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)self;
    (void)span;
    (void)parent;
    atomic_fetch_add(&started, 1);
}
static void on_end(void *self, spool_span_record *span) {
    (void)self;
    (void)span;
    atomic_fetch_add(&ended, 1);
}
static void on_log(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
    atomic_fetch_add(&logged, 1);
}
static void nothing(void *self) {
    (void)self;
}
static const spool_processor_ops counting = {.struct_size = sizeof counting,
                                             .name = "counting",
                                             .span_start = on_start,
                                             .span_end = on_end,
                                             .log_emit = on_log,
                                             .destroy = nothing};

static spool_sdk *counting_sdk(void) {
    spool_processor processor = {&counting, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *sdk = NULL;
    (void)SPT_CHECK(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    started = ended = logged = 0;
    return sdk;
}

/* ---- one span, many writers ---- */

static spool_span shared;

static void *write_shared(void *arg) {
    unsigned self = atomic_fetch_add((_Atomic unsigned *)arg, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "thread.%u", self);
        spool_span_set(shared, spool_int(key, i));
        spool_span_event(shared, "e", NULL, 0);
        if (i % 16 == 0) {
            spool_span_rename(shared, "renamed while others write");
            spool_span_status(shared, SPOOL_STATUS_ERROR, "again");
        }
    }
    return NULL;
}

static void E11_threads_adding_to_one_span_lose_nothing(void) {
    spt_pipeline pipe;
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.limits.span_event_count = 1000;
    SPT_REQUIRE(spt_pipeline_open(&pipe, &options));
    shared = spool_span_start(spool_tracer_get("t", ""), "shared", NULL);
    _Atomic unsigned next = 0;
    run_threads(THREADS, write_shared, &next);
    spool_span_end(shared);
    const spool_span_data *data = spool_memory_span(pipe.store, 0);
    SPT_REQUIRE(data != NULL);
    (void)SPT_CHECK_UINT(data->attr_count, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "thread.%u", i);
        const spool_value *value = spt_attr(data->attrs, data->attr_count, key);
        (void)SPT_CHECK(value && value->as.integer == ROUNDS - 1);
    }
    (void)SPT_CHECK_UINT(data->event_count, 1000);
    (void)SPT_CHECK_UINT(data->dropped_event_count, THREADS * ROUNDS - 1000);
    (void)SPT_CHECK(spt_pipeline_close(&pipe));
}

/* ---- spans handed from thread to thread ---- */

enum { EXCHANGE = 64 };
static _Atomic uint64_t exchange[EXCHANGE];

static void *hand_over(void *arg) {
    (void)arg;
    spool_tracer *tracer = spool_tracer_get("t", "");
    spt_random random = {(uint64_t)(uintptr_t)&random};
    for (unsigned i = 0; i < ROUNDS; i++) {
        spool_span span = spool_span_start(tracer, "handed over", NULL);
        spool_token token = spool_span_enter(span);
        spool_log(spool_logger_get("t", ""), 9, "inside");
        spool_span_exit(token);
        uint64_t bits = atomic_exchange(&exchange[spt_random_below(&random, EXCHANGE)], span.bits);
        spool_span other = {bits};
        spool_span_set(other, spool_int("from.another.thread", i));
        spool_span_end(other);
        /* A second end, and a change after it, race with the slot's next tenant: no-ops. */
        spool_span_set(other, spool_int("stale", i));
        spool_span_end(other);
    }
    return NULL;
}

static void E5_a_span_ends_once_on_whatever_thread(void) {
    spool_sdk *sdk = counting_sdk();
    run_threads(THREADS, hand_over, NULL);
    for (unsigned i = 0; i < EXCHANGE; i++) {
        spool_span_end((spool_span){atomic_exchange(&exchange[i], 0)});
    }
    struct spool_stats stats = spt_stats(sdk);
    (void)SPT_CHECK_UINT(stats.signals[0].created, THREADS * ROUNDS);
    (void)SPT_CHECK_UINT(stats.signals[0].finished, THREADS * ROUNDS);
    (void)SPT_CHECK_UINT(stats.signals[0].live, 0);
    (void)SPT_CHECK_UINT(ended, THREADS * ROUNDS);
    (void)SPT_CHECK_UINT(logged, THREADS * ROUNDS);
    (void)SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

/* ---- ending while shutting down ---- */

static _Atomic bool stop;

static void *make_until_stopped(void *arg) {
    (void)arg;
    spool_tracer *tracer = spool_tracer_get("t", "");
    spool_logger *logger = spool_logger_get("t", "");
    while (!atomic_load(&stop)) {
        SPOOL_SPAN(span, tracer, "s", spool_int("n", 1));
        spool_span_event(span, "e", NULL, 0);
        spool_log(logger, 9, "l", spool_int("n", 1));
    }
    return NULL;
}

static void T08_spans_end_while_the_sdk_shuts_down(void) {
    enum { CYCLES = SPT_TSAN ? 10 : 40, ENDERS = 16 };
    for (unsigned cycle = 0; cycle < CYCLES; cycle++) {
        spt_pipeline pipe;
        SPT_REQUIRE(spt_pipeline_open(&pipe, NULL));
        pthread_t threads[ENDERS];
        stop = false;
        for (unsigned i = 0; i < ENDERS; i++) {
            (void)SPT_CHECK(pthread_create(&threads[i], NULL, make_until_stopped, NULL) == 0);
        }
        SPT_WAIT_UNTIL(5000, spool_memory_span_count(pipe.store) > 200);
        (void)SPT_CHECK(spool_shutdown(pipe.sdk, 5000, NULL) == SPOOL_OK);
        stop = true;
        for (unsigned i = 0; i < ENDERS; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        struct spool_stats stats = spt_stats(pipe.sdk);
        (void)SPT_CHECK(spt_balanced(pipe.sdk));
        (void)SPT_CHECK_UINT(stats.signals[0].live, 0);
        (void)SPT_CHECK_UINT(stats.processors[0][0].delivered, spool_memory_span_count(pipe.store));
        (void)SPT_CHECK_UINT(stats.processors[0][0].offered, stats.signals[0].finished);
        spool_sdk_free(pipe.sdk);
        spool_memory_release(pipe.store);
    }
}

/* ---- many shutdowns, and SDKs that come and go ---- */

static _Atomic unsigned first_results;
static void *shut_down(void *arg) {
    spool_sdk *sdk = arg;
    spool_status status = spool_shutdown(sdk, 5000, NULL);
    if (status == SPOOL_OK) {
        atomic_fetch_add(&first_results, 1);
    } else {
        (void)SPT_CHECK(status == SPOOL_ERR_SHUTDOWN);
    }
    (void)SPT_CHECK(spool_shutdown(sdk, 5000, NULL) == SPOOL_ERR_SHUTDOWN);
    return NULL;
}

static void T05_one_of_many_shutdowns_does_the_work(void) {
    spool_sdk *sdk = counting_sdk();
    first_results = 0;
    run_threads(THREADS, shut_down, sdk);
    (void)SPT_CHECK_UINT(first_results, 1);
    spool_sdk_free(sdk);
}

static void *look_up_and_use(void *arg) {
    (void)arg;
    unsigned number = 0;
    while (!atomic_load(&stop)) {
        char name[24];
        (void)snprintf(name, sizeof name, "scope.%u", number++ % 50);
        spool_tracer *tracer = spool_tracer_get(name, "1");
        (void)SPT_CHECK(tracer != NULL && spool_tracer_get(name, "1") == tracer);
        spool_span_end(spool_span_start(tracer, "s", NULL));
        spool_log(spool_logger_get(name, "1"), 9, "l");
        (void)spool_flush(NULL, 10, NULL);
    }
    return NULL;
}

static void T51_the_default_sdk_is_swapped_under_load(void) {
    enum { SWAPS = SPT_TSAN ? 100 : 1000 };
    pthread_t threads[THREADS];
    stop = false;
    for (unsigned i = 0; i < THREADS; i++) {
        (void)SPT_CHECK(pthread_create(&threads[i], NULL, look_up_and_use, NULL) == 0);
    }
    for (unsigned i = 0; i < SWAPS; i++) {
        spool_sdk *sdk = counting_sdk();
        SPT_REQUIRE(sdk != NULL);
        spool_sdk_free(sdk);
    }
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* ---- threads that end with active spans ---- */

static void *leave_active(void *arg) {
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "left", NULL);
    (void)spool_span_enter(span);
    *(spool_span *)arg = span;
    return NULL;
}

static void T07_a_thread_exits_with_an_active_span(void) {
    enum { LEFT = 100 };
    static spool_span left[LEFT];
    spool_sdk *sdk = counting_sdk();
    for (unsigned i = 0; i < LEFT; i++) {
        pthread_t thread;
        (void)SPT_CHECK(pthread_create(&thread, NULL, leave_active, &left[i]) == 0);
        (void)pthread_join(thread, NULL);
    }
    (void)SPT_CHECK(spool_span_current().bits == 0);
    for (unsigned i = 0; i < LEFT; i++) {
        spool_span_end(left[i]);
    }
    (void)SPT_CHECK_UINT(ended, LEFT);
    (void)SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

/* A span in a destructor that runs at thread exit, at whatever place among ours. */
static pthread_key_t late_key;
static void use_late(void *value) {
    (void)value;
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "late", NULL);
    spool_span_exit(spool_span_enter(span));
    spool_log(spool_logger_get("t", ""), 9, "late");
    spool_span_end(span);
    static _Thread_local unsigned passes;
    if (++passes < 4) {
        (void)pthread_setspecific(late_key, value);
    }
}
static void *arm_late(void *arg) {
    (void)pthread_setspecific(late_key, arg);
    spool_span_end(spool_span_start(spool_tracer_get("t", ""), "early", NULL));
    return NULL;
}

static void E13_thread_destructors_may_trace(void) {
    spool_sdk *sdk = counting_sdk();
    (void)SPT_CHECK(pthread_key_create(&late_key, use_late) == 0);
    run_threads(32, arm_late, sdk);
    (void)SPT_CHECK(ended >= 32);
    (void)SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
    (void)pthread_key_delete(late_key);
}

SPT_MAIN("concurrency", SPT_CASE(E11_threads_adding_to_one_span_lose_nothing),
         SPT_CASE(E5_a_span_ends_once_on_whatever_thread),
         SPT_CASE(T08_spans_end_while_the_sdk_shuts_down),
         SPT_CASE(T05_one_of_many_shutdowns_does_the_work),
         SPT_CASE(T51_the_default_sdk_is_swapped_under_load),
         SPT_CASE(T07_a_thread_exits_with_an_active_span),
         SPT_CASE(E13_thread_destructors_may_trace))
