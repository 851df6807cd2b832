/* SPDX-License-Identifier: Apache-2.0 */
/* spool-tail as its user sees it: bytes over HTTP in, trees and statuses out. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "tests/tools/tail_process.h"

#include "tests/support/spt.h"

#include "google/rpc/status.pb-c.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERNAL = 1, SERVER = 2, CLIENT = 3, ERROR = 2, INFO = 9, WARN = 13, SEVERE = 17 };
enum { REMOTE_PARENT = 0x301, LOCAL_PARENT = 0x101 };

static const spt_span_row shop[] = {
    /* Children come before their parents, as from a batch. */
    {"shop-stock", 0xab, 4, 3, CLIENT, "SELECT article", 3000, 3400, 0, NULL, {{0}}, LOCAL_PARENT},
    {"shop-stock",
     0xab,
     5,
     3,
     CLIENT,
     "UPDATE stock",
     4000,
     9000,
     ERROR,
     "database is locked",
     {{8900, "exception", "exception.type", "SQLITE_BUSY"}},
     LOCAL_PARENT},
    {"shop-stock",
     0xab,
     3,
     2,
     SERVER,
     "POST /stock/{id}",
     2000,
     9500,
     ERROR,
     "500",
     {{0}},
     REMOTE_PARENT},
    {"shop-front", 0xab, 2, 1, CLIENT, "POST", 1500, 9800, 0, NULL, {{0}}, LOCAL_PARENT},
    {"shop-front",
     0xab,
     1,
     0,
     SERVER,
     "POST /orders",
     0,
     10000,
     ERROR,
     "stock: 500",
     {{500, "order read", NULL, NULL}, {9900, "order refused", "reason", "locked"}},
     0x101},
};

static const spt_log_row shop_logs[] = {
    {"shop-front", 0xab, 1, 9950, SEVERE, "order failed"},
    {"shop-stock", 0xab, 5, 5000, WARN, "busy, trying again"},
    {"shop-front", 0xab, 1, 100, INFO, "order received"},
    {"shop-stock", 0xab, 5, 4500, INFO, "taking 3 of article 7"},
};

static const char shop_tree[] =
    "trace abababababababababababababababab  10.00 ms  5 spans  2 services  4 logs  3 errors\n"
    "shop-front  POST /orders             server     10.00 ms |========================|"
    "  ERROR: stock: 500\n"
    "shop-front  |  +100.0 us   INFO  order received\n"
    "shop-front  |  +500.0 us   event order read\n"
    "shop-front  |  +9.90 ms    event order refused  reason=locked\n"
    "shop-front  |  +9.95 ms    ERROR order failed\n"
    "shop-front  `- POST                  client      8.30 ms |   =====================|\n"
    "shop-stock     `- POST /stock/{id}   server      7.50 ms |    =================== |"
    "  ERROR: 500\n"
    "shop-stock        |- SELECT article  client     400.0 us |       ==               |\n"
    "shop-stock        `- UPDATE stock    client      5.00 ms |         =============  |"
    "  ERROR: database is locked\n"
    "shop-stock              +4.50 ms    INFO  taking 3 of article 7\n"
    "shop-stock              +5.00 ms    WARN  busy, trying again\n"
    "shop-stock              +8.90 ms    event exception  exception.type=SQLITE_BUSY\n";

/* What came after the first line, which names the port. */
static const char *printed(const spt_tail *tail) {
    const char *line_end = strchr(tail->out, '\n');
    return line_end != NULL ? line_end + 1 : "";
}

static size_t occurrences(const char *in, const char *text) {
    size_t count = 0;
    while ((in = strstr(in, text)) != NULL) {
        in += strlen(text);
        count++;
    }
    return count;
}

static void two_services_are_one_tree(void) {
    static const char *const arguments[] = {"--quiet-ms", "300", "--width", "120", NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/logs", spt_logs_body(shop_logs, 4)), 200);
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(shop, 5)), 200);
    SPT_CHECK(spt_tail_wait(&tail, "SQLITE_BUSY"));
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    SPT_CHECK_STRING(printed(&tail), shop_tree);
    SPT_CHECK_STRING(tail.err, "received 5 spans, 4 logs in 2 requests\n");
    spt_tail_fini(&tail);
}

