/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch processor from the inside.
 *
 * Owners. A thread's hooks (intake.c) touch that thread's ring, the budget, and on the way to a wake
 * `pump_posted` and `wakers`. The loop (delivery.c) owns blocks, batches and the timer. What `lock` guards
 * is read by statistics and flushes on any thread; it is held for a few instructions, never across
 * foreign code, and no other lock is taken under it.
 *
 * Wake. `pump_posted` is the processor's own flag: hooks and answers set it (load, exchange) and post
 * the pump; the pump clears it, fences, and sweeps until a whole sweep finds nothing.
 *
 * Numbers. Each block has one, in the order of making. A flush is a ticket: the number of the last block
 * with a record that was offered before it. It is done when no lower or equal one is unsettled.
 *
 * States:
 *
 *     NEW     created; no runtime, no thread
 *     OPEN    attached to an SDK
 *     CLOSING shutdown was called: hooks drop, the loop delivers what is left until the deadline
 *     CLOSED  the loop has settled or dropped everything and told the exporter; it touches nothing any more
 *
 * Closing protocol: CLOSING is set under the lock by the caller of shutdown, CLOSED by the loop. Then the
 * caller waits until `wakers` is zero: later wakes see CLOSED and do not post. Then it posts `end_task`,
 * which comes after every posted pump; when it has run, nothing on the loop names the processor, and
 * the runtime is given back. If the loop does not get that far in time, the processor is left behind with
 * all that it owns (`stuck`): the loop may be inside the exporter.
 */
#ifndef SPOOL_PROCESSORS_BATCH_BATCH_INTERNAL_H
#define SPOOL_PROCESSORS_BATCH_BATCH_INTERNAL_H

#include "runtime/batch.h"
#include "runtime/block.h"
#include "runtime/budget.h"
#include "runtime/loop.h"
#include "runtime/ring.h"

#include "sdk/memory/thread_block.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/compiler.h"

#include <spool/sdk/batch.h>

#include <pthread.h>

enum { BATCH_NEW, BATCH_OPEN, BATCH_CLOSING, BATCH_CLOSED };

/* Processors of this kind that can be attached at once in the process. */
enum { BATCH_MAX_PROCESSORS = 256 };

/* What became of records, and how many are underway. */
typedef struct batch_counts {
    uint64_t offered;
    uint64_t delivered;
    uint64_t rejected;
    uint64_t unknown;
    uint64_t dropped[SPOOL_DROP_CAUSES];
    uint64_t held; /* in blocks, waiting for the exporter */
    uint64_t in_flight;
} batch_counts;

/* A flush in progress; lives in the caller's frame, linked while it waits. */
typedef struct batch_flush {
    struct batch_flush *next;
    uint64_t serial; /* tells it from a later one in the same frame */
    uint64_t deadline_ns;
    uint64_t ticket;
    bool seen; /* the sweep that follows has everything offered before the call */
    bool ticketed;
    bool done;
    spool_status status; /* of the exporter's flush */
} batch_flush;

typedef struct batch_processor {
    /* Constant once attached. */
    uint32_t signal;
    uint32_t slot;
    uint64_t id;
    uint32_t fork_generation;
    uint32_t max_in_flight;
    spool_exporter_ops exporter_ops; /* complete, whatever version the exporter was built for */
    spool_exporter exporter;
    spool_batch_options options;
    const spool_resource_data *resource;
    sp_wire_piece resource_bytes;
    sp_runtime *runtime;

    sp_budget budget;

    /* Shared, seldom written. */
    SP_CACHE_ALIGNED _Atomic uint32_t state;
    _Atomic uint32_t pump_posted;
    _Atomic uint32_t wakers;     /* threads between a look at `state` and the end of their post */
    _Atomic uint32_t pressed;    /* a record found no bytes: deliver what there is */
    _Atomic uint32_t space_turn; /* futex of blocked producers: moves when credit comes back */
    _Atomic uint32_t space_waiters;
    _Atomic(spool_batch *) answered; /* pushed by answers, taken whole by the pump */
    _Atomic(sp_ring *) rings; /* pushed under the lock, release; unlinked by the loop under it */
    _Atomic uint64_t ringless_offered; /* by threads that can have no ring */
    _Atomic uint64_t ringless_dropped;
    sp_task pump_task;
    sp_task end_task;

    /* The loop's. */
    sp_timer *timer;
    sp_block_pool pool;
    sp_block *open; /* never empty */
    sp_block *ready_first;
    sp_block *ready_last;
    uint64_t next_number;
    bool due; /* the open block is to go, full or not */
    spool_batch *in_flight;
    uint32_t in_flight_batches;
    spool_batch *expired; /* settled, but the exporter may still read them */
    uint32_t expired_batches;
    uint64_t tick_ns;
    uint64_t said_drops;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    batch_counts counts;    /* of the loop, and of rings that are gone */
    batch_counts reported;  /* as they were at the last report */
    batch_flush *flushes;
    uint64_t flush_serial;
    uint64_t close_deadline_ns;
    bool ended;
    bool stuck;
    struct batch_processor *next_abandoned;
} batch_processor;

/* ---- intake.c ---- */
void batch_intake_span(void *self, spool_span_record *span);
void batch_intake_log(void *self, spool_log_data *log);
/* SPOOL_ERR_LIMIT: too many processors. */
spool_status batch_intake_open(batch_processor *batch);
/* No hook runs any more, and none will. Frees the rings. */
void batch_intake_close(batch_processor *batch);
/* Has the loop run the pump. False when it is CLOSED. */
bool batch_wake(batch_processor *batch);
/* Credit came back. */
void batch_space(batch_processor *batch);

/* ---- delivery.c ---- */
void batch_pump(sp_task *task);
void batch_answered(spool_batch *answer, bool late);
/* Frees what the exporter may have read to the last; after its destroy. */
void batch_delivery_fini(batch_processor *batch);

/* ---- flush.c ---- */
spool_status batch_flush_wait(void *self, uint64_t deadline_ns, spool_report *report);
spool_status batch_shutdown(void *self, uint64_t deadline_ns, spool_report *report);

/* ---- batch.c ---- */
/* Everything in one, exact when nothing is underway. The lock is held. */
void batch_totals(const batch_processor *batch, batch_counts *out, uint64_t *out_in_rings);

#endif /* SPOOL_PROCESSORS_BATCH_BATCH_INTERNAL_H */
