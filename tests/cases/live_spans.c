/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T44: live spans from 8 threads, three rounds within the cap, each recorded and read back, the second
 * and third without more memory than the first; then a million, more than the cap lets in: what is
 * beyond it is a counted no-op that still answers with a context. A program of its own: it is about
 * the peak memory of a process.
 */
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/live.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 8,
    SPANS = SPT_TSAN || SPT_ASAN ? 80000 : 1000000,
    WITHIN = SPANS / 2,
    CREDITS = 64, /* of the cap, that a thread may hold back */
    CAP = WITHIN + THREADS * CREDITS,
    ROUNDS = 3
};

static spool_span spans[SPANS];
static spool_tracer *tracer;
static size_t spans_now; /* of this round */
static uint64_t created;
static uint64_t beyond;
static pthread_barrier_t barrier;
static _Atomic uint64_t read_back;
static _Atomic uint64_t damaged;

/* Attributes: its number, twice, as text, and a constant. */
static void check_span(void *self, spool_span_record *record) {
    (void)self;
    const spool_span_data *span = spool_span_record_data(record);
    const spool_value *number = span ? spt_attr(span->attrs, span->attr_count, "number") : NULL;
    const spool_value *twice = span ? spt_attr(span->attrs, span->attr_count, "twice") : NULL;
    const spool_value *text = span ? spt_attr(span->attrs, span->attr_count, "text") : NULL;
    char expected[24] = "";
    if (number) {
        (void)snprintf(expected, sizeof expected, "n%lld", (long long)number->as.integer);
    }
    bool good = number && twice && text && span->attr_count == 4 &&
                twice->as.integer == 2 * number->as.integer &&
                spt_text_is(text->as.string, expected);
    atomic_fetch_add(good ? &read_back : &damaged, 1);
}

static const spool_processor_ops checker = {
    .struct_size = sizeof checker, .name = "checker", .span_end = check_span};

static void *work(void *arg) {
    size_t first = (size_t)(uintptr_t)arg * (spans_now / THREADS);
    for (size_t i = first; i < first + spans_now / THREADS; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "n%zu", i);
        spans[i] = spool_span_start(tracer, "one of a million", NULL);
        spool_span_set(spans[i], spool_int("number", (int64_t)i));
        spool_span_set(spans[i], spool_int("twice", (int64_t)(2 * i)));
        spool_span_set(spans[i], spool_string("text", text));
        spool_span_set(spans[i], spool_bool("constant", true));
    }
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier); /* held: the main thread looks */
    for (size_t i = first; i < first + spans_now / THREADS; i++) {
        spool_span_end(spans[i]);
    }
    return NULL;
}

static uint64_t peak_kib(void) {
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long kib = 0;
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1) {
            break;
        }
    }
    if (status) {
        (void)fclose(status);
    }
    return kib;
}

static bool count_one(void *arg, const spool_live_span *span) {
    (void)span;
    ++*(uint64_t *)arg;
    return true;
}

/* All spans of the round are held; returns how many are recorded. */
static uint64_t look(spool_sdk *sdk) {
    struct spool_stats stats = spt_stats(sdk);
    uint64_t live = stats.signals[SPOOL_SIGNAL_SPANS].live;
    created += spans_now;
    beyond += spans_now - live;
    SPT_CHECK(spt_balanced(sdk));
    SPT_CHECK_UINT(stats.signals[SPOOL_SIGNAL_SPANS].created, created);
    SPT_CHECK_UINT(stats.signals[SPOOL_SIGNAL_SPANS].not_recorded, beyond);
    uint64_t listed = 0;
    (void)spool_live_spans(count_one, &listed);
    SPT_CHECK_UINT(listed, live);
    uint64_t recording = 0;
    uint64_t without_context = 0;
    for (size_t i = 0; i < spans_now; i++) {
        struct spool_span_context context = spool_span_context(spans[i]);
        recording += spool_span_is_recording(spans[i]);
        without_context += !spool_span_context_is_valid(&context);
    }
    SPT_CHECK_UINT(recording, live);
    SPT_CHECK_UINT(without_context, 0);
    return live;
}

static uint64_t round_of(spool_sdk *sdk, size_t count) {
    pthread_t threads[THREADS];
    uint64_t before = atomic_load(&read_back);
    spans_now = count;
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (!SPT_CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0)) {
            abort();
        }
    }
    (void)pthread_barrier_wait(&barrier);
    uint64_t live = look(sdk);
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    SPT_CHECK_UINT(spt_stats(sdk).signals[SPOOL_SIGNAL_SPANS].live, 0);
    SPT_CHECK_UINT(atomic_load(&read_back) - before, live);
    SPT_CHECK_UINT(atomic_load(&damaged), 0);
    return live;
}

static void T44_one_million_live_spans(void) {
    spool_processor processor = {&checker, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.max_live_spans = CAP;
    options.max_live_bytes = UINT64_C(1) << 30;
    spool_sdk *sdk;
    SPT_REQUIRE(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    tracer = spool_tracer_get("cases", NULL);
    SPT_REQUIRE(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
    uint64_t stale = spt_stats(sdk).stale_handles;
    SPT_CHECK_UINT(round_of(sdk, WITHIN), WITHIN);
    uint64_t first_peak = peak_kib();
    for (int round = 1; round < ROUNDS; round++) {
        SPT_CHECK_UINT(round_of(sdk, WITHIN), WITHIN);
    }
    uint64_t peak = peak_kib();
    (void)printf("peak memory: %llu KiB, then %llu KiB\n", (unsigned long long)first_peak,
                 (unsigned long long)peak);
    /* Sanitizers keep memory of their own. */
    if (!SPT_TSAN && !SPT_ASAN) {
        SPT_CHECK(peak <= first_peak + first_peak / 100);
    }
    uint64_t live = round_of(sdk, SPANS);
    SPT_CHECK(live >= WITHIN && live <= CAP);
    SPT_CHECK_UINT(round_of(sdk, WITHIN), WITHIN);
    SPT_CHECK_UINT(spt_stats(sdk).stale_handles, stale);
    SPT_CHECK(spt_balanced(sdk));
    (void)pthread_barrier_destroy(&barrier);
    spool_sdk_free(sdk);
}

SPT_MAIN("cases.live_spans", SPT_CASE(T44_one_million_live_spans))
