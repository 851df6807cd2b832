/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP exporter over HTTP: its life. Deliveries are delivery.c's.
 *
 * Owners. Batches come in on any thread and go to the loop, which owns the client and all deliveries.
 * The lock guards the state, the use of the runtime and the count of what is active; it is never held
 * across foreign code.
 *
 * States: OPEN -> STOPPING (a shutdown was asked for) -> CLOSED (the loop holds nothing of ours).
 *
 * Closing. The shutdown counts as active until its task has run; whoever brings `active` to zero while
 * STOPPING closes: the client is destroyed, the state becomes CLOSED, and from then on the loop does not
 * touch the exporter. The thread that asked waits for CLOSED, at most until its deadline, and releases
 * the runtime. On the loop itself nothing can be waited for: what is in flight is cancelled at once.
 * If the loop does not answer in time the exporter is left behind for good, since the loop may still
 * come back to it.
 */
#include "exporters/otlp/gzip.h"
#include "exporters/otlp/otlp_internal.h"

#include "sdk/platform/clock.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/fork.h"
#include "sdk/platform/options.h"

#include <spool/version.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DESTROY_GRACE_MS = 1000, STOP_MARGIN_PART = 4 };
/* Time before a shutdown's deadline in which what is in flight is cancelled and let go. */
#define STOP_MARGIN_MOST_NS (50 * SP_NS_PER_MS)

static const char USER_AGENT[] = "User-Agent: OTel-OTLP-Exporter-C/" SPOOL_VERSION_STRING;
static const char CONTENT_TYPE[] = "Content-Type: application/x-protobuf";

/* --- batches --- */

static void drop(uint64_t batch_id, uint32_t cause) {
    spool_outcome outcome = {.drop_cause = cause};
    spool_batch_done(batch_id, &outcome);
}

/* True: the exporter is open and has a runtime, and the batch is counted. */
static bool batch_admit(sp_otlp *self, uint32_t *out_cause) {
    bool ready = false;
    pthread_mutex_lock(&self->lock);
    if (self->state != SP_OTLP_OPEN) {
        *out_cause = SPOOL_DROP_SHUTDOWN;
    } else if (self->runtime && self->fork_generation != sp_fork_generation()) {
        *out_cause = SPOOL_DROP_FORK;
    } else if (self->runtime || sp_runtime_acquire(&self->runtime) == SPOOL_OK) {
        self->fork_generation = sp_fork_generation();
        self->active++;
        ready = true;
    } else {
        *out_cause = SPOOL_DROP_MEMORY;
    }
    pthread_mutex_unlock(&self->lock);
    return ready;
}

static void export_batch(void *arg, spool_batch *batch, uint64_t deadline_ns) {
    sp_otlp *self = arg;
    uint64_t batch_id = spool_batch_id(batch);
    /* Before it is counted: what is counted ends on the loop. */
    sp_delivery *delivery = sp_delivery_create(self, batch, deadline_ns);
    if (!delivery) {
        drop(batch_id, SPOOL_DROP_MEMORY);
        return;
    }
    uint32_t cause = SPOOL_DROP_MEMORY;
    if (!batch_admit(self, &cause)) {
        sp_delivery_discard(delivery);
        drop(batch_id, cause);
    } else if (sp_runtime_on_loop(self->runtime)) {
        sp_delivery_begin(delivery);
    } else if (!sp_runtime_post(self->runtime, &delivery->task)) {
        /* The loop was left behind; it stays counted, so that the exporter is too. */
        sp_delivery_discard(delivery);
        drop(batch_id, SPOOL_DROP_SHUTDOWN);
    }
}

/* --- shutdown --- */

static void close_on_loop(sp_otlp *self) {
    sp_http_destroy(self->client);
    self->client = NULL;
    sp_timer_destroy(self->stop_timer);
    self->stop_timer = NULL;
    pthread_mutex_lock(&self->lock);
    self->state = SP_OTLP_CLOSED;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void sp_otlp_settled(sp_otlp *self) {
    pthread_mutex_lock(&self->lock);
    bool last = --self->active == 0 && self->state == SP_OTLP_STOPPING;
    pthread_mutex_unlock(&self->lock);
    /* What is counted ends on the loop, so this is the loop. */
    if (last) {
        close_on_loop(self);
    }
}

static void stop_in_flight(void *arg) {
    sp_deliveries_end(arg, true);
}

static void stop_run(sp_task *task) {
    sp_otlp *self = (sp_otlp *)(void *)((char *)task - offsetof(sp_otlp, stop));
    self->stopping = true;
    sp_deliveries_end(self, false);
    bool at_once = self->stop_deadline_ns <= sp_deadline_after_ms(0);
    if (!at_once && self->deliveries) {
        self->stop_timer = sp_timer_create(self->runtime, stop_in_flight, self);
        at_once = !self->stop_timer;
    }
    if (at_once) {
        sp_deliveries_end(self, true);
    } else if (self->stop_timer) {
        sp_timer_set(self->stop_timer, self->stop_deadline_ns);
    }
    sp_otlp_settled(self);
}

static uint64_t stop_deadline(uint64_t deadline_ns) {
    uint64_t now = sp_deadline_after_ms(0);
    if (deadline_ns == SP_NO_DEADLINE || deadline_ns <= now) {
        return deadline_ns;
    }
    uint64_t margin = (deadline_ns - now) / STOP_MARGIN_PART;
    return deadline_ns - (margin < STOP_MARGIN_MOST_NS ? margin : STOP_MARGIN_MOST_NS);
}

/* True once CLOSED. On the loop, which would wait for itself, it only looks. */
static bool closed_wait(sp_otlp *self, uint64_t deadline_ns) {
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / SP_NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % SP_NS_PER_S)};
    int failure = sp_runtime_on_loop(self->runtime) ? ETIMEDOUT : 0;
    pthread_mutex_lock(&self->lock);
    while (self->state != SP_OTLP_CLOSED && failure == 0) {
        failure = deadline_ns == SP_NO_DEADLINE
                      ? pthread_cond_wait(&self->changed, &self->lock)
                      : pthread_cond_timedwait(&self->changed, &self->lock, &until);
    }
    bool closed = self->state == SP_OTLP_CLOSED;
    pthread_mutex_unlock(&self->lock);
    return closed;
}

