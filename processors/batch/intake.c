/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks: each record is written once, as OTLP bytes, into the ring of its thread.
 *
 * A thread finds its ring in a page of its own (SP_PART_RINGS) by the processor's slot; the entry says for
 * which processor it was made, and ids are never used again, so an entry of a processor that is gone is
 * never followed. The table of processors tells an exiting thread which of its entries are still good;
 * `processors.lock` orders that against the end of a processor.
 */
#include "processors/batch/batch_internal.h"

#include "runtime/futex.h"
#include "sdk/log/log_record.h"
#include "sdk/trace/span_record.h"

#include <limits.h>
#include <sys/mman.h>

enum { INLINE_PIECES = 24 };

typedef struct ring_entry {
    uint64_t processor_id; /* 0: none */
    sp_ring *ring;
} ring_entry;

typedef struct ring_page {
    ring_entry entries[BATCH_MAX_PROCESSORS];
} ring_page;

static struct {
    pthread_mutex_t lock;
    uint64_t ids[BATCH_MAX_PROCESSORS]; /* 0: free */
    uint64_t last_id;
} processors = {PTHREAD_MUTEX_INITIALIZER, {0}, 0};

static pthread_once_t part_once = PTHREAD_ONCE_INIT;

/* ---- a thread's rings ---- */

/* The thread exits: its rings are the loop's from here. */
static void end_rings(sp_thread_block *thread, void *value) {
    (void)thread;
    ring_page *page = value;
    if (!page) {
        return;
    }
    pthread_mutex_lock(&processors.lock);
    for (uint32_t i = 0; i < BATCH_MAX_PROCESSORS; i++) {
        ring_entry *entry = &page->entries[i];
        if (entry->processor_id && processors.ids[i] == entry->processor_id) {
            /* Release: the last record; pairs with the acquire in the loop's sweep. */
            sp_store_release(&entry->ring->orphan, true);
        }
    }
    pthread_mutex_unlock(&processors.lock);
    (void)munmap(page, sizeof *page);
}

static void declare_part(void) {
    sp_thread_part_ends_with(SP_PART_RINGS, end_rings);
}

static SP_COLD sp_ring *make_ring(batch_processor *batch, sp_thread_block *thread) {
    ring_page *page = thread->parts[SP_PART_RINGS];
    if (!page) {
        /* Mapped, not allocated: it belongs to the thread block, which is. */
        void *memory =
            mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            return NULL;
        }
        thread->parts[SP_PART_RINGS] = page = memory;
    }
    sp_ring *ring = sp_ring_create();
    if (!ring) {
        return NULL;
    }
    page->entries[batch->slot].processor_id = batch->id;
    page->entries[batch->slot].ring = ring;
    pthread_mutex_lock(&batch->lock);
    ring->next = sp_load_relaxed(&batch->rings);
    /* Release: the ring; pairs with the acquire in the loop's sweep. */
    sp_store_release(&batch->rings, ring);
    pthread_mutex_unlock(&batch->lock);
    return ring;
}

static inline sp_ring *ring_of(batch_processor *batch, sp_thread_block *thread) {
    const ring_page *page = thread->parts[SP_PART_RINGS];
    if (SP_LIKELY(page && page->entries[batch->slot].processor_id == batch->id)) {
        return page->entries[batch->slot].ring;
    }
    return make_ring(batch, thread);
}

spool_status batch_intake_open(batch_processor *batch) {
    pthread_once(&part_once, declare_part);
    spool_status status = SPOOL_ERR_LIMIT;
    pthread_mutex_lock(&processors.lock);
    for (uint32_t i = 0; i < BATCH_MAX_PROCESSORS && status != SPOOL_OK; i++) {
        if (!processors.ids[i]) {
            processors.ids[i] = batch->id = ++processors.last_id;
            batch->slot = i;
            status = SPOOL_OK;
        }
    }
    pthread_mutex_unlock(&processors.lock);
    return status;
}

