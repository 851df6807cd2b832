/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T39: NULL in the place of each pointer of each public function, zero handles, counts without pointers and
 * pointers without counts. Nothing crashes, nothing else changes, and the balances hold. Run without an
 * SDK and with one.
 */
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

static const spool_str none = {NULL, 0};
static const spool_span no_span = {0};
static const spool_attr one_attr = {{"k", 1}, {SPOOL_VALUE_EMPTY, {false}}};

static void traces(spool_span span) {
    spool_tracer *tracer = spool_tracer_get(NULL, NULL);
    (void)SPT_CHECK(tracer && tracer == spool_tracer_get_n(none, none));
    (void)SPT_CHECK(tracer == spool_tracer_get_scope(NULL));
    (void)SPT_CHECK(spool_sdk_tracer(NULL, NULL) == tracer);
    (void)SPT_CHECK(!spool_tracer_enabled(NULL));
    spool_span_options_init(NULL);
    (void)SPT_CHECK(spool_span_start(NULL, "s", NULL).bits == 0);
    spool_span_end(spool_span_start(tracer, NULL, NULL));
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attr_count = 5;
    options.link_count = 5;
    spool_span_end(spool_span_start_n(tracer, none, &options));
    options.attrs = &one_attr;
    options.attr_count = 0;
    options.kind = 77;
    spool_span_end(spool_span_start_n(tracer, none, &options));
    spool_span_options zero = {0};
    spool_span_end(spool_span_start_n(tracer, none, &zero));
    spool_span_set(span, spool_string(NULL, NULL));
    spool_span_set(span, spool_string("null.text", NULL));
    spool_span_set(span, spool_bytes("null.bytes", NULL, 3));
    spool_span_set(span, spool_array("null.array", NULL, 3));
    spool_span_set(span, spool_map("null.map", NULL, 3));
    spool_span_set_all(span, NULL, 3);
    spool_span_set_all(span, &one_attr, 0);
    spool_span_event(span, NULL, NULL, 3);
    spool_span_event_at_n(span, none, 0, &one_attr, 0);
    spool_span_link(span, NULL);
    spool_link link = {.attr_count = 3};
    spool_span_link(span, &link);
    spool_span_status(span, SPOOL_STATUS_ERROR, NULL);
    spool_span_rename(span, NULL);
    spool_span_record_error(span, NULL, NULL, NULL);
    (void)spool_span_is_recording(span);
    (void)spool_span_context(span);
    spool_span_exit(spool_span_enter(span));
    spool_span_exit((spool_token){0});
    spool_span_end_at(no_span, 0);
    spool_span_end(no_span);
}

static void logs(void) {
    spool_logger *logger = spool_logger_get(NULL, NULL);
    (void)SPT_CHECK(logger && logger == spool_logger_get_n(none, none));
    (void)SPT_CHECK(logger == spool_logger_get_scope(NULL));
    (void)SPT_CHECK(spool_sdk_logger(NULL, NULL) == logger);
    (void)SPT_CHECK(!spool_logger_enabled(NULL, NULL, 9, NULL));
    (void)spool_logger_enabled(logger, NULL, 9, NULL);
    spool_log_record_init(NULL);
    spool_log_emit(NULL, NULL);
    spool_log_emit(logger, NULL);
    spool_log_record zero = {0};
    spool_log_emit(logger, &zero);
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.attr_count = 7;
    spool_log_emit(logger, &record);
    spool_log_emit(NULL, &record);
    spool_log_n(logger, 9, none, NULL, 4);
    spool_log_n(NULL, 9, none, &one_attr, 1);
    spool_log(logger, 9, NULL);
    spool_logf(NULL, 9, "%d", 1);
    spool_logf(logger, -5, "%s", "odd severity");
}

