/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch processor through a real SDK: when it exports, what it counts, how it flushes and ends.
 */
#include "tests/unit/processors/held_exporter.h"

#include "runtime/batch.h"
#include "runtime/loop.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/diagnostics.h"
#include "tests/support/spt.h"

#include <spool/log.h>
#include <spool/sdk/batch.h>
#include <spool/trace.h>

#include <string.h>

enum { LONG_MS = 20000, HOUR_MS = 3600000 };

/* One SDK with one batch processor for logs, or for spans. */
typedef struct setup {
    spt_exporter exporter;
    spool_batch_options options;
    uint32_t signal;
    spool_processor processor;
    spool_sampler sampler;
    spool_sdk *sdk;
    spool_logger *logger;
    spool_tracer *tracer;
} setup;

static bool open_setup(setup *s) {
    if (spool_batch_create(s->signal, spt_exporter_of(&s->exporter), &s->options, &s->processor) !=
        SPOOL_OK) {
        return false;
    }
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &s->processor;
    options.processor_count = 1;
    options.sampler = s->sampler;
    if (spool_sdk_create(&options, &s->sdk) != SPOOL_OK) {
        return false;
    }
    spool_scope scope = {.name = SPOOL_STR_INIT("test")};
    s->logger = spool_sdk_logger(s->sdk, &scope);
    s->tracer = spool_sdk_tracer(s->sdk, &scope);
    return true;
}

/* A queue of `queue`, batches of `batch`, and no timer within the test. */
static void prepare(setup *s, uint32_t signal, spt_answer answer, uint32_t queue, uint32_t batch) {
    memset(s, 0, sizeof *s);
    s->signal = signal;
    spt_exporter_init(&s->exporter, answer);
    spool_batch_options_init(&s->options, signal);
    s->options.max_queue_size = queue;
    s->options.max_export_batch_size = batch;
    s->options.schedule_delay_ms = HOUR_MS;
}

static void close_setup(setup *s) {
    spool_sdk_free(s->sdk);
    SPT_CHECK_UINT(s->exporter.destroys, 1);
    SPT_CHECK_UINT(s->exporter.wrong_order, 0);
    SPT_CHECK_UINT(s->exporter.malformed, 0);
    spt_exporter_fini(&s->exporter);
}

static void emit_from(setup *s, uint64_t thread, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t number = thread << 32 | i;
        if (s->signal == SPOOL_SIGNAL_LOGS) {
            spool_attr attrs[] = {spool_int("number", (int64_t)i), spool_string("text", "value")};
            spool_log_record record = SPOOL_LOG_RECORD_INIT;
            record.severity = SPOOL_SEVERITY_INFO;
            record.body = spool_value_int((int64_t)number);
            record.attrs = attrs;
            record.attr_count = 2;
            spool_log_emit(s->logger, &record);
        } else {
            spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
            options.start_time_ns = number;
            spool_span_end(spool_span_start(s->tracer, "work", &options));
        }
    }
}

static void emit(setup *s, uint64_t first, uint64_t count) {
    emit_from(s, 1, first, count);
}

static spool_processor_stats stats(const setup *s) {
    return spt_stats_of(&s->processor, s->signal);
}

/* ---- when it exports ---- */

static void full_batch_goes_at_once(void) {
    for (uint32_t batch = 1; batch <= 130; batch += 43) {
        for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
            setup s;
            prepare(&s, signal, SPT_DELIVERED, 2048, batch);
            SPT_REQUIRE(open_setup(&s));
            emit(&s, 1, batch - 1);
            emit(&s, batch, 1);
            SPT_WAIT_UNTIL(LONG_MS, spt_exporter_records(&s.exporter) == batch);
            SPT_CHECK_UINT(spt_exporter_records(&s.exporter), batch);
            SPT_CHECK_UINT(s.exporter.batches, 1);
            close_setup(&s);
        }
    }
}

static void less_than_a_batch_waits_for_the_timer(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 2048, 512);
    s.options.schedule_delay_ms = 300;
    SPT_REQUIRE(open_setup(&s));
    uint64_t start = spt_now_ns();
    emit(&s, 1, 511);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_records(&s.exporter) == 511);
    SPT_CHECK_UINT(spt_exporter_records(&s.exporter), 511);
    SPT_CHECK(spt_now_ns() - start > 100 * SP_NS_PER_MS);
    SPT_CHECK_UINT(s.exporter.batches, 1);
    close_setup(&s);
}

