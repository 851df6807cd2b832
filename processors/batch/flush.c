/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flush, shutdown and their reports, on the caller's thread: all they do is ask the loop and wait, with one
 * deadline.
 *
 * Reports. What is reported is the difference to the totals of the last report that was complete when this
 * one began. Two flushes at the same time both see what was delivered meanwhile: neither takes it from
 * the other.
 */
#include "processors/batch/batch_internal.h"

#include "sdk/platform/diagnostics.h"
#include "sdk/platform/fork.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* What the loop gets, past the deadline of a shutdown, to let go of the processor. */
#define PARTING_NS (100 * SP_NS_PER_MS)
#define LOOP_SLACK_NS (20 * SP_NS_PER_MS)
/* A look at `wakers` while a thread is between two instructions of a wake. */
enum { WAKER_PAUSE_NS = 50000 };

/* Sums that a report is made of. */
typedef struct tally {
    batch_counts counts;
    uint64_t dropped;
    uint64_t pending; /* in rings, blocks and flight */
} tally;

static tally take_tally(const batch_processor *batch) {
    tally now = {.dropped = 0};
    uint64_t in_rings;
    batch_totals(batch, &now.counts, &in_rings);
    for (uint32_t cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        now.dropped += now.counts.dropped[cause];
    }
    now.pending = in_rings + now.counts.held + now.counts.in_flight;
    return now;
}

static uint64_t dropped_of(const batch_counts *counts) {
    uint64_t dropped = 0;
    for (uint32_t cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        dropped += counts->dropped[cause];
    }
    return dropped;
}

static uint64_t settled_of(const batch_counts *counts) {
    return counts->delivered + counts->rejected + counts->unknown;
}

/* Whether a call would wait for itself here. */
static bool would_block(const batch_processor *batch) {
    const sp_thread_block *thread = sp_thread_get();
    return (thread && (thread->on_loop || thread->hook_depth)) ||
           sp_runtime_on_loop(batch->runtime);
}

/* One wait on the condition, the lock held; false when the deadline has passed. */
static bool wait_changed(batch_processor *batch, uint64_t deadline_ns) {
    if (deadline_ns == SP_NO_DEADLINE) {
        return pthread_cond_wait(&batch->changed, &batch->lock) == 0;
    }
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / SP_NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % SP_NS_PER_S)};
    return pthread_cond_timedwait(&batch->changed, &batch->lock, &until) == 0;
}

/* Adds to *report what happened since `base`; the lock is held. SPOOL_ERR_EXPORT when not all is well. */
static spool_status report_since(batch_processor *batch, const batch_counts *base,
                                 spool_report *report) {
    tally now = take_tally(batch);
    uint64_t rejected = now.counts.rejected - base->rejected;
    uint64_t unknown = now.counts.unknown - base->unknown;
    uint64_t dropped = now.dropped - dropped_of(base);
    if (report) {
        report->delivered += now.counts.delivered - base->delivered;
        report->rejected += rejected;
        report->unknown += unknown;
        report->dropped += dropped;
    }
    /* Of two that overlap the later one ends with the larger totals, whichever comes here last. */
    if (settled_of(&now.counts) + now.dropped >=
        settled_of(&batch->reported) + dropped_of(&batch->reported)) {
        batch->reported = now.counts;
    }
    return rejected || unknown || dropped ? SPOOL_ERR_EXPORT : SPOOL_OK;
}

/* ---- flush ---- */

static void unlink_flush(batch_processor *batch, const batch_flush *gone) {
    batch_flush **at = &batch->flushes;
    while (*at && *at != gone) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = gone->next;
    }
}

/* Of what was pending at the start, what is still not settled. */
static uint64_t left_of(const tally *start, const tally *now) {
    uint64_t settled =
        settled_of(&now->counts) + now->dropped - (settled_of(&start->counts) + start->dropped);
    uint64_t left = start->pending > settled ? start->pending - settled : 0;
    return left < now->pending ? left : now->pending;
}

spool_status batch_flush_wait(void *self, uint64_t deadline_ns, spool_report *report) {
    batch_processor *batch = self;
    uint32_t state = sp_load_acquire(&batch->state);
    if (state == BATCH_NEW) {
        return SPOOL_OK;
    }
    if (state != BATCH_OPEN || batch->fork_generation != sp_fork_generation()) {
        return SPOOL_ERR_SHUTDOWN;
    }
    if (would_block(batch)) {
        return SPOOL_ERR_WOULD_BLOCK;
    }
    bool asks = sp_deadline_after_ms(0) < deadline_ns, waits = asks;
    batch_flush flush = {.deadline_ns = deadline_ns, .status = SPOOL_OK};
    pthread_mutex_lock(&batch->lock);
    tally start = take_tally(batch);
    batch_counts base = batch->reported;
    if (asks) {
        flush.serial = ++batch->flush_serial;
        flush.next = batch->flushes;
        batch->flushes = &flush;
        pthread_mutex_unlock(&batch->lock);
        waits = batch_wake(batch);
        pthread_mutex_lock(&batch->lock);
    }
    while (waits && !flush.done && sp_load_relaxed(&batch->state) != BATCH_CLOSED) {
        waits = wait_changed(batch, deadline_ns);
    }
    unlink_flush(batch, &flush);
    tally now = take_tally(batch);
    uint64_t left = flush.done ? 0 : left_of(&start, &now);
    if (report) {
        report->timed_out += left;
        report->queued += left;
    }
    bool closed = sp_load_relaxed(&batch->state) == BATCH_CLOSED;
    spool_status status = report_since(batch, &base, report);
    pthread_mutex_unlock(&batch->lock);
    if (left || (asks && !flush.done && !closed)) {
        return SPOOL_ERR_TIMEOUT;
    }
    return flush.status != SPOOL_OK ? flush.status : status;
}

