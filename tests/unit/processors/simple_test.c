/* SPDX-License-Identifier: Apache-2.0 */
/* The simple processor through a real SDK: order, one at a time, bounded waits, re-entry. */
#include "tests/unit/processors/held_exporter.h"

#include "runtime/batch.h"
#include "sdk/memory/thread_block.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/diagnostics.h"
#include "tests/support/spt.h"

#include <spool/log.h>
#include <spool/sdk/simple.h>
#include <spool/trace.h>

#include <sched.h>
#include <string.h>

enum { LONG_MS = 20000 };

typedef struct setup {
    spt_exporter exporter;
    spool_simple_options options;
    spool_processor processor;
    spool_sdk *sdk;
    spool_logger *logger;
    spool_tracer *tracer;
} setup;

static void prepare(setup *s, spt_answer answer) {
    memset(s, 0, sizeof *s);
    spt_exporter_init(&s->exporter, answer);
    spool_simple_options_init(&s->options);
}

static bool open_setup(setup *s) {
    if (spool_simple_create(spt_exporter_of(&s->exporter), &s->options, &s->processor) !=
        SPOOL_OK) {
        return false;
    }
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &s->processor;
    options.processor_count = 1;
    if (spool_sdk_create(&options, &s->sdk) != SPOOL_OK) {
        return false;
    }
    spool_scope scope = {.name = SPOOL_STR_INIT("test"),
                         .version = SPOOL_STR_INIT("1"),
                         .schema_url = SPOOL_STR_INIT("https://example.test/schema")};
    s->logger = spool_sdk_logger(s->sdk, &scope);
    s->tracer = spool_sdk_tracer(s->sdk, &scope);
    return true;
}

static void close_setup(setup *s) {
    spool_sdk_free(s->sdk);
    SPT_CHECK_UINT(s->exporter.destroys, 1);
    SPT_CHECK_UINT(s->exporter.shutdowns, 1);
    SPT_CHECK_UINT(s->exporter.wrong_order, 0);
    SPT_CHECK_UINT(s->exporter.malformed, 0);
    spt_exporter_fini(&s->exporter);
}

static void emit_log(setup *s, uint64_t number) {
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = SPOOL_SEVERITY_INFO;
    record.body = spool_value_int((int64_t)number);
    spool_log_emit(s->logger, &record);
}

static void emit_span(setup *s, uint64_t number) {
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.start_time_ns = number;
    spool_span_end(spool_span_start(s->tracer, "work", &options));
}

static spool_processor_stats stats(const setup *s, uint32_t signal) {
    return spt_stats_of(&s->processor, signal);
}

static void each_record_is_exported_before_the_call_returns(void) {
    setup s;
    prepare(&s, SPT_DELIVERED);
    SPT_REQUIRE(open_setup(&s));
    for (uint64_t i = 1; i <= 100; i++) {
        if (i % 2) {
            emit_log(&s, i);
        } else {
            emit_span(&s, i);
        }
        SPT_CHECK_UINT(spt_exporter_records(&s.exporter), i);
    }
    SPT_CHECK_UINT(s.exporter.largest_batch, 1);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).delivered, 50);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_SPANS).delivered, 50);
    spool_report report = SPOOL_REPORT_INIT;
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, &report), SPOOL_OK);
    SPT_CHECK_UINT(report.delivered, 100);
    SPT_CHECK_UINT(s.exporter.flushes, 1);
    close_setup(&s);
}

static atomic_int inside, most_inside;

static void count_inside(spt_exporter *exporter, spool_batch *batch) {
    (void)exporter;
    SPT_CHECK(spool_batch_is_borrowed(batch));
    int now = atomic_fetch_add(&inside, 1) + 1;
    if (now > atomic_load(&most_inside)) {
        atomic_store(&most_inside, now);
    }
    sched_yield();
    atomic_fetch_sub(&inside, 1);
}

typedef struct emitter {
    setup *s;
    uint64_t thread;
} emitter;

enum { THREADS = 4, EACH = 3000 };

static void *emit_many(void *arg) {
    emitter *mine = arg;
    for (uint64_t i = 0; i < EACH; i++) {
        emit_log(mine->s, mine->thread << 32 | i);
    }
    return NULL;
}