static void contexts(void) {
    spool_context_release(NULL);
    spool_context made = spool_context_copy(NULL);
    spool_context_release(&made);
    made = spool_context_with_span(NULL, no_span);
    spool_context_release(&made);
    made = spool_context_with_remote(NULL, NULL, none);
    spool_context_release(&made);
    made = spool_context_with_baggage(NULL, NULL);
    spool_context_release(&made);
    made = spool_context_with_value(NULL, (spool_context_key){0}, NULL);
    spool_context_release(&made);
    (void)spool_context_key_create(NULL, NULL);
    (void)SPT_CHECK(spool_context_value(NULL, (spool_context_key){0}) == NULL);
    (void)SPT_CHECK(spool_context_trace_state(NULL).len == 0);
    (void)spool_context_detach(spool_context_attach(NULL));
    (void)SPT_CHECK(spool_context_detach((spool_token){0}) == SPOOL_OK);
    (void)SPT_CHECK(spool_context_rewind((spool_mark){0}) == 0);
    (void)spool_context_swap(NULL);
    spool_context_stack_destroy(NULL);
    (void)spool_trace_id_hex(NULL);
    (void)spool_span_id_hex(NULL);
    (void)SPT_CHECK(!spool_span_context_is_valid(NULL));
    spool_baggage_release(spool_baggage_set(NULL, NULL, NULL));
    spool_baggage_release(spool_baggage_set_n(NULL, none, none, none));
    spool_baggage_release(spool_baggage_remove(NULL, NULL));
    spool_baggage_release(spool_baggage_remove_n(NULL, none));
    spool_baggage_release(spool_baggage_copy(NULL));
    (void)SPT_CHECK(spool_baggage_count(NULL) == 0);
    (void)SPT_CHECK(!spool_baggage_at(NULL, 0, NULL) && !spool_baggage_get(NULL, NULL, NULL));
    (void)SPT_CHECK(!spool_baggage_get_n(NULL, none, NULL));
    (void)spool_context_baggage(NULL);
}

static void nothing_set(void *carrier, spool_str name, spool_str value) {
    (void)carrier;
    (void)name;
    (void)value;
}

static void propagation(void) {
    static const spool_setter setter = {nothing_set};
    static const spool_setter empty_setter = {NULL};
    static const spool_getter empty_getter = {NULL, NULL};
    spool_inject(NULL, NULL, NULL);
    spool_inject(NULL, &empty_setter, NULL);
    spool_inject(NULL, &setter, NULL);
    spool_inject(NULL, &spool_header_setter, NULL);
    spool_inject(NULL, &spool_envp_setter, NULL);
    spool_context made = spool_extract(NULL, NULL, NULL);
    spool_context_release(&made);
    made = spool_extract(NULL, &empty_getter, NULL);
    spool_context_release(&made);
    made = spool_extract(NULL, &spool_header_getter, NULL);
    spool_context_release(&made);
    made = spool_extract(NULL, &spool_envp_getter, NULL);
    spool_context_release(&made);
    (void)spool_propagation_fields(NULL, 0);
    spool_envp_destroy(spool_envp_create(NULL));
    (void)spool_envp_array(NULL);
    spool_envp_destroy(NULL);
    (void)SPT_CHECK(spool_propagators_set(NULL, 3) == SPOOL_ERR_INVALID);
}

