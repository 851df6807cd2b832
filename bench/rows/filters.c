/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row 9: what a log statement costs that goes nowhere, and what one costs that does: no SDK, minimum
 * severity, a processor that refuses, a processor that records nothing.
 */
#define SPOOL_SCOPE "bench"
#include "bench/harness/bench.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <stdlib.h>
#include <syslog.h>

enum { STATEMENTS = 2000000, EMITTED = 200000 };
/* `variant`: which SDK there is. */
enum { NO_SDK, RECORDS_NOTHING, REFUSES, BELOW_MINIMUM };

static void record_nothing(void *self, spool_log_data *log) {
    (void)self;
    bench_use(log);
}

static bool refuse(void *self, const spool_enabled_query *query) {
    (void)self;
    bench_use(query);
    return false;
}

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops accepting = {.struct_size = sizeof accepting,
                                              .name = "records nothing",
                                              .log_emit = record_nothing,
                                              .destroy = destroy};
static const spool_processor_ops refusing = {.struct_size = sizeof refusing,
                                             .name = "refuses",
                                             .log_emit = record_nothing,
                                             .enabled = refuse,
                                             .destroy = destroy};

static void *sdk_make(const bench_case *bench) {
    spool_sdk *sdk = NULL;
    if (bench->variant == NO_SDK) {
        return NULL;
    }
    spool_processor processor = {bench->variant == REFUSES ? &refusing : &accepting, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.clock = SPOOL_CLOCK_COARSE;
    options.minimum_severity =
        bench->variant == BELOW_MINIMUM ? SPOOL_SEVERITY_INFO : SPOOL_SEVERITY_TRACE;
    if (spool_sdk_create(&options, &sdk) != SPOOL_OK) {
        abort();
    }
    return sdk;
}

static void sdk_free(const bench_case *bench, void *shared) {
    (void)bench;
    spool_sdk_free(shared);
}

static void statements(bench_thread *thread) {
    for (uint64_t i = 0; i < thread->ops; i++) {
        SPOOL_DEBUG("statement", spool_int("n", (int64_t)i));
        bench_use(&i);
    }
}

/* The statement is asked by function, as a wrapper of another logging interface does. */
static void questions(bench_thread *thread) {
    spool_logger *logger = SPOOL_LOGGER();
    for (uint64_t i = 0; i < thread->ops; i++) {
        if (spool_logger_enabled(logger, NULL, SPOOL_SEVERITY_DEBUG, NULL)) {
            bench_use(logger);
        }
    }
}

/* Spans without an SDK: nothing to start, nothing to end. */
static void spans(bench_thread *thread) {
    spool_tracer *tracer = SPOOL_TRACER();
    for (uint64_t i = 0; i < thread->ops; i++) {
        spool_span_end(spool_span_start(tracer, "span", NULL));
    }
}

/* syslog's mask: the disabled statement of libc. */
static void masked_syslog(bench_thread *thread) {
    int mask = setlogmask(LOG_UPTO(LOG_INFO));
    for (uint64_t i = 0; i < thread->ops; i++) {
        syslog(LOG_DEBUG, "statement n=%llu", (unsigned long long)i);
    }
    (void)setlogmask(mask);
}

static void nothing(bench_thread *thread) {
    for (uint64_t i = 0; i < thread->ops; i++) {
        bench_use(&i);
    }
}

#define SPOOL_CASE(name, ops, variant, loop)                                                       \
    { name, 1, ops, 0, variant, false, NULL, sdk_make, sdk_free, NULL, loop, NULL }

static const bench_case cases[] = {
    SPOOL_CASE("09/disabled_event/no_sdk/spool", STATEMENTS, NO_SDK, statements),
    SPOOL_CASE("09/disabled_event/severity/spool", STATEMENTS, BELOW_MINIMUM, statements),
    SPOOL_CASE("09/disabled_event/severity/naive", STATEMENTS, NO_SDK, masked_syslog),
    SPOOL_CASE("09/disabled_event/severity/control", STATEMENTS, NO_SDK, nothing),
    SPOOL_CASE("09/refused_event/processor/spool", STATEMENTS, REFUSES, statements),
    SPOOL_CASE("09/enabled_question/severity/spool", STATEMENTS, BELOW_MINIMUM, questions),
    SPOOL_CASE("09/disabled_span/no_sdk/spool", STATEMENTS, NO_SDK, spans),
    SPOOL_CASE("09/static/baseline/spool", EMITTED, RECORDS_NOTHING, statements),
};

const bench_suite bench_suite_filters = {cases, sizeof cases / sizeof cases[0]};
