/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console exporter: one block of lines for each record, in one write. Calls come one at a time (see
 * spool_exporter_ops), so the text buffer needs no lock.
 */
#include "exporters/console/text.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/options.h"
#include "sdk/platform/sigpipe.h"

#include <spool/log.h>
#include <spool/sdk/console.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long a record waits for room in a non-blocking descriptor; text that is kept between records. */
enum { ROOM_WAIT_MS = 1000, KEPT_TEXT_BYTES = 65536 };

typedef struct console {
    int descriptor;
    bool color;
    bool shut;
    bool stuck;   /* the last record found no room in time: the next one does not wait */
    bool broken;  /* the last record was cut: the next one begins a line of its own */
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
        sp_text_format(&self->text, " %" PRIu64 ".%03" PRIu64 "ms", ns / 1000000, ns / 1000 % 1000);
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
        text_pair(self, "tracestate", link->trace_state);
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
    duration(self,
             span->end_time_ns > span->start_time_ns ? span->end_time_ns - span->start_time_ns : 0);
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
    if (log->severity_text.len &&
        (log->severity_text.len != strlen(severity) ||
         memcmp(log->severity_text.ptr, severity, strlen(severity)) != 0)) {
        text_pair(self, "severity_text", log->severity_text);
    }
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

/* Waits for room in a non-blocking descriptor. */
static bool room_wait(int descriptor, uint64_t until_ns) {
    for (;;) {
        uint64_t now_ns = sp_deadline_after_ms(0);
        uint64_t left_ms = now_ns < until_ns ? (until_ns - now_ns) / SP_NS_PER_MS + 1 : 0;
        struct pollfd room = {.fd = descriptor, .events = POLLOUT};
        int ready = poll(&room, 1, left_ms < ROOM_WAIT_MS ? (int)left_ms : ROOM_WAIT_MS);
        if (ready >= 0 || errno != EINTR) {
            return ready == 1;
        }
    }
}

/* All of it, waiting for room at most until then; false when the descriptor does not take it. */
static bool write_all(console *self, uint64_t until_ns) {
    const char *bytes = self->text.bytes;
    size_t len = self->text.len;
    bool begun = false;
    while (len) {
        ssize_t written = write(self->descriptor, bytes, len);
        if (written > 0) {
            bytes += written;
            len -= (size_t)written;
            begun = true;
            self->broken = false;
            self->stuck = false;
        } else if (written < 0 && errno == EAGAIN) {
            if (!room_wait(self->descriptor, until_ns)) {
                self->stuck = true;
                break;
            }
        } else if (written == 0 || errno != EINTR) {
            break;
        }
    }
    self->broken = self->broken || (len && begun);
    return len == 0;
}

static bool write_quietly(console *self, uint64_t until_ns) {
    sp_sigpipe_guard guard;
    if (!sp_sigpipe_hold(&guard)) {
        return false;
    }
    bool written = write_all(self, until_ns);
    sp_sigpipe_release(&guard, !written && errno == EPIPE);
    return written;
}

static bool record_write(console *self, uint64_t deadline_ns) {
    uint64_t until_ns = self->stuck ? 0 : sp_deadline_after_ms(ROOM_WAIT_MS);
    bool written = write_quietly(self, until_ns < deadline_ns ? until_ns : deadline_ns);
    if (self->text.room > KEPT_TEXT_BYTES) {
        sp_text_fini(&self->text);
    }
    return written;
}

static void export_batch(void *self_pointer, spool_batch *batch, uint64_t deadline_ns) {
    console *self = self_pointer;
    spool_outcome outcome = {.drop_cause = self->shut ? SPOOL_DROP_SHUTDOWN : SPOOL_DROP_MEMORY};
    size_t count = self->shut ? 0 : spool_batch_count(batch);
    int kept_errno = errno;
    for (size_t i = 0; i < count; i++) {
        self->text.len = 0;
        self->text.failed = false;
        words(self, self->broken ? "\n" : "");
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
        if (!self->text.failed) { /* else it is the rest, dropped for want of memory */
            bool written = record_write(self, deadline_ns);
            outcome.delivered += written;
            outcome.rejected += !written;
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
    sp_text_fini(&((console *)self)->text);
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
    if (!out_exporter || (options && !sp_options_read(&given, sizeof given, options)) ||
        given.descriptor < 0) {
        return SPOOL_ERR_INVALID;
    }
    console *self = calloc(1, sizeof *self);
    if (!self) {
        return SPOOL_ERR_NOMEM;
    }
    self->descriptor = given.descriptor;
    int kept_errno = errno;
    self->color = given.color == SPOOL_COLOR_ALWAYS ||
                  (given.color == SPOOL_COLOR_AUTO && isatty(given.descriptor));
    errno = kept_errno;
    out_exporter->ops = &ops;
    out_exporter->self = self;
    return SPOOL_OK;
}
