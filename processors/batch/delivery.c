/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop's side: sweeps the rings into blocks, hands blocks to the exporter, settles answers, keeps the
 * deadlines. Everything here runs on the loop thread, in the pump, which a post or the timer starts; only
 * batch_answered() runs on whatever thread answers.
 *
 * An export starts when fewer than `max_in_flight` batches are unanswered and a block is full, or the open
 * one is due: by the timer, by a flush, at the end, or because a record found no bytes.
 */
#include "processors/batch/batch_internal.h"

#include "sdk/platform/diagnostics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* After a batch's deadline: an exporter that gives up at the deadline still gets its answer in. */
#define ANSWER_GRACE_NS (25 * SP_NS_PER_MS)
/* When the depth is reached by records that are still being written. */
#define UNFINISHED_NS (1 * SP_NS_PER_MS)

enum {
    /* Batches that an exporter may leave unanswered past their deadline before it gets no more: their
     * memory has to stay. */
    MAX_EXPIRED_BATCHES = 8
};

static uint64_t now_ns(void) {
    return sp_deadline_after_ms(0);
}

static uint64_t after_ms(uint64_t from_ns, uint32_t ms) {
    return from_ns + ms * SP_NS_PER_MS;
}

static bool closing(const batch_processor *batch) {
    return sp_load_acquire(&batch->state) == BATCH_CLOSING;
}

/* ---- settling ---- */

/* The records of a block are no more: credit and memory go back. */
static void release_block(batch_processor *batch, sp_block *block) {
    sp_budget_give_records(&batch->budget, block->count);
    sp_budget_give_bytes(&batch->budget, block->bytes);
    sp_block_close(block, &batch->pool);
    batch_space(batch);
}

static void unlink_batch(spool_batch **list, const spool_batch *gone) {
    while (*list && *list != gone) {
        list = &(*list)->next;
    }
    if (*list) {
        *list = gone->next;
    }
}

static void free_batch(spool_batch *answer) {
    sp_batch_fini(answer);
    free(answer);
}

static void count_outcome(batch_processor *batch, const spool_outcome *outcome, uint64_t count) {
    pthread_mutex_lock(&batch->lock);
    batch->counts.delivered += outcome->delivered;
    batch->counts.rejected += outcome->rejected;
    batch->counts.unknown += outcome->unknown;
    batch->counts.dropped[outcome->drop_cause] +=
        count - outcome->delivered - outcome->rejected - outcome->unknown;
    batch->counts.in_flight -= count;
    pthread_mutex_unlock(&batch->lock);
}

static void settle(batch_processor *batch, spool_batch *answer) {
    unlink_batch(&batch->in_flight, answer);
    batch->in_flight_batches--;
    count_outcome(batch, &answer->outcome, answer->count);
    release_block(batch, answer->block);
    free_batch(answer);
}

/* An answer that came after the outcome was counted: the memory is free at last. */
static void settle_late(batch_processor *batch, spool_batch *answer) {
    unlink_batch(&batch->expired, answer);
    batch->expired_batches--;
    sp_budget_give_bytes(&batch->budget, answer->block->bytes);
    sp_block_close(answer->block, &batch->pool);
    free_batch(answer);
}

void batch_answered(spool_batch *answer, bool late) {
    (void)late;
    batch_processor *batch = answer->owner;
    spool_batch *head = sp_load_relaxed(&batch->answered);
    do {
        answer->next_answered = head;
        /* Release: the outcome; pairs with the exchange in settle_answered(). */
    } while (!atomic_compare_exchange_weak_explicit(&batch->answered, &head, answer,
                                                    memory_order_release, memory_order_relaxed));
    (void)batch_wake(batch);
}

static void settle_answered(batch_processor *batch) {
    spool_batch *answer = sp_exchange_acquire(&batch->answered, NULL);
    while (answer) {
        spool_batch *next = answer->next_answered;
        if (answer->late) {
            settle_late(batch, answer);
        } else {
            settle(batch, answer);
        }
        answer = next;
    }
}