static void exports_are_made_one_at_a_time_in_each_threads_order(void) {
    setup s;
    prepare(&s, SPT_DELIVERED);
    s.exporter.on_export = count_inside;
    SPT_REQUIRE(open_setup(&s));
    pthread_t threads[THREADS];
    emitter emitters[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        emitters[t] = (emitter){&s, t};
        SPT_REQUIRE(pthread_create(&threads[t], NULL, emit_many, &emitters[t]) == 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        (void)pthread_join(threads[t], NULL);
    }
    SPT_CHECK_UINT(atomic_load(&most_inside), 1);
    SPT_CHECK_UINT(spt_exporter_records(&s.exporter), THREADS * EACH);
    spool_processor_stats now = stats(&s, SPOOL_SIGNAL_LOGS);
    SPT_CHECK_UINT(now.delivered, THREADS * EACH);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    close_setup(&s);
}

static void caller_waits_for_a_later_answer(void) {
    setup s;
    prepare(&s, SPT_SLOW);
    SPT_REQUIRE(open_setup(&s));
    for (uint64_t i = 1; i <= 20; i++) {
        emit_log(&s, i);
        SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).delivered, i);
    }
    close_setup(&s);
}

static void wait_is_bounded_by_the_export_timeout(void) {
    setup s;
    prepare(&s, SPT_NEVER);
    s.options.export_timeout_ms = 30;
    SPT_REQUIRE(open_setup(&s));
    uint64_t start = spt_now_ns();
    emit_log(&s, 1);
    uint64_t took = spt_now_ns() - start;
    SPT_CHECK(took >= 30 * SP_NS_PER_MS);
    SPT_CHECK(took < 10 * SP_NS_PER_S);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).dropped[SPOOL_DROP_TIMEOUT], 1);
    uint64_t strays = sp_misuse_read(SP_MISUSE_INVALID_CALL);
    SPT_CHECK_UINT(spt_exporter_answer(&s.exporter, true), 1);
    SPT_CHECK_UINT(sp_misuse_read(SP_MISUSE_INVALID_CALL), strays + 1);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).delivered, 0);
    close_setup(&s);
}

static void *emit_one(void *arg) {
    emit_log(arg, 1);
    return NULL;
}

static void flush_lets_an_unanswered_export_have_its_own_time(void) {
    setup s;
    prepare(&s, SPT_HELD);
    s.options.export_timeout_ms = 0; /* without limit */
    SPT_REQUIRE(open_setup(&s));
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, emit_one, &s) == 0);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == 1);
    spool_report report = SPOOL_REPORT_INIT;
    uint64_t begin_ns = spt_now_ns();
    SPT_CHECK_UINT(spool_flush(s.sdk, 200, &report), SPOOL_ERR_EXPORT);
    SPT_CHECK(spt_now_ns() - begin_ns >= UINT64_C(170000000));
    (void)pthread_join(thread, NULL);
    SPT_CHECK_UINT(report.dropped, 1);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).dropped[SPOOL_DROP_TIMEOUT], 1);
    close_setup(&s);
}

static void *flush_long(void *arg) {
    setup *s = arg;
    SPT_CHECK_UINT(spool_flush(s->sdk, LONG_MS, NULL), SPOOL_OK);
    return NULL;
}

static void flush_delivers_the_record_that_is_on_its_way(void) {
    setup s;
    prepare(&s, SPT_HELD);
    SPT_REQUIRE(open_setup(&s));
    pthread_t sender;
    pthread_t flusher;
    SPT_REQUIRE(pthread_create(&sender, NULL, emit_one, &s) == 0);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == 1);
    SPT_REQUIRE(pthread_create(&flusher, NULL, flush_long, &s) == 0);
    (void)spt_pause_until(spt_deadline_ns(50));
    SPT_CHECK(spt_exporter_answer(&s.exporter, true) != 0);
    (void)pthread_join(flusher, NULL);
    (void)pthread_join(sender, NULL);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).delivered, 1);
    close_setup(&s);
}

static void *emit_held(void *arg) {
    emit_log(arg, 1);
    return NULL;
}

static atomic_bool let_go;

static void hang(spt_exporter *exporter, spool_batch *batch) {
    (void)exporter;
    (void)batch;
    while (!atomic_load(&let_go)) {
        (void)spt_pause_until(spt_deadline_ns(5));
    }
}

