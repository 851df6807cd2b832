/* SPDX-License-Identifier: Apache-2.0 */
/* Log records from the call to the exporter, and the logging macros. */
#define SPOOL_SCOPE "log.test"
#define SPOOL_SCOPE_VERSION "2.0"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static spt_pipeline pipe_of_test;

static void open_with(const spool_sdk_options *options) {
    cr_assert(spt_pipeline_open(&pipe_of_test, options));
}

static const spool_log_data *emitted(size_t index) {
    const spool_log_data *log = spool_memory_log(pipe_of_test.store, index);
    cr_assert_not_null(log, "record %zu was not exported", index);
    return log;
}

static void close_pipe(void) {
    cr_assert(spt_pipeline_close(&pipe_of_test));
}

Test(log, LA_02_keeps_every_field_it_was_given) {
    open_with(NULL);
    spool_logger *logger = spool_logger_get("scope", "3");
    spool_attr inner[] = {spool_int("deep", 1)};
    spool_attr attrs[] = {spool_string("k", "v"), spool_map("m", inner, 1)};
    struct spool_span_context ids = {{7}, {9}, SPOOL_FLAG_SAMPLED, 1, {0}};
    spool_context context = spool_context_with_remote(NULL, &ids, spool_str_n(NULL, 0));
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.timestamp_ns = 11;
    record.observed_timestamp_ns = 12;
    record.context = &context;
    record.severity = SPOOL_SEVERITY_WARN2;
    record.severity_text = SPOOL_STR("warning");
    record.event_name = SPOOL_STR("disk.full");
    record.body = spool_value_string("body");
    record.attrs = attrs;
    record.attr_count = 2;
    spool_log_emit(logger, &record);
    spool_context_release(&context);
    const spool_log_data *log = emitted(0);
    cr_expect_eq(log->timestamp_ns, 11);
    cr_expect_eq(log->observed_timestamp_ns, 12);
    cr_expect_eq(log->severity, SPOOL_SEVERITY_WARN2);
    cr_expect(spt_text_is(log->severity_text, "warning"));
    cr_expect(spt_text_is(log->event_name, "disk.full"));
    cr_expect(spt_text_is(log->body.as.string, "body"));
    cr_expect_eq(log->attr_count, 2);
    cr_expect_eq(spt_attr(log->attrs, 2, "m")->as.map.count, 1);
    cr_expect_arr_eq(log->context.trace_id, ids.trace_id, 16);
    cr_expect_arr_eq(log->context.span_id, ids.span_id, 8);
    cr_expect_eq(log->context.flags, SPOOL_FLAG_SAMPLED);
    cr_expect(spt_text_is(log->scope->name, "scope"));
    close_pipe();
    SPT_TEST_END;
}

Test(log, LS_11_observed_time_is_set_and_the_time_stays_unknown) {
    open_with(NULL);
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    spool_log_emit(SPOOL_LOGGER(), &record);
    cr_expect_eq(emitted(0)->timestamp_ns, 0);
    cr_expect_gt(emitted(0)->observed_timestamp_ns, UINT64_C(1600000000000000000));
    spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, "it happens now");
    SPOOL_INFO("and this too");
    for (size_t i = 1; i < 3; i++) {
        cr_expect_eq(emitted(i)->timestamp_ns, emitted(i)->observed_timestamp_ns);
        cr_expect_gt(emitted(i)->timestamp_ns, UINT64_C(1600000000000000000));
    }
    close_pipe();
    SPT_TEST_END;
}

Test(log, LS_13_takes_the_ids_of_the_current_span) {
    open_with(NULL);
    spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
    struct spool_span_context ids = spool_span_context(span);
    spool_token token = spool_span_enter(span);
    SPOOL_INFO("inside");
    spool_span_end(span);
    SPOOL_INFO("the span is over but still current");
    spool_span_exit(token);
    SPOOL_INFO("outside");
    cr_expect_arr_eq(emitted(0)->context.span_id, ids.span_id, 8);
    cr_expect_arr_eq(emitted(1)->context.span_id, ids.span_id, 8);
    cr_expect_not(spool_span_context_is_valid(&emitted(2)->context));
    close_pipe();
    SPT_TEST_END;
}

Test(log, T38_T40_keys_are_unique_and_bad_ones_cost_themselves) {
    open_with(NULL);
    spool_attr attrs[] = {spool_int("a", 1), spool_int(NULL, 2), spool_string("a", "x"),
                          spool_int("", 3),  spool_int("b", 4),  spool_double("a", 0.5)};
    spool_log_n(SPOOL_LOGGER(), 9, SPOOL_STR("dup"), attrs, 6);
    cr_expect_eq(emitted(0)->attr_count, 2);
    cr_expect_eq(emitted(0)->dropped_attr_count, 2);
    cr_expect_eq(spt_attr(emitted(0)->attrs, 2, "a")->as.number, 0.5);
    close_pipe();
    SPT_TEST_END;
}

