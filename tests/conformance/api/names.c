/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles and calls every name of the agreed API, so that none of them disappears or changes its shape.
 * Names that are agreed and not there yet:
 *   delivery: spool_after_fork, spool_self_test, spool_poll, spool_poll_fd, callback per lost record,
 *     OTLP over grpc and http/json, OTLP file exporter
 *   memory core: spool_live_spans, spool_dump_live_spans, backlog processor, SPOOL_FILTER
 *   speed: SPOOL_CLOCK_TSC
 *   later: spool_reload, spool_provider_export, spool_provider_import, OTEL_CONFIG_FILE, B3 and Jaeger
 *     propagators, resource detectors, composable samplers, redact processor, store
 */
#define SPOOL_SCOPE "names"
#define SPOOL_SCOPE_VERSION "1"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/carrier/curl.h>
#include <spool/ext/ext.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static spt_pipeline pipe_of_case;

static void open_pipe(void) {
    (void)SPT_CHECK(spt_pipeline_open(&pipe_of_case, NULL));
}

static void close_pipe(void) {
    (void)SPT_CHECK(spt_pipeline_close(&pipe_of_case));
}

/* ---- values ---- */

static const spool_str static_view = SPOOL_STR_INIT("static");

static void values(void) {
    spool_value items[] = {spool_value_empty(), spool_value_string("s"), spool_value_int(-1)};
    spool_attr inner[] = {spool_bool("b", true)};
    const spool_attr attrs[] = {
        spool_string("s", "v"),
        spool_string_n(SPOOL_STR("s"), SPOOL_STR("v")),
        spool_int("i", 1),
        spool_int_n(SPOOL_STR("i"), 1),
        spool_uint("u", UINT64_MAX),
        spool_uint_n(SPOOL_STR("u"), 1),
        spool_double("d", 0.5),
        spool_double_n(SPOOL_STR("d"), 0.5),
        spool_bool("b", false),
        spool_bool_n(SPOOL_STR("b"), false),
        spool_bytes("y", "\0\1", 2),
        spool_bytes_n(SPOOL_STR("y"), "\0\1", 2),
        spool_array("a", items, 3),
        spool_array_n(SPOOL_STR("a"), items, 3),
        spool_map("m", inner, 1),
        spool_map_n(SPOOL_STR("m"), inner, 1),
        spool_attr_of("v", spool_value_bytes("x", 1)),
        spool_attr_n(SPOOL_STR("v"), spool_value_array(items, 3)),
    };
    (void)SPT_CHECK(attrs[4].value.type == SPOOL_VALUE_UINT);
    (void)SPT_CHECK(attrs[5].value.type == SPOOL_VALUE_INT);
    (void)SPT_CHECK(spool_value_string(NULL).type == SPOOL_VALUE_EMPTY);
    (void)SPT_CHECK(spool_value_map(inner, 1).as.map.count == 1);
    (void)SPT_CHECK(spool_value_bool(true).as.boolean && spool_value_double(1).as.number > 0);
    (void)SPT_CHECK(spool_value_uint(3).as.integer == 3);
    (void)SPT_CHECK(static_view.len == 6 && spool_str_of("abc").len == 3);
    (void)SPT_CHECK(spool_str_n(NULL, 9).len == 0 && spool_value_string_n(static_view).type == 1);
    (void)SPT_CHECK_STRING(spool_status_name(SPOOL_ERR_NOMEM), "SPOOL_ERR_NOMEM");
    (void)SPT_CHECK_STRING(spool_status_text(SPOOL_OK), "success");
    (void)SPT_CHECK_STRING(spool_drop_cause_name(SPOOL_DROP_QUEUE_FULL), "queue_full");
    (void)SPT_CHECK(spool_version() == SPOOL_VERSION_NUMBER);
    (void)SPT_CHECK_STRING(spool_version_string(), SPOOL_VERSION_STRING);
}

/* ---- context, baggage, propagation ---- */

static unsigned destroyed;
static void count_destroy(void *value) {
    (void)value;
    destroyed++;
}