void batch_intake_close(batch_processor *batch) {
    if (!batch->id) {
        return;
    }
    pthread_mutex_lock(&processors.lock);
    processors.ids[batch->slot] = 0;
    pthread_mutex_unlock(&processors.lock);
    sp_ring *ring = sp_load_acquire(&batch->rings);
    while (ring) {
        sp_ring *next = ring->next;
        sp_ring_destroy(ring);
        ring = next;
    }
    sp_store_relaxed(&batch->rings, NULL);
}

/* ---- wakes ---- */

bool batch_wake(batch_processor *batch) {
    sp_fence_seq_cst(); /* what the pump is to see comes before; pairs with the one in the pump */
    if (sp_load_relaxed(&batch->pump_posted)) {
        return true;
    }
    /* Full order against the closing side, which stores CLOSED and then looks at `wakers`. */
    atomic_fetch_add_explicit(&batch->wakers, 1, memory_order_seq_cst);
    bool open = atomic_load_explicit(&batch->state, memory_order_seq_cst) != BATCH_CLOSED;
    if (open && !sp_exchange_acq_rel(&batch->pump_posted, 1)) {
        (void)sp_runtime_post(batch->runtime, &batch->pump_task);
    }
    sp_sub_acq_rel(&batch->wakers, 1);
    return open;
}

void batch_space(batch_processor *batch) {
    sp_add_acq_rel(&batch->space_turn, 1);
    sp_fence_seq_cst(); /* pairs with the one in wait_for_space() */
    if (sp_load_relaxed(&batch->space_waiters)) {
        sp_futex_wake(&batch->space_turn, INT_MAX);
    }
}

/* Waits for credit, at most until the deadline; false when that has passed. */
static bool wait_for_space(batch_processor *batch, uint32_t turn, uint64_t deadline_ns) {
    sp_add_acq_rel(&batch->space_waiters, 1);
    sp_fence_seq_cst(); /* pairs with the one in batch_space() */
    bool in_time = sp_futex_wait(&batch->space_turn, turn, deadline_ns);
    sp_sub_acq_rel(&batch->space_waiters, 1);
    return in_time;
}

/* ---- credit ---- */

/* No room at once. Where the policy says so the caller waits, but never where that could deadlock. */
static SP_COLD sp_credit_result take_late(batch_processor *batch, const sp_thread_block *thread,
                                          sp_ring *ring, size_t bytes, sp_credit_result result) {
    /* The loop learns of a full queue by its depth, but of full bytes only here. */
    if (result == SP_CREDIT_NO_BYTES && !sp_exchange_acq_rel(&batch->pressed, 1)) {
        (void)batch_wake(batch);
    }
    if (batch->options.overflow != SPOOL_OVERFLOW_BLOCK || thread->on_loop ||
        thread->hook_depth > 1) {
        return result;
    }
    uint64_t deadline_ns = sp_deadline_after_ms(batch->options.block_limit_ms);
    bool in_time = true;
    while (result > SP_CREDIT_LAST && in_time && sp_load_relaxed(&batch->state) == BATCH_OPEN) {
        uint32_t turn = sp_load_acquire(&batch->space_turn);
        result = sp_credit_take(&ring->credit, &batch->budget, bytes);
        if (result > SP_CREDIT_LAST) {
            (void)batch_wake(batch);
            in_time = wait_for_space(batch, turn, deadline_ns);
        }
    }
    return result;
}

static inline sp_credit_result take(batch_processor *batch, const sp_thread_block *thread,
                                    sp_ring *ring, size_t bytes) {
    sp_credit_result result = sp_credit_take(&ring->credit, &batch->budget, bytes);
    return SP_LIKELY(result <= SP_CREDIT_LAST) ? result
                                               : take_late(batch, thread, ring, bytes, result);
}

/* ---- hooks ---- */

static void drop(sp_ring *ring, uint32_t cause) {
    sp_count_owner(&ring->dropped[cause], 1);
}

