/* SPDX-License-Identifier: Apache-2.0 */
/* spool_start(): what runs, and with what, for what the environment and code say (cases T66, T67). */
#define SPOOL_SCOPE "start.test"
#include "tests/support/fake_collector.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"
#include "tests/unit/config/caught.h"

#include <spool/propagation.h>
#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHUTDOWN_MS = 10000 };

static spool_sdk *sdk;

static void close_sdk(void) {
    (void)spool_shutdown(sdk, SHUTDOWN_MS, NULL);
    spool_sdk_free(sdk);
    sdk = NULL;
}

static size_t entries_in(const char *folder) {
    size_t count = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory);
    while (readdir(directory)) {
        count++;
    }
    closedir(directory);
    return count;
}

static size_t threads(void) {
    return entries_in("/proc/self/task");
}

static size_t descriptors(void) {
    return entries_in("/proc/self/fd");
}

static void set_exporters(const char *traces, const char *logs) {
    setenv("OTEL_TRACES_EXPORTER", traces, 1);
    setenv("OTEL_LOGS_EXPORTER", logs, 1);
}

/* ---- disabled ---- */

static void expect_propagation(void) {
    static const char parent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    spool_header in = {SPOOL_STR_INIT("traceparent"), {parent, sizeof parent - 1}};
    spool_header_list list = {&in, 1};
    spool_context context = spool_extract(NULL, &spool_header_getter, &list);
    spool_header out[4];
    char text[512];
    spool_header_buffer buffer = {
        .items = out, .capacity = 4, .text = text, .text_capacity = sizeof text};
    spool_inject(&context, &spool_header_setter, &buffer);
    cr_assert_geq(buffer.count, 1);
    cr_expect(spt_text_is(out[0].value, parent));
    spool_context_release(&context);
}

static void expect_disabled(const char *value) {
    size_t threads_before = threads();
    size_t descriptors_before = descriptors();
    setenv("OTEL_SDK_DISABLED", value, 1);
    cr_assert_eq(spool_start(NULL, &sdk), SPOOL_OK);
    spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
    spool_span_set(span, spool_int("k", 1));
    cr_expect_not(spool_span_is_recording(span));
    SPOOL_INFO("nobody hears", spool_int("k", 1));
    spool_span_end(span);
    expect_propagation();
    cr_expect_eq(threads(), threads_before, "%s", value);
    cr_expect_eq(descriptors(), descriptors_before, "%s", value);
    cr_expect_eq(spool_flush(sdk, 0, NULL), SPOOL_OK);
    cr_expect_eq(spt_stats(sdk).processor_count, 0);
    cr_expect_eq(spool_shutdown(sdk, 0, NULL), SPOOL_OK);
    spool_sdk_free(sdk);
}

Test(start, T67_true_in_any_case_disables) {
    spt_caught_start();
    expect_disabled("true");
    expect_disabled("TRUE");
    expect_disabled("True");
    cr_expect_eq(spt_caught_lines(), 0, "%s", spt_caught_line(0));
    SPT_TEST_END;
}

/* `word` does not disable: the batch processors and their thread are there. */
static void expect_enabled(const char *word, size_t warnings) {
    setenv("OTEL_SDK_DISABLED", word, 1);
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9", 1);
    spt_caught_start();
    cr_assert_eq(spool_start(NULL, &sdk), SPOOL_OK);
    cr_expect_eq(spt_stats(sdk).processor_count, 2);
    cr_expect_eq(spt_caught_lines(), warnings, "%s", spt_caught_line(0));
    cr_expect_eq(spt_caught_with("OTEL_SDK_DISABLED"), warnings);
    close_sdk();
}

Test(start, T67_one_does_not_disable) {
    expect_enabled("1", 1);
    SPT_TEST_END;
}

Test(start, T67_yes_does_not_disable) {
    expect_enabled("yes", 1);
    SPT_TEST_END;
}