static void context(void) {
    open_pipe();
    spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
    spool_context with_span = spool_context_with_span(NULL, span);
    spool_context_key key = spool_context_key_create("key", count_destroy);
    spool_context with_value = spool_context_with_value(&with_span, key, &destroyed);
    spool_context copy = spool_context_copy(&with_value);
    (void)SPT_CHECK(spool_context_value(&copy, key) == &destroyed);
    spool_token token = spool_context_attach(&copy);
    (void)SPT_CHECK(spool_span_current().bits == span.bits);
    char trace_id[33];
    char span_id[17];
    (void)SPT_CHECK(spool_trace_id_hex(trace_id) && spool_span_id_hex(span_id));
    (void)SPT_CHECK(strlen(trace_id) == 32 && strlen(span_id) == 16);
    spool_mark mark = spool_context_mark();
    (void)spool_context_attach(NULL);
    (void)SPT_CHECK(spool_context_rewind(mark) == 1);
    spool_context_stack *stack = spool_context_stack_create();
    spool_context_stack *own = spool_context_swap(stack);
    (void)SPT_CHECK(spool_span_current().bits == 0);
    (void)spool_context_swap(own);
    spool_context_stack_destroy(stack);
    (void)SPT_CHECK(spool_span_current().bits == span.bits);
    (void)SPT_CHECK(spool_context_detach(token) == SPOOL_OK);
    spool_context_release(&copy);
    spool_context_release(&with_value);
    spool_context_release(&with_span);
    (void)SPT_CHECK_UINT(destroyed, 1);
    spool_span_end(span);
    close_pipe();
}

static void baggage(void) {
    spool_baggage *one = spool_baggage_set(NULL, "a", "1");
    spool_baggage *two = spool_baggage_set_n(one, SPOOL_STR("b"), SPOOL_STR("2"), SPOOL_STR("p"));
    spool_baggage *three = spool_baggage_remove(two, "a");
    spool_baggage *four = spool_baggage_remove_n(three, SPOOL_STR("nothing"));
    spool_baggage *five = spool_baggage_copy(four);
    spool_str value;
    spool_baggage_entry entry;
    (void)SPT_CHECK(spool_baggage_count(five) == 1 && spool_baggage_at(five, 0, &entry));
    (void)SPT_CHECK(spt_text_is(entry.metadata, "p"));
    (void)SPT_CHECK(spool_baggage_get(two, "a", &value) && spt_text_is(value, "1"));
    (void)SPT_CHECK(!spool_baggage_get_n(five, SPOOL_STR("a"), &value));
    spool_context with = spool_context_with_baggage(NULL, five);
    (void)SPT_CHECK(spool_baggage_count(spool_context_baggage(&with)) == 1);
    spool_context_release(&with);
    spool_baggage_release(one);
    spool_baggage_release(two);
    spool_baggage_release(three);
    spool_baggage_release(four);
    spool_baggage_release(five);
}

static void propagation(void) {
    struct spool_span_context remote = {{1}, {2}, SPOOL_FLAG_SAMPLED, 1, {0}};
    spool_context from = spool_context_with_remote(NULL, &remote, SPOOL_STR("a=b"));
    (void)SPT_CHECK(spool_span_context_is_valid(&from.span));
    (void)SPT_CHECK(spt_text_is(spool_context_trace_state(&from), "a=b"));
    spool_header items[4];
    char text[512];
    spool_header_buffer buffer = {
        .items = items, .capacity = 4, .text = text, .text_capacity = sizeof text};
    spool_inject(&from, &spool_header_setter, &buffer);
    (void)SPT_CHECK_UINT(buffer.count, 2);
    spool_header_list list = {items, buffer.count};
    spool_context to = spool_extract(NULL, &spool_header_getter, &list);
    (void)SPT_CHECK(memcmp(to.span.trace_id, remote.trace_id, 16) == 0);
    spool_context_release(&to);
    const char *base[] = {"PATH=/bin", NULL};
    spool_envp *envp = spool_envp_create(base);
    spool_inject(&from, &spool_envp_setter, envp);
    char *const *array = spool_envp_array(envp);
    to = spool_extract(NULL, &spool_envp_getter, array);
    (void)SPT_CHECK(memcmp(to.span.span_id, remote.span_id, 8) == 0);
    spool_context_release(&to);
    spool_envp_destroy(envp);
    spool_str names[8];
    (void)SPT_CHECK(spool_propagation_fields(names, 8) == 3);
    const spool_propagator *both[] = {&spool_propagator_tracecontext, &spool_propagator_baggage};
    (void)SPT_CHECK(spool_propagators_set(both, 2) == SPOOL_OK);
    (void)SPT_CHECK(spool_curl_setter.set == spool_curl_set);
    spool_context_release(&from);
}