/* The outcome is ours now; what the exporter may still read stays, charged by its bytes. */
static void expire_batch(batch_processor *batch, spool_batch *answer) {
    spool_outcome outcome = {.drop_cause = SPOOL_DROP_TIMEOUT};
    unlink_batch(&batch->in_flight, answer);
    batch->in_flight_batches--;
    answer->next = batch->expired;
    batch->expired = answer;
    batch->expired_batches++;
    count_outcome(batch, &outcome, answer->count);
    sp_budget_give_records(&batch->budget, answer->count);
    batch_space(batch);
}

static uint64_t expires_ns(const batch_processor *batch, const spool_batch *answer) {
    uint64_t at = answer->deadline_ns;
    at = at > SP_NO_DEADLINE - ANSWER_GRACE_NS ? SP_NO_DEADLINE : at + ANSWER_GRACE_NS;
    return closing(batch) && batch->close_deadline_ns < at ? batch->close_deadline_ns : at;
}

static void expire_overdue(batch_processor *batch, uint64_t now) {
    spool_batch *next;
    for (spool_batch *answer = batch->in_flight; answer; answer = next) {
        next = answer->next;
        /* False: it was answered just now, and is on its way to the next pump. */
        if (now >= expires_ns(batch, answer) && sp_batch_expire(answer)) {
            expire_batch(batch, answer);
        }
    }
}

/* ---- sweeping ---- */

static void make_ready(batch_processor *batch) {
    sp_block *block = batch->open;
    batch->open = NULL;
    block->next = NULL;
    if (batch->ready_last) {
        batch->ready_last->next = block;
    } else {
        batch->ready_first = block;
    }
    batch->ready_last = block;
}

static bool store_record(batch_processor *batch, const sp_ring_record *record) {
    if (!batch->open) {
        spool_str url = batch->resource ? batch->resource->schema_url : spool_str_n(NULL, 0);
        batch->open = sp_block_open(&batch->pool, batch->resource_bytes, url);
        if (!batch->open) {
            return false;
        }
        batch->open->number = ++batch->next_number;
    }
    if (!sp_block_append(batch->open, &batch->pool, record->scope, record->bytes, record->len)) {
        if (!batch->open->count) {
            sp_block_close(batch->open, &batch->pool);
            batch->open = NULL;
        }
        return false;
    }
    if (batch->open->count == batch->options.max_export_batch_size) {
        make_ready(batch);
    }
    return true;
}

/* Empties one ring; how many records there were. */
static uint64_t sweep_ring(batch_processor *batch, sp_ring *ring) {
    uint64_t found = 0, lost = 0;
    sp_ring_record record;
    while (sp_ring_next(ring, &record)) {
        found++;
        if (!store_record(batch, &record)) {
            lost++;
            sp_budget_give_records(&batch->budget, 1);
            sp_budget_give_bytes(&batch->budget, record.len);
        }
    }
    if (found) {
        pthread_mutex_lock(&batch->lock);
        ring->consumed += found;
        batch->counts.held += found - lost;
        batch->counts.dropped[SPOOL_DROP_MEMORY] += lost;
        pthread_mutex_unlock(&batch->lock);
    }
    sp_credit_revoke(&ring->credit, &batch->budget);
    return found;
}

/* The ring of a thread that is gone, drained: its numbers move into ours. */
static void retire_ring(batch_processor *batch, sp_ring *gone) {
    pthread_mutex_lock(&batch->lock);
    sp_ring *first = sp_load_relaxed(&batch->rings);
    if (first == gone) {
        sp_store_relaxed(&batch->rings, gone->next);
    } else {
        while (first->next != gone) {
            first = first->next;
        }
        first->next = gone->next;
    }
    batch->counts.offered += sp_load_relaxed(&gone->offered);
    for (uint32_t cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        batch->counts.dropped[cause] += sp_load_relaxed(&gone->dropped[cause]);
    }
    pthread_mutex_unlock(&batch->lock);
    sp_ring_destroy(gone);
}

