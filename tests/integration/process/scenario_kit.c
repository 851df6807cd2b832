/* SPDX-License-Identifier: Apache-2.0 */
/* See scenario_kit.h. */
#define SPOOL_SCOPE "process.test"
#include "tests/integration/process/scenario_kit.h"

#include "tests/integration/process/process_run.h"
#include "tests/support/spt.h"

#include <spool/spool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

/* ---- scenarios ---- */

spool_sdk *spt_scenario_start(const spool_options *options) {
    spool_sdk *sdk;
    spool_status status = spool_start(options, &sdk);
    if (status != SPOOL_OK) {
        (void)fprintf(stderr, "start: %s\n", spool_status_name(status));
        _exit(99);
    }
    return sdk;
}

void spt_scenario_records(const char *prefix, int count) {
    for (int i = 0; i < count; i++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s-span-%d.", prefix, i);
        spool_span_end(spool_span_start(SPOOL_TRACER(), name, NULL));
        (void)snprintf(name, sizeof name, "%s-log-%d.", prefix, i);
        spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, name);
    }
}

static void export_names(void *self, spool_batch *batch, uint64_t deadline_ns) {
    (void)self;
    (void)deadline_ns;
    spool_outcome outcome = {.drop_cause = SPOOL_DROP_MEMORY};
    for (;;) {
        spool_str name = {NULL, 0};
        if (spool_batch_signal(batch) == SPOOL_SIGNAL_SPANS) {
            const spool_span_data *span = spool_batch_next_span(batch);
            name = span ? span->name : name;
        } else {
            const spool_log_data *log = spool_batch_next_log(batch);
            name = log ? log->body.as.string : name;
        }
        if (!name.ptr) {
            break;
        }
        if (write(STDOUT_FILENO, name.ptr, name.len) == (ssize_t)name.len) {
            outcome.delivered++;
        }
    }
    spool_batch_done(spool_batch_id(batch), &outcome);
}

static void nothing(void *self) {
    (void)self;
}

spool_processor spt_scenario_file_batch(void) {
    static const spool_exporter_ops ops = {.struct_size = sizeof ops,
                                           .name = "names",
                                           .export_batch = export_names,
                                           .destroy = nothing};
    spool_exporter exporter = {&ops, NULL};
    spool_processor processor;
    spool_batch_options options = SPOOL_BATCH_SPAN_OPTIONS_INIT;
    options.schedule_delay_ms = 3600000;
    if (spool_batch_create(SPOOL_SIGNAL_SPANS, exporter, &options, &processor) != SPOOL_OK) {
        _exit(99);
    }
    return processor;
}

/* ---- tests ---- */

const char *spt_endpoint_variable(const spt_collector *collector) {
    static char text[80];
    (void)snprintf(text, sizeof text, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:%u",
                   spt_collector_port(collector));
    return text;
}

static size_t arrived(spt_collector *collector, const char *name) {
    size_t found = 0;
    spt_request request;
    for (size_t i = 0; spt_collector_request(collector, i, &request); i++) {
        found += spt_occurrences(request.body, request.body_len, name);
    }
    return found;
}

/* Checks spans and logs by name; only the first that is wrong is printed in full. */
static void check_each(spt_collector *collector, const char *output, const char *prefix, int count,
                       size_t times) {
    static const char *const kinds[] = {"span", "log"};
    for (size_t kind = 0; kind < 2; kind++) {
        int wrong = 0;
        for (int i = 0; i < count; i++) {
            char name[NAME_BYTES];
            (void)snprintf(name, sizeof name, "%s-%s-%d.", prefix, kinds[kind], i);
            size_t found = collector ? arrived(collector, name)
                                     : spt_occurrences(output, strlen(output), name);
            if (found != times && wrong++ == 0) {
                (void)fprintf(stderr, "%s: %zu times, not %zu\n", name, found, times);
            }
        }
        SPT_CHECK_UINT(wrong, 0);
    }
}

void spt_check_arrived(spt_collector *collector, const char *prefix, int count, size_t times) {
    check_each(collector, NULL, prefix, count, times);
}

void spt_check_printed(const char *output, const char *prefix, int count, size_t times) {
    check_each(NULL, output, prefix, count, times);
}