static void sample_every_other(void *self, const spool_sampler_query *query,
                               spool_sampler_result *result) {
    unsigned *asked = self;
    (void)query;
    result->decision = ++*asked % 2 ? SPOOL_DECISION_RECORD_ONLY : SPOOL_DECISION_RECORD_AND_SAMPLE;
}

static const char *describe_every_other(void *self) {
    (void)self;
    return "every_other";
}

static void spans_that_are_recorded_but_not_sampled_are_not_offered(void) {
    static const spool_sampler_ops every_other = {.struct_size = sizeof(spool_sampler_ops),
                                                  .sample = sample_every_other,
                                                  .describe = describe_every_other};
    unsigned asked = 0;
    setup s;
    prepare(&s, SPOOL_SIGNAL_SPANS, SPT_DELIVERED, 64, 32);
    s.sampler = (spool_sampler){&every_other, &asked};
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 20);
    SPT_CHECK_UINT(asked, 20);
    SPT_CHECK_UINT(stats(&s).offered, 10);
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, NULL), SPOOL_OK);
    SPT_CHECK_UINT(spt_exporter_records(&s.exporter), 10);
    close_setup(&s);
}

/* ---- capacity ---- */

static void capacity_counts_what_is_in_flight(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 8, 4);
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 4);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == 1);
    SPT_CHECK_UINT(stats(&s).in_flight, 4);
    emit(&s, 5, 6);
    spool_processor_stats now = stats(&s);
    SPT_CHECK_UINT(now.offered, 10);
    SPT_CHECK_UINT(now.in_flight, 4);
    SPT_CHECK_UINT(now.queued, 4);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_QUEUE_FULL], 2);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    /* What is answered makes room again. */
    SPT_CHECK_UINT(spt_exporter_answer(&s.exporter, true), 4);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == 1);
    emit(&s, 11, 5);
    now = stats(&s);
    SPT_CHECK_UINT(now.delivered, 4);
    SPT_CHECK_UINT(now.in_flight, 4);
    SPT_CHECK_UINT(now.queued, 4);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_QUEUE_FULL], 3);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    atomic_store(&s.exporter.answer, SPT_DELIVERED);
    SPT_CHECK_UINT(spt_exporter_answer(&s.exporter, false), 4);
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, NULL), SPOOL_ERR_EXPORT);
    now = stats(&s);
    SPT_CHECK_UINT(now.delivered, 8);
    SPT_CHECK_UINT(now.rejected, 4);
    SPT_CHECK_UINT(now.queued + now.in_flight, 0);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    close_setup(&s);
}

static void bytes_are_limited_and_press_for_an_export(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 2048, 512);
    s.options.max_queue_bytes = 4096;
    SPT_REQUIRE(open_setup(&s));
    static char text[8000];
    memset(text, 'x', sizeof text);
    spool_log_n(s.logger, SPOOL_SEVERITY_INFO, spool_str_n(text, sizeof text), NULL, 0);
    SPT_CHECK_UINT(stats(&s).dropped[SPOOL_DROP_TOO_LARGE], 1);
    emit(&s, 1, 200);
    /* Nothing else would deliver these: neither the depth nor the timer. */
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_records(&s.exporter) > 0);
    SPT_CHECK(spt_exporter_records(&s.exporter) > 0);
    (void)spool_flush(s.sdk, LONG_MS, NULL);
    spool_processor_stats now = stats(&s);
    SPT_CHECK(now.dropped[SPOOL_DROP_QUEUE_FULL] > 0);
    SPT_CHECK_UINT(now.delivered, spt_exporter_records(&s.exporter));
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    close_setup(&s);
}

static void *answer_soon(void *arg) {
    setup *s = arg;
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s->exporter) == 1);
    uint64_t until = spt_deadline_ns(20);
    while (spt_pause_until(until)) {
    }
    atomic_store(&s->exporter.answer, SPT_DELIVERED);
    (void)spt_exporter_answer(&s->exporter, true);
    return NULL;
}