static void sweep(batch_processor *batch) {
    uint64_t found;
    do {
        found = 0;
        sp_ring *next;
        for (sp_ring *ring = sp_load_acquire(&batch->rings); ring; ring = next) {
            next = ring->next;
            bool orphan = sp_load_acquire(&ring->orphan); /* before the last drain */
            found += sweep_ring(batch, ring);
            if (orphan) {
                retire_ring(batch, ring);
            }
        }
    } while (found);
}

/* ---- exporting ---- */

static bool may_export(const batch_processor *batch) {
    return batch->in_flight_batches < batch->max_in_flight &&
           batch->expired_batches < MAX_EXPIRED_BATCHES;
}

static void drop_block(batch_processor *batch, sp_block *block, uint32_t cause) {
    pthread_mutex_lock(&batch->lock);
    batch->counts.held -= block->count;
    batch->counts.dropped[cause] += block->count;
    pthread_mutex_unlock(&batch->lock);
    release_block(batch, block);
}

static sp_block *next_block(batch_processor *batch) {
    sp_block *block = batch->ready_first;
    if (block) {
        batch->ready_first = block->next;
        if (!block->next) {
            batch->ready_last = NULL;
        }
    } else if (batch->due && batch->open) {
        block = batch->open;
        batch->open = NULL;
    }
    if (!batch->ready_first && !batch->open) {
        batch->due = false;
        sp_store_relaxed(&batch->pressed, 0);
    }
    return block;
}

static uint64_t export_deadline(const batch_processor *batch) {
    uint64_t deadline = batch->options.export_timeout_ms
                            ? sp_deadline_after_ms(batch->options.export_timeout_ms)
                            : SP_NO_DEADLINE;
    return closing(batch) && batch->close_deadline_ns < deadline ? batch->close_deadline_ns
                                                                 : deadline;
}

static void export_block(batch_processor *batch, sp_block *block) {
    spool_batch *answer = malloc(sizeof *answer);
    if (!answer || !sp_block_seal(block)) {
        free(answer);
        drop_block(batch, block, SPOOL_DROP_MEMORY);
        return;
    }
    sp_batch_init_block(answer, batch->signal, batch->resource, block);
    answer->owner = batch;
    answer->answered = batch_answered;
    answer->number = block->number;
    answer->deadline_ns = export_deadline(batch);
    if (!sp_batch_await(answer)) {
        free(answer);
        drop_block(batch, block, SPOOL_DROP_MEMORY);
        return;
    }
    pthread_mutex_lock(&batch->lock);
    batch->counts.held -= block->count;
    batch->counts.in_flight += block->count;
    pthread_mutex_unlock(&batch->lock);
    answer->next = batch->in_flight;
    batch->in_flight = answer;
    batch->in_flight_batches++;
    batch->tick_ns = after_ms(now_ns(), batch->options.schedule_delay_ms);
    batch->exporter.ops->export_batch(batch->exporter.self, answer, answer->deadline_ns);
}

static void export_ready(batch_processor *batch) {
    sp_block *block;
    while (may_export(batch) && (block = next_block(batch))) {
        export_block(batch, block);
        /* An exporter that answered at once is free again. */
        settle_answered(batch);
    }
}

/* ---- flushes ---- */

/* The lowest number of a block with unsettled records. */
static uint64_t lowest_unsettled(const batch_processor *batch) {
    uint64_t lowest = batch->open ? batch->open->number : UINT64_MAX;
    if (batch->ready_first && batch->ready_first->number < lowest) {
        lowest = batch->ready_first->number;
    }
    for (const spool_batch *answer = batch->in_flight; answer; answer = answer->next) {
        lowest = answer->number < lowest ? answer->number : lowest;
    }
    return lowest;
}