Test(start, T67_false_and_empty_do_not_disable) {
    expect_enabled("false", 0);
    expect_enabled("", 0);
    SPT_TEST_END;
}

/* A processor that only counts its ends. */
static unsigned destroyed;
static void count_destroy(void *self) {
    (void)self;
    destroyed++;
}
static const spool_processor_ops counted_ops = {
    .struct_size = sizeof counted_ops, .name = "counted", .destroy = count_destroy};

Test(start, T67_disabled_consumes_what_it_is_given) {
    spool_processor processor = {&counted_ops, NULL};
    spool_options options = SPOOL_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    setenv("OTEL_SDK_DISABLED", "true", 1);
    cr_assert_eq(spool_start(&options, &sdk), SPOOL_OK);
    cr_expect_eq(destroyed, 1);
    spool_sdk_free(sdk);
    options.processors = NULL;
    cr_expect_eq(spool_start(&options, &sdk), SPOOL_ERR_INVALID);
    SPT_TEST_END;
}

/* ---- exporter lists ---- */

/* Starts, and gives the names of its processors in order, as "batch_spans simple". */
static const char *processors_of(const char *traces, const char *logs) {
    static char names[256];
    set_exporters(traces, logs);
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9", 1);
    cr_assert_eq(spool_start(NULL, &sdk), SPOOL_OK);
    struct spool_stats stats = spt_stats(sdk);
    names[0] = '\0';
    for (size_t i = 0; i < stats.processor_count; i++) {
        size_t len = strlen(names);
        (void)snprintf(names + len, sizeof names - len, "%s%s", i ? " " : "",
                       stats.processors[i][0].name);
    }
    close_sdk();
    return names;
}

Test(start, EV_24_lists_choose_the_exporters) {
    spt_caught_start();
    cr_expect_str_eq(processors_of("none", "none"), "");
    cr_expect_str_eq(processors_of("console", "none"), "simple");
    cr_expect_str_eq(processors_of("none", "Console"), "simple");
    cr_expect_str_eq(processors_of("otlp", "none"), "batch_spans");
    cr_expect_str_eq(processors_of(" otlp , console,otlp", "none"), "batch_spans simple");
    cr_expect_str_eq(processors_of("console,none", "none"), "simple");
    cr_expect_str_eq(processors_of("", ""), "batch_spans batch_logs");
    cr_expect_eq(spt_caught_lines(), 0, "%s", spt_caught_line(0));
    SPT_TEST_END;
}

Test(start, EV_05_unknown_exporters_are_left_out_and_named_once) {
    spt_caught_start();
    cr_expect_str_eq(processors_of("zipkin,console", "none"), "simple");
    cr_expect_str_eq(processors_of("logging", "none"), "batch_spans");
    cr_expect_eq(spt_caught_lines(), 1);
    cr_expect_eq(spt_caught_with("OTEL_TRACES_EXPORTER=\"zipkin,console\""), 1);
    SPT_TEST_END;
}

Test(start, an_unknown_exporter_of_code_is_named_as_such) {
    spool_options options = SPOOL_OPTIONS_INIT;
    options.traces_exporter = "consle,none";
    options.logs_exporter = "none";
    set_exporters("otlp", "otlp");
    spt_caught_start();
    cr_assert_eq(spool_start(&options, &sdk), SPOOL_OK);
    cr_expect_eq(spt_stats(sdk).processor_count, 0, "code beats the environment");
    cr_expect_eq(spt_caught_with("spool_options.traces_exporter=\"consle,none\""), 1);
    close_sdk();
    SPT_TEST_END;
}

