/* SPDX-License-Identifier: Apache-2.0 */
/* T45 to T49: what may happen to a span that should not, and what must not follow from it. */
#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { SANITIZED = SPT_TSAN || SPT_ASAN };

static spool_tracer *tracer(void) {
    return spool_tracer_get("cases", NULL);
}

/* ---- T45 ---- */

static void T45_ended_twice(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "once", NULL);
    spool_span_set(span, spool_int("kept", 1));
    struct spool_stats before = spt_stats(pipeline.sdk);
    spool_span_end(span);
    spool_span_end(span);
    spool_span_set(span, spool_int("late", 1));
    spool_span_event(span, "late", NULL, 0);
    spool_span_status(span, SPOOL_STATUS_ERROR, "late");
    spool_token token = spool_span_enter(span);
    SPT_CHECK_UINT(token.bits, 0);
    spool_span_exit(token);
    SPT_CHECK(!spool_span_is_recording(span));
    struct spool_stats after = spt_stats(pipeline.sdk);
    SPT_CHECK_UINT(after.stale_handles - before.stale_handles, 5);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = span;
    spool_span_end(spool_span_start(tracer(), "child of a stale handle", &options));
    after = spt_stats(pipeline.sdk);
    SPT_CHECK_UINT(after.stale_parents - before.stale_parents, 1);
    SPT_CHECK_UINT(after.stale_handles - before.stale_handles, 5);
    SPT_CHECK_UINT(spool_memory_span_count(pipeline.store), 2);
    const spool_span_data *first = spool_memory_span(pipeline.store, 0);
    const spool_span_data *child = spool_memory_span(pipeline.store, 1);
    SPT_REQUIRE(first && child);
    SPT_CHECK(spt_text_is(first->name, "once") && first->attr_count == 1 &&
              first->event_count == 0 && first->status == SPOOL_STATUS_UNSET);
    static const uint8_t none[8];
    SPT_CHECK(memcmp(child->parent_span_id, none, sizeof none) == 0);
    SPT_CHECK(memcmp(child->context.trace_id, first->context.trace_id, 16) != 0);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

/* ---- T46 ---- */

static void *end_it(void *arg) {
    spool_span_end(*(spool_span *)arg);
    return NULL;
}

static void T46_ended_on_another_thread(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "moves", NULL);
    struct spool_span_context context = spool_span_context(span);
    spool_token token = spool_span_enter(span);
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, end_it, &span) == 0);
    (void)pthread_join(thread, NULL);
    SPT_CHECK_UINT(spool_memory_span_count(pipeline.store), 1);
    /* The entry is the thread's: it stays, with the ids of the span that has ended. */
    SPT_CHECK_UINT(spool_span_current().bits, span.bits);
    spool_log(spool_logger_get("cases", NULL), SPOOL_SEVERITY_INFO, "after the end");
    const spool_log_data *log = spool_memory_log(pipeline.store, 0);
    SPT_REQUIRE(log != NULL);
    SPT_CHECK(memcmp(log->context.trace_id, context.trace_id, 16) == 0 &&
              memcmp(log->context.span_id, context.span_id, 8) == 0);
    uint64_t wrong = spt_stats(pipeline.sdk).wrong_detaches;
    spool_span_exit(token);
    SPT_CHECK_UINT(spool_span_current().bits, 0);
    SPT_CHECK_UINT(spt_stats(pipeline.sdk).wrong_detaches, wrong);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

/* ---- T47 ---- */

static void *exit_it(void *arg) {
    spool_span_exit(*(spool_token *)arg);
    return NULL;
}

