/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T44: a million live spans of eight threads with four attributes each, in three rounds, under a cap of
 * 1 GiB: every one is recorded, and its attributes are read back at its end. The second and third round
 * must not raise the peak of memory.
 */
#define _GNU_SOURCE
#include "stress/figure.h"

#include <spool/ext/ext.h>
#include <spool/sdk/provider.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { THREADS = 8, EACH = 125000, ROUNDS = 3 };
static const double MOST_GROWTH = 0.01;

static pthread_barrier_t barrier;
static _Atomic uint64_t read_back;
static _Atomic uint64_t wrong;

/* Each span says its own number four times. */
static void on_end(void *self, spool_span_record *span) {
    (void)self;
    const spool_span_data *data = spool_span_record_data(span);
    bool right = data && data->attr_count == 4;
    for (size_t i = 0; right && i < 4; i++) {
        right = data->attrs[i].value.type == SPOOL_VALUE_INT &&
                data->attrs[i].value.as.integer == data->attrs[0].value.as.integer + (int64_t)i;
    }
    atomic_fetch_add_explicit(right ? &read_back : &wrong, 1, memory_order_relaxed);
}

static void *work(void *arg) {
    spool_tracer *tracer = spool_tracer_get("stress", "");
    spool_span *spans = malloc(EACH * sizeof *spans);
    int64_t base = (int64_t)(uintptr_t)arg * EACH * 4;
    require(spans != NULL, "memory for the handles");
    for (unsigned round = 0; round < ROUNDS; round++) {
        (void)pthread_barrier_wait(&barrier);
        for (int64_t i = 0; i < EACH; i++) {
            spans[i] = spool_span_start(tracer, "GET /api/v1/items", NULL);
            require(spool_span_is_recording(spans[i]), "every live span is recorded");
            spool_span_set(spans[i], spool_int("http.response.status_code", base + i));
            spool_span_set(spans[i], spool_int("app.score", base + i + 1));
            spool_span_set(spans[i], spool_int("server.port", base + i + 2));
            spool_span_set(spans[i], spool_int("app.cache", base + i + 3));
        }
        (void)pthread_barrier_wait(&barrier); /* all are live: main looks */
        (void)pthread_barrier_wait(&barrier);
        for (size_t i = 0; i < EACH; i++) {
            spool_span_end(spans[i]);
        }
        (void)pthread_barrier_wait(&barrier); /* none is: main looks */
    }
    free(spans);
    return NULL;
}

int main(void) {
    static const spool_processor_ops ops = {
        .struct_size = sizeof ops, .name = "read", .span_end = on_end};
    spool_processor processor = {&ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.max_live_spans = (uint64_t)THREADS * EACH + 10000;
    options.max_live_bytes = UINT64_C(1) << 30;
    spool_sdk *sdk = NULL;
    require(spool_sdk_create(&options, &sdk) == SPOOL_OK, "the SDK is made");
    (void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        require(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "a thread");
    }
    double before = status_kib("VmRSS:");
    double peaks[ROUNDS];
    struct spool_stats stats = {.struct_size = sizeof stats};
    for (unsigned round = 0; round < ROUNDS; round++) {
        (void)pthread_barrier_wait(&barrier);
        (void)pthread_barrier_wait(&barrier);
        require(spool_stats(sdk, &stats) == SPOOL_OK &&
                    stats.signals[0].live == (uint64_t)THREADS * EACH,
                "a million spans are live");
        if (round == 0) {
            /* The handles are the program's own: 8 bytes a span. */
            double bytes = (status_kib("VmRSS:") - before) * 1024 / (THREADS * (double)EACH);
            figure("bytes_per_live_span", bytes - (double)sizeof(spool_span), "bytes");
        }
        (void)pthread_barrier_wait(&barrier);
        (void)pthread_barrier_wait(&barrier);
        peaks[round] = status_kib("VmHWM:");
        require(spool_stats(sdk, &stats) == SPOOL_OK && stats.signals[0].live == 0,
                "none is live after a round");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    figure("peak_first_round", peaks[0] / 1024, "MiB");
    figure("peak_second_round", peaks[1] / 1024, "MiB");
    figure("peak_third_round", peaks[2] / 1024, "MiB");
    figure("peak_growth", (peaks[2] / peaks[0] - 1) * 100, "%");
    require(read_back == (uint64_t)THREADS * EACH * ROUNDS && wrong == 0,
            "every span is read back as it was made");
    require(peaks[2] <= peaks[0] * (1 + MOST_GROWTH), "later rounds do not raise the peak by 1 %");
    spool_sdk_free(sdk);
    return 0;
}