/* Whatever the two lists say, a record comes out once, and only where its list has a console. */
Test(start, a_console_of_one_signal_does_not_print_the_other) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    int kept = dup(STDOUT_FILENO);
    (void)fflush(stdout);
    dup2(ends[1], STDOUT_FILENO);
    set_exporters("console", "none");
    spool_status first = spool_start(NULL, &sdk);
    SPOOL_INFO("not-this");
    spool_span_end(spool_span_start(SPOOL_TRACER(), "this", NULL));
    close_sdk();
    set_exporters("console", "console");
    spool_status second = spool_start(NULL, &sdk);
    SPOOL_INFO("once");
    close_sdk();
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(ends[1]);
    cr_assert_eq(first, SPOOL_OK);
    cr_assert_eq(second, SPOOL_OK);
    char text[4096];
    ssize_t len = read(ends[0], text, sizeof text - 1);
    cr_assert_gt(len, 0);
    text[len] = '\0';
    close(ends[0]);
    cr_expect_not_null(strstr(text, " this "), "%s", text);
    cr_expect_null(strstr(text, "not-this"), "%s", text);
    const char *once = strstr(text, " once");
    cr_assert_not_null(once, "%s", text);
    cr_expect_null(strstr(once + 1, " once"), "%s", text);
    cr_expect_null(strchr(text, '\033'), "no colours in a pipe");
    SPT_TEST_END;
}

/* ---- the resource ---- */

/* A record's resource as a processor sees it: in the memory store. */
static spool_memory_store *start_with_store(spool_options *options) {
    spool_memory_store *store;
    spool_exporter exporter;
    spool_processor processor;
    cr_assert_eq(spool_memory_create(0, &store, &exporter), SPOOL_OK);
    cr_assert_eq(spool_simple_create(exporter, NULL, &processor), SPOOL_OK);
    set_exporters("none", "none");
    options->processors = &processor;
    options->processor_count = 1;
    cr_assert_eq(spool_start(options, &sdk), SPOOL_OK);
    SPOOL_INFO("hello");
    cr_assert_eq(spool_memory_log_count(store), 1);
    return store;
}

static bool resource_has(spool_memory_store *store, const char *key, const char *text) {
    const spool_resource_data *data = spool_memory_log(store, 0)->resource;
    const spool_value *value = spt_attr(data->attrs, data->attr_count, key);
    return value && spt_text_is(value->as.string, text);
}

Test(start, T65_the_default_service_name_is_unknown_service) {
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_memory_store *store = start_with_store(&options);
    const spool_resource_data *data = spool_memory_log(store, 0)->resource;
    const spool_value *name = spt_attr(data->attrs, data->attr_count, "service.name");
    cr_assert_not_null(name);
    cr_expect_eq(strncmp(name->as.string.ptr, "unknown_service:", 16), 0);
    cr_expect(resource_has(store, "telemetry.sdk.language", "c"));
    close_sdk();
    spool_memory_release(store);
    SPT_TEST_END;
}

Test(start, T66_resource_of_environment_and_code) {
    spool_attr attrs[] = {spool_string("a", "code"), spool_string("service.name", "code-resource")};
    spool_resource *given;
    cr_assert_eq(spool_resource_create(attrs, 2, spool_str_n(NULL, 0), &given), SPOOL_OK);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "a=env,b=env,service.name=low", 1);
    setenv("OTEL_SERVICE_NAME", "env-name", 1);
    spool_options options = SPOOL_OPTIONS_INIT;
    options.resource = given;
    options.service_name = "code-name";
    options.service_version = "3.1";
    spool_memory_store *store = start_with_store(&options);
    spool_resource_release(given);
    cr_expect(resource_has(store, "a", "code"));
    cr_expect(resource_has(store, "b", "env"));
    cr_expect(resource_has(store, "service.name", "code-name"));
    cr_expect(resource_has(store, "service.version", "3.1"));
    close_sdk();
    spool_memory_release(store);
    SPT_TEST_END;
}

