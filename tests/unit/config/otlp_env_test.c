/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_EXPORTER_OTLP_*: which of code, the signal's own and the general variable wins (case T66). */
#include "config/otlp_env.h"
#include "tests/support/spt.h"
#include "tests/unit/config/caught.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static spool_otlp_options options;
static char *url;

static void make(uint32_t signal, const char *endpoint, const char *headers, bool use_env) {
    sp_otlp_settings code = {endpoint, headers};
    free(url);
    cr_assert_eq(sp_otlp_options_make(signal, &code, use_env, &options, &url), SPOOL_OK);
}

static void make_from_env(uint32_t signal) {
    make(signal, NULL, NULL, true);
}

static void finish(void) {
    free(url);
    url = NULL;
}

static void set_general(void) {
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:1", 1);
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "k=general", 1);
    setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "111", 1);
    setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", 1);
    setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/general.pem", 1);
    setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/general-client.pem", 1);
    setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/general-key.pem", 1);
}

static void set_traces(void) {
    setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:2/x", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "k=traces", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "222", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "none", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/traces.pem", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "/traces-client.pem", 1);
    setenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/traces-key.pem", 1);
}

Test(otlp_env, nothing_set_is_the_default) {
    make_from_env(SPOOL_SIGNAL_LOGS);
    spool_otlp_options defaults = SPOOL_OTLP_OPTIONS_INIT;
    cr_expect_arr_eq(&options, &defaults, sizeof options);
    finish();
    SPT_TEST_END;
}

Test(otlp_env, T66_the_general_form_serves_both_signals) {
    set_general();
    static const char *const urls[] = {"http://general:1/v1/traces", "http://general:1/v1/logs"};
    for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
        make_from_env(signal);
        cr_expect_str_eq(options.endpoint, urls[signal]);
        cr_expect_str_eq(options.headers, "k=general");
        cr_expect_eq(options.timeout_ms, 111);
        cr_expect_eq(options.compression, SPOOL_COMPRESSION_GZIP);
        cr_expect_str_eq(options.certificate, "/general.pem");
        cr_expect_str_eq(options.client_certificate, "/general-client.pem");
        cr_expect_str_eq(options.client_key, "/general-key.pem");
    }
    finish();
    SPT_TEST_END;
}

Test(otlp_env, T66_the_signals_own_form_beats_the_general_one) {
    set_general();
    set_traces();
    make_from_env(SPOOL_SIGNAL_SPANS);
    cr_expect_str_eq(options.endpoint, "http://traces:2/x", "as it is, nothing appended");
    cr_expect_str_eq(options.headers, "k=traces");
    cr_expect_eq(options.timeout_ms, 222);
    cr_expect_eq(options.compression, SPOOL_COMPRESSION_NONE);
    cr_expect_str_eq(options.certificate, "/traces.pem");
    cr_expect_str_eq(options.client_certificate, "/traces-client.pem");
    cr_expect_str_eq(options.client_key, "/traces-key.pem");
    make_from_env(SPOOL_SIGNAL_LOGS);
    cr_expect_str_eq(options.endpoint, "http://general:1/v1/logs");
    cr_expect_str_eq(options.headers, "k=general");
    finish();
    SPT_TEST_END;
}

Test(otlp_env, T66_code_beats_both) {
    set_general();
    set_traces();
    make(SPOOL_SIGNAL_SPANS, "http://code:3/p/", "k=code", true);
    cr_expect_str_eq(options.endpoint, "http://code:3/p/v1/traces");
    cr_expect_str_eq(options.headers, "k=code");
    cr_expect_eq(options.timeout_ms, 222, "what code does not say is the environment's");
    finish();
    SPT_TEST_END;
}

Test(otlp_env, the_environment_is_unread_if_so_asked) {
    set_general();
    set_traces();
    make(SPOOL_SIGNAL_SPANS, NULL, NULL, false);
    spool_otlp_options defaults = SPOOL_OTLP_OPTIONS_INIT;
    cr_expect_arr_eq(&options, &defaults, sizeof options);
    finish();
    SPT_TEST_END;
}

Test(otlp_env, OX_06_one_slash_between_base_and_path) {
    static const char *const cases[][2] = {
        {"http://h", "http://h/v1/logs"},
        {"http://h/", "http://h/v1/logs"},
        {"http://h:1/a/b", "http://h:1/a/b/v1/logs"},
        {"http://h/a?token=1", "http://h/a/v1/logs?token=1"},
        {"http://h?token=/", "http://h/v1/logs?token=/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("OTEL_EXPORTER_OTLP_ENDPOINT", cases[i][0], 1);
        make_from_env(SPOOL_SIGNAL_LOGS);
        cr_expect_str_eq(options.endpoint, cases[i][1]);
    }
    finish();
    SPT_TEST_END;
}

Test(otlp_env, a_bad_setting_of_the_signal_falls_back_to_the_general_one) {
    spt_caught_start();
    set_general();
    setenv("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "soon", 1);
    setenv("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "brotli", 1);
    make_from_env(SPOOL_SIGNAL_LOGS);
    make_from_env(SPOOL_SIGNAL_LOGS);
    cr_expect_eq(options.timeout_ms, 111);
    cr_expect_eq(options.compression, SPOOL_COMPRESSION_GZIP);
    cr_expect_eq(spt_caught_lines(), 2);
    cr_expect_eq(spt_caught_with("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT=\"soon\""), 1);
    cr_expect_eq(spt_caught_with("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION=\"brotli\""), 1);
    finish();
    SPT_TEST_END;
}

Test(otlp_env, a_protocol_that_is_not_spoken_is_named_once) {
    spt_caught_start();
    setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "HTTP/Protobuf", 1);
    make_from_env(SPOOL_SIGNAL_SPANS);
    cr_expect_eq(spt_caught_lines(), 0, "words are compared without case");
    setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", 1);
    make_from_env(SPOOL_SIGNAL_SPANS);
    make_from_env(SPOOL_SIGNAL_SPANS);
    cr_expect_eq(spt_caught_lines(), 1);
    cr_expect_eq(spt_caught_with("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=\"grpc\""), 1);
    finish();
    SPT_TEST_END;
}