/* True: this call is the one that stops. Without a batch there is nothing to stop. */
static bool stop_claim(sp_otlp *self) {
    pthread_mutex_lock(&self->lock);
    bool claimed = self->state == SP_OTLP_OPEN && self->runtime &&
                   self->fork_generation == sp_fork_generation();
    if (claimed) {
        self->state = SP_OTLP_STOPPING;
        self->active++;
    } else if (self->state == SP_OTLP_OPEN && !self->runtime) {
        self->state = SP_OTLP_CLOSED;
    }
    pthread_mutex_unlock(&self->lock);
    return claimed;
}

/* Once CLOSED: gives the use of the runtime back, once. */
static bool runtime_release(sp_otlp *self, uint64_t deadline_ns) {
    pthread_mutex_lock(&self->lock);
    sp_runtime *runtime = self->runtime;
    self->runtime = NULL;
    pthread_mutex_unlock(&self->lock);
    /* On the loop this is not the last use: who called us there has one. */
    return !runtime || sp_runtime_release(runtime, deadline_ns);
}

static spool_status shut_down(void *arg, uint64_t deadline_ns) {
    sp_otlp *self = arg;
    if (!stop_claim(self)) {
        return SPOOL_OK;
    }
    if (sp_runtime_on_loop(self->runtime)) {
        self->stop_deadline_ns = 0;
        stop_run(&self->stop);
    } else {
        self->stop_deadline_ns = stop_deadline(deadline_ns);
        (void)sp_runtime_post(self->runtime, &self->stop);
    }
    if (!closed_wait(self, deadline_ns)) {
        return SPOOL_ERR_TIMEOUT;
    }
    return runtime_release(self, deadline_ns) ? SPOOL_OK : SPOOL_ERR_TIMEOUT;
}

/* --- life --- */

static void options_free(spool_otlp_options *options) {
    free((void *)(uintptr_t)options->certificate);
    free((void *)(uintptr_t)options->client_certificate);
    free((void *)(uintptr_t)options->client_key);
}

static void otlp_free(sp_otlp *self) {
    sp_endpoint_fini(&self->endpoint);
    sp_headers_fini(&self->headers);
    options_free(&self->options);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

/*
 * Frees it if the loop has let go of it, or does so in a moment. In a forked child the loop is not ours to
 * wait for: the child's copy is left alone.
 */
static void destroy(void *arg) {
    sp_otlp *self = arg;
    uint64_t deadline_ns = sp_deadline_after_ms(DESTROY_GRACE_MS);
    (void)shut_down(self, deadline_ns);
    pthread_mutex_lock(&self->lock);
    bool closed = self->state == SP_OTLP_CLOSED;
    bool elsewhere = self->runtime && self->fork_generation != sp_fork_generation();
    pthread_mutex_unlock(&self->lock);
    if (closed || (!elsewhere && closed_wait(self, deadline_ns))) {
        (void)runtime_release(self, deadline_ns);
        otlp_free(self);
    } else if (!elsewhere) {
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT,
                "the exporter to %s did not stop in time, it is left behind",
                self->endpoint.printable);
    }
}

static bool text_own(const char **text) {
    if (*text) {
        *text = strdup(*text);
        return *text != NULL;
    }
    return true;
}

static void lock_init(sp_otlp *self) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* The three texts that outlive the creation become ours; on failure those that were copied are freed. */
static bool options_own(spool_otlp_options *options) {
    const char *certificate = options->certificate;
    const char *client_certificate = options->client_certificate;
    const char *client_key = options->client_key;
    options->endpoint = NULL;
    options->headers = NULL;
    options->certificate = options->client_certificate = options->client_key = NULL;
    const char *copies[] = {certificate, client_certificate, client_key};
    bool owned = true;
    for (size_t i = 0; i < 3; i++) {
        owned = text_own(&copies[i]) && owned;
    }
    options->certificate = copies[0];
    options->client_certificate = copies[1];
    options->client_key = copies[2];
    return owned;
}