Test(start, ignore_env_reads_nothing) {
    setenv("OTEL_SERVICE_NAME", "env-name", 1);
    setenv("OTEL_SDK_DISABLED", "true", 1);
    setenv("OTEL_PROPAGATORS", "none", 1);
    setenv("OTEL_TRACES_SAMPLER", "always_off", 1);
    setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "0", 1);
    spool_options options = SPOOL_OPTIONS_INIT;
    options.ignore_env = 1;
    options.traces_exporter = "none";
    options.logs_exporter = "none";
    spool_memory_store *store = start_with_store(&options);
    spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
    spool_span_set(span, spool_int("k", 1));
    spool_span_end(span);
    cr_expect_not(resource_has(store, "service.name", "env-name"));
    cr_assert_eq(spool_memory_span_count(store), 1);
    cr_expect_eq(spool_memory_span(store, 0)->attr_count, 1);
    expect_propagation();
    close_sdk();
    spool_memory_release(store);
    SPT_TEST_END;
}

Test(start, the_environment_sets_sampler_and_limits) {
    setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1", 1);
    setenv("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3", 1);
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_memory_store *store = start_with_store(&options);
    spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
    spool_span_set(span, spool_int("a", 1));
    spool_span_set(span, spool_int("b", 1));
    spool_span_end(span);
    SPOOL_INFO("x", spool_string("k", "12345"));
    cr_expect_eq(spool_memory_span(store, 0)->attr_count, 1);
    cr_expect_eq(spool_memory_span(store, 0)->dropped_attr_count, 1);
    const spool_log_data *log = spool_memory_log(store, 1);
    cr_expect(spt_text_is(spt_attr(log->attrs, log->attr_count, "k")->as.string, "123"));
    close_sdk();
    spool_memory_release(store);
    setenv("OTEL_TRACES_SAMPLER", "always_off", 1);
    store = start_with_store(&options);
    spool_span_end(spool_span_start(SPOOL_TRACER(), "s", NULL));
    cr_expect_eq(spool_memory_span_count(store), 0);
    close_sdk();
    spool_memory_release(store);
    SPT_TEST_END;
}

/* ---- failures ---- */

static void expect_failure(const spool_options *options, spool_status expected) {
    spool_sdk *other = NULL;
    spool_status status = spool_start(options, &other);
    cr_expect_eq(status, expected, "%s", spool_status_name(status));
    cr_expect_null(other);
}

Test(start, T39_null_and_empty_options) {
    cr_expect_eq(spool_start(NULL, NULL), SPOOL_ERR_INVALID);
    spool_options options;
    memset(&options, 0, sizeof options);
    expect_failure(&options, SPOOL_ERR_INVALID);
    spool_options_init(NULL);
    spool_options_init(&options);
    cr_expect_eq(options.exit_timeout_ms, 2000);
    cr_expect_eq(spool_otlp_create_from_env(7, NULL), SPOOL_ERR_INVALID);
    spool_batch_options_from_env(NULL, 0);
    SPT_TEST_END;
}

Test(start, what_fails_leaves_nothing_and_gives_back_what_was_given) {
    spool_processor processor = {&counted_ops, NULL};
    spool_options options = SPOOL_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    size_t threads_before = threads();
    spt_caught_start();
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "gopher://user:secret@host", 1);
    expect_failure(&options, SPOOL_ERR_INVALID);
    cr_expect_geq(spt_caught_lines(), 1, "it says which");
    cr_expect_eq(spt_caught_with("secret"), 0);
    setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio", 1);
    setenv("OTEL_TRACES_EXPORTER", "console", 1);
    expect_failure(&options, SPOOL_ERR_INVALID);
    options.processor_count = 13;
    setenv("OTEL_LOGS_EXPORTER", "none", 1);
    expect_failure(&options, SPOOL_ERR_INVALID);
    cr_expect_eq(destroyed, 0);
    cr_expect_eq(threads(), threads_before);
    cr_expect_null(spool_sdk_default());
    SPT_TEST_END;
}

Test(start, a_second_default_sdk_is_refused_and_another_is_not) {
    set_exporters("none", "none");
    cr_assert_eq(spool_start(NULL, &sdk), SPOOL_OK);
    expect_failure(NULL, SPOOL_ERR_EXISTS);
    spool_options options = SPOOL_OPTIONS_INIT;
    options.not_default = 1;
    spool_sdk *other;
    cr_assert_eq(spool_start(&options, &other), SPOOL_OK);
    spool_sdk_free(other);
    close_sdk();
    SPT_TEST_END;
}

