/* SPDX-License-Identifier: Apache-2.0 */
/* What receivers say, true and false, short and long, and any bytes at all. */
#include "exporters/otlp/reply.h"

#include "tests/support/spt.h"

#include <spool/ext/data.h>

#include <criterion/criterion.h>
#include <google/rpc/status.pb-c.h>
#include <opentelemetry/proto/collector/logs/v1/logs_service.pb-c.h>
#include <opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h>
#include <stdlib.h>
#include <string.h>

static ProtobufCBinaryData text(const char *value, size_t len) {
    ProtobufCBinaryData data = {.len = len, .data = (uint8_t *)(uintptr_t)value};
    return data;
}

static size_t spans_reply(int64_t rejected, const char *message, size_t len, uint8_t *out) {
    Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceResponse reply;
    Opentelemetry__Proto__Collector__Trace__V1__ExportTracePartialSuccess partial;
    opentelemetry__proto__collector__trace__v1__export_trace_service_response__init(&reply);
    opentelemetry__proto__collector__trace__v1__export_trace_partial_success__init(&partial);
    partial.rejected_spans = rejected;
    partial.error_message = text(message, len);
    reply.partial_success = &partial;
    return opentelemetry__proto__collector__trace__v1__export_trace_service_response__pack(&reply,
                                                                                           out);
}

static size_t logs_reply(int64_t rejected, const char *message, uint8_t *out) {
    Opentelemetry__Proto__Collector__Logs__V1__ExportLogsServiceResponse reply;
    Opentelemetry__Proto__Collector__Logs__V1__ExportLogsPartialSuccess partial;
    opentelemetry__proto__collector__logs__v1__export_logs_service_response__init(&reply);
    opentelemetry__proto__collector__logs__v1__export_logs_partial_success__init(&partial);
    partial.rejected_log_records = rejected;
    partial.error_message = text(message, strlen(message));
    reply.partial_success = &partial;
    return opentelemetry__proto__collector__logs__v1__export_logs_service_response__pack(&reply,
                                                                                         out);
}

static size_t status_reply(const char *message, uint8_t *out) {
    Google__Rpc__Status status;
    google__rpc__status__init(&status);
    status.code = 3;
    status.message = text(message, strlen(message));
    return google__rpc__status__pack(&status, out);
}

Test(reply, empty_body_is_full_success) {
    sp_reply reply;
    sp_reply_read_success(SPOOL_SIGNAL_SPANS, NULL, 0, &reply);
    cr_expect(reply.decoded);
    cr_expect_eq(reply.rejected, 0);
    cr_expect_str_empty(reply.message);
    SPT_TEST_END;
}

Test(reply, partial_success_is_read_for_each_signal) {
    static const int64_t COUNTS[] = {0, 1, 7, INT64_MAX, -1, INT64_MIN};
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        uint8_t bytes[256];
        sp_reply reply;
        size_t len = spans_reply(COUNTS[i], "too old", 7, bytes);
        sp_reply_read_success(SPOOL_SIGNAL_SPANS, bytes, len, &reply);
        cr_expect(reply.decoded);
        cr_expect_eq(reply.rejected, COUNTS[i]);
        cr_expect_str_eq(reply.message, "too old");
        len = logs_reply(COUNTS[i], "", bytes);
        sp_reply_read_success(SPOOL_SIGNAL_LOGS, bytes, len, &reply);
        cr_expect(reply.decoded);
        cr_expect_eq(reply.rejected, COUNTS[i]);
        cr_expect_str_empty(reply.message);
    }
    SPT_TEST_END;
}

Test(reply, unset_and_empty_partial_success_are_full_success) {
    static const uint8_t EMPTY_PARTIAL[] = {0x0a, 0x00};
    static const uint8_t UNKNOWN_FIELD[] = {0x7a, 0x02, 'h', 'i'};
    sp_reply reply;
    sp_reply_read_success(SPOOL_SIGNAL_LOGS, EMPTY_PARTIAL, sizeof EMPTY_PARTIAL, &reply);
    cr_expect(reply.decoded && reply.rejected == 0 && !reply.message[0]);
    sp_reply_read_success(SPOOL_SIGNAL_SPANS, UNKNOWN_FIELD, sizeof UNKNOWN_FIELD, &reply);
    cr_expect(reply.decoded && reply.rejected == 0 && !reply.message[0]);
    SPT_TEST_END;
}

Test(reply, web_page_is_no_success_message) {
    static const char PAGE[] = "<html><body>It works!</body></html>";
    sp_reply reply;
    sp_reply_read_success(SPOOL_SIGNAL_SPANS, (const uint8_t *)PAGE, sizeof PAGE - 1, &reply);
    cr_expect_not(reply.decoded);
    cr_expect_eq(reply.rejected, 0);
    SPT_TEST_END;
}