/* Before the sweep: what these flushes wait for is in the rings by now. */
static void see_flushes(batch_processor *batch) {
    pthread_mutex_lock(&batch->lock);
    for (batch_flush *flush = batch->flushes; flush; flush = flush->next) {
        flush->seen = true;
    }
    pthread_mutex_unlock(&batch->lock);
}

/* After the sweep. */
static void ticket_flushes(batch_processor *batch) {
    pthread_mutex_lock(&batch->lock);
    for (batch_flush *flush = batch->flushes; flush; flush = flush->next) {
        if (flush->seen && !flush->ticketed) {
            flush->ticketed = true;
            flush->ticket = batch->next_number;
            batch->due = true;
        }
    }
    pthread_mutex_unlock(&batch->lock);
}

/* A flush whose records are all settled and whose exporter was not asked yet; the lock is held. */
static batch_flush *settled_flush(batch_processor *batch, uint64_t lowest) {
    batch_flush *flush = batch->flushes;
    while (flush && (flush->done || !flush->ticketed || flush->ticket >= lowest)) {
        flush = flush->next;
    }
    return flush;
}

static void finish_flushes(batch_processor *batch) {
    const spool_exporter *exporter = &batch->exporter;
    uint64_t lowest = lowest_unsettled(batch);
    pthread_mutex_lock(&batch->lock);
    batch_flush *flush;
    while ((flush = settled_flush(batch, lowest))) {
        uint64_t serial = flush->serial, deadline_ns = flush->deadline_ns;
        spool_status status = SPOOL_OK;
        if (exporter->ops->flush) {
            pthread_mutex_unlock(&batch->lock);
            status = exporter->ops->flush(exporter->self, deadline_ns);
            pthread_mutex_lock(&batch->lock);
        }
        /* The caller may have given up meanwhile, and its frame be gone: look again. */
        flush = batch->flushes;
        while (flush && flush->serial != serial) {
            flush = flush->next;
        }
        if (flush) {
            flush->done = true;
            flush->status = status;
            pthread_cond_broadcast(&batch->changed);
        }
    }
    pthread_mutex_unlock(&batch->lock);
}

/* ---- the end ---- */

static void drop_rest(batch_processor *batch) {
    sweep(batch);
    if (batch->open) {
        make_ready(batch);
    }
    batch->ready_last = NULL;
    while (batch->ready_first) {
        sp_block *block = batch->ready_first;
        batch->ready_first = block->next;
        drop_block(batch, block, SPOOL_DROP_SHUTDOWN);
    }
}

static void say_drops(batch_processor *batch) {
    batch_counts totals;
    uint64_t in_rings;
    pthread_mutex_lock(&batch->lock);
    batch_totals(batch, &totals, &in_rings);
    pthread_mutex_unlock(&batch->lock);
    uint64_t drops = totals.dropped[SPOOL_DROP_QUEUE_FULL];
    if (drops != batch->said_drops) {
        batch->said_drops = drops;
        sp_diag(SPOOL_DIAG_WARN, "batch", "the queue was full: %" PRIu64 " %s dropped so far",
                drops, batch->signal == SPOOL_SIGNAL_SPANS ? "spans" : "log records");
    }
}