static void a_utf8_locale_gets_blocks_and_lines(void) {
    static const char *const arguments[] = {"--once-idle-exit", "300",    "--quiet-ms", "100",
                                            "--color",          "always", NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C.UTF-8", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(shop, 5)), 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, 0), 0);
    SPT_CHECK(strstr(printed(&tail), "▕") != NULL && strstr(printed(&tail), "█") != NULL);
    SPT_CHECK(strstr(printed(&tail), "└─ ") != NULL && strstr(printed(&tail), "├─ ") != NULL);
    SPT_CHECK(strstr(printed(&tail), "µs") != NULL && strstr(printed(&tail), "\x1b[31m") != NULL);
    spt_tail_fini(&tail);
}

static void gzip_bodies_are_unpacked(void) {
    static const char headers[] = "Content-Type: application/x-protobuf\r\n"
                                  "Content-Encoding: gzip\r\n";
    static const char *const arguments[] = {"--json", NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    spt_body plain = spt_traces_body(shop, 5);
    spt_body packed = spt_gzip_body(plain);
    spt_reply reply = spt_tail_request(&tail, "POST /v1/traces", headers, packed.data, packed.len);
    SPT_CHECK_UINT(reply.status, 200);
    SPT_CHECK_STRING(reply.type, "application/x-protobuf");
    SPT_CHECK_UINT(reply.body_len, 0);
    reply = spt_tail_request(&tail, "POST /v1/traces", headers, packed.data, packed.len - 3);
    SPT_CHECK_UINT(reply.status, 400);
    reply = spt_tail_request(&tail, "POST /v1/traces", headers, plain.data, plain.len);
    SPT_CHECK_UINT(reply.status, 400);
    free(plain.data);
    free(packed.data);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGINT), 0);
    SPT_CHECK_UINT(occurrences(tail.out, "\"span\":{"), 5);
    spt_tail_fini(&tail);
}