static void sdk_calls(void) {
    spool_sdk *sdk = NULL;
    spool_sdk_options_init(NULL);
    spool_limits_init(NULL);
    spool_options_init(NULL);
    spool_parent_based_options_init(NULL);
    spool_batch_options_init(NULL, 0);
    spool_batch_options_from_env(NULL, 0);
    spool_simple_options_init(NULL);
    spool_console_options_init(NULL);
    spool_otlp_options_init(NULL);
    spool_options no_size = {0};
    (void)SPT_CHECK(spool_sdk_create(NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_start(NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_start(&no_size, &sdk) == SPOOL_ERR_INVALID);
    spool_sdk_free(NULL);
    (void)SPT_CHECK(spool_stats(NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_flush(NULL, 1000, NULL) == SPOOL_OK);
    spool_sampler sampler;
    (void)SPT_CHECK(spool_sampler_ratio(0.5, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_sampler_parent_based(NULL, NULL) == SPOOL_ERR_INVALID);
    if (SPT_CHECK(spool_sampler_parent_based(NULL, &sampler) == SPOOL_OK)) {
        sampler.ops->destroy(sampler.self);
    }
    spool_resource *resource = NULL;
    (void)SPT_CHECK(spool_resource_create(NULL, 0, none, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_resource_create(NULL, 2, none, &resource) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_resource_default(NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_resource_merge(NULL, NULL, NULL) == SPOOL_ERR_INVALID);
    if (SPT_CHECK(spool_resource_merge(NULL, NULL, &resource) == SPOOL_OK)) {
        spool_resource_release(resource);
    }
    (void)SPT_CHECK(spool_resource_copy(NULL) == NULL);
    spool_resource_release(NULL);
    (void)SPT_CHECK(spool_resource_data_of(NULL)->attr_count == 0);
    spool_diagnostics_set(NULL, NULL);
}

static void makers(void) {
    spool_exporter exporter = {NULL, NULL};
    spool_processor processor = {NULL, NULL};
    (void)SPT_CHECK(spool_batch_create(0, exporter, NULL, &processor) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_batch_create(0, exporter, NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_simple_create(exporter, NULL, &processor) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_simple_create(exporter, NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_console_create(NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_otlp_create(0, NULL, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_otlp_create_from_env(0, NULL) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_otlp_create(9, NULL, &exporter) == SPOOL_ERR_INVALID);
    (void)SPT_CHECK(spool_memory_create(0, NULL, NULL) == SPOOL_ERR_INVALID);
    spool_memory_release(NULL);
    spool_memory_clear(NULL);
    (void)SPT_CHECK(spool_memory_span_count(NULL) == 0 && spool_memory_log_count(NULL) == 0);
    (void)SPT_CHECK(!spool_memory_span(NULL, 0) && !spool_memory_log(NULL, 0));
}

static void extensions(void) {
    (void)SPT_CHECK(spool_ext_register(NULL, 0, 0, NULL, NULL) == 0);
    (void)SPT_CHECK(spool_ext_register("x", 8, 3, NULL, NULL) == 0);
    (void)SPT_CHECK(spool_ext_register("x", (size_t)1 << 30, 8, NULL, NULL) == 0);
    (void)SPT_CHECK(!spool_ext_get(NULL, 1) && !spool_ext_get_or_init(NULL, 1, NULL));
    (void)SPT_CHECK(!spool_ext_take(NULL, 1, NULL) && !spool_ext_pin(no_span));
    spool_ext_unpin(NULL);
    (void)SPT_CHECK(!spool_ext_pin_parent(NULL) && !spool_ext_log_get(NULL, 1));
    (void)SPT_CHECK(!spool_ext_log_get_or_init(NULL, 1, NULL) && !spool_ext_log_pin_span(NULL));
    (void)SPT_CHECK(!spool_log_data_set(NULL, one_attr) && !spool_log_data_remove(NULL, none));
    (void)SPT_CHECK(spool_span_record_handle(NULL).bits == 0 && !spool_span_record_data(NULL));
    spool_batch_done(0, NULL);
    spool_batch_done(UINT64_MAX, NULL);
    spool_outcome outcome = {0};
    spool_batch_done(UINT64_MAX, &outcome);
    const spool_batch_piece *pieces;
    (void)SPT_CHECK(spool_batch_id(NULL) == 0 && spool_batch_count(NULL) == 0);
    (void)SPT_CHECK(spool_batch_size(NULL) == 0 && spool_batch_pieces(NULL, &pieces) == 0);
    (void)SPT_CHECK(!spool_batch_next_span(NULL) && !spool_batch_next_log(NULL));
    spool_batch_rewind(NULL);
}

static void everything(spool_span span) {
    traces(span);
    logs();
    contexts();
    propagation();
    sdk_calls();
    makers();
    extensions();
}

static void quiet(void *arg, const spool_diagnostic *line) {
    (void)arg;
    (void)line;
}

static void without_an_sdk(void) {
    spool_diagnostics_set(quiet, NULL);
    everything(no_span);
    everything((spool_span){UINT64_MAX});
    everything((spool_span){UINT64_C(0x123456789)});
    (void)SPT_CHECK(spool_shutdown(NULL, 10, NULL) == SPOOL_OK);
}

static void with_an_sdk(void) {
    spt_pipeline pipe;
    SPT_REQUIRE(spt_pipeline_open(&pipe, NULL));
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "s", NULL);
    everything(span);
    spool_span_end(span);
    size_t last = spool_memory_span_count(pipe.store) - 1;
    const spool_span_data *data = spool_memory_span(pipe.store, last);
    SPT_REQUIRE(data != NULL);
    (void)SPT_CHECK(spt_attr(data->attrs, data->attr_count, "null.text") != NULL);
    (void)SPT_CHECK_UINT(data->attr_count, 4);
    (void)SPT_CHECK_UINT(data->dropped_attr_count, 1);
    (void)SPT_CHECK_UINT(data->name.len, 0);
    everything(span);
    (void)SPT_CHECK(spt_pipeline_close(&pipe));
}

SPT_MAIN("null", SPT_CASE(without_an_sdk), SPT_CASE(with_an_sdk))
