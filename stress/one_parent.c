/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T48: 64 threads start and end children of one parent, a million in all, and add 100,000 events to it.
 * No child is lost, no event below the limit, and those above it are counted. Also run under
 * ThreadSanitizer, with fewer. The rate at 64 threads is printed beside that at 8.
 */
#define _GNU_SOURCE
#include "stress/figures.h"
#include "tests/support/spt.h"

#include <spool/ext/ext.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
    MOST_THREADS = 64,
    CHILDREN = SPT_TSAN ? 64000 : 1000000,
    EVENTS = SPT_TSAN ? 6400 : 100000,
    KEPT_EVENTS = 128
};

static spool_span parent;
static struct spool_span_context parent_ids;
static _Atomic uint64_t children_seen;
static _Atomic uint64_t strangers;
static uint64_t parent_events, parent_dropped;
static unsigned threads_now;

static void on_end(void *self, spool_span_record *span) {
    (void)self;
    if (spool_span_record_handle(span).bits == parent.bits) {
        const spool_span_data *data = spool_span_record_data(span);
        parent_events = data ? data->event_count : 0;
        parent_dropped = data ? data->dropped_event_count : 0;
        return;
    }
    struct spool_span_context ids = spool_span_context(spool_span_record_handle(span));
    bool kin = memcmp(ids.trace_id, parent_ids.trace_id, 16) == 0;
    atomic_fetch_add_explicit(kin ? &children_seen : &strangers, 1, memory_order_relaxed);
}

static void *work(void *arg) {
    spool_tracer *tracer = arg;
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = parent;
    unsigned children = CHILDREN / threads_now;
    unsigned every = CHILDREN / EVENTS;
    for (unsigned i = 0; i < children; i++) {
        spool_span_end(spool_span_start(tracer, "child", &options));
        if (i % every == 0) {
            spool_span_event(parent, "event", NULL, 0);
        }
    }
    return NULL;
}

/* Children a second with this many threads; every count is checked. */
static double round_of(unsigned threads) {
    pthread_t running[MOST_THREADS];
    spool_tracer *tracer = spool_tracer_get("stress", "");
    threads_now = threads;
    parent = spool_span_start(tracer, "parent", NULL);
    parent_ids = spool_span_context(parent);
    children_seen = 0;
    double begin = seconds_now();
    for (unsigned i = 0; i < threads; i++) {
        STRESS_REQUIRE(pthread_create(&running[i], NULL, work, tracer) == 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(running[i], NULL);
    }
    double took = seconds_now() - begin;
    spool_span_end(parent);
    uint64_t children = CHILDREN / threads;
    uint64_t every = CHILDREN / EVENTS;
    uint64_t events = (children + every - 1) / every * threads;
    STRESS_REQUIRE(children_seen == children * threads && strangers == 0);
    STRESS_REQUIRE(parent_events == KEPT_EVENTS && parent_dropped == events - KEPT_EVENTS);
    return (double)(children * threads) / took;
}

int main(void) {
    static const spool_processor_ops ops = {
        .struct_size = sizeof ops, .name = "count", .span_end = on_end};
    spool_sdk *sdk = sdk_with(&ops, 1000000, UINT64_C(1) << 28);
    figure("children_8_threads", round_of(8), "1/s");
    figure("children_64_threads", round_of(64), "1/s");
    struct spool_stats stats = {.struct_size = sizeof stats};
    STRESS_REQUIRE(spool_stats(sdk, &stats) == SPOOL_OK && stats.signals[0].live == 0);
    spool_sdk_free(sdk);
    return 0;
}
