/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog in front of a simple or batch processor and a memory exporter. */
#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/backlog.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static spool_tracer *tracer(void) {
    return spool_tracer_get("backlog", NULL);
}
static spool_logger *logger(void) {
    return spool_logger_get("backlog", "1");
}

/* ---- set-up ---- */

static spool_status batch_in_front(spool_exporter exporter, spool_processor *out) {
    return spool_batch_create(SPOOL_SIGNAL_LOGS, exporter, NULL, out);
}
static spool_status simple_in_front(spool_exporter exporter, spool_processor *out) {
    return spool_simple_create(exporter, NULL, out);
}

static bool open_with(spt_pipeline *pipeline, const spool_backlog_options *options,
                      spool_status (*make)(spool_exporter, spool_processor *)) {
    spool_exporter exporter;
    spool_processor downstream;
    spool_processor processor;
    spool_sdk_options given = SPOOL_SDK_OPTIONS_INIT;
    given.processors = &processor;
    given.processor_count = 1;
    return spool_memory_create(0, &pipeline->store, &exporter) == SPOOL_OK &&
           make(exporter, &downstream) == SPOOL_OK &&
           spool_backlog_create(downstream, options, &processor) == SPOOL_OK &&
           spool_sdk_create(&given, &pipeline->sdk) == SPOOL_OK;
}

static bool open_backlog(spt_pipeline *pipeline, const spool_backlog_options *options) {
    return open_with(pipeline, options, simple_in_front);
}

static spool_processor_stats logs_of(spool_sdk *sdk) {
    return spt_stats(sdk).processors[0][SPOOL_SIGNAL_LOGS];
}

static spool_span start_under(spool_span parent, const char *name) {
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = parent;
    return spool_span_start(tracer(), name, &options);
}

/* A record of this span with a time of its own. */
static void emit(spool_span span, int severity, const char *body, uint64_t time_ns) {
    spool_token token = spool_span_enter(span);
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = severity;
    record.body = spool_value_string(body);
    record.timestamp_ns = time_ns;
    record.observed_timestamp_ns = time_ns ? time_ns + 1 : 0;
    spool_log_emit(logger(), &record);
    spool_span_exit(token);
}

/* The bodies that were delivered, joined by blanks. */
static const char *delivered(const spt_pipeline *pipeline) {
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < spool_memory_log_count(pipeline->store); i++) {
        spool_str body = spool_memory_log(pipeline->store, i)->body.as.string;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", i ? " " : "",
                                (int)body.len, body.ptr);
    }
    return text;
}

static _Atomic uint64_t sunk;
static void sink_log(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
    atomic_fetch_add(&sunk, 1);
}

/* ---- what is kept, and let go ---- */