static void block_policy_waits_for_room_and_only_so_long(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 4, 4);
    s.options.overflow = SPOOL_OVERFLOW_BLOCK;
    s.options.block_limit_ms = LONG_MS;
    SPT_REQUIRE(open_setup(&s));
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, answer_soon, &s) == 0);
    emit(&s, 1, 6);
    (void)pthread_join(thread, NULL);
    SPT_CHECK_UINT(spt_dropped(&(spool_processor_stats){.dropped = {stats(&s).dropped[0]}}), 0);
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, NULL), SPOOL_OK);
    SPT_CHECK_UINT(stats(&s).delivered, 6);
    close_setup(&s);

    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 4, 4);
    s.options.overflow = SPOOL_OVERFLOW_BLOCK;
    s.options.block_limit_ms = 20;
    SPT_REQUIRE(open_setup(&s));
    uint64_t start = spt_now_ns();
    emit(&s, 1, 5);
    uint64_t took = spt_now_ns() - start;
    SPT_CHECK(took >= 20 * SP_NS_PER_MS);
    SPT_CHECK(took < LONG_MS * SP_NS_PER_MS);
    SPT_CHECK_UINT(stats(&s).dropped[SPOOL_DROP_QUEUE_FULL], 1);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_answer(&s.exporter, true) == 4);
    close_setup(&s);
}

/* ---- flush ---- */

static void flush_exports_everything_before_the_call_in_batches(void) {
    for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
        setup s;
        prepare(&s, signal, SPT_DELIVERED, 2048, 100);
        SPT_REQUIRE(open_setup(&s));
        emit(&s, 1, 1950);
        spool_report report = SPOOL_REPORT_INIT;
        SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, &report), SPOOL_OK);
        SPT_CHECK_UINT(spt_exporter_records(&s.exporter), 1950);
        SPT_CHECK_UINT(report.delivered, 1950);
        SPT_CHECK_UINT(report.timed_out, 0);
        SPT_CHECK_UINT(s.exporter.largest_batch, 100);
        SPT_CHECK_UINT(s.exporter.flushes, 1);
        spool_processor_stats now = stats(&s);
        SPT_CHECK_UINT(now.delivered, 1950);
        SPT_CHECK_UINT(spt_imbalance(&now), 0);
        close_setup(&s);
    }
}

static void no_wake_is_lost_between_emit_and_flush(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 2048, 512);
    SPT_REQUIRE(open_setup(&s));
    enum { ROUNDS = 5000 };
    uint64_t start = spt_now_ns();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        emit(&s, round, 1);
        SPT_REQUIRE(spool_flush(s.sdk, LONG_MS, NULL) == SPOOL_OK);
        SPT_REQUIRE(spt_exporter_records(&s.exporter) == round);
    }
    /* One lost wake would have cost an hour, or the flush. */
    SPT_CHECK(spt_now_ns() - start < 60 * SP_NS_PER_S);
    close_setup(&s);
}

static void flush_gives_up_at_its_deadline_and_keeps_the_records(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 64, 8);
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 10);
    spool_report report = SPOOL_REPORT_INIT;
    SPT_CHECK_UINT(spool_flush(s.sdk, 50, &report), SPOOL_ERR_TIMEOUT);
    SPT_CHECK_UINT(report.timed_out, 10);
    SPT_CHECK_UINT(report.queued, 10);
    SPT_CHECK_UINT(spool_flush(s.sdk, 0, &report), SPOOL_ERR_TIMEOUT);
    SPT_CHECK_UINT(report.timed_out, 10);
    atomic_store(&s.exporter.answer, SPT_DELIVERED);
    SPT_CHECK_UINT(spt_exporter_answer(&s.exporter, true), 8);
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, &report), SPOOL_OK);
    SPT_CHECK_UINT(report.timed_out, 0);
    SPT_CHECK_UINT(stats(&s).delivered, 10);
    SPT_CHECK_UINT(spool_flush(s.sdk, 0, &report), SPOOL_OK);
    close_setup(&s);
}

