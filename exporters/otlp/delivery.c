/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch on its way to the receiver: the tries, the waits between them, the answer.
 *
 * Owner: the loop thread, from sp_delivery_begin() on. States: TRYING (`call` is set) and WAITING
 * (`timer` is set), in turn, until the answer, which frees it. A delivery has one deadline for everything;
 * no try is begun, and no wait, that would pass it.
 *
 * Outcomes. Delivered: a reply of 2xx, and no other. Rejected: the receiver said no. Unknown: bytes of
 * the whole request had left at least once, and no reply told what became of them. Dropped: certainly
 * not received.
 */
#include "exporters/otlp/gzip.h"
#include "exporters/otlp/otlp_internal.h"
#include "exporters/otlp/reply.h"

#include "sdk/platform/clock.h"
#include "sdk/platform/diagnostics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer after the batch's deadline counts for nothing, so the last try ends a little before. */
enum { MARGIN_PART = 20 };
#define MARGIN_MOST_NS (20 * SP_NS_PER_MS)

static const char *noun(const sp_delivery *self) {
    return self->signal == SPOOL_SIGNAL_LOGS ? "log records" : "spans";
}

static const char *url(const sp_delivery *self) {
    return self->owner->endpoint.printable;
}

/* --- the end --- */

static void answer(sp_delivery *self, const spool_outcome *outcome) {
    sp_otlp *owner = self->owner;
    uint64_t batch_id = self->batch_id;
    sp_timer_destroy(self->timer);
    (void)sp_deliveries_remove(&owner->deliveries, NULL, self);
    free(self->owned);
    free(self);
    spool_batch_done(batch_id, outcome);
    sp_otlp_settled(owner);
}

/* Not delivered, by no word of the receiver. What may have arrived is unknown, the rest is dropped. */
static void give_up(sp_delivery *self, uint32_t cause) {
    spool_outcome outcome = {.drop_cause = cause};
    if (self->unanswered) {
        outcome.unknown = self->count;
    }
    if (cause != SPOOL_DROP_SHUTDOWN) {
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT, "%" PRIu64 " %s %s, %" PRIu32 " %s to %s: %s",
                self->count, noun(self),
                self->unanswered ? "sent without a reply" : "not delivered", self->attempts,
                self->attempts == 1 ? "try" : "tries", url(self), self->failure);
    }
    answer(self, &outcome);
}

static void rejected_by(sp_delivery *self, long status, const char *message) {
    spool_outcome outcome = {.rejected = self->count};
    sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT, "%" PRIu64 " %s refused by %s: status %ld%s%s",
            self->count, noun(self), url(self), status, message[0] ? ": " : "", message);
    answer(self, &outcome);
}

/* --- replies --- */

static void accepted(sp_delivery *self, const sp_http_result *result) {
    sp_reply reply;
    sp_reply_read_success(self->signal, result->body, result->body_len, &reply);
    uint64_t refused = reply.rejected > 0 ? (uint64_t)reply.rejected : 0;
    if (refused > self->count) {
        refused = self->count;
    }
    if (!reply.decoded) {
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT,
                "%s answers with status %ld, but not in OTLP: is it a receiver?", url(self),
                result->status);
    } else if (refused > 0) {
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT,
                "%" PRIu64 " of %" PRIu64 " %s refused by %s: status %ld%s%s", refused, self->count,
                noun(self), url(self), result->status, reply.message[0] ? ": " : "", reply.message);
    } else if (reply.message[0]) {
        sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT, "%s took all %s, and says: %s", url(self),
                noun(self), reply.message);
    }
    spool_outcome outcome = {.delivered = self->count - refused, .rejected = refused};
    answer(self, &outcome);
}

static void try_begin(sp_delivery *self);

static void wait_over(void *arg) {
    try_begin(arg);
}

