/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging: the statements, their forms, and what a record carries. Shown on the console; the same calls
 * without a started SDK cost a load and a branch each.
 */
#define SPOOL_SCOPE "example.logging"
#define SPOOL_SCOPE_VERSION "1.0"
/* Statements below this are not compiled; their arguments are still checked. */
#define SPOOL_MIN_SEVERITY SPOOL_SEVERITY_DEBUG

#include <spool/sdk/sdk.h>

#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

/* Attributes keep their types: a number can be summed up later, a text cannot. */
static void statements(void) {
    SPOOL_TRACE("never compiled in this file");
    SPOOL_DEBUG("cache looked up", spool_string("cache.key", "user:17"),
                spool_bool("cache.hit", false));
    SPOOL_INFO("connection accepted", spool_string("client.address", "192.0.2.7"),
               spool_int("client.port", 50312));
    SPOOL_WARN("queue is filling", spool_double("queue.ratio", 0.875));
    SPOOL_ERROR_F("cannot open %s: %s", "/etc/example.conf", "no such file");
    SPOOL_FATAL("giving up");
}

static void not_each_time(void) {
    for (int i = 0; i < 10; i++) {
        SPOOL_WARN_EVERY(4, "retrying", spool_int("retry.number", i));
        SPOOL_INFO_ONCE("the first retry");
    }
}

/* A record about something that happened elsewhere: in the context of a request that waits. */
static void in_a_context(const spool_context *request) {
    SPOOL_INFO_IN(request, "still waiting for the disk");
}

/* The long form reaches everything. A record with an event name is an event. */
static void the_long_form(void) {
    const spool_value ports[] = {spool_value_int(80), spool_value_int(443)};
    const spool_attr attrs[] = {spool_array("listener.ports", ports, 2)};
    const spool_attr body[] = {spool_string("state", "ready"), spool_int("workers", 4)};
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = SPOOL_SEVERITY_INFO2;
    record.severity_text = SPOOL_STR("notice");
    record.event_name = SPOOL_STR("example.started");
    record.body = spool_value_map(body, 2);
    record.attrs = attrs;
    record.attr_count = 1;
    spool_log_emit(SPOOL_LOGGER(), &record);
}

/* For a program that has its own logger and syslog's priorities. */
static void from_syslog(void) {
    spool_log(SPOOL_LOGGER(), spool_severity_from_syslog(LOG_CRIT), "disk is full",
              spool_string("disk", "/dev/sda1"));
}

int main(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_sdk *sdk = NULL;
    options.service_name = "logging";
    options.traces_exporter = "none";
    options.logs_exporter = "console";
    spool_status status = spool_start(&options, &sdk);
    if (status != SPOOL_OK) {
        fprintf(stderr, "logging: %s\n", spool_status_text(status));
        return EXIT_FAILURE;
    }
    statements();
    not_each_time();
    the_long_form();
    from_syslog();
    /* Inside of a span, records carry its ids, also where the span itself is exported nowhere. */
    spool_span span = spool_span_start(SPOOL_TRACER(), "request", NULL);
    spool_context request = spool_context_with_span(NULL, span);
    in_a_context(&request);
    spool_context_release(&request);
    spool_span_end(span);

    status = spool_shutdown(sdk, 1000, NULL);
    spool_sdk_free(sdk);
    return status == SPOOL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