static void failed_batch_shows_in_the_next_report_once(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_REJECTED, 64, 4);
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 4);
    SPT_WAIT_UNTIL(LONG_MS, stats(&s).rejected == 4);
    atomic_store(&s.exporter.answer, SPT_DELIVERED);
    emit(&s, 5, 1);
    spool_report report = SPOOL_REPORT_INIT;
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, &report), SPOOL_ERR_EXPORT);
    SPT_CHECK_UINT(report.rejected, 4);
    SPT_CHECK_UINT(report.delivered, 1);
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, &report), SPOOL_OK);
    SPT_CHECK_UINT(report.rejected, 0);
    SPT_CHECK_UINT(report.delivered, 0);
    close_setup(&s);
}

typedef struct flusher {
    setup *s;
    spool_report report;
    spool_status status;
} flusher;

static void *flush_and_report(void *arg) {
    flusher *mine = arg;
    mine->status = spool_flush(mine->s->sdk, LONG_MS, &mine->report);
    return NULL;
}

static void flushes_at_the_same_time_do_not_steal_from_each_other(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 64, 8);
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 8);
    SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == 1);
    flusher flushers[3];
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++) {
        flushers[i] = (flusher){&s, SPOOL_REPORT_INIT, SPOOL_OK};
        SPT_REQUIRE(pthread_create(&threads[i], NULL, flush_and_report, &flushers[i]) == 0);
    }
    /* All three wait by the time the batch is answered. */
    uint64_t until = spt_deadline_ns(100);
    while (spt_pause_until(until)) {
    }
    (void)spt_exporter_answer(&s.exporter, true);
    for (unsigned i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
        SPT_CHECK_UINT(flushers[i].status, SPOOL_OK);
        SPT_CHECK_UINT(flushers[i].report.delivered, 8);
    }
    close_setup(&s);
}

static spool_status status_inside;
static setup *inside;

static void flush_inside(spt_exporter *exporter, spool_batch *batch) {
    (void)exporter;
    (void)batch;
    uint64_t start = spt_now_ns();
    status_inside =
        inside->processor.ops->flush(inside->processor.self, spt_deadline_ns(LONG_MS), NULL);
    SPT_CHECK_UINT(
        inside->processor.ops->shutdown(inside->processor.self, spt_deadline_ns(LONG_MS), NULL),
        SPOOL_ERR_WOULD_BLOCK);
    SPT_CHECK(spt_now_ns() - start < 10 * SP_NS_PER_S);
    /* What an exporter records by itself does not come back to it. */
    emit(inside, 1000, 5);
}

static void flush_on_the_loop_would_block_and_exporters_do_not_feed_themselves(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 64, 4);
    s.exporter.on_export = flush_inside;
    inside = &s;
    status_inside = SPOOL_OK;
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 4);
    SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, NULL), SPOOL_OK);
    SPT_CHECK_UINT(status_inside, SPOOL_ERR_WOULD_BLOCK);
    SPT_CHECK_UINT(stats(&s).offered, 4);
    close_setup(&s);
}

/* ---- answers ---- */

static void late_second_and_unknown_answers_are_counted_no_ops(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 64, 4);
    s.options.export_timeout_ms = 20;
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 4);
    SPT_WAIT_UNTIL(LONG_MS, stats(&s).dropped[SPOOL_DROP_TIMEOUT] == 4);
    SPT_CHECK_UINT(stats(&s).dropped[SPOOL_DROP_TIMEOUT], 4);
    uint64_t strays = sp_misuse_read(SP_MISUSE_INVALID_CALL);
    uint64_t id = s.exporter.held[0];
    SPT_CHECK_UINT(spt_exporter_answer(&s.exporter, true), 4);
    SPT_CHECK_UINT(sp_misuse_read(SP_MISUSE_INVALID_CALL), strays + 1);
    spool_batch_done(id, NULL);
    spool_batch_done(0, NULL);
    spool_batch_done(UINT64_MAX, &(spool_outcome){.delivered = 3});
    SPT_CHECK_UINT(sp_misuse_read(SP_MISUSE_INVALID_CALL), strays + 4);
    spool_processor_stats now = stats(&s);
    SPT_CHECK_UINT(now.delivered, 0);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    /* The pipeline goes on. */
    atomic_store(&s.exporter.answer, SPT_DELIVERED);
    emit(&s, 5, 4);
    SPT_WAIT_UNTIL(LONG_MS, stats(&s).delivered == 4);
    SPT_CHECK_UINT(stats(&s).delivered, 4);
    close_setup(&s);
}