/* ---- shutdown ---- */

static void ended(sp_task *task) {
    batch_processor *batch =
        (batch_processor *)(void *)((char *)task - offsetof(batch_processor, end_task));
    pthread_mutex_lock(&batch->lock);
    batch->ended = true;
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

/* The loop has closed: waits until nothing on it names the processor. */
static bool part(batch_processor *batch, uint64_t deadline_ns) {
    while (atomic_load_explicit(&batch->wakers, memory_order_seq_cst)) {
        if (sp_deadline_after_ms(0) >= deadline_ns) {
            return false;
        }
        struct timespec pause = {0, WAKER_PAUSE_NS};
        (void)nanosleep(&pause, NULL);
    }
    batch->end_task.run = ended;
    (void)sp_runtime_post(batch->runtime, &batch->end_task);
    pthread_mutex_lock(&batch->lock);
    bool in_time = true;
    while (!batch->ended && in_time) {
        in_time = wait_changed(batch, deadline_ns);
    }
    bool done = batch->ended;
    pthread_mutex_unlock(&batch->lock);
    return done;
}

/* Past the deadline by what a loop that is well needs to let go; more only if it hangs. */
static uint64_t parting_deadline(uint64_t deadline_ns) {
    uint64_t now = sp_deadline_after_ms(0);
    uint64_t from = deadline_ns > now ? deadline_ns : now;
    return from > SP_NO_DEADLINE - PARTING_NS ? SP_NO_DEADLINE : from + PARTING_NS;
}

/* The loop's deadline: a tenth sooner, at most 20 ms, so that the caller is back by its own. */
static uint64_t loop_deadline(uint64_t deadline_ns) {
    uint64_t now = sp_deadline_after_ms(0);
    if (deadline_ns == SP_NO_DEADLINE || deadline_ns <= now) {
        return deadline_ns;
    }
    uint64_t slack = (deadline_ns - now) / 10;
    return deadline_ns - (slack < LOOP_SLACK_NS ? slack : LOOP_SLACK_NS);
}

/* Asks the loop to close, and waits. True: CLOSED. */
static bool close_and_wait(batch_processor *batch, uint64_t deadline_ns) {
    (void)batch_wake(batch);
    uint64_t until = parting_deadline(deadline_ns);
    pthread_mutex_lock(&batch->lock);
    bool in_time = true;
    while (sp_load_relaxed(&batch->state) != BATCH_CLOSED && in_time) {
        in_time = wait_changed(batch, until);
    }
    bool closed = sp_load_relaxed(&batch->state) == BATCH_CLOSED;
    pthread_mutex_unlock(&batch->lock);
    return closed;
}

spool_status batch_shutdown(void *self, uint64_t deadline_ns, spool_report *report) {
    batch_processor *batch = self;
    if (sp_load_acquire(&batch->state) == BATCH_NEW) {
        return SPOOL_OK;
    }
    if (would_block(batch)) {
        return SPOOL_ERR_WOULD_BLOCK;
    }
    pthread_mutex_lock(&batch->lock);
    /* In a forked child there is no thread that could close it. */
    bool first = sp_load_relaxed(&batch->state) == BATCH_OPEN && !batch->stuck &&
                 batch->fork_generation == sp_fork_generation();
    tally start = take_tally(batch);
    batch_counts base = batch->reported;
    if (first) {
        batch->close_deadline_ns = loop_deadline(deadline_ns);
        /* Release: the deadline. */
        sp_store_release(&batch->state, BATCH_CLOSING);
    }
    pthread_mutex_unlock(&batch->lock);
    if (!first) {
        return SPOOL_ERR_SHUTDOWN;
    }
    bool parted = close_and_wait(batch, deadline_ns) && part(batch, parting_deadline(deadline_ns));
    pthread_mutex_lock(&batch->lock);
    batch->stuck = !parted;
    tally now = take_tally(batch);
    /* Exporters let go up to a slack before the loop's deadline, which is one before the caller's. */
    bool passed = sp_deadline_after_ms(0) + 2 * LOOP_SLACK_NS >= deadline_ns;
    uint64_t late =
        now.counts.dropped[SPOOL_DROP_TIMEOUT] - start.counts.dropped[SPOOL_DROP_TIMEOUT] +
        now.counts.dropped[SPOOL_DROP_SHUTDOWN] - start.counts.dropped[SPOOL_DROP_SHUTDOWN];
    late = passed ? late : 0;
    late += parted ? 0 : left_of(&start, &now);
    if (report) {
        report->timed_out += late;
    }
    spool_status status = report_since(batch, &base, report);
    pthread_mutex_unlock(&batch->lock);
    if (!parted) {
        sp_diag(SPOOL_DIAG_ERROR, "batch", "the exporter %s does not return: it is left behind",
                batch->exporter.ops->name ? batch->exporter.ops->name : "");
        return SPOOL_ERR_TIMEOUT;
    }
    (void)sp_runtime_release(batch->runtime, parting_deadline(deadline_ns));
    return late ? SPOOL_ERR_TIMEOUT : status;
}