/* ---- traces ---- */

static void traces(void) {
    open_pipe();
    spool_scope scope = {.name = SPOOL_STR_INIT("n"), .version = SPOOL_STR_INIT("v")};
    spool_tracer *tracer = spool_tracer_get("n", "v");
    (void)SPT_CHECK(tracer == spool_tracer_get_n(SPOOL_STR("n"), SPOOL_STR("v")));
    (void)SPT_CHECK(tracer == spool_tracer_get_scope(&scope));
    (void)SPT_CHECK(spool_sdk_tracer(pipe_of_case.sdk, &scope) != NULL);
    (void)SPT_CHECK(spool_tracer_enabled(tracer));
    spool_span_options options;
    spool_span_options_init(&options);
    spool_span span = spool_span_start_n(tracer, SPOOL_STR("s"), &options);
    spool_attr attr = spool_int("k", 1);
    spool_span_set(span, attr);
    spool_span_set_all(span, &attr, 1);
    spool_span_event(span, "e", &attr, 1);
    spool_span_event_n(span, SPOOL_STR("e"), NULL, 0);
    spool_span_event_at(span, "e", 1, NULL, 0);
    spool_span_event_at_n(span, SPOOL_STR("e"), 1, NULL, 0);
    spool_link link = {.context = spool_span_context(span)};
    spool_span_link(span, &link);
    spool_span_status(span, SPOOL_STATUS_ERROR, "d");
    spool_span_status_n(span, SPOOL_STATUS_ERROR, SPOOL_STR("d"));
    spool_span_rename(span, "r");
    spool_span_rename_n(span, SPOOL_STR("r2"));
    spool_span_record_error(span, "t", "m", "s");
    spool_span_record_error_n(span, SPOOL_STR("t"), SPOOL_STR("m"), SPOOL_STR("s"));
    (void)SPT_CHECK(spool_span_is_recording(span));
    spool_token token = spool_span_enter(span);
    (void)SPT_CHECK(spool_span_current().bits == span.bits);
    spool_span_exit(token);
    spool_span_end(span);
    spool_span other = spool_span_start(tracer, "o", NULL);
    spool_span_end_at(other, 1);
    {
        SPOOL_SPAN(block, SPOOL_TRACER(), "block", spool_int("n", 1));
        SPOOL_SPAN_WITH(with, SPOOL_TRACER(), "with", &options);
        spool_span_end(SPOOL_SPAN_KEEP(with));
        (void)SPT_CHECK(spool_span_is_recording(block));
    }
    (void)SPT_CHECK_UINT(spool_memory_span_count(pipe_of_case.store), 4);
    (void)SPT_CHECK_UINT(spool_memory_span(pipe_of_case.store, 0)->event_count, 6);
    close_pipe();
}

/* ---- logs ---- */

static void vlog(const char *format, ...) SPOOL_PRINTF(1, 2);
static void vlog(const char *format, ...) {
    va_list args;
    va_start(args, format);
    spool_vlogf(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, format, args);
    va_end(args);
}

#define EVERY_FORM(NAME)                                                                           \
    SPOOL_##NAME("b");                                                                             \
    SPOOL_##NAME("b", spool_int("k", 1), spool_string("s", "v"));                                  \
    SPOOL_##NAME##_F("%d", 1);                                                                     \
    SPOOL_##NAME##_F("no arguments");                                                              \
    SPOOL_##NAME##_IN(NULL, "b");                                                                  \
    SPOOL_##NAME##_IN(NULL, "b", spool_int("k", 1));                                               \
    SPOOL_##NAME##_EVERY(2, "b");                                                                  \
    SPOOL_##NAME##_EVERY(2, "b", spool_int("k", 1));                                               \
    SPOOL_##NAME##_ONCE("b");                                                                      \
    SPOOL_##NAME##_ONCE("b", spool_int("k", 1))

