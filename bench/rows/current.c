/* SPDX-License-Identifier: Apache-2.0 */
/* Row 10: making a span current and leaving it again: enabled, without an SDK, three deep. */
#define SPOOL_SCOPE "bench"
#include "bench/harness/bench.h"
#include "bench/naive/naive.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <stdlib.h>

enum { ENTRIES = 1000000, NAIVE_ENTRIES = 200000, DEPTH = 3, ENABLED = 1 };

static void span_end(void *self, spool_span_record *span) {
    (void)self;
    bench_use(span);
}

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops ends = {
    .struct_size = sizeof ends, .name = "ends", .span_end = span_end, .destroy = destroy};

static void *sdk_make(const bench_case *bench) {
    spool_sdk *sdk = NULL;
    spool_processor processor = {&ends, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    if (bench->variant & ENABLED && spool_sdk_create(&options, &sdk) != SPOOL_OK) {
        abort();
    }
    return sdk;
}

static void sdk_free(const bench_case *bench, void *shared) {
    (void)bench;
    spool_sdk_free(shared);
}

static void spans_make(bench_thread *thread) {
    spool_span *spans = calloc(DEPTH, sizeof *spans);
    if (!spans) {
        abort();
    }
    for (unsigned i = 0; i < DEPTH; i++) {
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.parent_span = spans[i ? i - 1 : 0];
        spans[i] = spool_span_start(SPOOL_TRACER(), "span", &options);
    }
    thread->own = spans;
}

static void spans_end(bench_thread *thread) {
    spool_span *spans = thread->own;
    for (unsigned i = DEPTH; i-- > 0;) {
        spool_span_end(spans[i]);
    }
    free(spans);
}

static void enter_exit(bench_thread *thread) {
    spool_span span = *(const spool_span *)thread->own;
    for (uint64_t i = 0; i < thread->ops; i++) {
        spool_token token = spool_span_enter(span);
        bench_use(&token);
        spool_span_exit(token);
    }
}

/* An operation is one enter and its exit. */
static void enter_many(bench_thread *thread) {
    const spool_span *spans = thread->own;
    for (uint64_t i = 0; i < thread->ops; i += DEPTH) {
        spool_token tokens[DEPTH];
        for (unsigned k = 0; k < DEPTH; k++) {
            tokens[k] = spool_span_enter(spans[k]);
        }
        bench_use(tokens);
        for (unsigned k = DEPTH; k-- > 0;) {
            spool_span_exit(tokens[k]);
        }
    }
}

static void naive_make(bench_thread *thread) {
    uint64_t *span = malloc(sizeof *span);
    if (!span) {
        abort();
    }
    *span = naive_span_new("span:", 0);
    thread->own = span;
}

static void naive_end(bench_thread *thread) {
    naive_span_drop(*(const uint64_t *)thread->own);
    free(thread->own);
}

static void naive_enter_exit(bench_thread *thread) {
    uint64_t span = *(const uint64_t *)thread->own;
    for (uint64_t i = 0; i < thread->ops; i++) {
        naive_span_enter(span);
        naive_span_exit();
    }
}

static void nothing(bench_thread *thread) {
    for (uint64_t i = 0; i < thread->ops; i++) {
        bench_use(&i);
    }
}

#define SPOOL_CASE(name, variant, loop)                                                            \
    { name, 1, ENTRIES, 0, variant, false, NULL, sdk_make, sdk_free, spans_make, loop, spans_end }

static const bench_case cases[] = {
    SPOOL_CASE("10/enter_exit/enabled/spool", ENABLED, enter_exit),
    SPOOL_CASE("10/enter_exit/disabled/spool", 0, enter_exit),
    {"10/enter_exit/enabled/naive", 1, NAIVE_ENTRIES, 0, 0, false, NULL, NULL, NULL, naive_make,
     naive_enter_exit, naive_end},
    {"10/enter_exit/enabled/control", 1, ENTRIES, 0, 0, false, NULL, NULL, NULL, NULL, nothing,
     NULL},
    SPOOL_CASE("10/enter_many/depth3/spool", ENABLED, enter_many),
};

const bench_suite bench_suite_current = {cases, sizeof cases / sizeof cases[0]};