static void records_vanish_with_a_span_that_ends_well(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "well", NULL);
    emit(span, SPOOL_SEVERITY_DEBUG, "kept", 5);
    emit(span, SPOOL_SEVERITY_INFO, "info", 6);
    emit(span, SPOOL_SEVERITY_UNSPECIFIED, "none", 7);
    emit((spool_span){0}, SPOOL_SEVERITY_DEBUG, "spanless", 8);
    SPT_CHECK_STRING(delivered(&pipeline), "info none spanless");
    SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 1);
    SPT_CHECK(spt_balanced(pipeline.sdk));
    SPT_CHECK(spool_flush(pipeline.sdk, 1000, NULL) == SPOOL_OK);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 1);
    spool_span_end(span);
    SPT_CHECK_STRING(delivered(&pipeline), "info none spanless");
    spool_processor_stats stats = logs_of(pipeline.sdk);
    SPT_CHECK_UINT(stats.offered, 4);
    SPT_CHECK_UINT(stats.delivered, 3);
    SPT_CHECK_UINT(stats.dropped[SPOOL_DROP_VANISHED], 1);
    SPT_CHECK_UINT(stats.queued, 0);
    SPT_CHECK_STRING(spool_drop_cause_name(SPOOL_DROP_VANISHED), "vanished");
    SPT_CHECK_UINT(spool_memory_span_count(pipeline.store), 1);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void an_error_at_the_end_lets_them_go_as_they_were(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "fails", NULL);
    struct spool_span_context context = spool_span_context(span);
    char key[] = "key";
    char text[] = "text";
    spool_attr inner[] = {spool_int("deep", 7)};
    spool_value items[] = {spool_value_int(1), spool_value_string(text)};
    spool_attr attrs[] = {spool_string(key, text), spool_array("list", items, 2),
                          spool_map("map", inner, 1), spool_bytes("bytes", text, 4),
                          spool_double("double", 0.5)};
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = SPOOL_SEVERITY_DEBUG2;
    record.severity_text = SPOOL_STR("fine");
    record.event_name = SPOOL_STR("event");
    record.body = spool_value_string(text);
    record.timestamp_ns = 111;
    record.observed_timestamp_ns = 222;
    record.attrs = attrs;
    record.attr_count = 5;
    spool_token token = spool_span_enter(span);
    spool_log_emit(logger(), &record);
    spool_span_exit(token);
    memset(text, '?', 4); /* nothing of the caller's is looked at again */
    memset(key, '?', 3);
    emit(span, SPOOL_SEVERITY_TRACE, "second", 50);
    SPT_CHECK_UINT(spool_memory_log_count(pipeline.store), 0);
    spool_span_status(span, SPOOL_STATUS_ERROR, "bad");
    SPT_CHECK_UINT(spool_memory_log_count(pipeline.store), 0);
    spool_span_end(span);
    SPT_CHECK_STRING(delivered(&pipeline), "text second");
    const spool_log_data *log = spool_memory_log(pipeline.store, 0);
    SPT_REQUIRE(log != NULL);
    SPT_CHECK_UINT(log->timestamp_ns, 111);
    SPT_CHECK_UINT(log->observed_timestamp_ns, 222);
    SPT_CHECK(memcmp(log->context.trace_id, context.trace_id, 16) == 0);
    SPT_CHECK(memcmp(log->context.span_id, context.span_id, 8) == 0);
    SPT_CHECK_UINT(log->severity, SPOOL_SEVERITY_DEBUG2);
    SPT_CHECK(spt_text_is(log->severity_text, "fine") && spt_text_is(log->event_name, "event"));
    SPT_CHECK(spt_text_is(log->scope->name, "backlog") && spt_text_is(log->scope->version, "1"));
    SPT_CHECK_UINT(log->attr_count, 5);
    const spool_value *list = spt_attr(log->attrs, log->attr_count, "list");
    const spool_value *map = spt_attr(log->attrs, log->attr_count, "map");
    const spool_value *first = spt_attr(log->attrs, log->attr_count, "key");
    SPT_CHECK(first && spt_text_is(first->as.string, "text"));
    SPT_CHECK(list && list->as.array.count == 2 &&
              spt_text_is(list->as.array.items[1].as.string, "text"));
    SPT_CHECK(map && map->as.map.count == 1 && map->as.map.items[0].value.as.integer == 7);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void an_error_record_lets_them_go_before_itself(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "fails", NULL);
    emit(span, SPOOL_SEVERITY_DEBUG, "a", 1);
    emit(span, SPOOL_SEVERITY_TRACE, "b", 2);
    emit(span, SPOOL_SEVERITY_WARN, "warn", 3);
    emit(span, SPOOL_SEVERITY_ERROR, "error", 4);
    emit(span, SPOOL_SEVERITY_DEBUG, "later", 5);
    SPT_CHECK_STRING(delivered(&pipeline), "warn a b error later");
    spool_span_end(span);
    SPT_CHECK_STRING(delivered(&pipeline), "warn a b error later");
    SPT_CHECK_UINT(logs_of(pipeline.sdk).delivered, 5);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void the_local_root_decides_for_what_ended_well_below_it(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    for (int failing = 1; failing >= 0; failing--) {
        spool_span root = spool_span_start(tracer(), "root", NULL);
        emit(root, SPOOL_SEVERITY_DEBUG, "r1", 1);
        spool_span child = start_under(root, "child");
        emit(child, SPOOL_SEVERITY_DEBUG, "c1", 2);
        spool_span grandchild = start_under(child, "grandchild");
        emit(grandchild, SPOOL_SEVERITY_DEBUG, "g1", 3);
        emit(child, SPOOL_SEVERITY_DEBUG, "c2", 4);
        emit(root, SPOOL_SEVERITY_DEBUG, "r2", 5);
        spool_span_end(grandchild);
        spool_span_end(child);
        emit(root, SPOOL_SEVERITY_DEBUG, "r3", 6);
        SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 6);
        if (failing) {
            spool_span_status(root, SPOOL_STATUS_ERROR, NULL);
        }
        spool_span_end(root);
        SPT_CHECK_STRING(delivered(&pipeline), "r1 c1 g1 c2 r2 r3");
        SPT_CHECK(spt_balanced(pipeline.sdk));
    }
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_VANISHED], 6);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void a_failed_child_lets_go_its_own_alone(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span root = spool_span_start(tracer(), "root", NULL);
    spool_span child = start_under(root, "child");
    spool_span sibling = start_under(root, "sibling");
    emit(root, SPOOL_SEVERITY_DEBUG, "r", 1);
    emit(child, SPOOL_SEVERITY_DEBUG, "c", 2);
    emit(sibling, SPOOL_SEVERITY_DEBUG, "s", 3);
    spool_span_status(child, SPOOL_STATUS_ERROR, NULL);
    spool_span_end(child);
    spool_span_end(sibling);
    spool_span_end(root);
    SPT_CHECK_STRING(delivered(&pipeline), "c");
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_VANISHED], 2);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void a_failed_root_reaches_descendants_that_live_on(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span root = spool_span_start(tracer(), "root", NULL);
    spool_span next_record = start_under(root, "child");
    spool_span at_end = start_under(root, "child");
    emit(next_record, SPOOL_SEVERITY_DEBUG, "n", 1);
    emit(at_end, SPOOL_SEVERITY_DEBUG, "e", 2);
    emit(root, SPOOL_SEVERITY_FATAL, "fatal", 3);
    spool_span_end(root);
    SPT_CHECK_STRING(delivered(&pipeline), "fatal");
    emit(next_record, SPOOL_SEVERITY_DEBUG, "n2", 4);
    SPT_CHECK_STRING(delivered(&pipeline), "fatal n n2");
    spool_span_end(next_record);
    spool_span_end(at_end);
    SPT_CHECK_STRING(delivered(&pipeline), "fatal n n2 e");
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void a_root_that_ended_well_leaves_the_rest_to_themselves(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span root = spool_span_start(tracer(), "root", NULL);
    spool_span well = start_under(root, "well");
    spool_span fails = start_under(root, "fails");
    emit(well, SPOOL_SEVERITY_DEBUG, "w", 1);
    emit(fails, SPOOL_SEVERITY_DEBUG, "f", 2);
    spool_span_end(root);
    spool_span_end(well);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_VANISHED], 1);
    spool_span_status(fails, SPOOL_STATUS_ERROR, NULL);
    spool_span_end(fails);
    SPT_CHECK_STRING(delivered(&pipeline), "f");
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

