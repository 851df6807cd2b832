/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends one record for each thing that a span or a log record can hold, edge values included, with
 * ids and times given where the API lets them be given. What the Collector must have received is
 * written down in fields_expected.py, not computed from what is sent here. For each span one line
 * "NAME ID" on standard output tells the id that the library chose.
 */
#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 128, OVER = 2, FLUSH_MS = 20000 };

#define TIME_0 UINT64_C(1700000000000000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static spool_tracer *tracer;
static spool_logger *logger;
static spool_context remote;

static spool_span span_open(const char *name, spool_span_options *options) {
    options->parent = &remote;
    options->start_time_ns = TIME_0;
    spool_span span = spool_span_start(tracer, name, options);
    struct spool_span_context context = spool_span_context(span);
    printf("%s ", name);
    for (size_t i = 0; i < sizeof context.span_id; i++) {
        printf("%02x", context.span_id[i]);
    }
    printf("\n");
    return span;
}

static spool_span plain_span_open(const char *name) {
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    return span_open(name, &options);
}

static void span_close(spool_span span) {
    spool_span_end_at(span, TIME_0 + 1000);
}

static void send_values(void) {
    static const unsigned char raw[] = {0, 1, 0xFF};
    const spool_value inner[] = {spool_value_bool(true), spool_value_empty()};
    const spool_value items[] = {spool_value_int(1), spool_value_string("a"),
                                 spool_value_double(0.5), spool_value_array(inner, COUNT(inner))};
    const spool_attr leaf[] = {spool_double("deep", 1.5)};
    const spool_attr branch[] = {spool_map("map", leaf, COUNT(leaf)), spool_string("text", "t")};
    const spool_attr attrs[] = {
        spool_string("string", "na\xC3\xAFve \xE2\x98\x83 \xF0\x9F\x98\x80 \xE2\x80\xA8 \"\\\n\t"),
        spool_string("string.empty", ""),
        spool_string("string.null", NULL),
        spool_bool("bool.true", true),
        spool_bool("bool.false", false),
        spool_int("int.min", INT64_MIN),
        spool_int("int.max", INT64_MAX),
        spool_int("int.zero", 0),
        spool_uint("uint.max", UINT64_MAX),
        spool_double("double.tenth", 0.1),
        spool_double("double.zero", 0.0),
        spool_double("double.minus_zero", -0.0),
        spool_double("double.least", 4.9406564584124654e-324),
        spool_double("double.most", DBL_MAX),
        spool_double("double.infinity", (double)INFINITY),
        spool_double("double.minus_infinity", -(double)INFINITY),
        spool_double("double.nan", (double)NAN),
        spool_bytes("bytes", raw, sizeof raw),
        spool_bytes("bytes.empty", raw, 0),
        spool_array("array", items, COUNT(items)),
        spool_array("array.empty", NULL, 0),
        spool_map("map", branch, COUNT(branch)),
        spool_map("map.empty", NULL, 0),
    };
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attrs = attrs;
    options.attr_count = COUNT(attrs);
    span_close(span_open("values at start", &options));

    spool_span span = plain_span_open("values one by one");
    for (size_t i = 0; i < COUNT(attrs); i++) {
        spool_span_set(span, attrs[i]);
    }
    spool_span_event_at(span, "event", TIME_0 + 5, attrs, COUNT(attrs));
    span_close(span);

    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.timestamp_ns = TIME_0 + 1;
    record.observed_timestamp_ns = TIME_0 + 2;
    record.context = &remote;
    record.severity = SPOOL_SEVERITY_INFO;
    record.attrs = attrs;
    record.attr_count = COUNT(attrs);
    record.body = spool_value_map(attrs, COUNT(attrs));
    spool_log_emit(logger, &record);
}

static void send_kinds_and_statuses(void) {
    static const char *const names[] = {"internal", "server", "client", "producer", "consumer"};
    for (uint32_t kind = SPOOL_KIND_INTERNAL; kind <= SPOOL_KIND_CONSUMER; kind++) {
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.kind = kind;
        span_close(span_open(names[kind], &options));
    }
    spool_span failed = plain_span_open("failed");
    spool_span_status(failed, SPOOL_STATUS_ERROR, "out of stock");
    spool_span_record_error(failed, "shop.stock", "nothing left", NULL);
    spool_span_event_at(failed, "bare", TIME_0 + 7, NULL, 0);
    span_close(failed);

    spool_span fine = plain_span_open("fine");
    spool_span_status(fine, SPOOL_STATUS_ERROR, "forgotten");
    spool_span_status(fine, SPOOL_STATUS_OK, "not kept");
    span_close(fine);

    spool_span renamed = plain_span_open("renamed");
    spool_span_rename(renamed, "renamed later");
    spool_span_set(renamed, spool_int("key", 1));
    spool_span_set(renamed, spool_string("other", "stays"));
    spool_span_set(renamed, spool_string("key", "last write"));
    span_close(renamed);
}