/* Waits for the next try, or gives up if there is none. */
static void try_again_after(sp_delivery *self, int64_t retry_after_ms) {
    sp_otlp *owner = self->owner;
    uint64_t wait =
        sp_retry_delay_ns(&owner->retry, self->attempts, retry_after_ms, &owner->random);
    uint64_t now = sp_deadline_after_ms(0);
    bool spent = owner->retry.max_attempts != 0 && self->attempts >= owner->retry.max_attempts;
    if (owner->stopping) {
        give_up(self, SPOOL_DROP_SHUTDOWN);
    } else if (spent || now >= self->deadline_ns || wait >= self->deadline_ns - now) {
        give_up(self, SPOOL_DROP_TIMEOUT);
    } else {
        sp_diag(SPOOL_DIAG_DEBUG, SP_OTLP_COMPONENT,
                "try %" PRIu32 " to %s: %s; again in %" PRIu64 " ms", self->attempts, url(self),
                self->failure, wait / SP_NS_PER_MS);
        sp_timer_set(self->timer, now + wait);
    }
}

static void replied(sp_delivery *self, const sp_http_result *result) {
    if (result->status >= 200 && result->status < 300) {
        accepted(self, result);
        return;
    }
    sp_reply reply;
    sp_reply_read_failure(result->body, result->body_len, &reply);
    if (!sp_retry_is_status(result->status)) {
        rejected_by(self, result->status, reply.message);
        return;
    }
    snprintf(self->failure, sizeof self->failure, "status %ld%s%s", result->status,
             reply.message[0] ? ": " : "", reply.message);
    try_again_after(self, result->retry_after_ms);
}

/* A reply whose beginning says that the batch was taken must not cause it to be sent again. */
static bool began_well(const sp_http_result *result) {
    return result->status >= 200 && result->status < 300;
}

static void failed(sp_delivery *self, const sp_http_result *result) {
    self->unanswered |= result->sent;
    snprintf(self->failure, sizeof self->failure, "%s", result->error);
    switch (result->kind) {
    case SP_HTTP_TOO_LARGE:
        if (result->status != 0 && !began_well(result)) {
            rejected_by(self, result->status, result->error);
        } else {
            give_up(self, SPOOL_DROP_TIMEOUT);
        }
        break;
    case SP_HTTP_CANCELLED:
        give_up(self, SPOOL_DROP_SHUTDOWN);
        break;
    case SP_HTTP_DEADLINE:
        give_up(self, SPOOL_DROP_TIMEOUT);
        break;
    default:
        if (result->permanent || began_well(result)) {
            give_up(self, SPOOL_DROP_TIMEOUT);
        } else {
            try_again_after(self, -1);
        }
        break;
    }
}

static void try_done(void *arg, const sp_http_result *result) {
    sp_delivery *self = arg;
    self->call = NULL;
    if (result->kind == SP_HTTP_REPLY) {
        replied(self, result);
    } else {
        failed(self, result);
    }
}

/* --- tries --- */

static void try_begin(sp_delivery *self) {
    static const char *const COMPRESSED[] = {"Content-Encoding: gzip", NULL};
    self->attempts++;
    self->call = sp_http_post(self->owner->client, self->compressed ? COMPRESSED : NULL,
                              self->pieces, self->piece_count, self->deadline_ns, try_done, self);
    if (!self->call) {
        snprintf(self->failure, sizeof self->failure, "out of memory");
        give_up(self, SPOOL_DROP_MEMORY);
    }
}

static void compress(sp_delivery *self) {
    void *bytes = NULL;
    size_t len = 0;
    if (!sp_gzip_pieces(self->pieces, self->piece_count, &bytes, &len)) {
        return; /* goes out as it is */
    }
    free(self->owned);
    self->owned = bytes;
    self->single = (spool_batch_piece){bytes, len};
    self->pieces = &self->single;
    self->piece_count = 1;
    self->size = len;
    self->compressed = true;
}

/* The limit is that of the bytes before compression, and of those after it. */
static bool is_too_large(const sp_delivery *self) {
    return self->size > self->owner->options.max_request_bytes;
}

static void drop_too_large(sp_delivery *self) {
    spool_outcome outcome = {.drop_cause = SPOOL_DROP_TOO_LARGE};
    sp_diag(SPOOL_DIAG_WARN, SP_OTLP_COMPONENT,
            "%" PRIu64 " %s not sent to %s: %zu bytes are more than a request may have",
            self->count, noun(self), url(self), self->size);
    answer(self, &outcome);
}