static void close_delivery(batch_processor *batch, bool in_time) {
    const spool_exporter *exporter = &batch->exporter;
    uint64_t deadline_ns = batch->close_deadline_ns;
    if (in_time && exporter->ops->flush) {
        (void)exporter->ops->flush(exporter->self, deadline_ns);
    }
    if (exporter->ops->shutdown) {
        (void)exporter->ops->shutdown(exporter->self, deadline_ns);
    }
    settle_answered(batch);
    expire_overdue(batch, SP_NO_DEADLINE);
    settle_answered(batch);
    drop_rest(batch);
    for (spool_batch *answer = batch->expired; answer; answer = answer->next) {
        (void)sp_batch_forget(answer); /* a late answer finds nothing any more */
    }
    settle_answered(batch);
    say_drops(batch);
    sp_timer_destroy(batch->timer);
    batch->timer = NULL;
    pthread_mutex_lock(&batch->lock);
    /* Against batch_wake(): see the closing protocol. */
    atomic_store_explicit(&batch->state, BATCH_CLOSED, memory_order_seq_cst);
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

void batch_delivery_fini(batch_processor *batch) {
    while (batch->expired) {
        spool_batch *answer = batch->expired;
        batch->expired = answer->next;
        sp_block_close(answer->block, &batch->pool);
        free_batch(answer);
    }
    sp_block_pool_fini(&batch->pool);
}

/* ---- the pump ---- */

/* When to look next: by depth, and by time. */
static void arm(batch_processor *batch, uint64_t now) {
    uint64_t at = batch->tick_ns;
    bool free_exporter = may_export(batch);
    uint64_t in_flight = 0;
    for (const spool_batch *answer = batch->in_flight; answer; answer = answer->next) {
        uint64_t expires = expires_ns(batch, answer);
        in_flight += answer->count;
        at = expires < at ? expires : at;
    }
    /* While the exporter is busy more depth changes nothing: its answer starts the pump. */
    sp_budget_set_wake(&batch->budget, free_exporter
                                           ? in_flight + batch->options.max_export_batch_size
                                           : UINT64_MAX);
    if (free_exporter && sp_budget_reached(&batch->budget)) {
        /* By records still being written, or by credit taken since: whoever publishes next need not
         * see that, so look again soon. */
        at = now + UNFINISHED_NS < at ? now + UNFINISHED_NS : at;
    }
    if (closing(batch) && batch->close_deadline_ns < at) {
        at = batch->close_deadline_ns;
    }
    if (batch->timer) {
        sp_timer_set(batch->timer, at);
    }
}

static void pump(batch_processor *batch) {
    sp_fence_seq_cst(); /* pairs with the one in batch_wake(): what it was for is seen below */
    if (sp_load_acquire(&batch->state) == BATCH_CLOSED) {
        return;
    }
    bool at_end = closing(batch);
    uint64_t now = now_ns();
    settle_answered(batch);
    see_flushes(batch);
    sweep(batch);
    ticket_flushes(batch);
    if (now >= batch->tick_ns) {
        batch->tick_ns = after_ms(now, batch->options.schedule_delay_ms);
        batch->due = batch->due || batch->open;
        say_drops(batch);
    }
    if (at_end && now >= batch->close_deadline_ns) {
        finish_flushes(batch);
        close_delivery(batch, false);
        return;
    }
    batch->due = batch->due || at_end || sp_load_relaxed(&batch->pressed);
    expire_overdue(batch, now);
    export_ready(batch);
    if (!batch->open && !batch->ready_first) {
        batch->due = false;
    }
    finish_flushes(batch);
    if (at_end && lowest_unsettled(batch) == UINT64_MAX) {
        close_delivery(batch, true);
    } else {
        arm(batch, now);
    }
}

static void timer_fired(void *arg) {
    pump(arg);
}

void batch_pump(sp_task *task) {
    batch_processor *batch =
        (batch_processor *)(void *)((char *)task - offsetof(batch_processor, pump_task));
    (void)sp_exchange_acq_rel(&batch->pump_posted, 0);
    if (!batch->timer && sp_load_acquire(&batch->state) != BATCH_CLOSED) {
        batch->timer = sp_timer_create(batch->runtime, timer_fired, batch);
        batch->tick_ns = after_ms(now_ns(), batch->options.schedule_delay_ms);
        if (!batch->timer) {
            sp_diag(SPOOL_DIAG_ERROR, "batch",
                    "no memory for a timer: records go out by depth alone");
        }
    }
    pump(batch);
}
