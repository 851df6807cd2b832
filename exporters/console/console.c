/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console exporter: one block of lines for each record, in one write. Calls come one at a time (see
 * spool_exporter_ops), so the text buffer needs no lock.
 */
#include "exporters/console/text.h"
#include "sdk/platform/options.h"

#include <spool/log.h>
#include <spool/sdk/console.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct console {
    int descriptor;
    bool color;
    bool shut;
    sp_text text; /* kept from record to record */
} console;

#define DIM "\033[2m"
#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define CYAN "\033[36m"
#define RESET "\033[0m"

static void paint(console *self, const char *color) {
    if (self->color) {
        sp_text_raw(&self->text, color, strlen(color));
    }
}

static void words(console *self, const char *text) {
    sp_text_raw(&self->text, text, strlen(text));
}

/* " key=value"; text values in quotes, so that their end can be seen. */
static void pair(console *self, spool_str key, const spool_value *value) {
    words(self, " ");
    paint(self, DIM);
    sp_text_clean(&self->text, key);
    words(self, "=");
    paint(self, RESET);
    sp_text_value(&self->text, value, value->type == SPOOL_VALUE_STRING);
}

static void text_pair(console *self, const char *key, spool_str text) {
    if (text.len) {
        spool_value value = spool_value_string_n(text);
        pair(self, spool_str_of(key), &value);
    }
}

static void count_pair(console *self, const char *key, uint32_t count) {
    if (count) {
        spool_value value = spool_value_int(count);
        pair(self, spool_str_of(key), &value);
    }
}

static void pairs(console *self, const spool_attr *attrs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        pair(self, attrs[i].key, &attrs[i].value);
    }
}

static void service(console *self, const spool_resource_data *resource) {
    for (size_t i = 0; resource && i < resource->attr_count; i++) {
        spool_str key = resource->attrs[i].key;
        if (key.len == 12 && memcmp(key.ptr, "service.name", 12) == 0) {
            words(self, " ");
            paint(self, CYAN);
            sp_text_value(&self->text, &resource->attrs[i].value, false);
            paint(self, RESET);
        }
    }
}

static void ids(console *self, const uint8_t *trace_id, const uint8_t *span_id,
                const uint8_t *parent_id) {
    static const uint8_t zero[8] = {0};
    paint(self, DIM);
    words(self, " trace=");
    sp_text_hex(&self->text, trace_id, 16);
    words(self, " span=");
    sp_text_hex(&self->text, span_id, 8);
    if (parent_id && memcmp(parent_id, zero, 8) != 0) {
        words(self, " parent=");
        sp_text_hex(&self->text, parent_id, 8);
    }
    paint(self, RESET);
}

static void scope_put(console *self, const spool_scope *scope) {
    if (scope) {
        text_pair(self, "otel.scope.name", scope->name);
        text_pair(self, "otel.scope.version", scope->version);
    }
}

/* ---- spans ---- */

static const char *const kinds[] = {"internal", "server", "client", "producer", "consumer"};

static void duration(console *self, uint64_t ns) {
    if (ns < 1000000) {
        sp_text_format(&self->text, " %" PRIu64 ".%03" PRIu64 "us", ns / 1000, ns % 1000);
    } else {
        sp_text_format(&self->text, " %" PRIu64 ".%03" PRIu64 "ms", ns / 1000000,
                       ns / 1000 % 1000);
    }
}

static void events_and_links(console *self, const spool_span_data *span) {
    for (size_t i = 0; i < span->event_count; i++) {
        const spool_event_data *event = &span->events[i];
        words(self, "  event ");
        sp_text_time(&self->text, event->time_ns);
        words(self, " ");
        sp_text_clean(&self->text, event->name);
        pairs(self, event->attrs, event->attr_count);
        count_pair(self, "otel.dropped_attributes_count", event->dropped_attr_count);
        words(self, "\n");
    }
    for (size_t i = 0; i < span->link_count; i++) {
        const spool_link_data *link = &span->links[i];
        words(self, "  link");
        ids(self, link->context.trace_id, link->context.span_id, NULL);
        pairs(self, link->attrs, link->attr_count);
        count_pair(self, "otel.dropped_attributes_count", link->dropped_attr_count);
        words(self, "\n");
    }
}

static void span_put(console *self, const spool_span_data *span) {
    bool failed = span->status == SPOOL_STATUS_ERROR;
    sp_text_time(&self->text, span->start_time_ns);
    words(self, " ");
    paint(self, failed ? RED : GREEN);
    words(self, "SPAN");
    paint(self, RESET);
    service(self, span->resource);
    words(self, " ");
    paint(self, BOLD);
    sp_text_clean(&self->text, span->name);
    paint(self, RESET);
    duration(self, span->end_time_ns > span->start_time_ns
                       ? span->end_time_ns - span->start_time_ns
                       : 0);
    words(self, " ");
    words(self, span->kind <= SPOOL_KIND_CONSUMER ? kinds[span->kind] : "?");
    ids(self, span->context.trace_id, span->context.span_id, span->parent_span_id);
    words(self, "\n ");
    scope_put(self, span->scope);
    if (span->status != SPOOL_STATUS_UNSET) {
        text_pair(self, "otel.status_code", failed ? SPOOL_STR("ERROR") : SPOOL_STR("OK"));
        text_pair(self, "otel.status_description", span->status_description);
    }
    text_pair(self, "tracestate", span->trace_state);
    pairs(self, span->attrs, span->attr_count);
    count_pair(self, "otel.dropped_attributes_count", span->dropped_attr_count);
    count_pair(self, "otel.dropped_events_count", span->dropped_event_count);
    count_pair(self, "otel.dropped_links_count", span->dropped_link_count);
    words(self, "\n");
    events_and_links(self, span);
}