/* ---- limits ---- */

static void the_oldest_of_a_span_go_first(void) {
    spt_pipeline pipeline;
    spool_backlog_options options = SPOOL_BACKLOG_OPTIONS_INIT;
    options.max_span_records = 3;
    SPT_REQUIRE(open_backlog(&pipeline, &options));
    spool_span span = spool_span_start(tracer(), "many", NULL);
    static const char *const names[] = {"1", "2", "3", "4", "5"};
    for (unsigned i = 0; i < 5; i++) {
        emit(span, SPOOL_SEVERITY_DEBUG, names[i], i + 1);
    }
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_LIMIT], 2);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 3);
    emit(span, SPOOL_SEVERITY_ERROR, "error", 9);
    SPT_CHECK_STRING(delivered(&pipeline), "3 4 5 error");
    spool_span_end(span);
    SPT_CHECK(spt_balanced(pipeline.sdk));
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void bytes_are_bounded_per_span_and_in_all(void) {
    spt_pipeline pipeline;
    spool_backlog_options options = SPOOL_BACKLOG_OPTIONS_INIT;
    options.max_span_bytes = 8192;
    options.max_bytes = 32768;
    SPT_REQUIRE(open_backlog(&pipeline, &options));
    static char text[9001];
    memset(text, 'x', sizeof text - 1);
    spool_span spans[8];
    for (int i = 0; i < 8; i++) {
        spans[i] = spool_span_start(tracer(), "large", NULL);
    }
    emit(spans[0], SPOOL_SEVERITY_DEBUG, text, 1);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_TOO_LARGE], 1);
    text[3000] = '\0'; /* a block of 4,096 bytes: two to a span, seven or eight in all */
    for (int i = 0; i < 8; i++) {
        emit(spans[i], SPOOL_SEVERITY_DEBUG, text, 1);
        emit(spans[i], SPOOL_SEVERITY_DEBUG, text, 2);
        emit(spans[i], SPOOL_SEVERITY_DEBUG, text, 3);
    }
    spool_processor_stats stats = logs_of(pipeline.sdk);
    SPT_CHECK(stats.queued >= 6 && stats.queued <= 8);
    SPT_CHECK_UINT(stats.queued + stats.dropped[SPOOL_DROP_LIMIT], 24);
    for (int i = 0; i < 8; i++) {
        spool_span_end(spans[i]);
    }
    /* The memory serves others again, of other sizes too. */
    text[100] = '\0';
    spool_span span = spool_span_start(tracer(), "small", NULL);
    for (int i = 0; i < 8; i++) {
        emit(span, SPOOL_SEVERITY_DEBUG, text, 1);
    }
    SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 8);
    spool_span_end(span);
    SPT_CHECK(spt_balanced(pipeline.sdk));
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void options_say_what_is_kept(void) {
    spt_pipeline pipeline;
    spool_backlog_options options = SPOOL_BACKLOG_OPTIONS_INIT;
    options.keep_below = SPOOL_SEVERITY_WARN;
    options.release_at = SPOOL_SEVERITY_WARN;
    SPT_REQUIRE(open_backlog(&pipeline, &options));
    spool_span span = spool_span_start(tracer(), "span", NULL);
    emit(span, SPOOL_SEVERITY_INFO, "info", 1);
    SPT_CHECK_STRING(delivered(&pipeline), "");
    emit(span, SPOOL_SEVERITY_WARN, "warn", 2);
    SPT_CHECK_STRING(delivered(&pipeline), "info warn");
    spool_span_end(span);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void bad_arguments_leave_downstream_to_the_caller(void) {
    spt_pipeline other;
    spool_exporter exporter;
    spool_processor downstream;
    spool_processor out;
    SPT_REQUIRE(spool_memory_create(0, &other.store, &exporter) == SPOOL_OK);
    SPT_REQUIRE(spool_simple_create(exporter, NULL, &downstream) == SPOOL_OK);
    spool_backlog_options options = SPOOL_BACKLOG_OPTIONS_INIT;
    options.struct_size = 0;
    SPT_CHECK(spool_backlog_create(downstream, &options, &out) == SPOOL_ERR_INVALID);
    spool_backlog_options_init(&options);
    options.keep_below = options.release_at + 1;
    SPT_CHECK(spool_backlog_create(downstream, &options, &out) == SPOOL_ERR_INVALID);
    SPT_CHECK(spool_backlog_create(downstream, NULL, NULL) == SPOOL_ERR_INVALID);
    SPT_CHECK(spool_backlog_create((spool_processor){NULL, NULL}, NULL, &out) == SPOOL_ERR_INVALID);
    SPT_CHECK(spool_backlog_create(downstream, NULL, &out) == SPOOL_OK);
    out.ops->destroy(out.self);
    spool_memory_release(other.store);
}

static void four_backlogs_can_live_and_places_come_back(void) {
    static const spool_processor_ops nothing = {.struct_size = sizeof nothing, .name = "nothing"};
    spool_processor_ops logs = nothing;
    spool_processor made[5];
    SPT_CHECK(spool_backlog_create((spool_processor){&nothing, NULL}, NULL, &made[0]) ==
              SPOOL_ERR_INVALID);
    logs.log_emit = sink_log;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            SPT_CHECK(spool_backlog_create((spool_processor){&logs, NULL}, NULL, &made[i]) ==
                      SPOOL_OK);
        }
        SPT_CHECK(spool_backlog_create((spool_processor){&logs, NULL}, NULL, &made[4]) ==
                  SPOOL_ERR_LIMIT);
        for (int i = 0; i < 4; i++) {
            made[i].ops->destroy(made[i].self);
        }
    }
}