static void shutdown_is_bounded_when_a_thread_hangs_in_the_exporter(void) {
    setup s;
    prepare(&s, SPT_DELIVERED);
    s.exporter.on_export = hang;
    SPT_REQUIRE(open_setup(&s));
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, emit_held, &s) == 0);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_records(&s.exporter) == 1);
    uint64_t start = spt_now_ns();
    SPT_CHECK_UINT(spool_shutdown(s.sdk, 50, NULL), SPOOL_ERR_TIMEOUT);
    SPT_CHECK(spt_now_ns() - start < 10 * SP_NS_PER_S);
    SPT_CHECK_UINT(s.exporter.shutdowns, 0);
    atomic_store(&let_go, true);
    (void)pthread_join(thread, NULL);
    spool_sdk_free(s.sdk);
    SPT_CHECK_UINT(s.exporter.destroys, 1);
    spt_exporter_fini(&s.exporter);
}

static setup *reentered;

static void reenter(spt_exporter *exporter, spool_batch *batch) {
    (void)batch;
    if (exporter->records > 3) {
        return;
    }
    emit_log(reentered, 1000);
    SPT_CHECK_UINT(spool_flush(reentered->sdk, LONG_MS, NULL), SPOOL_ERR_WOULD_BLOCK);
    /* Straight to the hook, past the suppression of the API. */
    spool_log_data log = {.struct_size = sizeof log};
    reentered->processor.ops->log_emit(reentered->processor.self, &log);
}

static void exporter_that_logs_neither_deadlocks_nor_recurses(void) {
    setup s;
    prepare(&s, SPT_DELIVERED);
    s.exporter.on_export = reenter;
    reentered = &s;
    SPT_REQUIRE(open_setup(&s));
    emit_log(&s, 1);
    SPT_CHECK_UINT(spt_exporter_records(&s.exporter), 1);
    spool_processor_stats now = stats(&s, SPOOL_SIGNAL_LOGS);
    SPT_CHECK_UINT(now.offered, 2);
    SPT_CHECK_UINT(now.delivered, 1);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_LIMIT], 1);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    close_setup(&s);
}

static void inside_another_hook_nobody_waits(void) {
    setup s;
    prepare(&s, SPT_NEVER);
    SPT_REQUIRE(open_setup(&s));
    uint64_t start = spt_now_ns();
    sp_thread_get()->hook_depth++;
    emit_log(&s, 1);
    sp_thread_get()->hook_depth--;
    SPT_CHECK(spt_now_ns() - start < 10 * SP_NS_PER_S);
    SPT_CHECK_UINT(stats(&s, SPOOL_SIGNAL_LOGS).dropped[SPOOL_DROP_TIMEOUT], 1);
    close_setup(&s);
}

static void after_shutdown_nothing_is_exported(void) {
    setup s;
    prepare(&s, SPT_DELIVERED);
    SPT_REQUIRE(open_setup(&s));
    emit_log(&s, 1);
    SPT_CHECK_UINT(spool_shutdown(s.sdk, LONG_MS, NULL), SPOOL_OK);
    emit_log(&s, 2);
    SPT_CHECK_UINT(spt_exporter_records(&s.exporter), 1);
    SPT_CHECK_UINT(s.processor.ops->shutdown(s.processor.self, 1, NULL), SPOOL_ERR_SHUTDOWN);
    SPT_CHECK_UINT(s.processor.ops->flush(s.processor.self, 1, NULL), SPOOL_ERR_SHUTDOWN);
    close_setup(&s);
}

SPT_MAIN("processors.simple", SPT_CASE(each_record_is_exported_before_the_call_returns),
         SPT_CASE(exports_are_made_one_at_a_time_in_each_threads_order),
         SPT_CASE(caller_waits_for_a_later_answer), SPT_CASE(wait_is_bounded_by_the_export_timeout),
         SPT_CASE(flush_lets_an_unanswered_export_have_its_own_time),
         SPT_CASE(flush_delivers_the_record_that_is_on_its_way),
         SPT_CASE(shutdown_is_bounded_when_a_thread_hangs_in_the_exporter),
         SPT_CASE(exporter_that_logs_neither_deadlocks_nor_recurses),
         SPT_CASE(inside_another_hook_nobody_waits), SPT_CASE(after_shutdown_nothing_is_exported))
