/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1,000,000 live spans from 8 threads, three times over, within a cap of 1 GiB. Each is recorded, has 4
 * attributes, and is read back at its end. The second and third round must not raise the peak of
 * resident memory by as much as 1 %.
 */
#define SPOOL_SCOPE "stress.live"
#include "stress/figures.h"

#include <pthread.h>

enum { THREADS = 8, SPANS = 1000000, EACH = SPANS / THREADS, ROUNDS = 3 };

static pthread_barrier_t step;
static spool_span spans[SPANS];
static _Thread_local uint64_t read_back;
static _Atomic uint64_t all_read_back;

static bool is_text(spool_str text, const char *expected, size_t len) {
    size_t i = 0;
    while (i < len && i < text.len && text.ptr[i] == expected[i]) {
        i++;
    }
    return i == len && text.len == len;
}

static void span_end(void *self, spool_span_record *span) {
    (void)self;
    const spool_span_data *data = spool_span_record_data(span);
    STRESS_REQUIRE(data && data->attr_count == 4 && data->dropped_attr_count == 0);
    STRESS_REQUIRE(is_text(data->name, "work", 4));
    int64_t number = data->attrs[0].value.as.integer;
    STRESS_REQUIRE(is_text(data->attrs[0].key, "number", 6));
    STRESS_REQUIRE(number >= 0 && number < SPANS);
    STRESS_REQUIRE(spans[number].bits == spool_span_record_handle(span).bits);
    STRESS_REQUIRE(is_text(data->attrs[1].value.as.string, "GET", 3));
    STRESS_REQUIRE(data->attrs[2].value.as.boolean == (number % 2 == 0));
    STRESS_REQUIRE(is_text(data->attrs[3].value.as.string, "/orders/{id}", 12));
    read_back++;
}

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops ops = {
    .struct_size = sizeof ops, .name = "reads back", .span_end = span_end, .destroy = destroy};

static void *run(void *arg) {
    size_t first = (size_t)(uintptr_t)arg * EACH;
    for (int round = 0; round < ROUNDS; round++) {
        (void)pthread_barrier_wait(&step);
        for (size_t i = first; i < first + EACH; i++) {
            const spool_attr attrs[] = {
                spool_int("number", (int64_t)i), spool_string("http.request.method", "GET"),
                spool_bool("even", i % 2 == 0), spool_string("http.route", "/orders/{id}")};
            spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
            options.attrs = attrs;
            options.attr_count = 4;
            spans[i] = spool_span_start(SPOOL_TRACER(), "work", &options);
            STRESS_REQUIRE(spool_span_is_recording(spans[i]));
        }
        (void)pthread_barrier_wait(&step); /* all live */
        (void)pthread_barrier_wait(&step); /* counted */
        for (size_t i = first; i < first + EACH; i++) {
            spool_span_end(spans[i]);
        }
        (void)pthread_barrier_wait(&step); /* all ended */
    }
    (void)__atomic_fetch_add(&all_read_back, read_back, __ATOMIC_RELAXED);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    uint64_t peaks[ROUNDS];
    /* The table of handles is the program's own memory. */
    for (size_t i = 0; i < SPANS; i++) {
        spans[i].bits = 1;
    }
    spool_sdk *sdk = sdk_with(&ops, 2 * SPANS, UINT64_C(1) << 30);
    STRESS_REQUIRE(pthread_barrier_init(&step, NULL, THREADS + 1) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        STRESS_REQUIRE(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) == 0);
    }
    uint64_t before = status_kib("VmRSS");
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds_now();
        (void)pthread_barrier_wait(&step);
        (void)pthread_barrier_wait(&step);
        struct spool_stats stats = {.struct_size = sizeof stats};
        STRESS_REQUIRE(spool_stats(sdk, &stats) == SPOOL_OK);
        STRESS_REQUIRE(stats.signals[SPOOL_SIGNAL_SPANS].live == SPANS);
        STRESS_REQUIRE(stats.signals[SPOOL_SIGNAL_SPANS].not_recorded == 0);
        if (round == 0) {
            figure("bytes_per_live_span", (double)(status_kib("VmRSS") - before) * 1024 / SPANS,
                   "bytes resident");
        }
        (void)pthread_barrier_wait(&step);
        (void)pthread_barrier_wait(&step);
        peaks[round] = status_kib("VmHWM");
        char name[32];
        (void)snprintf(name, sizeof name, "round_%d", round + 1);
        figure(name, seconds_now() - begin, "seconds for 1,000,000 spans from 8 threads");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        STRESS_REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
    STRESS_REQUIRE(all_read_back == (uint64_t)ROUNDS * SPANS);
    all_finished(sdk, (uint64_t)ROUNDS * SPANS);
    double rise = 100.0 * (double)(peaks[ROUNDS - 1] - peaks[0]) / (double)peaks[0];
    figure("peak_resident", (double)peaks[0] / 1024, "MiB after the first round");
    figure("peak_rise", rise, "percent after the second and third");
    figure("resident_at_end", (double)status_kib("VmRSS") / 1024, "MiB, nothing live");
    STRESS_REQUIRE(rise < 1.0);
    spool_sdk_free(sdk);
    return 0;
}