static void T47_activation_order(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span a = spool_span_start(tracer(), "a", NULL);
    spool_span b = spool_span_start(tracer(), "b", NULL);
    spool_span c = spool_span_start(tracer(), "c", NULL);
    uint64_t wrong = spt_stats(pipeline.sdk).wrong_detaches;
    spool_token in_a = spool_span_enter(a);
    spool_token in_b = spool_span_enter(b);
    spool_token in_c = spool_span_enter(c);
    spool_span_exit(in_a);
    SPT_CHECK_UINT(spool_span_current().bits, c.bits);
    spool_span_exit(in_c);
    SPT_CHECK_UINT(spool_span_current().bits, b.bits);
    spool_span_exit(in_b);
    SPT_CHECK_UINT(spool_span_current().bits, 0);
    SPT_CHECK_UINT(spt_stats(pipeline.sdk).wrong_detaches - wrong, 1);

    in_a = spool_span_enter(a);
    in_b = spool_span_enter(a); /* the same one twice */
    spool_span_exit(in_b);
    SPT_CHECK_UINT(spool_span_current().bits, a.bits);
    spool_span_exit(in_a);
    SPT_CHECK_UINT(spool_span_current().bits, 0);
    SPT_CHECK_UINT(spt_stats(pipeline.sdk).wrong_detaches - wrong, 1);
    spool_span_exit(in_a); /* one time too many */
    SPT_CHECK_UINT(spool_span_current().bits, 0);
    SPT_CHECK_UINT(spt_stats(pipeline.sdk).wrong_detaches - wrong, 2);

    in_a = spool_span_enter(a);
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, exit_it, &in_a) == 0);
    (void)pthread_join(thread, NULL);
    SPT_CHECK_UINT(spt_stats(pipeline.sdk).wrong_detaches - wrong, 3);
    SPT_CHECK_UINT(spool_span_current().bits, a.bits);
    spool_span_exit(in_a);
    SPT_CHECK_UINT(spool_span_current().bits, 0);
    spool_span_end(a);
    spool_span_end(b);
    spool_span_end(c);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void T47_nothing_is_retained_by_a_million_rounds(void) {
    enum { ROUNDS = SANITIZED ? 100000 : 1000000 };
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span a = spool_span_start(tracer(), "a", NULL);
    spool_span b = spool_span_start(tracer(), "b", NULL);
    uint64_t before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == 100) {
            before = spt_mallocs_of_process();
        }
        spool_token in_a = spool_span_enter(a);
        spool_token in_b = spool_span_enter(b);
        spool_span_exit(in_a);
        spool_span_exit(in_b);
        spool_span_exit(in_b);
    }
    SPT_CHECK_UINT(spt_mallocs_of_process() - before, 0);
    SPT_CHECK_UINT(spool_span_current().bits, 0);
    spool_span_end(a);
    spool_span_end(b);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

/* ---- T48 ---- */

enum {
    FAN_THREADS = 64,
    FAN_CHILDREN = (SANITIZED ? 64000 : 1000000) / FAN_THREADS,
    FAN_EVENTS = (SANITIZED ? 12800 : 100032) / FAN_THREADS
};

static struct spool_span_context fan_context;
static spool_span fan_parent;
static _Atomic uint64_t fan_good, fan_bad, fan_events, fan_dropped;

static void fan_end(void *self, spool_span_record *record) {
    (void)self;
    const spool_span_data *span = spool_span_record_data(record);
    if (span && memcmp(span->context.span_id, fan_context.span_id, 8) == 0) {
        atomic_store(&fan_events, span->event_count);
        atomic_store(&fan_dropped, span->dropped_event_count);
        return;
    }
    bool good = span && memcmp(span->context.trace_id, fan_context.trace_id, 16) == 0 &&
                memcmp(span->parent_span_id, fan_context.span_id, 8) == 0;
    atomic_fetch_add(good ? &fan_good : &fan_bad, 1);
}
static const spool_processor_ops fan_ops = {
    .struct_size = sizeof fan_ops, .name = "fan", .span_end = fan_end};

static void *fan_out(void *arg) {
    (void)arg;
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = fan_parent;
    for (int i = 0; i < FAN_CHILDREN; i++) {
        if (i < FAN_EVENTS) {
            spool_span_event(fan_parent, "event", NULL, 0);
        }
        spool_span_end(spool_span_start(tracer(), "child", &options));
    }
    return NULL;
}

