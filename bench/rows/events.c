/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows 1 to 6: events through subscriber, registry and the formatting processor, to a writer that
 * discards; without a span, inside one, from several threads, under a shared one, in a chain of spans.
 */
#define SPOOL_SCOPE "bench"
#include "bench/harness/bench.h"
#include "bench/naive/naive.h"
#include "bench/rows/format_processor.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <stdlib.h>

enum { EVENTS = 200000, CHAINED = 20000, NO_PARENT = 0, OWN_PARENT = 1, SHARED_PARENT = 2 };

/* `variant` of the cases: what the thread enters, and the clock of the SDK. */
enum { PARENT_MASK = 3, COARSE = 4, NO_FORMAT = 8 };

typedef struct setting {
    spool_sdk *sdk;
    spool_span shared_span;
    uint64_t shared_naive;
} setting;

static spool_span span_with_flag(const char *name) {
    const spool_attr attr = spool_bool("foo", false);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attrs = &attr;
    options.attr_count = 1;
    return spool_span_start(SPOOL_TRACER(), name, &options);
}

static void *setting_make(const bench_case *bench) {
    setting *made = calloc(1, sizeof *made);
    spool_processor processor = bench_format_processor();
    spool_processor_ops bare = *processor.ops;
    static spool_processor_ops kept;
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    if (bench->variant & COARSE) {
        options.clock = SPOOL_CLOCK_COARSE;
    }
    if (bench->variant & NO_FORMAT) {
        /* Takes the log records, so that statements are on, and leaves the spans alone. */
        bare.span_start = NULL;
        bare.span_enter = NULL;
        bare.span_exit = NULL;
        kept = bare;
        processor.ops = &kept;
    }
    if (!made || spool_sdk_create(&options, &made->sdk) != SPOOL_OK) {
        abort();
    }
    if ((bench->variant & PARENT_MASK) == SHARED_PARENT) {
        made->shared_span = span_with_flag("shared_parent");
        made->shared_naive = naive_span_new("shared_parent{foo=false}:", 0);
    }
    return made;
}

static void setting_free(const bench_case *bench, void *shared) {
    (void)bench;
    setting *made = shared;
    spool_span_end(made->shared_span);
    if (made->shared_naive) {
        naive_span_drop(made->shared_naive);
    }
    spool_sdk_free(made->sdk);
    free(made);
}

/* ---- what a thread enters ---- */

typedef struct entry {
    spool_span span; /* its own, or zero */
    spool_token token;
    uint64_t naive;
} entry;

static void enter(bench_thread *thread) {
    const setting *made = thread->shared;
    entry *own = calloc(1, sizeof *own);
    unsigned parent = thread->bench->variant & PARENT_MASK;
    if (!own) {
        abort();
    }
    if (parent == OWN_PARENT) {
        own->span = span_with_flag("unique_parent");
        own->token = spool_span_enter(own->span);
    } else if (parent == SHARED_PARENT) {
        own->token = spool_span_enter(made->shared_span);
    }
    thread->own = own;
}

static void leave(bench_thread *thread) {
    entry *own = thread->own;
    spool_span_exit(own->token);
    spool_span_end(own->span);
    free(own);
}

static void naive_enter(bench_thread *thread) {
    const setting *made = thread->shared;
    entry *own = calloc(1, sizeof *own);
    unsigned parent = thread->bench->variant & PARENT_MASK;
    if (!own) {
        abort();
    }
    if (parent == OWN_PARENT) {
        own->naive = naive_span_new("unique_parent{foo=false}:", 0);
        naive_span_enter(own->naive);
    } else if (parent == SHARED_PARENT) {
        naive_span_enter(made->shared_naive);
    }
    thread->own = own;
}

static void naive_leave(bench_thread *thread) {
    entry *own = thread->own;
    if (thread->bench->variant & PARENT_MASK) {
        naive_span_exit();
    }
    if (own->naive) {
        naive_span_drop(own->naive);
    }
    free(own);
}

/* ---- loops: iterations of n events ---- */

static void check_lines(const bench_thread *thread, bench_written before) {
    bench_written after = bench_format_written();
    /* At least a time, a level, the target and the number. */
    if (after.lines - before.lines != thread->ops ||
        after.bytes - before.bytes < 40 * thread->ops) {
        abort();
    }
}