/* A zip bomb: more than the limit once unpacked. */
static void a_body_that_unpacks_too_big_is_refused(void) {
    static const char headers[] = "Content-Type: application/x-protobuf\r\n"
                                  "Content-Encoding: gzip\r\n";
    static const char *const arguments[] = {NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    spt_body zeros = {calloc(1, 65 * 1024 * 1024), 65 * 1024 * 1024};
    spt_body packed = spt_gzip_body(zeros);
    spt_reply reply = spt_tail_request(&tail, "POST /v1/traces", headers, packed.data, packed.len);
    SPT_CHECK_UINT(reply.status, 413);
    free(zeros.data);
    free(packed.data);
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/logs", spt_logs_body(shop_logs, 1)), 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    spt_tail_fini(&tail);
}

typedef struct bad_request {
    const char *request;
    const char *headers;
    const char *body;
    size_t len;
    int status;
} bad_request;

static void bad_requests_get_their_status(void) {
    static const char protobuf[] = "Content-Type: application/x-protobuf\r\n";
    static const bad_request bad[] = {
        {"POST /v1/metrics", protobuf, "", 0, 404},
        {"POST /", protobuf, "", 0, 404},
        {"GET /v1/traces", "", "", 0, 405},
        {"POST /v1/traces", "Content-Type: application/json\r\n", "{}", 2, 415},
        {"POST /v1/traces", "", "", 0, 415},
        {"POST /v1/traces", "Content-Type: application/x-protobuf\r\nContent-Encoding: br\r\n", "",
         0, 415},
        {"POST /v1/traces", protobuf,
         "\x0a\x05"
         "abc",
         5, 400},                                                      /* cut short */
        {"POST /v1/traces", protobuf, "\x08\x01", 2, 400},             /* wrong wire type */
        {"POST /v1/traces", protobuf, "\x00\x00", 2, 400},             /* field 0 */
        {"POST /v1/traces", protobuf, "\x0b\x0c", 2, 400},             /* a group */
        {"POST /v1/traces", protobuf, "\x0a\x03\x1a\x01\xff", 5, 400}, /* not UTF-8 */
        {"POST /v1/logs", protobuf, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 400},
    };
    static const char *const arguments[] = {NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        spt_reply reply =
            spt_tail_request(&tail, bad[i].request, bad[i].headers, bad[i].body, bad[i].len);
        if (!SPT_CHECK_UINT(reply.status, bad[i].status)) {
            fprintf(stderr, "that was request %zu\n", i);
        }
        Google__Rpc__Status *status = google__rpc__status__unpack(NULL, reply.body_len, reply.body);
        SPT_CHECK(status != NULL && status->code != 0 && status->message.len > 0);
        google__rpc__status__free_unpacked(status, NULL);
    }
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    SPT_CHECK_STRING(tail.err, "received 0 spans, 0 logs in 0 requests\n");
    spt_tail_fini(&tail);
}

/* Nested arrays, each inside the other, in the body of a log. */
static void deep_nesting_is_refused_not_followed(void) {
    enum { LEVELS = 200000, HEAD = 8 };
    static const char *const arguments[] = {NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    size_t size = (size_t)LEVELS * 2 * HEAD;
    uint8_t *data = malloc(size);
    SPT_REQUIRE(data != NULL);
    static const uint8_t tags[] = {0x0A, 0x12, 0x12, 0x2A}; /* logs, scope, record, body */
    size_t at = size;
    for (size_t level = 0; level < LEVELS; level++) {
        /* AnyValue.array_value and ArrayValue.values in turn, the outer ones last. */
        uint8_t tag =
            level < LEVELS - 4 ? (level % 2 == 1 ? 0x2A : 0x0A) : tags[LEVELS - 1 - level];
        size_t inside = size - at;
        uint8_t head[HEAD];
        size_t head_len = 0;
        head[head_len++] = tag;
        do {
            head[head_len++] = (uint8_t)((inside & 0x7F) | (inside > 0x7F ? 0x80 : 0));
            inside >>= 7;
        } while (inside > 0);
        at -= head_len;
        memcpy(data + at, head, head_len);
    }
    spt_reply reply = spt_tail_request(
        &tail, "POST /v1/logs", "Content-Type: application/x-protobuf\r\n", data + at, size - at);
    SPT_CHECK_UINT(reply.status, 400);
    SPT_CHECK(memmem(reply.body, reply.body_len, "nested", 6) != NULL);
    free(data);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    spt_tail_fini(&tail);
}

static void hostile_text_cannot_steer_the_terminal(void) {
    static const char *const arguments[] = {"--once-idle-exit", "300", "--quiet-ms", "50", NULL};
    static const spt_span_row rows[] = {{"svc\x1b]0;title\x07",
                                         1,
                                         1,
                                         0,
                                         INTERNAL,
                                         "a\x1b[2Jb\nc\rd\xc2\x9b"
                                         "31m",
                                         0,
                                         10,
                                         ERROR,
                                         "\xe2\x80\xae"
                                         "evil\x7f",
                                         {{5, "ev\x08\x08", "k\t", "v\x1b[1A"}},
                                         0}};
    static const spt_log_row logs[] = {{"svc", 0, 0, 0, INFO, "loose\x1b[31m\xe2\x80\xa8log"}};
    static const char *const locales[] = {"C", "C.UTF-8"};
    for (size_t i = 0; i < 2; i++) {
        spt_tail tail;
        SPT_REQUIRE(spt_tail_start(&tail, locales[i], arguments));
        SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/logs", spt_logs_body(logs, 1)), 200);
        SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(rows, 1)), 200);
        SPT_CHECK_UINT(spt_tail_stop(&tail, 0), 0);
        for (const char *at = tail.out; *at != '\0'; at++) {
            SPT_CHECK(*at == '\n' || ((unsigned char)*at >= 0x20 && *at != 0x7F));
        }
        SPT_CHECK(strstr(tail.out, "a\\x1b[2Jb\\nc\\rd\\u{9b}31m") != NULL);
        SPT_CHECK(strstr(tail.out, "\\u{202e}evil\\x7f") != NULL);
        SPT_CHECK(strstr(tail.out, "event ev\\x08\\x08  k\\t=v\\x1b[1A") != NULL);
        SPT_CHECK(strstr(tail.out, "loose\\x1b[31m\\u{2028}log") != NULL);
        spt_tail_fini(&tail);
    }
}