/* Made by the first batch, so that an exporter without one opens nothing. */
static bool client_ready(sp_otlp *owner) {
    if (owner->client) {
        return true;
    }
    sp_http_options options = {
        .url = owner->endpoint.url,
        .headers = (const char *const *)owner->headers.lines,
        .certificate = owner->options.certificate,
        .client_certificate = owner->options.client_certificate,
        .client_key = owner->options.client_key,
        .max_response_bytes = owner->options.max_response_bytes,
        .max_connections = owner->options.max_in_flight,
    };
    return sp_http_create(owner->runtime, &options, &owner->client) == SPOOL_OK;
}

static void run_begin(sp_task *task) {
    sp_delivery_begin((sp_delivery *)(void *)task);
}

void sp_delivery_begin(sp_delivery *self) {
    sp_otlp *owner = self->owner;
    sp_deliveries_push_front(&owner->deliveries, NULL, self);
    if (owner->stopping) {
        give_up(self, SPOOL_DROP_SHUTDOWN);
        return;
    }
    if (is_too_large(self)) {
        drop_too_large(self);
        return;
    }
    self->timer = sp_timer_create(owner->runtime, wait_over, self);
    if (!self->timer || !client_ready(owner)) {
        snprintf(self->failure, sizeof self->failure, "the connection could not be set up");
        give_up(self, SPOOL_DROP_MEMORY);
        return;
    }
    if (owner->options.compression == SPOOL_COMPRESSION_GZIP) {
        compress(self);
        if (is_too_large(self)) {
            drop_too_large(self);
            return;
        }
    }
    try_begin(self);
}

void sp_deliveries_end(sp_otlp *owner, bool all) {
    sp_delivery *self = owner->deliveries.head;
    sp_delivery *next;
    for (; sp_deliveries_step(&owner->deliveries, NULL, self, &next); self = next) {
        if (!self->call) {
            give_up(self, SPOOL_DROP_SHUTDOWN);
        } else if (all) {
            sp_http_cancel(self->call); /* answers it */
        }
    }
}

/* --- the beginning --- */

static uint64_t delivery_deadline(const sp_otlp *owner, uint64_t batch_deadline_ns) {
    uint64_t now = sp_deadline_after_ms(0);
    uint64_t deadline = batch_deadline_ns;
    if (deadline != SP_NO_DEADLINE && deadline > now) {
        uint64_t margin = (deadline - now) / MARGIN_PART;
        deadline -= margin < MARGIN_MOST_NS ? margin : MARGIN_MOST_NS;
    }
    uint64_t own = owner->options.timeout_ms ? sp_deadline_after_ms(owner->options.timeout_ms)
                                             : SP_NO_DEADLINE;
    return own < deadline ? own : deadline;
}

static bool pieces_copy(sp_delivery *self) {
    char *copy = malloc(self->size);
    if (!copy) {
        return false;
    }
    size_t used = 0;
    for (size_t i = 0; i < self->piece_count; i++) {
        if (self->pieces[i].len > 0) {
            memcpy(copy + used, self->pieces[i].bytes, self->pieces[i].len);
            used += self->pieces[i].len;
        }
    }
    self->owned = copy;
    self->single = (spool_batch_piece){copy, used};
    self->pieces = &self->single;
    self->piece_count = 1;
    return true;
}

sp_delivery *sp_delivery_create(sp_otlp *owner, spool_batch *batch, uint64_t deadline_ns) {
    sp_delivery *self = calloc(1, sizeof *self);
    if (!self) {
        return NULL;
    }
    self->task.run = run_begin;
    self->owner = owner;
    self->batch_id = spool_batch_id(batch);
    self->count = spool_batch_count(batch);
    self->signal = spool_batch_signal(batch);
    self->deadline_ns = delivery_deadline(owner, deadline_ns);
    self->size = spool_batch_size(batch);
    self->piece_count = spool_batch_pieces(batch, &self->pieces);
    bool too_large = is_too_large(self);
    if (self->size == 0 || (spool_batch_is_borrowed(batch) && !too_large && !pieces_copy(self))) {
        free(self);
        return NULL;
    }
    return self;
}

void sp_delivery_discard(sp_delivery *self) {
    free(self->owned);
    free(self);
}