static void outcome_is_cut_to_the_batch(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 64, 4);
    SPT_REQUIRE(open_setup(&s));
    static const spool_outcome outcomes[] = {{.delivered = 100},
                                             {.delivered = 1, .rejected = 2, .unknown = 9},
                                             {.unknown = 3, .drop_cause = SPOOL_DROP_TOO_LARGE},
                                             {.drop_cause = 77}};
    for (unsigned i = 0; i < 4; i++) {
        emit(&s, 1 + 4 * i, 4);
        SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == 1);
        uint64_t id = s.exporter.held[0];
        s.exporter.held_batches = 0;
        spool_batch_done(id, &outcomes[i]);
    }
    SPT_WAIT_UNTIL(LONG_MS, stats(&s).in_flight == 0);
    spool_processor_stats now = stats(&s);
    SPT_CHECK_UINT(now.delivered, 5);
    SPT_CHECK_UINT(now.rejected, 2);
    SPT_CHECK_UINT(now.unknown, 4);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_TOO_LARGE], 1);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_LIMIT], 4);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    close_setup(&s);
}

static void exports_are_serial_unless_the_exporter_says_otherwise(void) {
    for (uint32_t most = 0; most <= 3; most += 3) {
        setup s;
        prepare(&s, SPOOL_SIGNAL_LOGS, SPT_HELD, 64, 4);
        s.exporter.ops.max_in_flight = most;
        SPT_REQUIRE(open_setup(&s));
        uint64_t first = 1;
        for (unsigned i = 0; i < 5; i++, first += 4) {
            emit(&s, first, 4);
        }
        unsigned expected = most ? most : 1;
        SPT_WAIT_UNTIL(LONG_MS, spt_exporter_held(&s.exporter) == expected);
        SPT_CHECK_UINT(spool_flush(s.sdk, 50, NULL), SPOOL_ERR_TIMEOUT);
        SPT_CHECK_UINT(spt_exporter_held(&s.exporter), expected);
        uint64_t answered = 0;
        SPT_WAIT_UNTIL(LONG_MS, (answered += spt_exporter_answer(&s.exporter, true)) == 20);
        SPT_CHECK_UINT(answered, 20);
        SPT_CHECK_UINT(s.exporter.most_held, expected);
        close_setup(&s);
    }
}

/* ---- shutdown ---- */

static void shutdown_delivers_what_is_left(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_SPANS, SPT_DELIVERED, 2048, 512);
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 700);
    spool_report report = SPOOL_REPORT_INIT;
    SPT_CHECK_UINT(spool_shutdown(s.sdk, LONG_MS, &report), SPOOL_OK);
    SPT_CHECK_UINT(report.delivered, 700);
    SPT_CHECK_UINT(s.exporter.shutdowns, 1);
    SPT_CHECK_UINT(s.exporter.destroys, 0);
    SPT_CHECK_UINT(s.processor.ops->shutdown(s.processor.self, 1, NULL), SPOOL_ERR_SHUTDOWN);
    SPT_CHECK_UINT(s.processor.ops->flush(s.processor.self, 1, NULL), SPOOL_ERR_SHUTDOWN);
    SPT_CHECK_UINT(s.exporter.shutdowns, 1);
    close_setup(&s);
}

static void shutdown_is_bounded_when_the_exporter_never_answers(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_NEVER, 100, 10);
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 95);
    uint64_t start = spt_now_ns();
    spool_report report = SPOOL_REPORT_INIT;
    SPT_CHECK_UINT(spool_shutdown(s.sdk, 100, &report), SPOOL_ERR_TIMEOUT);
    SPT_CHECK(spt_now_ns() - start < 5 * SP_NS_PER_S);
    SPT_CHECK_UINT(report.timed_out, 95);
    SPT_CHECK_UINT(s.exporter.shutdowns, 1);
    spool_processor_stats now = stats(&s);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_TIMEOUT], 10);
    SPT_CHECK_UINT(now.dropped[SPOOL_DROP_SHUTDOWN], 85);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    uint64_t strays = sp_misuse_read(SP_MISUSE_INVALID_CALL);
    SPT_CHECK_UINT(spt_exporter_answer(&s.exporter, true), 10);
    SPT_CHECK_UINT(sp_misuse_read(SP_MISUSE_INVALID_CALL), strays + 1);
    close_setup(&s);
}