static void a_missing_parent_makes_a_marked_root(void) {
    static const char *const arguments[] = {"--quiet-ms", "100", NULL};
    static const spt_span_row rows[] = {
        {"late", 7, 9, 8, SERVER, "GET /remote", 0, 100, 0, NULL, {{0}}, REMOTE_PARENT}};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(rows, 1)), 200);
    SPT_CHECK(spt_tail_wait(&tail, "parent 0808080808080808 not received\n"));
    SPT_CHECK(strstr(tail.out, "unfinished") == NULL);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    spt_tail_fini(&tail);
}

static void circles_and_repeats_are_shown_once_and_marked(void) {
    static const char *const arguments[] = {"--once-idle-exit", "100", NULL};
    static const spt_span_row rows[] = {
        {"s", 7, 1, 2, INTERNAL, "one", 0, 100, 0, NULL, {{0}}, 0},
        {"s", 7, 2, 1, INTERNAL, "two", 0, 100, 0, NULL, {{0}}, 0},
        {"s", 7, 3, 3, INTERNAL, "self", 0, 100, 0, NULL, {{0}}, 0},
        {"s", 7, 4, 0, INTERNAL, "twice", 0, 100, 0, NULL, {{0}}, 0},
        {"s", 7, 4, 0, INTERNAL, "twice", 0, 100, 0, NULL, {{0}}, 0},
    };
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(rows, 5)), 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, 0), 0);
    SPT_CHECK_UINT(occurrences(tail.out, "its parents form a circle"), 2);
    SPT_CHECK_UINT(occurrences(tail.out, "span id received twice"), 1);
    SPT_CHECK_UINT(occurrences(tail.out, "\ns "), 5);
    spt_tail_fini(&tail);
}

static void a_signal_prints_the_unfinished_marked(void) {
    static const char *const arguments[] = {"--quiet-ms", "60000", NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(shop, 4)), 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGINT), 0);
    SPT_CHECK(strstr(tail.out, "2 errors  (unfinished)\n") != NULL);
    SPT_CHECK(strstr(tail.out, "UPDATE stock") != NULL);
    spt_tail_fini(&tail);
}

static void the_oldest_goes_early_when_too_many_are_held(void) {
    static const char *const arguments[] = {"--quiet-ms", "60000", "--max-traces", "2", NULL};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    spt_span_row rows[3];
    for (uint8_t i = 0; i < 3; i++) {
        rows[i] = (spt_span_row){.service = "s",
                                 .trace = (uint8_t)(i + 1),
                                 .span = 1,
                                 .kind = INTERNAL,
                                 .name = "n",
                                 .end_us = 10};
    }
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(rows, 3)), 200);
    SPT_CHECK(spt_tail_wait(&tail, "1 service  (printed early: too much is held)\n"));
    SPT_CHECK(strstr(tail.out, "trace 01010101") != NULL);
    SPT_CHECK(strstr(tail.out, "trace 02020202") == NULL);
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(rows, 1)), 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    SPT_CHECK_UINT(occurrences(tail.out, "(continues a trace printed before)"), 1);
    spt_tail_fini(&tail);
}

static void logs_without_a_trace_share_a_heading(void) {
    static const char *const arguments[] = {NULL};
    static const spt_log_row logs[] = {{"a", 0, 0, 0, INFO, "first"},
                                       {"b", 0, 0, 1, SEVERE, "second"}};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/logs", spt_logs_body(logs, 2)), 200);
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/logs", spt_logs_body(logs, 1)), 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    SPT_CHECK_STRING(printed(&tail), "logs without a trace\n"
                                     "a         INFO  first\n"
                                     "b         ERROR second\n"
                                     "a         INFO  first\n");
    spt_tail_fini(&tail);
}

