/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T68: no allocation and no mapping on the caller's thread for a span or a record, once warm: 4 and 8
 * attributes, keys and values that are not literals and change each time (with the same lengths, so that
 * the warm-up has seen spans of every size); no-op, simple and batch processors, and filters of every kind. An interposed malloc
 * counts.
 *
 * A batch ring grows, by mapping, to what the thread makes before the loop comes round. How much that is
 * depends on the scheduler, so there the warm-up cannot have seen the most: mappings are bounded by the
 * segments that hold the records between two flushes.
 */
#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"

#include <spool/ext/ext.h>
#include <spool/sdk/sdk.h>

#include <stdio.h>
#include <string.h>

enum { WARM_UP = 1000, COUNTED = 5000, MOST_ATTRS = 8, RING_SEGMENTS = 8 };

/* ---- pipelines ---- */

static void ignore_span(void *self, spool_span_record *span) {
    (void)self;
    (void)span;
}
static void ignore_log(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
}
static void ignore_self(void *self) {
    (void)self;
}
static const spool_processor_ops noop_processor = {.struct_size = sizeof noop_processor,
                                                   .name = "noop",
                                                   .span_end = ignore_span,
                                                   .log_emit = ignore_log,
                                                   .destroy = ignore_self};

static void accept_batch(void *self, spool_batch *batch, uint64_t deadline_ns) {
    (void)self;
    (void)deadline_ns;
    spool_outcome outcome = {.delivered = spool_batch_count(batch)};
    spool_batch_done(spool_batch_id(batch), &outcome);
}
static spool_status shut(void *self, uint64_t deadline_ns) {
    (void)self;
    (void)deadline_ns;
    return SPOOL_OK;
}
static const spool_exporter_ops keep_nothing = {
    sizeof keep_nothing, "nothing", accept_batch, NULL, shut, ignore_self, 0};

static spool_filter *filter; /* for all processors of the next SDK */
static const spool_filter *const *processor_filters;

static spool_sdk *start(const spool_processor *processors, size_t count) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.filter = filter;
    options.processor_filters = processor_filters;
    options.processors = processors;
    options.processor_count = count;
    spool_sdk *sdk = NULL;
    (void)SPT_CHECK(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    return sdk;
}

/* ---- work: texts are written anew each time, none of them is a literal ---- */

static char keys[MOST_ATTRS][32];
static char values[MOST_ATTRS][64];

static size_t attrs_make(spool_attr *attrs, size_t count, unsigned round) {
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "key.%zu.%u", i, round % 7);
        (void)snprintf(values[i], sizeof values[i], "value %06u of %zu", round, i);
        attrs[i] =
            i % 4 == 3 ? spool_int(keys[i], INT64_MAX - round) : spool_string(keys[i], values[i]);
    }
    return count;
}

static void one_span(size_t attr_count, unsigned round) {
    static spool_tracer *tracer;
    if (!tracer) {
        tracer = spool_tracer_get("allocations", "1");
    }
    spool_attr attrs[MOST_ATTRS];
    char name[32];
    (void)snprintf(name, sizeof name, "span %06u", round);
    spool_span span = spool_span_start(tracer, name, NULL);
    spool_token token = spool_span_enter(span);
    size_t count = attrs_make(attrs, attr_count, round);
    for (size_t i = 0; i < count; i++) {
        spool_span_set(span, attrs[i]);
    }
    spool_span_exit(token);
    spool_span_end(span);
}

static void one_log(size_t attr_count, unsigned round) {
    static spool_logger *logger;
    if (!logger) {
        logger = spool_logger_get("allocations", "1");
    }
    spool_attr attrs[MOST_ATTRS];
    char body[64];
    (void)snprintf(body, sizeof body, "record number %06u", round);
    spool_log_n(logger, SPOOL_SEVERITY_INFO, spool_str_of(body), attrs,
                attrs_make(attrs, attr_count, round));
}

/* Allocations and mappings of `COUNTED` rounds on this thread. In a batch pipeline the queue is kept from
 * filling up by a flush every 500 rounds, outside the count. */
static void count_rounds(const char *what, size_t attr_count, uint64_t most_maps) {
    uint64_t mallocs = 0;
    uint64_t maps = 0;
    for (unsigned round = 0; round < WARM_UP + COUNTED; round++) {
        uint64_t before = spt_mallocs_of_thread();
        uint64_t maps_before = spt_mmaps_of_thread();
        one_span(attr_count, round);
        one_log(attr_count, round);
        if (round >= WARM_UP) {
            mallocs += spt_mallocs_of_thread() - before;
            maps += spt_mmaps_of_thread() - maps_before;
        }
        if (round % 500 == 499) {
            (void)SPT_CHECK(spool_flush(NULL, 5000, NULL) == SPOOL_OK);
        }
    }
    (void)printf("%s, %zu attributes: %llu allocations, %llu mappings in %d spans and records\n",
                 what, attr_count, (unsigned long long)mallocs, (unsigned long long)maps, COUNTED);
    (void)SPT_CHECK_UINT(mallocs, 0);
    (void)SPT_CHECK(maps <= most_maps);
}