/* ---- shutdown, batch, foreign spans ---- */

static void what_is_kept_at_the_shutdown_is_counted_when_its_span_ends(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_backlog(&pipeline, NULL));
    spool_span root = spool_span_start(tracer(), "root", NULL);
    spool_span child = start_under(root, "child");
    spool_span last = spool_span_start(tracer(), "last", NULL);
    emit(root, SPOOL_SEVERITY_DEBUG, "r", 1);
    emit(child, SPOOL_SEVERITY_DEBUG, "c", 2);
    emit(last, SPOOL_SEVERITY_DEBUG, "l", 3);
    spool_span_end(child);
    SPT_CHECK(spool_shutdown(pipeline.sdk, 1000, NULL) == SPOOL_OK);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 3);
    SPT_CHECK(spt_balanced(pipeline.sdk));
    spool_span_status(root, SPOOL_STATUS_ERROR, NULL);
    spool_span_end(root);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_SHUTDOWN], 2);
    SPT_CHECK_UINT(logs_of(pipeline.sdk).queued, 1);
    SPT_CHECK(spt_balanced(pipeline.sdk));
    SPT_CHECK_STRING(delivered(&pipeline), "");
    spool_sdk_free(pipeline.sdk);
    spool_span_end(last); /* the backlog is gone, its box is not */
    spool_memory_release(pipeline.store);
}