static void events(bench_thread *thread) {
    unsigned n = thread->bench->parameter;
    thread->ops = (thread->ops + n - 1) / n * n;
    bench_written before = bench_format_written();
    for (uint64_t i = 0; i < thread->ops; i += n) {
        for (unsigned k = 0; k < n; k++) {
            SPOOL_INFO("", spool_int("n", k));
        }
    }
    check_lines(thread, before);
}

static void naive_events(bench_thread *thread) {
    unsigned n = thread->bench->parameter;
    thread->ops = (thread->ops + n - 1) / n * n;
    for (uint64_t i = 0; i < thread->ops; i += n) {
        for (unsigned k = 0; k < n; k++) {
            naive_event("bench", k);
        }
    }
}

static void nothing(bench_thread *thread) {
    unsigned n = thread->bench->parameter;
    for (uint64_t i = 0; i < thread->ops; i += n) {
        for (unsigned k = 0; k < n; k++) {
            bench_use(&k);
        }
    }
}

/* ---- row 6: chains of n spans, an event in each ---- */

static spool_span chained_span(spool_span parent, unsigned k, unsigned n) {
    const spool_attr attrs[] = {spool_int("n", k), spool_int("i", n)};
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = parent;
    options.attrs = attrs;
    options.attr_count = 2;
    return spool_span_start(SPOOL_TRACER(), "parent2", &options);
}

static void chains(bench_thread *thread) {
    unsigned n = thread->bench->parameter;
    for (uint64_t i = 0; i < thread->ops; i += n) {
        spool_span span = spool_span_start(SPOOL_TRACER(), "parent", NULL);
        for (unsigned k = 0; k < n; k++) {
            spool_span child = chained_span(span, k, n);
            spool_token token = spool_span_enter(child);
            SPOOL_INFO("", spool_int("n", k));
            spool_span_exit(token);
            spool_span_end(span);
            span = child;
        }
        spool_span_end(span);
    }
}

/* The same, and nobody ends a span before the whole chain is there: n spans live at once. */
static void live_chains(bench_thread *thread) {
    unsigned n = thread->bench->parameter;
    spool_span *chain = thread->own;
    for (uint64_t i = 0; i < thread->ops; i += n) {
        spool_span parent = {0};
        for (unsigned k = 0; k < n; k++) {
            parent = chained_span(parent, k, n);
            chain[k] = parent;
        }
        for (unsigned k = 0; k < n; k++) {
            spool_span_end(chain[k]);
        }
    }
}

static void live_chain_begin(bench_thread *thread) {
    thread->own = calloc(thread->bench->parameter, sizeof(spool_span));
    if (!thread->own) {
        abort();
    }
}

static void live_chain_end(bench_thread *thread) {
    free(thread->own);
}

static void naive_chains(bench_thread *thread) {
    unsigned n = thread->bench->parameter;
    for (uint64_t i = 0; i < thread->ops; i += n) {
        uint64_t span = naive_span_new("parent:", ((const setting *)thread->shared)->shared_naive);
        for (unsigned k = 0; k < n; k++) {
            uint64_t child = naive_span_new("parent2{n=1 i=2}:", span);
            naive_span_enter(child);
            naive_event("bench", k);
            naive_span_exit();
            naive_span_drop(span);
            span = child;
        }
        naive_span_drop(span);
    }
}

/* ---- cases ---- */

/* name, threads, ops, n, variant, cold, figure, begin, end, thread begin, loop, thread end */
#define SPOOL_CASE(name, threads, ops, n, variant)                                                 \
    {                                                                                              \
        name, threads, ops, n, variant, false, NULL, setting_make, setting_free, enter, events,    \
            leave                                                                                  \
    }
#define NAIVE_CASE(name, threads, ops, n, variant)                                                 \
    {                                                                                              \
        name, threads, ops, n, variant, false, NULL, setting_make, setting_free, naive_enter,      \
            naive_events, naive_leave                                                              \
    }
#define CONTROL_CASE(name, threads, ops, n)                                                        \
    { name, threads, ops, n, 0, false, NULL, NULL, NULL, NULL, nothing, NULL }
#define CHAIN_CASE(name, threads, n)                                                               \
    {                                                                                              \
        name, threads, CHAINED, n, SHARED_PARENT, false, NULL, setting_make, setting_free, enter,  \
            chains, leave                                                                          \
    }
#define LIVE_CHAIN_CASE(name, n)                                                                   \
    {                                                                                              \
        name, 1, CHAINED, n, NO_FORMAT, false, NULL, setting_make, setting_free, live_chain_begin, \
            live_chains, live_chain_end                                                            \
    }