/* ---- logs ---- */

static const char *severity_color(int severity) {
    return severity >= SPOOL_SEVERITY_ERROR  ? RED
           : severity >= SPOOL_SEVERITY_WARN ? YELLOW
           : severity >= SPOOL_SEVERITY_INFO ? GREEN
                                             : DIM;
}

static void log_put(console *self, const spool_log_data *log) {
    uint64_t time_ns = log->timestamp_ns ? log->timestamp_ns : log->observed_timestamp_ns;
    const char *severity = spool_severity_name(log->severity);
    sp_text_time(&self->text, time_ns);
    words(self, " ");
    paint(self, severity_color(log->severity));
    words(self, severity[0] ? severity : "LOG");
    paint(self, RESET);
    service(self, log->resource);
    if (log->event_name.len) {
        words(self, " ");
        sp_text_clean(&self->text, log->event_name);
    }
    words(self, " ");
    sp_text_value(&self->text, &log->body, false);
    pairs(self, log->attrs, log->attr_count);
    scope_put(self, log->scope);
    count_pair(self, "otel.dropped_attributes_count", log->dropped_attr_count);
    if (spool_span_context_is_valid(&log->context)) {
        ids(self, log->context.trace_id, log->context.span_id, NULL);
    }
    words(self, "\n");
}

/* ---- the exporter ---- */

/* All of it, waiting for room at most until the deadline; false when the descriptor does not take it. */
static bool write_all(int descriptor, const char *bytes, size_t len) {
    while (len) {
        ssize_t written = write(descriptor, bytes, len);
        if (written > 0) {
            bytes += written;
            len -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = descriptor, .events = POLLOUT};
            if (poll(&room, 1, 1000) != 1) {
                return false;
            }
        } else if (written == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void export_batch(void *self_pointer, spool_batch *batch, uint64_t deadline_ns) {
    (void)deadline_ns;
    console *self = self_pointer;
    spool_outcome outcome = {.drop_cause = self->shut ? SPOOL_DROP_SHUTDOWN : SPOOL_DROP_MEMORY};
    size_t count = self->shut ? 0 : spool_batch_count(batch);
    int kept_errno = errno;
    for (size_t i = 0; i < count; i++) {
        self->text.len = 0;
        self->text.failed = false;
        if (spool_batch_signal(batch) == SPOOL_SIGNAL_SPANS) {
            const spool_span_data *span = spool_batch_next_span(batch);
            if (!span) {
                break;
            }
            span_put(self, span);
        } else {
            const spool_log_data *log = spool_batch_next_log(batch);
            if (!log) {
                break;
            }
            log_put(self, log);
        }
        if (self->text.failed || !write_all(self->descriptor, self->text.bytes, self->text.len)) {
            outcome.rejected += !self->text.failed;
        } else {
            outcome.delivered++;
        }
    }
    errno = kept_errno;
    spool_batch_done(spool_batch_id(batch), &outcome);
}

static spool_status shutdown(void *self, uint64_t deadline_ns) {
    (void)deadline_ns;
    ((console *)self)->shut = true;
    return SPOOL_OK;
}

static void destroy(void *self) {
    free(((console *)self)->text.bytes);
    free(self);
}

void spool_console_options_init(spool_console_options *options) {
    static const spool_console_options defaults = SPOOL_CONSOLE_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

spool_status spool_console_create(const spool_console_options *options,
                                  spool_exporter *out_exporter) {
    static const spool_exporter_ops ops = {
        sizeof ops, "console", export_batch, NULL, shutdown, destroy, 0,
    };
    spool_console_options given = SPOOL_CONSOLE_OPTIONS_INIT;
    if (!out_exporter || (options && !sp_options_read(&given, sizeof given, options))) {
        return SPOOL_ERR_INVALID;
    }
    console *self = calloc(1, sizeof *self);
    if (!self) {
        return SPOOL_ERR_NOMEM;
    }
    self->descriptor = given.descriptor;
    const char *no_color = getenv("NO_COLOR");
    self->color = given.color == SPOOL_COLOR_ALWAYS ||
                  (given.color == SPOOL_COLOR_AUTO && isatty(given.descriptor) &&
                   !(no_color && no_color[0]));
    out_exporter->ops = &ops;
    out_exporter->self = self;
    return SPOOL_OK;
}
