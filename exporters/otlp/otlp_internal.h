/* SPDX-License-Identifier: Apache-2.0 */
/* The OTLP exporter's own: what its two halves, life and deliveries, share. */
#ifndef SPOOL_EXPORTERS_OTLP_OTLP_INTERNAL_H
#define SPOOL_EXPORTERS_OTLP_OTLP_INTERNAL_H

#include "exporters/otlp/endpoint.h"
#include "exporters/otlp/headers.h"
#include "exporters/otlp/retry.h"
#include "runtime/http.h"
#include "runtime/loop.h"
#include "sdk/memory/list.h"

#include <spool/sdk/otlp.h>

#include <pthread.h>

/* Static text, the component of all diagnostics of this exporter. */
#define SP_OTLP_COMPONENT "otlp"

typedef struct sp_otlp sp_otlp;
typedef struct sp_delivery sp_delivery;

/* One batch on its way, from export_batch to its answer. Owner: the loop thread, once it is begun. */
struct sp_delivery {
    sp_task task; /* first: the task is the delivery */
    sp_otlp *owner;
    SP_LIST_LINK(struct sp_delivery) link; /* in `deliveries` */
    uint64_t batch_id;
    uint64_t count;
    uint32_t signal;
    uint64_t deadline_ns;
    const spool_batch_piece *pieces; /* the batch's, or `single` */
    size_t piece_count;
    size_t size;
    spool_batch_piece single;
    void *owned; /* what `single` points to: a copy, or the compressed bytes */
    bool compressed;
    uint32_t attempts;
    bool unanswered; /* a try was sent whole and got no reply */
    sp_http_call *call;
    sp_timer *timer;   /* between two tries */
    char failure[320]; /* of the last try, in words */
};

SP_LIST_POINTERS(sp_deliveries, struct sp_delivery, link);

enum sp_otlp_state {
    SP_OTLP_OPEN,
    SP_OTLP_STOPPING, /* no new batches, no further tries */
    SP_OTLP_CLOSED    /* the loop has let go of the exporter */
};

struct sp_otlp {
    /* constant once made */
    spool_exporter_ops ops;
    uint32_t signal; /* SPOOL_SIGNAL_* of the endpoint; a batch has its own */
    spool_otlp_options options;
    sp_endpoint endpoint;
    sp_headers headers;
    sp_retry retry;

    /* lock */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* state; monotonic clock */
    int state;
    sp_runtime *runtime;      /* one use, from the first batch until CLOSED */
    uint32_t fork_generation; /* of the process that has the runtime */
    size_t active;            /* batches taken and not answered; a stop on its way counts as one */

    /* loop thread */
    sp_http *client;
    sp_deliveries deliveries;
    sp_random random;
    bool stopping;
    sp_timer *stop_timer;
    sp_task stop;
    uint64_t stop_deadline_ns; /* set before the stop is posted */
};

/* delivery.c. Takes the batch; its bytes are copied if they are borrowed. NULL: no memory. */
sp_delivery *sp_delivery_create(sp_otlp *owner, spool_batch *batch, uint64_t deadline_ns);
/* One that was not begun; it answers nothing. */
void sp_delivery_discard(sp_delivery *self);
/* From here on it ends by an answer and is counted in `active`. Loop thread. */
void sp_delivery_begin(sp_delivery *self);
/* Ends those between two tries, or all of them. Loop thread. */
void sp_deliveries_end(sp_otlp *owner, bool all);

/* exporter.c: one less in `active`; the exporter may be gone when it returns. Loop thread. */
void sp_otlp_settled(sp_otlp *self);

#endif /* SPOOL_EXPORTERS_OTLP_OTLP_INTERNAL_H */