static void fan_with(uint32_t event_limit) {
    spool_processor processor = {&fan_ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.limits.span_event_count = event_limit;
    spool_sdk *sdk;
    SPT_REQUIRE(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    atomic_store(&fan_good, 0);
    atomic_store(&fan_bad, 0);
    fan_parent = spool_span_start(tracer(), "parent", NULL);
    fan_context = spool_span_context(fan_parent);
    pthread_t threads[FAN_THREADS];
    for (int i = 0; i < FAN_THREADS; i++) {
        SPT_REQUIRE(pthread_create(&threads[i], NULL, fan_out, NULL) == 0);
    }
    for (int i = 0; i < FAN_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    spool_span_end(fan_parent);
    uint64_t events = (uint64_t)FAN_EVENTS * FAN_THREADS;
    uint64_t kept = events < event_limit ? events : event_limit;
    SPT_CHECK_UINT(atomic_load(&fan_good), (uint64_t)FAN_CHILDREN * FAN_THREADS);
    SPT_CHECK_UINT(atomic_load(&fan_bad), 0);
    SPT_CHECK_UINT(atomic_load(&fan_events), kept);
    SPT_CHECK_UINT(atomic_load(&fan_dropped), events - kept);
    SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

static void T48_fan_out(void) {
    fan_with(128);
}

static void T48_fan_out_below_the_limit_loses_no_event(void) {
    fan_with(200000);
}

/* ---- T49 ---- */

enum { BOX_TYPES = 3, BOX_SPANS = SANITIZED ? 20000 : 100000, BOX_AT_ONCE = 1000 };

static spool_ext_id box_types[BOX_TYPES];
static _Atomic uint64_t box_resets[BOX_TYPES];
static _Atomic uint64_t box_stale, box_unread, box_made;

typedef struct box {
    uint64_t value;
} box;

static void box_reset_at(unsigned type, void *value) {
    ((box *)value)->value = 0;
    atomic_fetch_add(&box_resets[type], 1);
}
static void box_reset_0(void *value) {
    box_reset_at(0, value);
}
static void box_reset_1(void *value) {
    box_reset_at(1, value);
}
static void box_reset_2(void *value) {
    box_reset_at(2, value);
}

static void box_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)self;
    (void)parent;
    for (unsigned i = 0; i < BOX_TYPES; i++) {
        bool fresh = false;
        atomic_fetch_add(&box_stale, spool_ext_get(span, box_types[i]) != NULL);
        box *made = spool_ext_get_or_init(span, box_types[i], &fresh);
        if (!made) {
            continue;
        }
        atomic_fetch_add(&box_stale, !fresh || made->value != 0);
        made->value = spool_span_record_handle(span).bits + i;
        atomic_fetch_add(&box_made, 1);
    }
}
static void box_end(void *self, spool_span_record *span) {
    (void)self;
    for (unsigned i = 0; i < BOX_TYPES; i++) {
        const box *at = spool_ext_get(span, box_types[i]);
        bool good = at && at->value == spool_span_record_handle(span).bits + i;
        atomic_fetch_add(&box_unread, !good);
    }
}
static const spool_processor_ops box_ops = {
    .struct_size = sizeof box_ops, .name = "boxes", .span_start = box_start, .span_end = box_end};

static void boxes_hold(uint64_t spans) {
    SPT_CHECK_UINT(atomic_load(&box_made), spans * BOX_TYPES);
    SPT_CHECK_UINT(atomic_load(&box_stale), 0);
    SPT_CHECK_UINT(atomic_load(&box_unread), 0);
    for (unsigned i = 0; i < BOX_TYPES; i++) {
        SPT_CHECK_UINT(atomic_load(&box_resets[i]), spans);
    }
}

static void T49_extension_boxes(void) {
    static void (*const resets[BOX_TYPES])(void *) = {box_reset_0, box_reset_1, box_reset_2};
    for (unsigned i = 0; i < BOX_TYPES; i++) {
        box_types[i] = spool_ext_register("case", sizeof(box), _Alignof(box), resets[i], NULL);
        SPT_REQUIRE(box_types[i] != 0);
    }
    spool_processor processor = {&box_ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *sdk;
    SPT_REQUIRE(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    static spool_span spans[BOX_AT_ONCE];
    uint64_t before = 0;
    for (int round = 0; round < BOX_SPANS / BOX_AT_ONCE; round++) {
        if (round == 10) {
            before = spt_mallocs_of_process();
        }
        for (int i = 0; i < BOX_AT_ONCE; i++) {
            spans[i] = spool_span_start(tracer(), "boxed", NULL);
        }
        for (int i = 0; i < BOX_AT_ONCE; i++) {
            spool_span_end(spans[i]);
        }
    }
    SPT_CHECK_UINT(spt_mallocs_of_process() - before, 0);
    boxes_hold(BOX_SPANS);
    /* Shut down and freed with live spans that hold boxes: each is reset when its span ends. */
    for (int i = 0; i < BOX_AT_ONCE; i++) {
        spans[i] = spool_span_start(tracer(), "boxed", NULL);
    }
    SPT_CHECK(spool_shutdown(sdk, 1000, NULL) == SPOOL_OK);
    for (int i = 0; i < BOX_AT_ONCE / 2; i++) {
        spool_span_end(spans[i]);
    }
    spool_sdk_free(sdk);
    for (int i = BOX_AT_ONCE / 2; i < BOX_AT_ONCE; i++) {
        spool_span_end(spans[i]);
    }
    boxes_hold(BOX_SPANS + BOX_AT_ONCE);
}

SPT_MAIN("cases.span_life", SPT_CASE(T45_ended_twice), SPT_CASE(T46_ended_on_another_thread),
         SPT_CASE(T47_activation_order), SPT_CASE(T47_nothing_is_retained_by_a_million_rounds),
         SPT_CASE(T48_fan_out), SPT_CASE(T48_fan_out_below_the_limit_loses_no_event),
         SPT_CASE(T49_extension_boxes))