static atomic_bool let_go;

static void hang(spt_exporter *exporter, spool_batch *batch) {
    (void)exporter;
    (void)batch;
    while (!atomic_load(&let_go)) {
        (void)spt_pause_until(spt_deadline_ns(5));
    }
}

static void shutdown_is_bounded_when_the_exporter_hangs(void) {
    static setup s; /* left behind with the processor */
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 100, 10);
    s.exporter.on_export = hang;
    SPT_REQUIRE(open_setup(&s));
    emit(&s, 1, 10);
    uint64_t start = spt_now_ns();
    SPT_CHECK_UINT(spool_shutdown(s.sdk, 50, NULL), SPOOL_ERR_TIMEOUT);
    SPT_CHECK(spt_now_ns() - start < 5 * SP_NS_PER_S);
    spool_sdk_free(s.sdk);
    SPT_CHECK_UINT(s.exporter.destroys, 0);
    atomic_store(&let_go, true);
}

static void destroy_without_an_sdk_destroys_the_exporter(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 100, 10);
    SPT_REQUIRE(spool_batch_create(s.signal, spt_exporter_of(&s.exporter), &s.options,
                                   &s.processor) == SPOOL_OK);
    SPT_CHECK_UINT(s.processor.ops->flush(s.processor.self, 1, NULL), SPOOL_OK);
    s.processor.ops->destroy(s.processor.self);
    SPT_CHECK_UINT(s.exporter.destroys, 1);
    spt_exporter_fini(&s.exporter);
}

/* ---- creation ---- */

static spool_status create_with(spool_batch_options options, spt_exporter *exporter) {
    spool_processor processor = {NULL, NULL};
    spool_status status =
        spool_batch_create(SPOOL_SIGNAL_LOGS, spt_exporter_of(exporter), &options, &processor);
    if (status == SPOOL_OK) {
        processor.ops->destroy(processor.self);
    }
    return status;
}

static void wrong_options_are_refused(void) {
    spt_exporter exporter;
    spt_exporter_init(&exporter, SPT_DELIVERED);
    spool_batch_options options = SPOOL_BATCH_LOG_OPTIONS_INIT, wrong;
    SPT_CHECK_UINT(create_with(options, &exporter), SPOOL_OK);
    SPT_CHECK_UINT(exporter.destroys, 1);
    wrong = options;
    wrong.struct_size = 0;
    SPT_CHECK_UINT(create_with(wrong, &exporter), SPOOL_ERR_INVALID);
    wrong = options;
    wrong.max_export_batch_size = wrong.max_queue_size + 1;
    SPT_CHECK_UINT(create_with(wrong, &exporter), SPOOL_ERR_INVALID);
    wrong = options;
    wrong.max_queue_size = 0;
    SPT_CHECK_UINT(create_with(wrong, &exporter), SPOOL_ERR_INVALID);
    wrong = options;
    wrong.overflow = 3;
    SPT_CHECK_UINT(create_with(wrong, &exporter), SPOOL_ERR_INVALID);
    wrong = options;
    wrong.overflow = SPOOL_OVERFLOW_DROP_OLDEST;
    SPT_CHECK_UINT(create_with(wrong, &exporter), SPOOL_ERR_UNSUPPORTED);
    spool_processor processor;
    SPT_CHECK_UINT(spool_batch_create(2, spt_exporter_of(&exporter), NULL, &processor),
                   SPOOL_ERR_INVALID);
    SPT_CHECK_UINT(spool_batch_create(1, (spool_exporter){NULL, NULL}, NULL, &processor),
                   SPOOL_ERR_INVALID);
    SPT_CHECK_UINT(spool_batch_create(1, spt_exporter_of(&exporter), NULL, NULL),
                   SPOOL_ERR_INVALID);
    exporter.ops.export_batch = NULL;
    SPT_CHECK_UINT(create_with(options, &exporter), SPOOL_ERR_INVALID);
    SPT_CHECK_UINT(exporter.destroys, 1);
    spt_exporter_fini(&exporter);
}