static void invalid_ids_are_a_partial_success(void) {
    static const char *const arguments[] = {NULL};
    static const spt_span_row rows[] = {
        {"s", 0, 1, 0, INTERNAL, "no trace id", 0, 1, 0, NULL, {{0}}, 0},
        {"s", 1, 1, 0, INTERNAL, "good", 0, 1, 0, NULL, {{0}}, 0}};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C", arguments));
    spt_body body = spt_traces_body(rows, 2);
    spt_reply reply = spt_tail_request(
        &tail, "POST /v1/traces", "Content-Type: application/x-protobuf\r\n", body.data, body.len);
    free(body.data);
    SPT_CHECK_UINT(reply.status, 200);
    Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceResponse *response =
        opentelemetry__proto__collector__trace__v1__export_trace_service_response__unpack(
            NULL, reply.body_len, reply.body);
    SPT_REQUIRE(response != NULL && response->partial_success != NULL);
    SPT_CHECK_UINT(response->partial_success->rejected_spans, 1);
    opentelemetry__proto__collector__trace__v1__export_trace_service_response__free_unpacked(
        response, NULL);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    SPT_CHECK_STRING(tail.err,
                     "received 1 spans, 0 logs in 1 requests, refused 1 with invalid ids\n");
    spt_tail_fini(&tail);
}

static const char *text_at(const cJSON *object, const char *a, const char *b) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(object, a), b));
    return text != NULL ? text : "(none)";
}

static void json_lines_hold_the_fields(void) {
    static const char *const arguments[] = {"--json", NULL};
    static const spt_log_row logs[] = {{"a", 0xcd, 3, 7, WARN, "quo\"te \xf0\x9f\x98\x80 \x7f"}};
    spt_tail tail;
    SPT_REQUIRE(spt_tail_start(&tail, "C.UTF-8", arguments));
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/logs", spt_logs_body(logs, 1)), 200);
    SPT_CHECK_UINT(spt_tail_post(&tail, "/v1/traces", spt_traces_body(&shop[1], 1)), 200);
    /* A log whose body is a text with a NUL inside. */
    static const char nul[] = "\x0a\x0b\x12\x09\x12\x07\x2a\x05\x0a\x03"
                              "a\0b";
    spt_reply reply = spt_tail_request(
        &tail, "POST /v1/logs", "Content-Type: application/x-protobuf\r\n", nul, sizeof nul - 1);
    SPT_CHECK_UINT(reply.status, 200);
    SPT_CHECK_UINT(spt_tail_stop(&tail, SIGTERM), 0);
    SPT_CHECK(strstr(tail.out, "{\"stringValue\":\"a\\u0000b\"}") != NULL);
    char *second = strstr(printed(&tail), "}\n{");
    SPT_REQUIRE(second != NULL);
    SPT_CHECK(strstr(tail.out, "\\ud83d\\ude00 \\u007f") != NULL);
    cJSON *log = cJSON_ParseWithOpts(printed(&tail), NULL, 0);
    cJSON *span = cJSON_ParseWithOpts(second + 2, NULL, 0);
    SPT_CHECK_STRING(text_at(log, "log", "traceId"), "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd");
    SPT_CHECK_STRING(text_at(log, "log", "timeUnixNano"), "1700000000000007000");
    SPT_CHECK_STRING(text_at(cJSON_GetObjectItem(log, "log"), "body", "stringValue"),
                     "quo\"te \xf0\x9f\x98\x80 \x7f");
    SPT_CHECK_STRING(text_at(span, "span", "parentSpanId"), "0303030303030303");
    SPT_CHECK_STRING(text_at(cJSON_GetObjectItem(span, "span"), "status", "message"),
                     "database is locked");
    SPT_CHECK_UINT(
        cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(span, "span"), "events")), 1);
    cJSON_Delete(log);
    cJSON_Delete(span);
    spt_tail_fini(&tail);
}

SPT_MAIN("tail", SPT_CASE(two_services_are_one_tree), SPT_CASE(a_utf8_locale_gets_blocks_and_lines),
         SPT_CASE(gzip_bodies_are_unpacked), SPT_CASE(a_body_that_unpacks_too_big_is_refused),
         SPT_CASE(bad_requests_get_their_status), SPT_CASE(deep_nesting_is_refused_not_followed),
         SPT_CASE(hostile_text_cannot_steer_the_terminal),
         SPT_CASE(a_missing_parent_makes_a_marked_root),
         SPT_CASE(circles_and_repeats_are_shown_once_and_marked),
         SPT_CASE(a_signal_prints_the_unfinished_marked),
         SPT_CASE(the_oldest_goes_early_when_too_many_are_held),
         SPT_CASE(logs_without_a_trace_share_a_heading),
         SPT_CASE(invalid_ids_are_a_partial_success), SPT_CASE(json_lines_hold_the_fields))
