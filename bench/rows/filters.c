/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row 9: what a log statement costs that goes nowhere, and what one costs that does: no SDK, minimum
 * severity, a processor that refuses, and the groups `static`, `dynamic` and `mixed` of filters in front of
 * a processor that records nothing. The scope of the statement is `bench`, its severity DEBUG.
 */
#define SPOOL_SCOPE "bench"
#include "bench/harness/bench.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <stdlib.h>
#include <syslog.h>

enum { STATEMENTS = 2000000, EMITTED = 200000 };
/* `variant`: which SDK there is. */
enum { NO_SDK, RECORDS_NOTHING, REFUSES, BELOW_MINIMUM, ASKED_EACH_TIME, LAYER };

/* `parameter`: the directives of the SDK's filter, or with LAYER of the one processor's. */
enum {
    NONE,
    SINGLE,
    ENABLED_ONE,
    ENABLED_MANY,
    DISABLED_LEVEL_ONE,
    DISABLED_LEVEL_MANY,
    DISABLED_ONE,
    DISABLED_MANY,
    DYNAMIC,
    MIXED_DISABLED,
    MIXED_BY_LEVEL
};
static const char *const directives[] = {
    [SINGLE] = "debug",
    [ENABLED_ONE] = "bench=debug",
    [ENABLED_MANY] = "foo=info,bar=warn,baz=error,qux=trace,bench=debug",
    [DISABLED_LEVEL_ONE] = "bench=info",
    [DISABLED_LEVEL_MANY] = "foo=info,bar=warn,baz=error,qux=trace,bench=info",
    [DISABLED_ONE] = "foo=debug",
    [DISABLED_MANY] = "foo=debug,bar=trace,baz=error,qux=info,quux=debug",
    [DYNAMIC] = "[foo]=trace",
    [MIXED_DISABLED] = "[foo]=trace,bar[quux]=debug,bench=info",
    [MIXED_BY_LEVEL] = "[foo]=trace,bench=info",
};

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

static bool no_record(void *self, const spool_log_query *query) {
    (void)self;
    bench_use(query);
    return false;
}

static const spool_filter_ops asks_each_time = {.struct_size = sizeof asks_each_time,
                                                .log = no_record};

static spool_filter *filter_make(const bench_case *bench) {
    spool_filter *filter = NULL;
    spool_status status = SPOOL_OK;
    if (bench->variant == ASKED_EACH_TIME) {
        status = spool_filter_create_custom(&asks_each_time, NULL, &filter);
    } else if (bench->parameter != NONE) {
        status = spool_filter_create(directives[bench->parameter], &filter);
    }
    if (status != SPOOL_OK) {
        abort();
    }
    return filter;
}

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
    spool_filter *filter = filter_make(bench);
    const spool_filter *of_processor[] = {filter};
    if (bench->variant == LAYER || bench->variant == ASKED_EACH_TIME) {
        options.processor_filters = of_processor;
    } else {
        options.filter = filter;
    }
    if (spool_sdk_create(&options, &sdk) != SPOOL_OK) {
        abort();
    }
    spool_filter_release(filter);
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

/* Inside a span that the filter names. */
static void statements_in_span(bench_thread *thread) {
    SPOOL_SPAN(span, SPOOL_TRACER(), "foo");
    statements(thread);
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

#define FILTER_CASE(name, parameter)                                                               \
    {                                                                                              \
        name, 1, EMITTED, parameter, RECORDS_NOTHING, false, NULL, sdk_make, sdk_free, NULL,       \
            statements, NULL                                                                       \
    }

static const bench_case cases[] = {
    SPOOL_CASE("09/disabled_event/no_sdk/spool", STATEMENTS, NO_SDK, statements),
    SPOOL_CASE("09/disabled_event/severity/spool", STATEMENTS, BELOW_MINIMUM, statements),
    SPOOL_CASE("09/disabled_event/severity/naive", STATEMENTS, NO_SDK, masked_syslog),
    SPOOL_CASE("09/disabled_event/severity/control", STATEMENTS, NO_SDK, nothing),
    SPOOL_CASE("09/refused_event/processor/spool", STATEMENTS, REFUSES, statements),
    SPOOL_CASE("09/enabled_question/severity/spool", STATEMENTS, BELOW_MINIMUM, questions),
    SPOOL_CASE("09/disabled_span/no_sdk/spool", STATEMENTS, NO_SDK, spans),
    SPOOL_CASE("09/layer_filter/function/spool", STATEMENTS, ASKED_EACH_TIME, statements),
    {"09/layer_filter/directive/spool", 1, STATEMENTS, DISABLED_LEVEL_ONE, LAYER, false, NULL,
     sdk_make, sdk_free, NULL, statements, NULL},
    FILTER_CASE("09/static/baseline/spool", NONE),
    FILTER_CASE("09/static/single/spool", SINGLE),
    FILTER_CASE("09/static/enabled_one/spool", ENABLED_ONE),
    FILTER_CASE("09/static/enabled_many/spool", ENABLED_MANY),
    FILTER_CASE("09/static/disabled_level_one/spool", DISABLED_LEVEL_ONE),
    FILTER_CASE("09/static/disabled_level_many/spool", DISABLED_LEVEL_MANY),
    FILTER_CASE("09/static/disabled_one/spool", DISABLED_ONE),
    FILTER_CASE("09/static/disabled_many/spool", DISABLED_MANY),
    {"09/static/enabled_many_t4/spool", 4, EMITTED, ENABLED_MANY, RECORDS_NOTHING, false, NULL,
     sdk_make, sdk_free, NULL, statements, NULL},
    FILTER_CASE("09/dynamic/baseline/spool", NONE),
    {"09/dynamic/single/spool", 1, EMITTED, DYNAMIC, RECORDS_NOTHING, false, NULL, sdk_make,
     sdk_free, NULL, statements_in_span, NULL},
    FILTER_CASE("09/mixed/disabled/spool", MIXED_DISABLED),
    FILTER_CASE("09/mixed/by_level/spool", MIXED_BY_LEVEL),
};

const bench_suite bench_suite_filters = {cases, sizeof cases / sizeof cases[0]};