Test(log, T37_keeps_128_of_10000_attributes_or_all_without_a_limit) {
    enum { MANY = 10000 };
    static char keys[MANY][12];
    static spool_attr attrs[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%u", i);
        attrs[i] = spool_int(keys[i], i);
    }
    open_with(NULL);
    spool_log_n(SPOOL_LOGGER(), 9, SPOOL_STR("many"), attrs, MANY);
    cr_expect_eq(emitted(0)->attr_count, 128);
    cr_expect_eq(emitted(0)->dropped_attr_count, MANY - 128);
    close_pipe();
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.limits.log_attr_count = SPOOL_NO_LIMIT;
    open_with(&options);
    spool_log_n(SPOOL_LOGGER(), 9, SPOOL_STR("many"), attrs, MANY);
    cr_expect_eq(emitted(0)->attr_count, MANY);
    close_pipe();
    SPT_TEST_END;
}

Test(log, LI_06_limits_do_not_touch_the_body) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.limits.log_attr_length = 2;
    open_with(&options);
    SPOOL_INFO("a whole body", spool_string("k", "abcdef"));
    cr_expect(spt_text_is(emitted(0)->body.as.string, "a whole body"));
    cr_expect(spt_text_is(emitted(0)->attrs[0].value.as.string, "ab"));
    close_pipe();
    SPT_TEST_END;
}

Test(log, LS_07_minimum_severity_filters_but_not_the_unspecified) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.minimum_severity = SPOOL_SEVERITY_WARN;
    open_with(&options);
    spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, "below");
    spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_WARN, "at");
    spool_log(SPOOL_LOGGER(), 0, "unspecified");
    SPOOL_INFO("a statement that is off creates nothing");
    cr_expect_not(spool_logger_enabled(SPOOL_LOGGER(), NULL, SPOOL_SEVERITY_INFO, NULL));
    cr_expect(spool_logger_enabled(SPOOL_LOGGER(), NULL, SPOOL_SEVERITY_WARN, NULL));
    cr_expect(spool_logger_enabled(SPOOL_LOGGER(), NULL, 0, NULL));
    cr_expect_eq(spool_memory_log_count(pipe_of_test.store), 2);
    struct spool_stats stats = spt_stats(NULL);
    cr_expect_eq(stats.signals[1].created, 3);
    cr_expect_eq(stats.signals[1].filtered, 1);
    cr_expect_eq(stats.signals[1].finished, 2);
    close_pipe();
    SPT_TEST_END;
}

static unsigned evaluated;
static int evaluate(void) {
    return (int)++evaluated;
}

static void say(void) {
    SPOOL_INFO("said", spool_int("n", evaluate()));
}

Test(log, a_statement_follows_the_sdk_as_it_starts_and_stops) {
    evaluated = 0;
    say();
    cr_expect_eq(evaluated, 0, "arguments are evaluated although nothing listens");
    open_with(NULL);
    say();
    cr_expect_eq(evaluated, 1);
    cr_expect_eq(emitted(0)->attrs[0].value.as.integer, 1);
    cr_expect(spt_text_is(emitted(0)->severity_text, "INFO"));
    cr_expect(spt_text_is(emitted(0)->scope->name, "log.test"));
    cr_expect(spt_text_is(emitted(0)->scope->version, "2.0"));
    close_pipe();
    say();
    cr_expect_eq(evaluated, 1);
    open_with(NULL);
    say();
    cr_expect_eq(evaluated, 2);
    close_pipe();
    SPT_TEST_END;
}

Test(log, the_macro_forms_do_what_they_say) {
    open_with(NULL);
    struct spool_span_context ids = {{3}, {4}, 0, 1, {0}};
    spool_context context = spool_context_with_remote(NULL, &ids, spool_str_n(NULL, 0));
    for (unsigned i = 0; i < 7; i++) {
        SPOOL_DEBUG_EVERY(3, "every third", spool_int("i", i));
        SPOOL_WARN_ONCE("once");
    }
    SPOOL_ERROR_F("%s is %d", "answer", 42);
    SPOOL_FATAL_IN(&context, "elsewhere", spool_bool("b", true));
    SPOOL_TRACE("no attributes");
    spool_logf(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO2, "%05d", 7);
    spool_context_release(&context);
    const char *bodies[] = {"every third",  "once",      "every third",   "every third",
                            "answer is 42", "elsewhere", "no attributes", "00007"};
    const int severities[] = {5, 13, 5, 5, 17, 21, 1, 10};
    cr_assert_eq(spool_memory_log_count(pipe_of_test.store), 8);
    for (unsigned i = 0; i < 8; i++) {
        cr_expect(spt_text_is(emitted(i)->body.as.string, bodies[i]), "record %u", i);
        cr_expect_eq(emitted(i)->severity, severities[i], "record %u", i);
    }
    cr_expect_eq(emitted(2)->attrs[0].value.as.integer, 3);
    cr_expect_arr_eq(emitted(5)->context.trace_id, ids.trace_id, 16);
    close_pipe();
    SPT_TEST_END;
}