static void logs(void) {
    open_pipe();
    spool_scope scope = {.name = SPOOL_STR_INIT("n"), .version = SPOOL_STR_INIT("v")};
    spool_logger *logger = spool_logger_get("n", "v");
    (void)SPT_CHECK(logger == spool_logger_get_n(SPOOL_STR("n"), SPOOL_STR("v")));
    (void)SPT_CHECK(logger == spool_logger_get_scope(&scope));
    (void)SPT_CHECK(spool_sdk_logger(pipe_of_case.sdk, &scope) != NULL);
    (void)SPT_CHECK(spool_logger_enabled(logger, NULL, SPOOL_SEVERITY_INFO, "e"));
    (void)SPT_CHECK(spool_logger_enabled_n(logger, NULL, SPOOL_SEVERITY_INFO, SPOOL_STR("e")));
    spool_log_record record;
    spool_log_record_init(&record);
    spool_log_emit(logger, &record);
    spool_log(logger, SPOOL_SEVERITY_INFO, "b");
    spool_log(logger, SPOOL_SEVERITY_INFO, "b", spool_int("k", 1));
    spool_log_n(logger, SPOOL_SEVERITY_INFO, SPOOL_STR("b"), NULL, 0);
    spool_logf(logger, SPOOL_SEVERITY_INFO, "%s", "f");
    vlog("%d", 1);
    EVERY_FORM(TRACE);
    EVERY_FORM(DEBUG);
    EVERY_FORM(INFO);
    EVERY_FORM(WARN);
    EVERY_FORM(ERROR);
    EVERY_FORM(FATAL);
    (void)SPT_CHECK_UINT(spool_memory_log_count(pipe_of_case.store), 6 + 6 * 10);
    (void)SPT_CHECK_STRING(spool_severity_name(SPOOL_SEVERITY_WARN3), "WARN3");
    (void)SPT_CHECK(spool_severity_from_syslog(3) == SPOOL_SEVERITY_ERROR);
    close_pipe();
}

/* ---- the SDK ---- */

static void quiet(void *arg, const spool_diagnostic *line) {
    (void)arg;
    (void)line;
}

static void sdk(void) {
    spool_options options;
    spool_options_init(&options);
    options.ignore_env = 1;
    options.traces_exporter = "none";
    options.logs_exporter = "none";
    options.no_exit_flush = 1;
    spool_sdk *started = NULL;
    SPT_REQUIRE(spool_start(&options, &started) == SPOOL_OK);
    (void)SPT_CHECK(spool_sdk_default() == started);
    spool_report report = SPOOL_REPORT_INIT;
    (void)SPT_CHECK(spool_flush(started, 100, &report) == SPOOL_OK);
    struct spool_stats stats = {.struct_size = sizeof stats};
    (void)SPT_CHECK(spool_stats(started, &stats) == SPOOL_OK);
    (void)SPT_CHECK(spool_shutdown(started, 100, &report) == SPOOL_OK);
    spool_sdk_free(started);
    spool_diagnostics_set(quiet, NULL);
    spool_diagnostics_set_level(SPOOL_DIAG_DEBUG);
    spool_diagnostics_set_level(SPOOL_DIAG_INFO);
    spool_diagnostics_set(NULL, NULL);
}

static void destroy_sampler(spool_sampler sampler) {
    sampler.ops->destroy(sampler.self);
}