static void send_links(void) {
    const spool_attr attrs[] = {spool_int("n", 1), spool_string("s", "x")};
    spool_link links[] = {
        {{{0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
          {0x21, 2, 3, 4, 5, 6, 7, 8},
          SPOOL_FLAG_SAMPLED,
          1,
          {0}},
         SPOOL_STR("far=away"),
         attrs,
         COUNT(attrs)},
        {{{0x11, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
          {0x22, 2, 3, 4, 5, 6, 7, 8},
          0,
          0,
          {0}},
         {NULL, 0},
         NULL,
         0},
    };
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.links = links;
    options.link_count = 1;
    spool_span span = span_open("linked", &options);
    spool_span_link(span, &links[1]);
    span_close(span);
}

static void send_text_that_is_not_utf8(void) {
    spool_span span = plain_span_open("repaired");
    spool_span_rename(span, "cut \xE2\x98");
    spool_span_set(span, spool_string("value", "bad \xFF byte"));
    spool_span_set(span, spool_string("key \xC0", "overlong"));
    spool_span_event_at(span, "surrogate \xED\xA0\x80", TIME_0 + 3, NULL, 0);
    spool_span_status(span, SPOOL_STATUS_ERROR, "\x80");
    span_close(span);

    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.timestamp_ns = TIME_0 + 3;
    record.observed_timestamp_ns = TIME_0 + 3;
    record.context = &remote;
    record.severity_text = SPOOL_STR("\xFF");
    record.event_name = SPOOL_STR("\xFF"
                                  "event");
    record.body = spool_value_string("body \xFE");
    spool_log_emit(logger, &record);
}

/* The first LIMIT stay, OVER are dropped and counted; a replaced key takes no room. */
static void send_too_much(void) {
    static char keys[LIMIT + OVER][16];
    static spool_attr attrs[LIMIT + OVER];
    for (int i = 0; i < LIMIT + OVER; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        attrs[i] = spool_int(keys[i], i);
    }
    spool_link link = {{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                        {1, 1, 1, 1, 1, 1, 1, 1},
                        SPOOL_FLAG_SAMPLED,
                        0,
                        {0}},
                       {NULL, 0},
                       attrs,
                       LIMIT + OVER};
    spool_span attributes = plain_span_open("too many attributes");
    spool_span_set_all(attributes, attrs, LIMIT + OVER);
    spool_span_set(attributes, spool_int("k0", -1));
    spool_span_set(attributes, spool_int(NULL, 1));
    spool_span_event_at(attributes, "event", TIME_0 + 4, attrs, LIMIT + OVER);
    spool_span_link(attributes, &link);
    span_close(attributes);

    link.attr_count = 0;
    spool_span children = plain_span_open("too many events and links");
    for (uint64_t i = 0; i < LIMIT + OVER; i++) {
        spool_span_event_at(children, "event", TIME_0 + i, NULL, 0);
        spool_span_link(children, &link);
    }
    spool_span_link(children, &link); /* so that the two counts of dropped ones differ */
    span_close(children);

    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.timestamp_ns = TIME_0 + 4;
    record.observed_timestamp_ns = TIME_0 + 4;
    record.context = &remote;
    record.attrs = attrs;
    record.attr_count = LIMIT + OVER;
    spool_log_emit(logger, &record);
}

static void send_logs(void) {
    for (int severity = 0; severity <= SPOOL_SEVERITY_FATAL4; severity++) {
        spool_log_record record = SPOOL_LOG_RECORD_INIT;
        record.timestamp_ns = TIME_0 + 100 + (uint64_t)severity;
        record.observed_timestamp_ns = TIME_0 + 200;
        record.context = &remote;
        record.severity = severity;
        record.severity_text = spool_str_of(severity % 2 ? "odd" : NULL);
        record.event_name = spool_str_of(severity % 3 ? NULL : "third");
        record.body = severity % 4 ? spool_value_int(severity) : spool_value_empty();
        spool_log_emit(logger, &record);
    }
    const spool_context nothing = SPOOL_CONTEXT_INIT;
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.timestamp_ns = TIME_0 + 300;
    record.observed_timestamp_ns = TIME_0 + 300;
    record.context = &nothing;
    record.body = spool_value_string("outside of any span");
    spool_log_emit(logger, &record);
}

static void scopes_and_context(void) {
    static const spool_attr attrs[] = {
        {SPOOL_STR_INIT("part"), {SPOOL_VALUE_INT, {.integer = 7}}},
    };
    const spool_scope scope = {SPOOL_STR("fields.c"), SPOOL_STR("1.2.3"),
                               SPOOL_STR("https://example.org/schema/1"), attrs, COUNT(attrs)};
    tracer = spool_tracer_get_scope(&scope);
    logger = spool_logger_get_scope(&scope);
    struct spool_span_context ids = {{0x5B, 0x8E, 0xFF, 0xF7, 0x98, 0x03, 0x81, 0x03, 0xD2, 0x69,
                                      0xB6, 0x33, 0x81, 0x3F, 0xC6, 0x0C},
                                     {0xEE, 0xE1, 0x9B, 0x7E, 0xC3, 0xC1, 0xB1, 0x74},
                                     SPOOL_FLAG_SAMPLED,
                                     1,
                                     {0}};
    const spool_context nothing = SPOOL_CONTEXT_INIT;
    remote = spool_context_with_remote(&nothing, &ids, SPOOL_STR("vendor=opaque,other=1"));
}

int main(void) {
    spool_sdk *sdk = NULL;
    spool_status status = spool_start(NULL, &sdk);
    if (status != SPOOL_OK) {
        fprintf(stderr, "fields: start: %s\n", spool_status_text(status));
        return 1;
    }
    scopes_and_context();
    send_values();
    send_kinds_and_statuses();
    send_links();
    send_text_that_is_not_utf8();
    send_too_much();
    send_logs();
    spool_context_release(&remote);

    spool_report report = SPOOL_REPORT_INIT;
    status = spool_shutdown(sdk, FLUSH_MS, &report);
    if (status != SPOOL_OK) {
        fprintf(stderr, "fields: shutdown: %s; delivered %" PRIu64 ", rejected %" PRIu64 "\n",
                spool_status_text(status), report.delivered, report.rejected);
    }
    spool_sdk_free(sdk);
    return status == SPOOL_OK ? 0 : 1;
}
