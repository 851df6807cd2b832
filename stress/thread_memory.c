/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand threads with one live span each: resident memory a thread, its stack and libc apart. */
#define _GNU_SOURCE
#include "stress/figure.h"

#include <spool/ext/ext.h>
#include <spool/log.h>
#include <spool/sdk/provider.h>

#include <pthread.h>

enum { THREADS = 1000, STACK_BYTES = 128 * 1024 };
static const double MOST_KIB = 100;

static pthread_barrier_t barrier;

static void *wait_only(void *arg) {
    (void)arg;
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

static void *hold_one(void *arg) {
    spool_span span = spool_span_start(arg, "one", NULL);
    spool_token token = spool_span_enter(span);
    spool_span_set(span, spool_int("k", 1));
    spool_log(spool_logger_get("stress", ""), SPOOL_SEVERITY_INFO, "one");
    require(spool_span_is_recording(span), "the span is recorded");
    (void)wait_only(NULL);
    spool_span_exit(token);
    spool_span_end(span);
    return NULL;
}

/* Resident KiB that a thousand of these threads take. */
static double measure(void *(*body)(void *), void *arg) {
    static pthread_t threads[THREADS];
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
    double before = status_kib("VmRSS:");
    for (unsigned i = 0; i < THREADS; i++) {
        require(pthread_create(&threads[i], &attributes, body, arg) == 0, "a thread");
    }
    (void)pthread_barrier_wait(&barrier);
    double during = status_kib("VmRSS:");
    (void)pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)pthread_barrier_destroy(&barrier);
    (void)pthread_attr_destroy(&attributes);
    return during - before;
}

static void ignore_span(void *self, spool_span_record *span) {
    (void)self;
    (void)span;
}
static void ignore_log(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
}

int main(void) {
    static const spool_processor_ops ops = {
        .struct_size = sizeof ops, .name = "noop", .span_end = ignore_span, .log_emit = ignore_log};
    spool_processor processor = {&ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *sdk = NULL;
    require(spool_sdk_create(&options, &sdk) == SPOOL_OK, "the SDK is made");
    /* The spans first: bare threads then reuse nothing that would make Spool's part look smaller. */
    double with = measure(hold_one, spool_tracer_get("stress", ""));
    double bare = measure(wait_only, NULL);
    double kib = (with - bare) / THREADS;
    figure("resident_per_thread", kib, "KiB");
    figure("resident_per_bare_thread", bare / THREADS, "KiB");
    require(kib < MOST_KIB, "under 100 KiB a thread");
    spool_sdk_free(sdk);
    return 0;
}