static void parts(void) {
    spool_sdk_options sdk_options;
    spool_limits limits;
    spool_parent_based_options parent_based;
    spool_sdk_options_init(&sdk_options);
    spool_limits_init(&limits);
    spool_parent_based_options_init(&parent_based);
    spool_sampler sampler;
    (void)SPT_CHECK(spool_sampler_always_on().ops && spool_sampler_always_off().ops);
    SPT_REQUIRE(spool_sampler_parent_based(&parent_based, &sampler) == SPOOL_OK);
    destroy_sampler(sampler);
    SPT_REQUIRE(spool_sampler_ratio(0.5, &sampler) == SPOOL_OK);
    destroy_sampler(sampler);
    spool_resource *base = NULL;
    spool_resource *upper = NULL;
    spool_resource *merged = NULL;
    spool_attr attr = spool_string("service.name", "names");
    SPT_REQUIRE(spool_resource_default(&base) == SPOOL_OK);
    SPT_REQUIRE(spool_resource_create(&attr, 1, SPOOL_STR("u"), &upper) == SPOOL_OK);
    SPT_REQUIRE(spool_resource_merge(base, upper, &merged) == SPOOL_OK);
    spool_resource *again = spool_resource_copy(merged);
    (void)SPT_CHECK_UINT(spool_resource_data_of(again)->attr_count, 4);
    spool_resource_release(again);
    spool_resource_release(merged);
    spool_resource_release(upper);
    spool_resource_release(base);
}

static void pipelines(void) {
    spool_batch_options batch_options;
    spool_simple_options simple_options;
    spool_console_options console_options;
    spool_otlp_options otlp_options;
    spool_batch_options_init(&batch_options, SPOOL_SIGNAL_SPANS);
    spool_batch_options_from_env(&batch_options, SPOOL_SIGNAL_LOGS);
    spool_simple_options_init(&simple_options);
    spool_console_options_init(&console_options);
    spool_otlp_options_init(&otlp_options);
    spool_exporter exporter;
    spool_processor processor;
    SPT_REQUIRE(spool_console_create(&console_options, &exporter) == SPOOL_OK);
    SPT_REQUIRE(spool_simple_create(exporter, &simple_options, &processor) == SPOOL_OK);
    processor.ops->destroy(processor.self);
    SPT_REQUIRE(spool_otlp_create(SPOOL_SIGNAL_SPANS, &otlp_options, &exporter) == SPOOL_OK);
    SPT_REQUIRE(spool_batch_create(SPOOL_SIGNAL_SPANS, exporter, &batch_options, &processor) ==
                SPOOL_OK);
    processor.ops->destroy(processor.self);
    SPT_REQUIRE(spool_otlp_create_from_env(SPOOL_SIGNAL_LOGS, &exporter) == SPOOL_OK);
    exporter.ops->destroy(exporter.self);
    spool_memory_store *store;
    SPT_REQUIRE(spool_memory_create(1, &store, &exporter) == SPOOL_OK);
    spool_memory_clear(store);
    (void)SPT_CHECK(spool_memory_span_count(store) == 0 && spool_memory_log_count(store) == 0);
    (void)SPT_CHECK(!spool_memory_span(store, 0) && !spool_memory_log(store, 0));
    exporter.ops->destroy(exporter.self);
    spool_memory_release(store);
}

/* ---- extensions ---- */

typedef struct seen {
    unsigned resets;
    spool_ext_id type;
    bool boxes, taken, log_box, pinned, data;
} seen;
static seen seen_here;

static void reset_box(void *value) {
    *(int *)value = 0;
    seen_here.resets++;
}

static void ext_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)self;
    (void)parent;
    bool fresh = false;
    int *box = spool_ext_get_or_init(span, seen_here.type, &fresh);
    if (box && fresh) {
        *box = 42;
    }
}

static void ext_end(void *self, spool_span_record *span) {
    (void)self;
    int *box = spool_ext_get(span, seen_here.type);
    int value = 0;
    seen_here.boxes = box && *box == 42;
    seen_here.taken = spool_ext_take(span, seen_here.type, &value) && value == 42 &&
                      !spool_ext_get(span, seen_here.type);
    seen_here.data = spool_span_record_data(span) && spool_span_record_handle(span).bits;
    spool_span_record *parent = spool_ext_pin_parent(span);
    spool_ext_unpin(parent);
    (void)spool_ext_get_or_init(span, seen_here.type, NULL);
}