Test(log, a_long_printf_body_is_cut_between_characters_and_counted) {
    open_with(NULL);
    static char text[3000];
    for (size_t i = 0; i + 3 < sizeof text; i += 3) {
        memcpy(text + i, "\xe2\x82\xac", 3);
    }
    uint64_t before = spt_stats(NULL).truncated_text;
    spool_logf(SPOOL_LOGGER(), 9, "%s", text);
    cr_expect_eq(spt_stats(NULL).truncated_text, before + 1);
    spool_str body = emitted(0)->body.as.string;
    cr_expect_leq(body.len, 1023);
    cr_expect_eq((body.len - 3) % 3, 0, "a character is cut in two");
    cr_expect_eq(memcmp(body.ptr + body.len - 3, "...", 3), 0);
    close_pipe();
    SPT_TEST_END;
}

Test(log, source_location_is_added_by_option) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.source_location = 1;
    open_with(&options);
    SPOOL_INFO("where", spool_int("own", 1));
    const spool_log_data *log = emitted(0);
    cr_expect_eq(log->attr_count, 4);
    cr_expect_not_null(spt_attr(log->attrs, 4, "code.file.path"));
    cr_expect_gt(spt_attr(log->attrs, 4, "code.line.number")->as.integer, 0);
    cr_expect_not_null(spt_attr(log->attrs, 4, "code.function.name"));
    close_pipe();
    SPT_TEST_END;
}

Test(log, LA_07_severities_have_names_and_syslog_maps_to_them) {
    cr_expect_str_eq(spool_severity_name(SPOOL_SEVERITY_TRACE), "TRACE");
    cr_expect_str_eq(spool_severity_name(SPOOL_SEVERITY_FATAL4), "FATAL4");
    cr_expect_str_eq(spool_severity_name(0), "");
    cr_expect_str_eq(spool_severity_name(25), "");
    cr_expect_str_eq(spool_severity_name(-1), "");
    static const int expected[8] = {21, 19, 18, 17, 13, 10, 9, 5};
    for (int priority = 0; priority < 8; priority++) {
        cr_expect_eq(spool_severity_from_syslog(priority), expected[priority]);
        cr_expect_eq(spool_severity_from_syslog(priority | 24 << 3), expected[priority]);
    }
    SPT_TEST_END;
}

/* ---- processors that change records ---- */

static void enrich(void *self, spool_log_data *log) {
    (void)self;
    log->severity = SPOOL_SEVERITY_ERROR;
    log->body = spool_value_string("changed");
    for (unsigned i = 0; i < 20; i++) {
        static char keys[20][8];
        (void)snprintf(keys[i], sizeof keys[i], "add%u", i);
        cr_expect(spool_log_data_set(log, spool_int(keys[i], i)));
    }
    cr_expect(spool_log_data_set(log, spool_int("own", 2)));
    cr_expect(spool_log_data_remove(log, SPOOL_STR("secret")));
    cr_expect_not(spool_log_data_remove(log, SPOOL_STR("secret")));
    cr_expect_not(spool_log_data_set(log, spool_int("", 2)));
}

static void no_destroy(void *self) {
    (void)self;
}

Test(log, LS_17_later_processors_see_what_earlier_ones_changed) {
    static const spool_processor_ops ops = {
        .struct_size = sizeof ops, .name = "enrich", .log_emit = enrich, .destroy = no_destroy};
    spool_memory_store *store;
    spool_exporter exporter;
    spool_processor processors[2] = {{&ops, NULL}};
    cr_assert_eq(spool_memory_create(0, &store, &exporter), SPOOL_OK);
    cr_assert_eq(spool_simple_create(exporter, NULL, &processors[1]), SPOOL_OK);
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = 2;
    spool_sdk *sdk;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    spool_attr attrs[] = {spool_int("own", 1), spool_string("secret", "x")};
    spool_log_n(SPOOL_LOGGER(), 9, SPOOL_STR("original"), attrs, 2);
    const spool_log_data *log = spool_memory_log(store, 0);
    cr_assert_not_null(log);
    cr_expect_eq(log->severity, SPOOL_SEVERITY_ERROR);
    cr_expect(spt_text_is(log->body.as.string, "changed"));
    cr_expect_eq(log->attr_count, 21);
    cr_expect_eq(spt_attr(log->attrs, 21, "own")->as.integer, 2);
    cr_expect_eq(spt_attr(log->attrs, 21, "add19")->as.integer, 19);
    cr_expect_null(spt_attr(log->attrs, 21, "secret"));
    cr_expect_eq(log->dropped_attr_count, 1);
    cr_expect_eq(attrs[0].value.as.integer, 1, "the caller's array was written to");
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
    spool_memory_release(store);
    SPT_TEST_END;
}