static const bench_case cases[] = {
    SPOOL_CASE("01/event_root/n1/spool", 1, EVENTS, 1, NO_PARENT),
    SPOOL_CASE("01/event_root/n10/spool", 1, EVENTS, 10, NO_PARENT),
    SPOOL_CASE("01/event_root/n50/spool", 1, EVENTS, 50, NO_PARENT),
    SPOOL_CASE("01/event_root/n1/spool_coarse", 1, EVENTS, 1, NO_PARENT | COARSE),
    NAIVE_CASE("01/event_root/n1/naive", 1, EVENTS, 1, NO_PARENT),
    CONTROL_CASE("01/event_root/n1/control", 1, EVENTS, 1),
    {"01/event_root/cold/spool", 1, 1, 1, NO_PARENT, true, NULL, setting_make, setting_free, enter,
     events, leave},

    SPOOL_CASE("02/event_in_span/n1/spool", 1, EVENTS, 1, OWN_PARENT),
    SPOOL_CASE("02/event_in_span/n10/spool", 1, EVENTS, 10, OWN_PARENT),
    SPOOL_CASE("02/event_in_span/n50/spool", 1, EVENTS, 50, OWN_PARENT),
    SPOOL_CASE("02/event_in_span/n1/spool_coarse", 1, EVENTS, 1, OWN_PARENT | COARSE),
    NAIVE_CASE("02/event_in_span/n1/naive", 1, EVENTS, 1, OWN_PARENT),
    CONTROL_CASE("02/event_in_span/n1/control", 1, EVENTS, 1),

    SPOOL_CASE("03/event_root_threads/t1/spool", 1, EVENTS, 1, NO_PARENT),
    SPOOL_CASE("03/event_root_threads/t2/spool", 2, EVENTS, 1, NO_PARENT),
    SPOOL_CASE("03/event_root_threads/t4/spool", 4, EVENTS, 1, NO_PARENT),
    NAIVE_CASE("03/event_root_threads/t4/naive", 4, EVENTS, 1, NO_PARENT),
    CONTROL_CASE("03/event_root_threads/t4/control", 4, EVENTS, 1),

    SPOOL_CASE("04/event_own_parent/t1/spool", 1, EVENTS, 1, OWN_PARENT),
    SPOOL_CASE("04/event_own_parent/t2/spool", 2, EVENTS, 1, OWN_PARENT),
    SPOOL_CASE("04/event_own_parent/t4/spool", 4, EVENTS, 1, OWN_PARENT),
    NAIVE_CASE("04/event_own_parent/t4/naive", 4, EVENTS, 1, OWN_PARENT),
    CONTROL_CASE("04/event_own_parent/t4/control", 4, EVENTS, 1),

    SPOOL_CASE("05/event_shared_parent/t1/spool", 1, EVENTS, 1, SHARED_PARENT),
    SPOOL_CASE("05/event_shared_parent/t2/spool", 2, EVENTS, 1, SHARED_PARENT),
    SPOOL_CASE("05/event_shared_parent/t4/spool", 4, EVENTS, 1, SHARED_PARENT),
    NAIVE_CASE("05/event_shared_parent/t4/naive", 4, EVENTS, 1, SHARED_PARENT),
    CONTROL_CASE("05/event_shared_parent/t4/control", 4, EVENTS, 1),

    CHAIN_CASE("06/span_chain/n1_t4/spool", 4, 1),
    CHAIN_CASE("06/span_chain/n10_t4/spool", 4, 10),
    CHAIN_CASE("06/span_chain/n50_t4/spool", 4, 50),
    {"06/span_chain/n10_t4/naive", 4, CHAINED, 10, SHARED_PARENT, false, NULL, setting_make,
     setting_free, naive_enter, naive_chains, naive_leave},
    CONTROL_CASE("06/span_chain/n10_t4/control", 4, CHAINED, 10),
    LIVE_CHAIN_CASE("06/live_chain/n10/spool", 10),
    LIVE_CHAIN_CASE("06/live_chain/n100/spool", 100),
    LIVE_CHAIN_CASE("06/live_chain/n1000/spool", 1000),
    LIVE_CHAIN_CASE("06/live_chain/n10000/spool", 10000),
};

const bench_suite bench_suite_events = {cases, sizeof cases / sizeof cases[0]};