Test(reply, failure_is_a_status_or_plain_text) {
    uint8_t bytes[256];
    sp_reply reply;
    size_t len = status_reply("bad \x1b[31mtraces\r\n", bytes);
    sp_reply_read_failure(bytes, len, &reply);
    cr_expect_str_eq(reply.message, "bad  [31mtraces  ");
    static const char PAGE[] = "<h1>404 page not found</h1>";
    sp_reply_read_failure((const uint8_t *)PAGE, sizeof PAGE - 1, &reply);
    cr_expect_str_eq(reply.message, PAGE);
    static const char JSON[] = "{\"code\":8,\n\"message\":\"slow down\"}";
    sp_reply_read_failure((const uint8_t *)JSON, sizeof JSON - 1, &reply);
    cr_expect_str_eq(reply.message, "{\"code\":8, \"message\":\"slow down\"}");
    static const uint8_t BINARY[] = {0xff, 0xff, 0x00, 0x01};
    sp_reply_read_failure(BINARY, sizeof BINARY, &reply);
    cr_expect_str_empty(reply.message);
    SPT_TEST_END;
}

Test(reply, message_is_cut_between_characters) {
    static char message[3 * 5000 + 1];
    static uint8_t bytes[sizeof message + 64];
    static const uint8_t EURO[] = {0xe2, 0x82, 0xac};
    for (size_t i = 0; i + sizeof EURO < sizeof message; i += sizeof EURO) {
        memcpy(message + i, EURO, sizeof EURO);
    }
    sp_reply reply;
    size_t len = spans_reply(1, message, sizeof message - 1, bytes);
    sp_reply_read_success(SPOOL_SIGNAL_SPANS, bytes, len, &reply);
    cr_expect(reply.decoded);
    size_t shown = strlen(reply.message);
    cr_assert(shown < sizeof reply.message && shown > sizeof reply.message - 8);
    cr_expect_eq((shown - 3) % 3, 0);
    cr_expect_str_eq(reply.message + shown - 3, "...");
    SPT_TEST_END;
}

Test(reply, text_comes_out_clean) {
    static const char *const LINES[][2] = {
        {"plain", "plain"},
        {"a\x00"
         "b",
         "a b"},
        {"\xc2\x9b"
         "31m",
         " 31m"},
        {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!"},
        {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
    };
    static const size_t LENGTHS[] = {5, 3, 5, 2, 2, 3, 4, 5, 5};
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        char out[64];
        sp_reply_clean((const uint8_t *)LINES[i][0], LENGTHS[i], out, sizeof out);
        cr_expect_str_eq(out, LINES[i][1]);
    }
    SPT_TEST_END;
}

/* Few bytes that ask for many: two million empty details, or unknown fields. */
Test(reply, greedy_replies_are_not_decoded) {
    enum { BYTES = 4 * 1024 * 1024 };
    uint8_t *bytes = malloc(BYTES);
    cr_assert_not_null(bytes);
    sp_reply reply;
    for (size_t i = 0; i < BYTES; i += 2) {
        bytes[i] = 0x1a; /* details */
        bytes[i + 1] = 0;
    }
    sp_reply_read_failure(bytes, BYTES, &reply);
    cr_expect_not(reply.decoded);
    sp_reply_read_success(SPOOL_SIGNAL_SPANS, bytes, BYTES, &reply);
    cr_expect_not(reply.decoded);
    memset(bytes, 0x08, BYTES); /* field 1 of the wrong type, again and again */
    sp_reply_read_success(SPOOL_SIGNAL_LOGS, bytes, BYTES, &reply);
    cr_expect_not(reply.decoded && reply.rejected != 0);
    free(bytes);
    SPT_TEST_END;
}

/* Random bytes, and good replies with random damage. The copy has its exact size, for AddressSanitizer. */
Test(reply, any_bytes_are_survived) {
    spt_random random = {spt_seed(23)};
    for (int round = 0; round < 200000; round++) {
        uint8_t bytes[320];
        size_t len = spt_random_below(&random, 100);
        if (round % 2) {
            len = round % 4 == 1
                      ? spans_reply((int64_t)spt_random_next(&random), "message", 7, bytes)
                      : status_reply("message", bytes);
            for (int i = 0; i < 3 && len > 0; i++) {
                bytes[spt_random_below(&random, len)] = (uint8_t)spt_random_next(&random);
            }
            len -= spt_random_below(&random, 3);
        } else {
            for (size_t i = 0; i < len; i++) {
                bytes[i] = (uint8_t)spt_random_next(&random);
            }
        }
        uint8_t *exact = malloc(len ? len : 1);
        cr_assert_not_null(exact);
        memcpy(exact, bytes, len);
        sp_reply reply;
        sp_reply_read_success(round % 3 ? SPOOL_SIGNAL_SPANS : SPOOL_SIGNAL_LOGS, exact, len,
                              &reply);
        cr_assert_lt(strlen(reply.message), sizeof reply.message);
        sp_reply_read_failure(exact, len, &reply);
        cr_assert_lt(strlen(reply.message), sizeof reply.message);
        free(exact);
    }
    SPT_TEST_END;
}
