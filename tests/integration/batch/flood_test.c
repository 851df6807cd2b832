/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads against one exporter: nothing is lost without being counted, nothing comes twice, the loop
 * is woken by depth and not by the record.
 */
#include "tests/unit/processors/held_exporter.h"

#include "runtime/loop.h"
#include "sdk/platform/clock.h"
#include "tests/support/spt.h"

#include <spool/log.h>
#include <spool/sdk/batch.h>
#include <spool/trace.h>

#include <string.h>

enum { THREADS = 4, EACH = SPT_TSAN ? 20000 : 100000, LONG_MS = 60000, HOUR_MS = 3600000 };

typedef struct flood {
    spt_exporter exporter;
    spool_processor processor;
    spool_sdk *sdk;
    spool_logger *logger;
    spool_tracer *tracer;
    uint32_t signal;
    uint32_t pace; /* records between two pauses; 0: none */
    atomic_bool stop;
} flood;

static bool flood_open(flood *f, uint32_t signal, spt_answer answer,
                       const spool_batch_options *options) {
    memset(f, 0, sizeof *f);
    f->signal = signal;
    spt_exporter_init(&f->exporter, answer);
    spool_sdk_options sdk_options = SPOOL_SDK_OPTIONS_INIT;
    sdk_options.processors = &f->processor;
    sdk_options.processor_count = 1;
    if (spool_batch_create(signal, spt_exporter_of(&f->exporter), options, &f->processor) ||
        spool_sdk_create(&sdk_options, &f->sdk)) {
        return false;
    }
    spool_scope scope = {.name = SPOOL_STR_INIT("flood")};
    f->logger = spool_sdk_logger(f->sdk, &scope);
    f->tracer = spool_sdk_tracer(f->sdk, &scope);
    return true;
}

static void emit(flood *f, uint64_t number) {
    if (f->signal == SPOOL_SIGNAL_SPANS) {
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.start_time_ns = number;
        spool_span_end(spool_span_start(f->tracer, "work", &options));
        return;
    }
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = SPOOL_SEVERITY_INFO;
    record.body = spool_value_int((int64_t)number);
    spool_log_emit(f->logger, &record);
}

typedef struct emitter {
    flood *f;
    uint64_t thread;
    uint64_t emitted;
} emitter;

static void *emit_all(void *arg) {
    emitter *mine = arg;
    for (uint64_t i = 0; i < EACH && !atomic_load(&mine->f->stop); i++) {
        emit(mine->f, mine->thread << 32 | i);
        mine->emitted++;
        if (mine->f->pace && i % mine->f->pace == 0) {
            (void)spt_pause_until(spt_deadline_ns(10));
        }
    }
    return NULL;
}

static uint64_t run_threads(flood *f, void (*meanwhile)(flood *f)) {
    pthread_t threads[THREADS];
    emitter emitters[THREADS];
    uint64_t emitted = 0;
    for (uint64_t t = 0; t < THREADS; t++) {
        emitters[t] = (emitter){f, t + 1, 0}; /* a span cannot start at 0 */
        (void)pthread_create(&threads[t], NULL, emit_all, &emitters[t]);
    }
    if (meanwhile) {
        meanwhile(f);
    }
    for (uint64_t t = 0; t < THREADS; t++) {
        (void)pthread_join(threads[t], NULL);
        emitted += emitters[t].emitted;
    }
    return emitted;
}

static void check_balance(flood *f, uint64_t emitted) {
    spool_processor_stats stats = spt_stats_of(&f->processor, f->signal);
    SPT_CHECK_UINT(stats.offered, emitted);
    SPT_CHECK_UINT(stats.delivered + spt_dropped(&stats), emitted);
    SPT_CHECK_UINT(stats.delivered, f->exporter.records);
    SPT_CHECK_UINT(stats.queued + stats.in_flight, 0);
    SPT_CHECK_UINT(f->exporter.wrong_order, 0);
    SPT_CHECK_UINT(f->exporter.malformed, 0);
}

static void flood_close(flood *f) {
    spool_sdk_free(f->sdk);
    spt_exporter_fini(&f->exporter);
}

static void received_and_dropped_is_emitted_with_a_slow_exporter(void) {
    for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
        flood f;
        SPT_REQUIRE(flood_open(&f, signal, SPT_SLOW, NULL));
        f.exporter.delay_ms = 20;
        uint64_t emitted = run_threads(&f, NULL);
        SPT_CHECK_UINT(emitted, THREADS * EACH);
        (void)spool_flush(f.sdk, LONG_MS, NULL);
        check_balance(&f, emitted);
        spool_processor_stats stats = spt_stats_of(&f.processor, signal);
        SPT_CHECK(stats.dropped[SPOOL_DROP_QUEUE_FULL] > 0);
        SPT_CHECK_UINT(spt_dropped(&stats), stats.dropped[SPOOL_DROP_QUEUE_FULL]);
        SPT_CHECK(f.exporter.largest_batch <= 512);
        flood_close(&f);
    }
}

static void nothing_is_lost_when_the_callers_wait(void) {
    spool_batch_options options = SPOOL_BATCH_LOG_OPTIONS_INIT;
    options.overflow = SPOOL_OVERFLOW_BLOCK;
    options.block_limit_ms = LONG_MS;
    flood f;
    SPT_REQUIRE(flood_open(&f, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, &options));
    uint64_t emitted = run_threads(&f, NULL);
    SPT_CHECK_UINT(spool_flush(f.sdk, LONG_MS, NULL), SPOOL_OK);
    SPT_CHECK_UINT(f.exporter.records, emitted);
    check_balance(&f, emitted);
    flood_close(&f);
}