static void defaults_are_those_of_the_specification(void) {
    spool_batch_options spans, logs;
    spool_batch_options_init(&spans, SPOOL_SIGNAL_SPANS);
    spool_batch_options_init(&logs, SPOOL_SIGNAL_LOGS);
    SPT_CHECK_UINT(spans.schedule_delay_ms, 5000);
    SPT_CHECK_UINT(logs.schedule_delay_ms, 1000);
    SPT_CHECK_UINT(spans.max_queue_size, 2048);
    SPT_CHECK_UINT(spans.max_export_batch_size, 512);
    SPT_CHECK_UINT(spans.export_timeout_ms, 30000);
    SPT_CHECK_UINT(logs.struct_size, sizeof logs);
}

/* ---- threads ---- */

typedef struct emitter {
    setup *s;
    uint64_t thread;
} emitter;

static void *emit_and_exit(void *arg) {
    emitter *mine = arg;
    emit_from(mine->s, mine->thread, 0, 100);
    return NULL;
}

static void records_of_a_thread_that_is_gone_arrive(void) {
    setup s;
    prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 2048, 512);
    SPT_REQUIRE(open_setup(&s));
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t t = 0; t < 5; t++) {
            emitter mine = {&s, round * 5 + t};
            pthread_t thread;
            SPT_REQUIRE(pthread_create(&thread, NULL, emit_and_exit, &mine) == 0);
            (void)pthread_join(thread, NULL);
        }
        SPT_CHECK_UINT(spool_flush(s.sdk, LONG_MS, NULL), SPOOL_OK);
        SPT_CHECK_UINT(spt_exporter_records(&s.exporter), 500 * (round + 1));
    }
    spool_processor_stats now = stats(&s);
    SPT_CHECK_UINT(now.offered, 1500);
    SPT_CHECK_UINT(now.delivered, 1500);
    SPT_CHECK_UINT(spt_imbalance(&now), 0);
    close_setup(&s);
}

static void a_thread_outlives_its_processors(void) {
    for (unsigned round = 0; round < 10; round++) {
        setup s;
        prepare(&s, SPOOL_SIGNAL_LOGS, SPT_DELIVERED, 64, 8);
        SPT_REQUIRE(open_setup(&s));
        emit(&s, 1, 20);
        SPT_CHECK_UINT(spool_shutdown(s.sdk, LONG_MS, NULL), SPOOL_OK);
        SPT_CHECK_UINT(stats(&s).delivered, 20);
        close_setup(&s);
    }
}

SPT_MAIN("processors.batch", SPT_CASE(full_batch_goes_at_once),
         SPT_CASE(less_than_a_batch_waits_for_the_timer),
         SPT_CASE(spans_that_are_recorded_but_not_sampled_are_not_offered),
         SPT_CASE(capacity_counts_what_is_in_flight),
         SPT_CASE(bytes_are_limited_and_press_for_an_export),
         SPT_CASE(block_policy_waits_for_room_and_only_so_long),
         SPT_CASE(flush_exports_everything_before_the_call_in_batches),
         SPT_CASE(no_wake_is_lost_between_emit_and_flush),
         SPT_CASE(flush_gives_up_at_its_deadline_and_keeps_the_records),
         SPT_CASE(failed_batch_shows_in_the_next_report_once),
         SPT_CASE(flushes_at_the_same_time_do_not_steal_from_each_other),
         SPT_CASE(flush_on_the_loop_would_block_and_exporters_do_not_feed_themselves),
         SPT_CASE(late_second_and_unknown_answers_are_counted_no_ops),
         SPT_CASE(outcome_is_cut_to_the_batch),
         SPT_CASE(exports_are_serial_unless_the_exporter_says_otherwise),
         SPT_CASE(shutdown_delivers_what_is_left),
         SPT_CASE(shutdown_is_bounded_when_the_exporter_never_answers),
         SPT_CASE(destroy_without_an_sdk_destroys_the_exporter),
         SPT_CASE(wrong_options_are_refused), SPT_CASE(defaults_are_those_of_the_specification),
         SPT_CASE(records_of_a_thread_that_is_gone_arrive),
         SPT_CASE(a_thread_outlives_its_processors),
         SPT_CASE(shutdown_is_bounded_when_the_exporter_hangs))