static void it_works_in_front_of_a_batch_processor(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(open_with(&pipeline, NULL, batch_in_front));
    for (int i = 0; i < 20; i++) {
        spool_span span = spool_span_start(tracer(), "span", NULL);
        emit(span, SPOOL_SEVERITY_DEBUG, "d", 77);
        if (i % 2) {
            emit(span, SPOOL_SEVERITY_ERROR, "e", 78);
        }
        spool_span_end(span);
    }
    SPT_CHECK(spool_flush(pipeline.sdk, 10000, NULL) == SPOOL_OK);
    SPT_CHECK_UINT(spool_memory_log_count(pipeline.store), 20);
    const spool_log_data *log = spool_memory_log(pipeline.store, 0);
    SPT_CHECK(log && log->timestamp_ns == 77 && spt_text_is(log->scope->name, "backlog"));
    SPT_CHECK_UINT(logs_of(pipeline.sdk).dropped[SPOOL_DROP_VANISHED], 10);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static bool open_sink(spool_sdk **sdk, const spool_backlog_options *options) {
    static const spool_processor_ops sink = {
        .struct_size = sizeof sink, .name = "sink", .log_emit = sink_log};
    spool_processor processor;
    spool_sdk_options given = SPOOL_SDK_OPTIONS_INIT;
    given.processors = &processor;
    given.processor_count = 1;
    atomic_store(&sunk, 0);
    return spool_backlog_create((spool_processor){&sink, NULL}, options, &processor) == SPOOL_OK &&
           spool_sdk_create(&given, sdk) == SPOOL_OK;
}

/* A downstream that logs in the very end of each span, after the backlog has decided. */
static void log_at_end(void *self, spool_span_record *record) {
    (void)self;
    emit(spool_span_record_handle(record), SPOOL_SEVERITY_DEBUG, "at the end", 0);
}

static void a_record_after_the_verdict_follows_it(void) {
    static const spool_processor_ops late = {
        .struct_size = sizeof late, .name = "late", .span_end = log_at_end, .log_emit = sink_log};
    spool_processor processor;
    spool_sdk_options given = SPOOL_SDK_OPTIONS_INIT;
    spool_sdk *sdk;
    given.processors = &processor;
    given.processor_count = 1;
    atomic_store(&sunk, 0);
    SPT_REQUIRE(spool_backlog_create((spool_processor){&late, NULL}, NULL, &processor) == SPOOL_OK);
    SPT_REQUIRE(spool_sdk_create(&given, &sdk) == SPOOL_OK);
    spool_span well = spool_span_start(tracer(), "well", NULL);
    spool_span child = start_under(well, "child");
    spool_span_end(child);
    SPT_CHECK_UINT(logs_of(sdk).queued, 1); /* the root's verdict is still to come */
    spool_span_end(well);
    SPT_CHECK_UINT(logs_of(sdk).queued, 0);
    SPT_CHECK_UINT(logs_of(sdk).dropped[SPOOL_DROP_VANISHED], 2);
    spool_span fails = spool_span_start(tracer(), "fails", NULL);
    spool_span_status(fails, SPOOL_STATUS_ERROR, NULL);
    spool_span_end(fails);
    SPT_CHECK_UINT(atomic_load(&sunk), 1);
    SPT_CHECK_UINT(logs_of(sdk).dropped[SPOOL_DROP_SHUTDOWN], 0);
    SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = SPT_TSAN ? 200 : 2000 };

static _Atomic uint64_t emitted;

static void *work(void *arg) {
    spool_span shared = *(spool_span *)arg;
    spt_random random = {(uint64_t)(uintptr_t)&random};
    for (int i = 0; i < ROUNDS; i++) {
        spool_span child = start_under(shared, "child");
        emit(child, SPOOL_SEVERITY_DEBUG, "child", 0);
        emit(shared, SPOOL_SEVERITY_DEBUG, "parent", 0);
        atomic_fetch_add(&emitted, 2);
        uint64_t what = spt_random_below(&random, 16);
        if (what == 0) {
            emit(child, SPOOL_SEVERITY_ERROR, "error", 0);
            atomic_fetch_add(&emitted, 1);
        } else if (what == 1) {
            spool_span_status(child, SPOOL_STATUS_ERROR, NULL);
        } else if (what == 2 && i > ROUNDS / 2) {
            emit(shared, SPOOL_SEVERITY_ERROR, "root error", 0);
            atomic_fetch_add(&emitted, 1);
        }
        spool_span_end(child);
    }
    return NULL;
}

static void many_threads_on_one_tree_lose_nothing_uncounted(void) {
    spool_sdk *sdk;
    SPT_REQUIRE(open_sink(&sdk, NULL));
    spool_span root = spool_span_start(tracer(), "root", NULL);
    pthread_t threads[THREADS];
    atomic_store(&emitted, 0);
    for (int i = 0; i < THREADS; i++) {
        SPT_CHECK(pthread_create(&threads[i], NULL, work, &root) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    spool_span_end(root);
    spool_processor_stats stats = logs_of(sdk);
    uint64_t gone = 0;
    for (unsigned cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        gone += stats.dropped[cause];
    }
    /* The sink has no statistics, so `offered` is what never came there. */
    SPT_CHECK_UINT(stats.queued, 0);
    SPT_CHECK_UINT(stats.offered, gone);
    SPT_CHECK_UINT(gone + atomic_load(&sunk), atomic_load(&emitted));
    SPT_CHECK(atomic_load(&sunk) > THREADS * 10);
    spool_sdk_free(sdk);
}

static void nothing_is_allocated_when_warm(void) {
    if (SPT_ASAN || SPT_TSAN) {
        spt_skip("sanitizers allocate on their own");
        return;
    }
    spool_sdk *sdk;
    SPT_REQUIRE(open_sink(&sdk, NULL));
    uint64_t before = 0;
    for (int i = 0; i < 3000; i++) {
        if (i == 1000) {
            before = spt_mallocs_of_process();
        }
        spool_span root = spool_span_start(tracer(), "root", NULL);
        spool_span child = start_under(root, "child");
        for (int n = 0; n < 5; n++) {
            emit(root, SPOOL_SEVERITY_DEBUG, "some text", 0);
            emit(child, SPOOL_SEVERITY_DEBUG, "some text", 0);
        }
        if (i % 3 == 0) {
            emit(child, SPOOL_SEVERITY_ERROR, "error", 0);
        }
        spool_span_end(child);
        spool_span_status(root, i % 5 ? SPOOL_STATUS_OK : SPOOL_STATUS_ERROR, NULL);
        spool_span_end(root);
    }
    SPT_CHECK_UINT(spt_mallocs_of_process() - before, 0);
    SPT_CHECK(atomic_load(&sunk) > 1000);
    spool_sdk_free(sdk);
}

SPT_MAIN("backlog", SPT_CASE(records_vanish_with_a_span_that_ends_well),
         SPT_CASE(an_error_at_the_end_lets_them_go_as_they_were),
         SPT_CASE(an_error_record_lets_them_go_before_itself),
         SPT_CASE(the_local_root_decides_for_what_ended_well_below_it),
         SPT_CASE(a_failed_child_lets_go_its_own_alone),
         SPT_CASE(a_failed_root_reaches_descendants_that_live_on),
         SPT_CASE(a_root_that_ended_well_leaves_the_rest_to_themselves),
         SPT_CASE(the_oldest_of_a_span_go_first), SPT_CASE(bytes_are_bounded_per_span_and_in_all),
         SPT_CASE(options_say_what_is_kept), SPT_CASE(bad_arguments_leave_downstream_to_the_caller),
         SPT_CASE(four_backlogs_can_live_and_places_come_back),
         SPT_CASE(what_is_kept_at_the_shutdown_is_counted_when_its_span_ends),
         SPT_CASE(it_works_in_front_of_a_batch_processor),
         SPT_CASE(a_record_after_the_verdict_follows_it),
         SPT_CASE(many_threads_on_one_tree_lose_nothing_uncounted),
         SPT_CASE(nothing_is_allocated_when_warm))