static void wakes_are_few(void) {
    spool_batch_options options = SPOOL_BATCH_LOG_OPTIONS_INIT;
    options.schedule_delay_ms = HOUR_MS;
    options.overflow = SPOOL_OVERFLOW_BLOCK;
    options.block_limit_ms = LONG_MS;
    sp_runtime *runtime;
    SPT_REQUIRE(sp_runtime_acquire(&runtime) == SPOOL_OK);
    flood f;
    SPT_REQUIRE(flood_open(&f, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, &options));
    uint64_t before = sp_runtime_wakes(runtime);
    for (uint64_t i = 0; i < EACH; i++) {
        emit(&f, i);
    }
    uint64_t flushes = 10;
    for (uint64_t i = 0; i < flushes; i++) {
        SPT_CHECK_UINT(spool_flush(f.sdk, LONG_MS, NULL), SPOOL_OK);
    }
    uint64_t wakes = sp_runtime_wakes(runtime) - before;
    /* A caller that waits for room wakes once a wait; those end a batch at a time. */
    SPT_CHECK(wakes <= 2 * (EACH / 512) + flushes + 2);
    SPT_CHECK(f.exporter.batches >= EACH / 512);
    check_balance(&f, EACH);
    flood_close(&f);
    SPT_CHECK(sp_runtime_release(runtime, spt_deadline_ns(5000)));
}

static void flush_now_and_then(flood *f) {
    for (unsigned i = 0; i < 300; i++) {
        (void)spool_flush(f->sdk, LONG_MS, NULL);
    }
}

static void flushes_and_emits_at_the_same_time_lose_nothing(void) {
    spool_batch_options options = SPOOL_BATCH_LOG_OPTIONS_INIT;
    options.schedule_delay_ms = HOUR_MS;
    flood f;
    SPT_REQUIRE(flood_open(&f, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, &options));
    uint64_t emitted = run_threads(&f, flush_now_and_then);
    (void)spool_flush(f.sdk, LONG_MS, NULL);
    check_balance(&f, emitted);
    flood_close(&f);
}

static void shut_down_soon(flood *f) {
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_records(&f->exporter) > 2000);
    spool_report report = SPOOL_REPORT_INIT;
    (void)spool_shutdown(f->sdk, 5000, &report);
    atomic_store(&f->stop, true);
}

static void shutdown_under_fire_is_clean_and_counted(void) {
    for (unsigned round = 0; round < 10; round++) {
        flood f;
        SPT_REQUIRE(flood_open(&f, round % 2, SPT_SLOW, NULL));
        (void)run_threads(&f, shut_down_soon);
        spool_processor_stats stats = spt_stats_of(&f.processor, f.signal);
        SPT_CHECK_UINT(spt_imbalance(&stats), 0);
        SPT_CHECK_UINT(stats.queued + stats.in_flight, 0);
        SPT_CHECK_UINT(stats.delivered, f.exporter.records);
        flood_close(&f);
    }
}

static void *emit_a_few(void *arg) {
    emitter *mine = arg;
    for (uint64_t i = 0; i < 10; i++) {
        emit(mine->f, mine->thread << 32 | (mine->emitted + i));
    }
    return NULL;
}

static void short_lived_threads_leave_nothing_behind(void) {
    spool_batch_options options = SPOOL_BATCH_LOG_OPTIONS_INIT;
    options.overflow = SPOOL_OVERFLOW_BLOCK;
    options.block_limit_ms = LONG_MS;
    flood f;
    SPT_REQUIRE(flood_open(&f, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, &options));
    enum { ROUNDS = SPT_TSAN ? 100 : 500 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        emitter emitters[THREADS];
        for (unsigned t = 0; t < THREADS; t++) {
            emitters[t] = (emitter){&f, t, round * 10};
            SPT_REQUIRE(pthread_create(&threads[t], NULL, emit_a_few, &emitters[t]) == 0);
        }
        for (unsigned t = 0; t < THREADS; t++) {
            (void)pthread_join(threads[t], NULL);
        }
    }
    SPT_CHECK_UINT(spool_flush(f.sdk, LONG_MS, NULL), SPOOL_OK);
    SPT_CHECK_UINT(f.exporter.records, ROUNDS * THREADS * 10);
    flood_close(&f);
}

/* Batches stay full under a steady load that the exporter keeps up with. */
static void batches_are_nearly_full_under_steady_load(void) {
    spool_batch_options options = SPOOL_BATCH_SPAN_OPTIONS_INIT;
    options.schedule_delay_ms = HOUR_MS;
    flood f;
    SPT_REQUIRE(flood_open(&f, SPOOL_SIGNAL_SPANS, SPT_DELIVERED, &options));
    f.pace = 100;
    uint64_t emitted = run_threads(&f, NULL);
    (void)spool_flush(f.sdk, LONG_MS, NULL);
    double mean = f.exporter.batches ? (double)f.exporter.records / (double)f.exporter.batches : 0;
    SPT_CHECK(mean >= 0.9 * 512);
    check_balance(&f, emitted);
    flood_close(&f);
}

SPT_MAIN("batch.flood", SPT_CASE(received_and_dropped_is_emitted_with_a_slow_exporter),
         SPT_CASE(nothing_is_lost_when_the_callers_wait), SPT_CASE(wakes_are_few),
         SPT_CASE(flushes_and_emits_at_the_same_time_lose_nothing),
         SPT_CASE(shutdown_under_fire_is_clean_and_counted),
         SPT_CASE(short_lived_threads_leave_nothing_behind),
         SPT_CASE(batches_are_nearly_full_under_steady_load))