static void ext_log(void *self, spool_log_data *log) {
    (void)self;
    (void)spool_log_data_set(log, spool_int("added", 1));
    (void)spool_log_data_remove(log, SPOOL_STR("added"));
    int *box = spool_ext_log_get_or_init(log, seen_here.type, NULL);
    seen_here.log_box = box && spool_ext_log_get(log, seen_here.type) == box;
    spool_span_record *span = spool_ext_log_pin_span(log);
    seen_here.pinned = span && *(int *)spool_ext_get(span, seen_here.type) == 42;
    spool_ext_unpin(span);
}

static void ext_destroy(void *self) {
    (void)self;
}

static void extensions(void) {
    static const spool_processor_ops ops = {.struct_size = sizeof ops,
                                            .name = "ext",
                                            .span_start = ext_start,
                                            .span_end = ext_end,
                                            .log_emit = ext_log,
                                            .destroy = ext_destroy};
    seen_here.type = spool_ext_register("int", sizeof(int), _Alignof(int), reset_box, NULL);
    SPT_REQUIRE(seen_here.type != 0);
    spool_processor processor = {&ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *created = NULL;
    SPT_REQUIRE(spool_sdk_create(&options, &created) == SPOOL_OK);
    spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
    spool_span_record *record = spool_ext_pin(span);
    (void)SPT_CHECK(record != NULL);
    spool_token token = spool_span_enter(span);
    SPOOL_INFO("log");
    spool_span_exit(token);
    spool_span_end(span);
    spool_ext_unpin(record);
    (void)SPT_CHECK(seen_here.boxes && seen_here.taken && seen_here.data);
    (void)SPT_CHECK(seen_here.log_box && seen_here.pinned);
    /* One reset for the record's box, one for the span's. */
    (void)SPT_CHECK_UINT(seen_here.resets, 2);
    spool_sdk_free(created);
}

/* Batches: spool_batch_*, as an exporter uses them. */
static size_t batch_bytes, batch_records;
static void look_at_batch(void *self, spool_batch *batch, uint64_t deadline_ns) {
    (void)self;
    (void)deadline_ns;
    const spool_batch_piece *pieces;
    size_t count = spool_batch_pieces(batch, &pieces);
    for (size_t i = 0; i < count; i++) {
        batch_bytes += pieces[i].len;
    }
    (void)SPT_CHECK(spool_batch_size(batch) == batch_bytes && spool_batch_is_borrowed(batch));
    (void)SPT_CHECK(spool_batch_signal(batch) == SPOOL_SIGNAL_LOGS);
    (void)SPT_CHECK(!spool_batch_next_span(batch) && spool_batch_next_log(batch));
    spool_batch_rewind(batch);
    (void)SPT_CHECK(spool_batch_next_log(batch) && !spool_batch_failed(batch));
    (void)SPT_CHECK(spool_batch_resource(batch)->attr_count == 4);
    batch_records = spool_batch_count(batch);
    spool_outcome outcome = {.delivered = batch_records};
    spool_batch_done(spool_batch_id(batch), &outcome);
}
static spool_status no_shutdown(void *self, uint64_t deadline_ns) {
    (void)self;
    (void)deadline_ns;
    return SPOOL_OK;
}

static void batches(void) {
    static const spool_exporter_ops ops = {sizeof ops,  "look", look_at_batch, NULL, no_shutdown,
                                           ext_destroy, 0};
    spool_exporter exporter = {&ops, NULL};
    spool_processor processor;
    SPT_REQUIRE(spool_simple_create(exporter, NULL, &processor) == SPOOL_OK);
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *created = NULL;
    SPT_REQUIRE(spool_sdk_create(&options, &created) == SPOOL_OK);
    SPOOL_INFO("one");
    (void)SPT_CHECK(batch_bytes > 0 && batch_records == 1);
    (void)SPT_CHECK(spt_balanced(created));
    spool_sdk_free(created);
}

SPT_MAIN("names", SPT_CASE(values), SPT_CASE(context), SPT_CASE(baggage), SPT_CASE(propagation),
         SPT_CASE(traces), SPT_CASE(logs), SPT_CASE(sdk), SPT_CASE(parts), SPT_CASE(pipelines),
         SPT_CASE(extensions), SPT_CASE(batches))
