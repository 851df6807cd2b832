/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters are exchanged while threads make spans and records: nothing is used after its end, which
 * ThreadSanitizer and AddressSanitizer would see, each span ends for those for whom it began, and the
 * balances hold.
 */
#define SPOOL_SCOPE "filters"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 8, EXCHANGES = SPT_TSAN ? 200 : 2000 };

typedef struct tally {
    _Atomic uint64_t started, ended, entered, exited, logged;
} tally;

static void on_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)parent;
    atomic_fetch_add(&((tally *)self)->started, 1);
    spool_ext_unpin(spool_ext_pin_parent(span));
}
static void on_end(void *self, spool_span_record *span) {
    (void)span;
    atomic_fetch_add(&((tally *)self)->ended, 1);
}
static void on_enter(void *self, spool_span span) {
    (void)span;
    atomic_fetch_add(&((tally *)self)->entered, 1);
}
static void on_exit_hook(void *self, spool_span span) {
    (void)span;
    atomic_fetch_add(&((tally *)self)->exited, 1);
}
static void on_log(void *self, spool_log_data *log) {
    atomic_fetch_add(&((tally *)self)->logged, 1);
    spool_ext_unpin(spool_ext_log_pin_span(log));
}
static const spool_processor_ops tally_ops = {.struct_size = sizeof tally_ops,
                                              .name = "tally",
                                              .span_start = on_start,
                                              .span_end = on_end,
                                              .span_enter = on_enter,
                                              .span_exit = on_exit_hook,
                                              .log_emit = on_log};

static tally tallies[2];
static _Atomic bool stop;
static spool_span shared;

static spool_sdk *open_sdk(void) {
    spool_processor processors[] = {{&tally_ops, &tallies[0]}, {&tally_ops, &tallies[1]}};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = 2;
    spool_sdk *sdk = NULL;
    (void)SPT_CHECK(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    return sdk;
}

/* ---- a filter whose memory shows that it is in use ---- */

typedef struct living {
    uint64_t value;
    _Atomic uint64_t *dead;
} living;
static bool living_span(void *self, const spool_span_query *query) {
    return ((living *)self)->value + query->name.len > 0;
}
static bool living_log(void *self, const spool_log_query *query) {
    return ((living *)self)->value + (uint64_t)query->severity > 0;
}
static void living_destroy(void *self) {
    living *of = self;
    of->value = 0;
    atomic_fetch_add(of->dead, 1);
    free(of);
}
static const spool_filter_ops living_ops = {sizeof living_ops, living_span, living_log,
                                            living_destroy, 0};

static _Atomic uint64_t destroyed;
static spool_filter *living_filter(uint64_t value) {
    living *self = malloc(sizeof *self);
    spool_filter *filter = NULL;
    if (!SPT_CHECK(self != NULL)) {
        return NULL;
    }
    self->value = value + 1;
    self->dead = &destroyed;
    if (!SPT_CHECK(spool_filter_create_custom(&living_ops, self, &filter) == SPOOL_OK)) {
        free(self);
    }
    return filter;
}

/* ---- load ---- */

static void *make_load(void *arg) {
    (void)arg;
    spool_tracer *tracers[] = {spool_tracer_get("filters", ""), spool_tracer_get("other", "")};
    for (unsigned round = 0; !stop; round++) {
        spool_attr user = spool_int("user", round % 8);
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.attrs = &user;
        options.attr_count = 1;
        spool_span outer = spool_span_start(tracers[round % 2], "pay", &options);
        spool_token in_outer = spool_span_enter(outer);
        SPOOL_INFO("info");
        SPOOL_DEBUG("debug", spool_int("round", round));
        spool_span inner = spool_span_start(tracers[round / 2 % 2], "inner", NULL);
        spool_token in_inner = spool_span_enter(inner);
        SPOOL_TRACE_F("%u", round);
        spool_log(spool_logger_get("other", ""), SPOOL_SEVERITY_DEBUG, "b");
        spool_span_set(outer, spool_int("user", 7));
        spool_span_set(shared, spool_int("user", round % 8));
        spool_span_exit(in_inner);
        spool_span_end(inner);
        spool_span_exit(in_outer);
        spool_span_end(outer);
    }
    return NULL;
}

static void exchange(spool_sdk *sdk, unsigned round) {
    static const char *const texts[] = {"info", "off", "warn,filters=trace,[pay{user=7}]=debug",
                                        "info,other=off,filters[inner]=off", "trace"};
    spool_filter *filter = NULL;
    if (round % 3 == 0) {
        filter = living_filter(round);
    } else if (round % 7 != 0) {
        (void)SPT_CHECK(spool_filter_create(texts[round % 5], &filter) == SPOOL_OK);
    }
    spool_status status = round % 2 ? spool_sdk_set_filter(sdk, filter)
                                    : spool_sdk_set_processor_filter(sdk, round / 2 % 2, filter);
    (void)SPT_CHECK(status == SPOOL_OK);
    spool_filter_release(filter);
}

static void filters_are_exchanged_under_load(void) {
    spool_sdk *sdk = open_sdk();
    SPT_REQUIRE(sdk != NULL);
    pthread_t threads[THREADS];
    stop = false;
    shared = spool_span_start(spool_tracer_get("shared", ""), "pay", NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        (void)SPT_CHECK(pthread_create(&threads[i], NULL, make_load, NULL) == 0);
    }
    uint64_t made = 0;
    for (unsigned round = 0; round < EXCHANGES; round++) {
        exchange(sdk, round);
        made += round % 3 == 0;
    }
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    spool_span_end(shared);
    (void)SPT_CHECK(spool_sdk_set_filter(sdk, NULL) == SPOOL_OK);
    (void)SPT_CHECK(spool_sdk_set_processor_filter(sdk, 0, NULL) == SPOOL_OK);
    (void)SPT_CHECK(spool_sdk_set_processor_filter(sdk, 1, NULL) == SPOOL_OK);
    (void)SPT_CHECK_UINT(destroyed, made);
    for (unsigned i = 0; i < 2; i++) {
        (void)SPT_CHECK(tallies[i].started > 0 && tallies[i].logged > 0);
        (void)SPT_CHECK_UINT(tallies[i].started, tallies[i].ended);
        (void)SPT_CHECK_UINT(tallies[i].entered, tallies[i].exited);
    }
    (void)SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

SPT_MAIN("filters", SPT_CASE(filters_are_exchanged_under_load))