/* Room for a record of `size` bytes, paid for; NULL: dropped and counted. */
static uint8_t *room(batch_processor *batch, const sp_thread_block *thread, sp_ring *ring,
                     size_t size, sp_credit_result *out_credit) {
    if (SP_UNLIKELY(size > SP_RECORD_MAX_BYTES || size > batch->budget.max_bytes)) {
        drop(ring, SPOOL_DROP_TOO_LARGE);
        return NULL;
    }
    *out_credit = take(batch, thread, ring, size);
    if (SP_UNLIKELY(*out_credit > SP_CREDIT_LAST)) {
        drop(ring, SPOOL_DROP_QUEUE_FULL);
        return NULL;
    }
    uint8_t *bytes = sp_ring_reserve(ring, size);
    if (SP_UNLIKELY(!bytes)) {
        sp_budget_give_records(&batch->budget, 1);
        sp_budget_give_bytes(&batch->budget, size);
        drop(ring, SPOOL_DROP_MEMORY);
    }
    return bytes;
}

static void publish(batch_processor *batch, sp_ring *ring, size_t size, const sp_scope *scope,
                    sp_credit_result credit) {
    sp_ring_publish(ring, size, scope);
    if (credit == SP_CREDIT_LAST && sp_budget_reached(&batch->budget)) {
        (void)batch_wake(batch);
    }
}

/* The ring to write to, with the record counted as offered; NULL: it is settled already. */
static sp_ring *offer(batch_processor *batch, sp_thread_block **out_thread) {
    sp_thread_block *thread = sp_thread_get();
    *out_thread = thread;
    if (thread && SP_UNLIKELY(thread->suppressed)) {
        return NULL; /* the library's own */
    }
    sp_ring *ring = thread ? ring_of(batch, thread) : NULL;
    if (SP_UNLIKELY(!ring)) {
        sp_add_relaxed(&batch->ringless_offered, 1);
        sp_add_relaxed(&batch->ringless_dropped, 1);
        return NULL;
    }
    sp_count_owner(&ring->offered, 1);
    if (SP_UNLIKELY(sp_load_relaxed(&batch->state) != BATCH_OPEN)) {
        drop(ring, SPOOL_DROP_SHUTDOWN);
        return NULL;
    }
    return ring;
}

static void write_span(batch_processor *batch, sp_thread_block *thread, sp_ring *ring,
                       spool_span_record *span) {
    sp_wire_span wire;
    sp_wire_piece inline_pieces[INLINE_PIECES], *pieces = inline_pieces;
    size_t count = sp_span_record_wire(span, &wire, pieces, INLINE_PIECES);
    if (SP_UNLIKELY(count > INLINE_PIECES)) {
        pieces = sp_scratch_alloc(&thread->scratch, count * sizeof *pieces);
        if (!pieces) {
            drop(ring, SPOOL_DROP_MEMORY);
            return;
        }
        (void)sp_span_record_wire(span, &wire, pieces, count);
    }
    size_t size = sp_wire_span_size(&wire);
    sp_credit_result credit;
    uint8_t *bytes = room(batch, thread, ring, size, &credit);
    if (bytes) {
        (void)sp_wire_span_write(bytes, &wire);
        publish(batch, ring, size, sp_span_record_scope(span), credit);
    }
}

void batch_intake_span(void *self, spool_span_record *span) {
    batch_processor *batch = self;
    if (!sp_span_record_sampled(span)) {
        return;
    }
    sp_thread_block *thread;
    sp_ring *ring = offer(batch, &thread);
    if (ring) {
        sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
        write_span(batch, thread, ring, span);
        sp_scratch_release(&thread->scratch, mark);
    }
}

static void write_log(batch_processor *batch, sp_thread_block *thread, sp_ring *ring,
                      const spool_log_data *log) {
    sp_wire_log_plan plan;
    size_t size = sp_wire_log_size(log, sp_log_data_limits(log), &thread->scratch, &plan);
    if (SP_UNLIKELY(!size)) {
        drop(ring, SPOOL_DROP_MEMORY);
        return;
    }
    sp_credit_result credit;
    uint8_t *bytes = room(batch, thread, ring, size, &credit);
    if (bytes) {
        (void)sp_wire_log_write(bytes, log, &plan);
        publish(batch, ring, size, sp_log_data_scope(log), credit);
    }
}

void batch_intake_log(void *self, spool_log_data *log) {
    batch_processor *batch = self;
    sp_thread_block *thread;
    sp_ring *ring = offer(batch, &thread);
    if (ring) {
        sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
        write_log(batch, thread, ring, log);
        sp_scratch_release(&thread->scratch, mark);
    }
}