static void check_pipeline(const char *what, const spool_processor *processors, size_t count) {
    spool_sdk *sdk = start(processors, count);
    SPT_REQUIRE(sdk != NULL);
    uint64_t most_maps = count == 1 ? 0 : RING_SEGMENTS;
    count_rounds(what, 4, most_maps);
    count_rounds(what, 8, most_maps);
    struct spool_stats stats = {.struct_size = sizeof stats};
    SPT_REQUIRE(spool_stats(sdk, &stats) == SPOOL_OK);
    (void)SPT_CHECK_UINT(stats.signals[0].finished, 2 * (WARM_UP + COUNTED));
    for (size_t i = 0; i < stats.processor_count && processors[0].ops != &noop_processor; i++) {
        uint64_t delivered = stats.processors[i][0].delivered + stats.processors[i][1].delivered;
        (void)SPT_CHECK_UINT(delivered, (count == 1 ? 4 : 2) * (WARM_UP + COUNTED));
    }
    spool_sdk_free(sdk);
}

static void noop(void) {
    spool_processor processor = {&noop_processor, NULL};
    check_pipeline("noop", &processor, 1);
}

static bool admit_span(void *self, const spool_span_query *query) {
    (void)self;
    return query->name.len != 0;
}
static bool admit_log(void *self, const spool_log_query *query) {
    (void)self;
    return query->severity != 0;
}
static const spool_filter_ops admitting = {sizeof admitting, admit_span, admit_log, NULL, 0};

/* A list with span parts that spans meet by start and by later attributes, and a function; one for all,
 * one for the processor, and spans that are filtered away. */
static void filters(void) {
    spool_processor processor = {&noop_processor, NULL};
    spool_filter *list = NULL;
    spool_filter *custom = NULL;
    SPT_REQUIRE(spool_filter_create("info,off.scope=off,[{key.0.1}]=trace,[{key.1.2=x}]=off",
                                    &list) == SPOOL_OK);
    SPT_REQUIRE(spool_filter_create_custom(&admitting, NULL, &custom) == SPOOL_OK);
    SPT_REQUIRE(spool_filter_or(list, custom, &filter) == SPOOL_OK);
    const spool_filter *own[] = {list};
    processor_filters = own;
    check_pipeline("filters", &processor, 1);
    spool_filter_release(filter);
    filter = list;
    spool_sdk *sdk = start(&processor, 1);
    processor_filters = NULL;
    SPT_REQUIRE(sdk != NULL);
    uint64_t mallocs = 0;
    for (unsigned round = 0; round < WARM_UP + COUNTED; round++) {
        uint64_t before = spt_mallocs_of_thread();
        spool_span outer = spool_span_start(spool_tracer_get("on.scope", ""), "outer", NULL);
        spool_token token = spool_span_enter(outer);
        spool_span hidden = spool_span_start(spool_tracer_get("off.scope", ""), "hidden", NULL);
        spool_token in_hidden = spool_span_enter(hidden);
        spool_span_end(spool_span_start(spool_tracer_get("on.scope", ""), "inner", NULL));
        spool_span_exit(in_hidden);
        spool_span_end(hidden);
        spool_span_exit(token);
        spool_span_end(outer);
        mallocs += round >= WARM_UP ? spt_mallocs_of_thread() - before : 0;
    }
    (void)SPT_CHECK_UINT(mallocs, 0);
    struct spool_stats stats = {.struct_size = sizeof stats};
    SPT_REQUIRE(spool_stats(sdk, &stats) == SPOOL_OK);
    (void)SPT_CHECK_UINT(stats.signals[0].filtered, WARM_UP + COUNTED);
    spool_sdk_free(sdk);
    filter = NULL;
    spool_filter_release(list);
    spool_filter_release(custom);
}

static void simple(void) {
    spool_exporter exporter = {&keep_nothing, NULL};
    spool_processor processor;
    SPT_REQUIRE(spool_simple_create(exporter, NULL, &processor) == SPOOL_OK);
    check_pipeline("simple", &processor, 1);
}

static void batch(void) {
    spool_exporter exporter = {&keep_nothing, NULL};
    spool_processor processors[2];
    SPT_REQUIRE(spool_batch_create(SPOOL_SIGNAL_SPANS, exporter, NULL, &processors[0]) == SPOOL_OK);
    SPT_REQUIRE(spool_batch_create(SPOOL_SIGNAL_LOGS, exporter, NULL, &processors[1]) == SPOOL_OK);
    check_pipeline("batch", processors, 2);
}

SPT_MAIN("allocations", SPT_CASE(noop), SPT_CASE(filters), SPT_CASE(simple), SPT_CASE(batch))