Test(start, a_configuration_file_is_not_passed_over_in_silence) {
    spt_caught_start();
    setenv("OTEL_CONFIG_FILE", "/etc/otel.yaml", 1);
    expect_failure(NULL, SPOOL_ERR_UNSUPPORTED);
    cr_expect_eq(spt_caught_with("OTEL_CONFIG_FILE"), 1);
    SPT_TEST_END;
}

/* ---- over the wire ---- */

static spt_collector *collector_start(char *endpoint, size_t size) {
    static const spt_step answer = {.status = 200};
    spt_collector *collector = spt_collector_start(&answer, 1);
    cr_assert_not_null(collector);
    (void)snprintf(endpoint, size, "http://127.0.0.1:%u/base", spt_collector_port(collector));
    return collector;
}

Test(start, T66_what_arrives_is_as_it_was_set) {
    char endpoint[64];
    char traces[64];
    spt_collector *collector = collector_start(endpoint, sizeof endpoint);
    (void)snprintf(traces, sizeof traces, "http://127.0.0.1:%u/own", spt_collector_port(collector));
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint, 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces, 1);
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=general", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=a%20b", 1);
    setenv("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "gzip", 1);
    cr_assert_eq(spool_start(NULL, &sdk), SPOOL_OK);
    spool_span_end(spool_span_start(SPOOL_TRACER(), "s", NULL));
    cr_expect_eq(spool_flush(sdk, SHUTDOWN_MS, NULL), SPOOL_OK);
    SPOOL_INFO("hello");
    cr_expect_eq(spool_shutdown(sdk, SHUTDOWN_MS, NULL), SPOOL_OK);
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
    spt_request request;
    cr_assert_eq(spt_collector_requests(collector), 2);
    cr_assert(spt_collector_request(collector, 0, &request));
    cr_expect_eq(strncmp(request.head, "POST /own HTTP/1.1", 18), 0, "%s", request.head);
    cr_expect_str_eq(spt_request_header(&request, "x-key"), "a b");
    cr_expect_str_eq(spt_request_header(&request, "content-encoding"), "");
    cr_assert(spt_collector_request(collector, 1, &request));
    cr_expect_eq(strncmp(request.head, "POST /base/v1/logs HTTP/1.1", 27), 0, "%s", request.head);
    cr_expect_str_eq(spt_request_header(&request, "x-key"), "general");
    cr_expect_str_eq(spt_request_header(&request, "content-encoding"), "gzip");
    spt_collector_stop(collector);
    SPT_TEST_END;
}

/* T64: 0 is "no limit" for the exporter, and a shutdown has its own. */
Test(start, T64_without_any_timeout_a_shutdown_still_ends_in_time) {
    static const spt_step never = {.silent = true, .delay_ms = 60000};
    char endpoint[64];
    spt_collector *collector = spt_collector_start(&never, 1);
    cr_assert_not_null(collector);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", spt_collector_port(collector));
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint, 1);
    setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0", 1);
    setenv("OTEL_BSP_EXPORT_TIMEOUT", "0", 1);
    setenv("OTEL_BLRP_EXPORT_TIMEOUT", "0", 1);
    cr_assert_eq(spool_start(NULL, &sdk), SPOOL_OK);
    SPOOL_INFO("hello");
    spool_span_end(spool_span_start(SPOOL_TRACER(), "s", NULL));
    uint64_t begin_ns = spt_now_ns();
    cr_expect_neq(spool_shutdown(sdk, 500, NULL), SPOOL_OK);
    cr_expect_lt(spt_now_ns() - begin_ns, UINT64_C(3000000000));
    spool_sdk_free(sdk);
    spt_collector_stop(collector);
    SPT_TEST_END;
}