static spool_status endpoint_read(sp_otlp *self, const char *text) {
    const char *fallback = self->signal == SPOOL_SIGNAL_LOGS ? "http://localhost:4318/v1/logs"
                                                             : "http://localhost:4318/v1/traces";
    const char *reason = NULL;
    if (sp_endpoint_parse(text ? text : fallback, &self->endpoint, &reason)) {
        return SPOOL_OK;
    }
    if (!reason) {
        return SPOOL_ERR_NOMEM;
    }
    char shown[256];
    sp_endpoint_hide_secrets(text ? text : fallback, shown, sizeof shown);
    sp_diag(SPOOL_DIAG_ERROR, SP_OTLP_COMPONENT, "the endpoint '%s' is of no use: %s", shown,
            reason);
    return SPOOL_ERR_INVALID;
}

/* The user's lines come first, and what they name is not set by us; Content-Type they cannot name. */
static spool_status headers_read(sp_otlp *self, const char *text) {
    if (!sp_headers_parse(text, &self->headers)) {
        return SPOOL_ERR_NOMEM;
    }
    if (self->headers.skipped > 0) {
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT,
                "the list of headers: %zu left out; the first is number %zu: %s",
                self->headers.skipped, self->headers.first_skipped, self->headers.first_reason);
    }
    bool made = sp_headers_default(&self->headers, CONTENT_TYPE) &&
                sp_headers_default(&self->headers, USER_AGENT) &&
                (!self->endpoint.authorization ||
                 sp_headers_default(&self->headers, self->endpoint.authorization));
    return made ? SPOOL_OK : SPOOL_ERR_NOMEM;
}

static void compression_check(spool_otlp_options *options) {
    const char *problem = NULL;
    if (options->compression > SPOOL_COMPRESSION_GZIP) {
        problem = "the kind of compression is not known";
    } else if (options->compression == SPOOL_COMPRESSION_GZIP && !SP_GZIP_BUILT) {
        problem = "this build has no gzip";
    }
    if (problem) {
        options->compression = SPOOL_COMPRESSION_NONE;
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT, "%s: data goes out uncompressed", problem);
    }
}

static spool_status http_check(const sp_otlp *self) {
    sp_http_options http = {
        .url = self->endpoint.url,
        .certificate = self->options.certificate,
        .client_certificate = self->options.client_certificate,
        .client_key = self->options.client_key,
    };
    return sp_http_check(&http);
}

static spool_status otlp_configure(sp_otlp *self, const spool_otlp_options *given) {
    spool_otlp_options_init(&self->options);
    if (given && !sp_options_read(&self->options, sizeof self->options, given)) {
        spool_otlp_options_init(&self->options);
        sp_diag(SPOOL_DIAG_ERROR, SP_OTLP_COMPONENT,
                "struct_size of the options is 0: begin with SPOOL_OTLP_OPTIONS_INIT");
        return SPOOL_ERR_INVALID;
    }
    const char *endpoint = self->options.endpoint;
    const char *headers = self->options.headers;
    if (!options_own(&self->options)) {
        return SPOOL_ERR_NOMEM;
    }
    compression_check(&self->options);
    self->retry = (sp_retry){.initial_ms = self->options.retry_initial_ms,
                             .max_ms = self->options.retry_max_ms,
                             .max_attempts = self->options.max_attempts};
    if (self->options.max_in_flight == 0) {
        self->options.max_in_flight = 1;
    }
    spool_status status = endpoint_read(self, endpoint);
    if (status == SPOOL_OK) {
        status = headers_read(self, headers);
    }
    return status == SPOOL_OK ? http_check(self) : status;
}

static const spool_exporter_ops OTLP_OPS = {
    .struct_size = sizeof(spool_exporter_ops),
    .name = "otlp",
    .export_batch = export_batch,
    .shutdown = shut_down,
    .destroy = destroy,
};

spool_status spool_otlp_create(uint32_t signal, const spool_otlp_options *options,
                               spool_exporter *out_exporter) {
    if (signal >= SPOOL_SIGNALS || !out_exporter) {
        return SPOOL_ERR_INVALID;
    }
    sp_otlp *self = calloc(1, sizeof *self);
    if (!self) {
        return SPOOL_ERR_NOMEM;
    }
    self->signal = signal;
    self->stop.run = stop_run;
    lock_init(self);
    spool_status status = otlp_configure(self, options);
    if (status != SPOOL_OK) {
        otlp_free(self);
        return status;
    }
    self->ops = OTLP_OPS;
    self->ops.max_in_flight = self->options.max_in_flight;
    *out_exporter = (spool_exporter){.ops = &self->ops, .self = self};
    return SPOOL_OK;
}
