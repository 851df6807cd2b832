/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exporter of one's own: a table of functions and a state. This one prints spans and log records as
 * lines of comma separated values. It is put behind a simple processor, in an SDK that is made in code:
 * nothing is read from the environment and no thread is started.
 */
#define SPOOL_SCOPE "example.exporter"

#include <spool/ext/ext.h>
#include <spool/sdk/sdk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct csv {
    FILE *file;
    uint64_t lines;
} csv;

static void field(FILE *file, spool_str text) {
    putc('"', file);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"') {
            putc('"', file);
        }
        putc(text.ptr[i], file);
    }
    putc('"', file);
}

static void span_print(csv *self, const spool_span_data *span) {
    static const char *const statuses[] = {"unset", "ok", "error"};
    fputs("span,", self->file);
    field(self->file, span->name);
    fprintf(self->file, ",%s,%zu attributes,%zu events\n", statuses[span->status % 3],
            span->attr_count, span->event_count);
}

static void log_print(csv *self, const spool_log_data *log) {
    fprintf(self->file, "log,%s,", spool_severity_name(log->severity));
    field(self->file, log->body.type == SPOOL_VALUE_STRING ? log->body.as.string : SPOOL_STR(""));
    fprintf(self->file, ",%zu attributes\n", log->attr_count);
}

/*
 * Must not block for long, and must answer: here at once. An exporter that sends over a network would
 * keep the batch, return, and answer when the reply is there.
 */
static void export_batch(void *arg, spool_batch *batch, uint64_t deadline_ns) {
    csv *self = arg;
    spool_outcome outcome = {0};
    const spool_span_data *span;
    const spool_log_data *log;
    (void)deadline_ns;
    if (spool_batch_signal(batch) == SPOOL_SIGNAL_SPANS) {
        for (; (span = spool_batch_next_span(batch)) != NULL; outcome.delivered++) {
            span_print(self, span);
        }
    } else {
        for (; (log = spool_batch_next_log(batch)) != NULL; outcome.delivered++) {
            log_print(self, log);
        }
    }
    self->lines += outcome.delivered;
    spool_batch_done(spool_batch_id(batch), &outcome);
}

static spool_status flush(void *arg, uint64_t deadline_ns) {
    csv *self = arg;
    (void)deadline_ns;
    return fflush(self->file) == 0 ? SPOOL_OK : SPOOL_ERR_SYSTEM;
}

static void destroy(void *arg) {
    csv *self = arg;
    fprintf(self->file, "%" PRIu64 " lines\n", self->lines);
    free(self);
}

static const spool_exporter_ops csv_ops = {
    .struct_size = sizeof csv_ops,
    .name = "csv",
    .export_batch = export_batch,
    .flush = flush,
    .shutdown = flush,
    .destroy = destroy,
};

/* Each step consumes what the one before made; what fails leaves it to us. */
static spool_status start(FILE *file, spool_sdk **out_sdk) {
    csv *self = calloc(1, sizeof *self);
    if (!self) {
        return SPOOL_ERR_NOMEM;
    }
    self->file = file;
    spool_exporter exporter = {&csv_ops, self};
    spool_processor processor;
    spool_status status = spool_simple_create(exporter, NULL, &processor);
    if (status != SPOOL_OK) {
        destroy(self);
        return status;
    }
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    status = spool_sdk_create(&options, out_sdk);
    if (status != SPOOL_OK) {
        processor.ops->destroy(processor.self);
    }
    return status;
}

static void work(void) {
    SPOOL_SPAN(job, SPOOL_TRACER(), "nightly \"job\"", spool_int("job.number", 7));
    SPOOL_INFO("begun");
    {
        SPOOL_SPAN(step, SPOOL_TRACER(), "step");
        spool_span_record_error(step, "IOError", "no space left", NULL);
        spool_span_status(step, SPOOL_STATUS_ERROR, "no space left");
        SPOOL_ERROR("step failed", spool_string("error.type", "IOError"));
    }
    spool_span_status(job, SPOOL_STATUS_OK, NULL);
}

int main(void) {
    spool_sdk *sdk = NULL;
    spool_status status = start(stdout, &sdk);
    if (status != SPOOL_OK) {
        fprintf(stderr, "custom_exporter: %s\n", spool_status_text(status));
        return EXIT_FAILURE;
    }
    work();
    spool_report report = SPOOL_REPORT_INIT;
    status = spool_shutdown(sdk, 1000, &report);
    spool_sdk_free(sdk);
    printf("%" PRIu64 " delivered\n", report.delivered);
    return status == SPOOL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
