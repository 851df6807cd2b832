/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See recorder.h. Hooks run on any number of threads; each makes its line alone and writes it with one
 * fputs, which stdio keeps in one piece. 64-bit numbers are text, since JSON's are doubles.
 */
#include "examples/shop/recorder.h"

#include "examples/shop/record_json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct recorder {
    FILE *file;
} recorder;

/* Takes the object. */
static void line_write(recorder *self, cJSON *object) {
    char *text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (!text) {
        return;
    }
    size_t len = strlen(text);
    text[len] = '\n'; /* in the place of the NUL: one write for the whole line */
    (void)fwrite(text, 1, len + 1, self->file);
    cJSON_free(text);
}

static void span_end(void *self, spool_span_record *span) {
    const spool_span_data *data = spool_span_record_data(span);
    /* Recorded but not sampled: exporters do not get it either. */
    if (data && data->context.flags & SPOOL_FLAG_SAMPLED) {
        line_write(self, record_json_span(data));
    }
}

static void log_emit(void *self, spool_log_data *log) {
    line_write(self, record_json_log(log));
}

static spool_status flush(void *arg, uint64_t deadline_ns, spool_report *report) {
    recorder *self = arg;
    (void)deadline_ns;
    (void)report;
    return fflush(self->file) == 0 ? SPOOL_OK : SPOOL_ERR_SYSTEM;
}

static void destroy(void *arg) {
    recorder *self = arg;
    (void)fclose(self->file);
    free(self);
}

static const spool_processor_ops recorder_ops = {
    .struct_size = sizeof recorder_ops,
    .name = "shop.recorder",
    .span_end = span_end,
    .log_emit = log_emit,
    .flush = flush,
    .shutdown = flush,
    .destroy = destroy,
};

bool recorder_create(const char *file, spool_processor *out_processor) {
    recorder *self = calloc(1, sizeof *self);
    if (!self) {
        return false;
    }
    self->file = fopen(file, "we");
    if (!self->file) {
        free(self);
        return false;
    }
    out_processor->ops = &recorder_ops;
    out_processor->self = self;
    return true;
}
