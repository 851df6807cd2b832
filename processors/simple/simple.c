/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simple processor: one borrowed record a batch, exported on the thread that finished it.
 *
 * The gate. Exports, flushes and the shutdown of one exporter take turns: `gate` is 0 (free), 1 (held) or
 * 2 (held, others wait). It is no lock for foreign code to deadlock on: every wait for it has a deadline,
 * and a thread that is inside the exporter already is turned away before it comes to the gate.
 *
 * Answers. The batch lives in the frame of the exporting thread. `turn` moves when it is answered, and
 * when a flush wants the gate; the waiting thread then looks again. The answer runs under the lock of the
 * table of batches, and the frame is left only after sp_batch_forget() took that lock.
 *
 * Owners: counters are shared atomics, relaxed: no order hangs on them. `reported` is guarded by
 * `report_lock`. The rest is constant once attached.
 *
 * Closing: `closed` is set, waiters are told to give up, the gate is taken and kept. If it cannot be had in
 * time a thread is still inside the exporter: both are left behind.
 */
#include <spool/sdk/simple.h>

#include "runtime/batch.h"
#include "runtime/futex.h"

#include "sdk/log/log_record.h"
#include "sdk/memory/thread_block.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/clock.h"
#include "sdk/trace/span_record.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GATE_FREE, GATE_HELD, GATE_CONTENDED };

/* What a flush keeps of its time for itself: a tenth, at most this. */
#define HURRY_SLACK_NS (20 * SP_NS_PER_MS)

/* Of one signal. */
typedef struct counters {
    _Atomic uint64_t offered;
    _Atomic uint64_t delivered;
    _Atomic uint64_t rejected;
    _Atomic uint64_t unknown;
    _Atomic uint64_t in_flight;
    _Atomic uint64_t dropped[SPOOL_DROP_CAUSES];
} counters;

/* Sums of both signals, as a report has them. */
typedef struct sums {
    uint64_t delivered;
    uint64_t rejected;
    uint64_t unknown;
    uint64_t dropped;
} sums;

typedef struct simple_processor {
    spool_exporter_ops exporter_ops;
    spool_exporter exporter;
    uint32_t export_timeout_ms;
    const spool_resource_data *resource;
    sp_wire_piece resource_bytes;

    _Atomic uint32_t gate;      /* acquire on the way in, release on the way out */
    _Atomic uint32_t turn;      /* futex of the thread that waits for an answer */
    _Atomic uint32_t impatient; /* flushes that want the gate */
    _Atomic uint64_t hurry_ns;  /* until when an answer is waited for meanwhile; else no deadline */
    _Atomic uint32_t closed;
    counters counts[SPOOL_SIGNALS];

    pthread_mutex_t report_lock;
    sums reported;
} simple_processor;

/* A batch in its frame. */
typedef struct export_frame {
    spool_batch batch;
    _Atomic uint32_t answered; /* release by the answer, acquire by the frame's thread */
} export_frame;

/* ---- the gate ---- */

static bool gate_enter(simple_processor *simple, uint64_t deadline_ns) {
    uint32_t seen = GATE_FREE;
    if (sp_cas_acquire(&simple->gate, &seen, GATE_HELD)) {
        return true;
    }
    if (!deadline_ns) {
        return false;
    }
    while (sp_exchange_acquire(&simple->gate, GATE_CONTENDED) != GATE_FREE) {
        if (!sp_futex_wait(&simple->gate, GATE_CONTENDED, deadline_ns)) {
            return false;
        }
    }
    return true;
}

static void gate_leave(simple_processor *simple) {
    if (atomic_exchange_explicit(&simple->gate, GATE_FREE, memory_order_release) ==
        GATE_CONTENDED) {
        sp_futex_wake(&simple->gate, 1);
    }
}

/* ---- exporting ---- */

static void drop(counters *counts, uint32_t cause) {
    sp_add_relaxed(&counts->dropped[cause], 1);
}

static void turn_on(simple_processor *simple) {
    sp_add_acq_rel(&simple->turn, 1);
    sp_futex_wake(&simple->turn, INT_MAX);
}

static void answered(spool_batch *batch, bool late) {
    (void)late;
    export_frame *frame = (export_frame *)(void *)batch;
    sp_store_release(&frame->answered, 1);
    turn_on(batch->owner);
}

/* Until the answer, the record's own deadline, or that of a flush that wants the gate. */
static void wait_for_answer(simple_processor *simple, export_frame *frame) {
    for (;;) {
        uint32_t turn = sp_load_acquire(&simple->turn); /* pairs with turn_on() */
        uint64_t hurry_ns = sp_load_relaxed(&simple->hurry_ns);
        uint64_t own_ns = frame->batch.deadline_ns;
        if (sp_load_acquire(&frame->answered) ||
            !sp_futex_wait(&simple->turn, turn, hurry_ns < own_ns ? hurry_ns : own_ns)) {
            return;
        }
    }
}

static void count(counters *counts, const spool_batch *batch, bool unanswered) {
    const spool_outcome *outcome = &batch->outcome;
    sp_sub_relaxed(&counts->in_flight, 1);
    if (unanswered) {
        drop(counts, SPOOL_DROP_TIMEOUT);
    } else if (outcome->delivered) {
        sp_add_relaxed(&counts->delivered, 1);
    } else if (outcome->rejected) {
        sp_add_relaxed(&counts->rejected, 1);
    } else if (outcome->unknown) {
        sp_add_relaxed(&counts->unknown, 1);
    } else {
        drop(counts, outcome->drop_cause);
    }
}

/* Foreign code on this thread: what it records is not recorded, and does not come back here. */
static void enter_exporter(sp_thread_block *thread) {
    thread->exporting++;
    thread->suppressed++;
}

static void leave_exporter(sp_thread_block *thread) {
    thread->suppressed--;
    thread->exporting--;
}

static void export_record(simple_processor *simple, sp_thread_block *thread,
                          const sp_batch_record *record, uint64_t deadline_ns, bool may_wait) {
    export_frame frame;
    sp_batch_init_record(&frame.batch, simple->resource, record);
    atomic_init(&frame.answered, 0);
    frame.batch.owner = simple;
    frame.batch.answered = answered;
    frame.batch.deadline_ns = deadline_ns;
    counters *counts = &simple->counts[frame.batch.signal];
    if (!sp_batch_await(&frame.batch)) {
        drop(counts, SPOOL_DROP_MEMORY);
        return;
    }
    sp_add_relaxed(&counts->in_flight, 1);
    enter_exporter(thread);
    simple->exporter.ops->export_batch(simple->exporter.self, &frame.batch, deadline_ns);
    leave_exporter(thread);
    if (may_wait) {
        wait_for_answer(simple, &frame);
    }
    bool unanswered = sp_batch_forget(&frame.batch);
    count(counts, &frame.batch, unanswered);
    sp_batch_fini(&frame.batch);
}

static uint64_t export_deadline(const simple_processor *simple) {
    return simple->export_timeout_ms ? sp_deadline_after_ms(simple->export_timeout_ms)
                                     : SP_NO_DEADLINE;
}

static void handle(simple_processor *simple, spool_span_record *span, const spool_log_data *log) {
    counters *counts = &simple->counts[span ? SPOOL_SIGNAL_SPANS : SPOOL_SIGNAL_LOGS];
    sp_thread_block *thread = sp_thread_get();
    /* Re-entry comes before suppression: what an exporter records by itself is counted, once. */
    if (thread && thread->suppressed && !thread->exporting) {
        return;
    }
    sp_add_relaxed(&counts->offered, 1);
    if (!thread) {
        drop(counts, SPOOL_DROP_MEMORY);
        return;
    }
    if (thread->exporting) {
        drop(counts, SPOOL_DROP_LIMIT);
        return;
    }
    if (sp_load_relaxed(&simple->closed)) {
        drop(counts, SPOOL_DROP_SHUTDOWN);
        return;
    }
    /* The depth counts this very hook; more is a record made inside another one. */
    bool may_wait = !thread->on_loop && thread->hook_depth <= 1;
    uint64_t deadline_ns = export_deadline(simple);
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (gate_enter(simple, may_wait ? deadline_ns : 0)) {
        sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
        sp_batch_record record = {.span = span,
                                  .log = log,
                                  .scratch = &thread->scratch,
                                  .resource = simple->resource_bytes};
        export_record(simple, thread, &record, deadline_ns, may_wait);
        sp_scratch_release(&thread->scratch, mark);
        gate_leave(simple);
    } else {
        drop(counts, SPOOL_DROP_TIMEOUT);
    }
    (void)pthread_setcancelstate(cancel_state, &cancel_state);
}

static void span_end(void *self, spool_span_record *span) {
    if (sp_span_record_sampled(span)) {
        handle(self, span, NULL);
    }
}

static void log_emit(void *self, spool_log_data *log) {
    handle(self, NULL, log);
}

/* ---- reports and statistics ---- */

static sums sums_now(simple_processor *simple) {
    sums now = {0, 0, 0, 0};
    for (unsigned signal = 0; signal < SPOOL_SIGNALS; signal++) {
        counters *counts = &simple->counts[signal];
        now.delivered += sp_load_relaxed(&counts->delivered);
        now.rejected += sp_load_relaxed(&counts->rejected);
        now.unknown += sp_load_relaxed(&counts->unknown);
        for (unsigned cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
            now.dropped += sp_load_relaxed(&counts->dropped[cause]);
        }
    }
    return now;
}

static sums last_report(simple_processor *simple) {
    pthread_mutex_lock(&simple->report_lock);
    sums base = simple->reported;
    pthread_mutex_unlock(&simple->report_lock);
    return base;
}

/* The difference to the report that was the last one when this call began. */
static spool_status report_since(simple_processor *simple, const sums *base, spool_report *report) {
    pthread_mutex_lock(&simple->report_lock);
    sums now = simple->reported = sums_now(simple);
    pthread_mutex_unlock(&simple->report_lock);
    if (report) {
        report->delivered += now.delivered - base->delivered;
        report->rejected += now.rejected - base->rejected;
        report->unknown += now.unknown - base->unknown;
        report->dropped += now.dropped - base->dropped;
    }
    bool well = now.rejected == base->rejected && now.unknown == base->unknown &&
                now.dropped == base->dropped;
    return well ? SPOOL_OK : SPOOL_ERR_EXPORT;
}

static void read_stats(void *self, uint32_t signal, spool_processor_stats *out) {
    simple_processor *simple = self;
    if (signal >= SPOOL_SIGNALS) {
        return;
    }
    counters *counts = &simple->counts[signal];
    out->offered += sp_load_relaxed(&counts->offered);
    out->delivered += sp_load_relaxed(&counts->delivered);
    out->rejected += sp_load_relaxed(&counts->rejected);
    out->unknown += sp_load_relaxed(&counts->unknown);
    out->in_flight += sp_load_relaxed(&counts->in_flight);
    for (unsigned cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        out->dropped[cause] += sp_load_relaxed(&counts->dropped[cause]);
    }
}

/* ---- flush, shutdown ---- */

static bool would_block(const sp_thread_block *thread) {
    return thread && (thread->on_loop || thread->hook_depth || thread->exporting);
}

/*
 * The gate, for a flush: a record that is on its way gets until shortly before the flush's deadline for
 * its answer, so that the flush still has the gate in time. Ended by gate_demand_end().
 */
static bool gate_demand(simple_processor *simple, uint64_t deadline_ns) {
    uint64_t now_ns = sp_deadline_after_ms(0);
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint64_t slack_ns = left_ns / 10 < HURRY_SLACK_NS ? left_ns / 10 : HURRY_SLACK_NS;
    uint64_t until_ns = deadline_ns == SP_NO_DEADLINE ? deadline_ns : deadline_ns - slack_ns;
    sp_add_acq_rel(&simple->impatient, 1);
    uint64_t hurry_ns = sp_load_relaxed(&simple->hurry_ns);
    /* The earliest deadline stands. Relaxed: turn_on() publishes it. */
    while (until_ns < hurry_ns &&
           !atomic_compare_exchange_weak_explicit(&simple->hurry_ns, &hurry_ns, until_ns,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    turn_on(simple);
    return gate_enter(simple, deadline_ns ? deadline_ns : 1);
}

static void gate_demand_end(simple_processor *simple) {
    if (sp_sub_acq_rel(&simple->impatient, 1) == 1) {
        /* A flush that begins just now may be overwritten: it then waits for the record's own deadline, at
         * most until its own. */
        sp_store_relaxed(&simple->hurry_ns, SP_NO_DEADLINE);
    }
}

static spool_status call_exporter(simple_processor *simple, sp_thread_block *thread,
                                  spool_status (*call)(void *self, uint64_t deadline_ns),
                                  uint64_t deadline_ns) {
    if (!call) {
        return SPOOL_OK;
    }
    if (thread) {
        enter_exporter(thread);
    }
    spool_status status = call(simple->exporter.self, deadline_ns);
    if (thread) {
        leave_exporter(thread);
    }
    return status;
}

static spool_status flush(void *self, uint64_t deadline_ns, spool_report *report) {
    simple_processor *simple = self;
    sp_thread_block *thread = sp_thread_get();
    if (would_block(thread)) {
        return SPOOL_ERR_WOULD_BLOCK;
    }
    if (sp_load_acquire(&simple->closed)) {
        return SPOOL_ERR_SHUTDOWN;
    }
    sums base = last_report(simple);
    bool entered = gate_demand(simple, deadline_ns);
    spool_status status = SPOOL_ERR_TIMEOUT;
    if (entered) {
        status = call_exporter(simple, thread, simple->exporter.ops->flush, deadline_ns);
        gate_leave(simple);
    }
    gate_demand_end(simple);
    spool_status outcome = report_since(simple, &base, report);
    return status != SPOOL_OK ? status : outcome;
}

static spool_status shut_down(void *self, uint64_t deadline_ns, spool_report *report) {
    simple_processor *simple = self;
    sp_thread_block *thread = sp_thread_get();
    if (would_block(thread)) {
        return SPOOL_ERR_WOULD_BLOCK;
    }
    if (sp_exchange_acq_rel(&simple->closed, 1)) {
        return SPOOL_ERR_SHUTDOWN;
    }
    sums base = last_report(simple);
    spool_status status = SPOOL_ERR_TIMEOUT;
    if (gate_demand(simple, deadline_ns)) {
        const spool_exporter_ops *ops = simple->exporter.ops;
        spool_status flushed = call_exporter(simple, thread, ops->flush, deadline_ns);
        status = call_exporter(simple, thread, ops->shutdown, deadline_ns);
        status = status != SPOOL_OK ? status : flushed;
        gate_leave(simple);
    }
    spool_status outcome = report_since(simple, &base, report);
    return status != SPOOL_OK ? status : outcome;
}

/* ---- life ---- */

static spool_status attach(void *self, const spool_attach_info *info) {
    simple_processor *simple = self;
    if (!info) {
        return SPOOL_ERR_INVALID;
    }
    sp_wire_piece resource = {NULL, 0};
    if (info->resource) {
        resource = sp_wire_resource(info->resource);
        if (!resource.bytes) {
            return SPOOL_ERR_NOMEM;
        }
    }
    free((void *)(uintptr_t)simple->resource_bytes.bytes);
    simple->resource = info->resource;
    simple->resource_bytes = resource;
    return SPOOL_OK;
}

static void destroy(void *self) {
    simple_processor *simple = self;
    (void)sp_exchange_acq_rel(&simple->closed, 1);
    if (!gate_enter(simple, 0)) {
        return; /* a thread never came out of the exporter: left behind */
    }
    if (simple->exporter.ops->destroy) {
        simple->exporter.ops->destroy(simple->exporter.self);
    }
    pthread_mutex_destroy(&simple->report_lock);
    free((void *)(uintptr_t)simple->resource_bytes.bytes);
    free(simple);
}

/* One table for each choice of signals: a hook that is not there costs the SDK no call. */
#define SIMPLE_OPS(span_hook, log_hook)                                                            \
    {                                                                                              \
        .struct_size = sizeof(spool_processor_ops), .name = "simple", .attach = attach,            \
        .span_end = span_hook, .log_emit = log_hook, .flush = flush, .shutdown = shut_down,        \
        .stats = read_stats, .destroy = destroy,                                                   \
    }
enum { SPANS_BIT = 1 << SPOOL_SIGNAL_SPANS, LOGS_BIT = 1 << SPOOL_SIGNAL_LOGS };
static const spool_processor_ops simple_ops[] = {
    [SPANS_BIT] = SIMPLE_OPS(span_end, NULL),
    [LOGS_BIT] = SIMPLE_OPS(NULL, log_emit),
    [SPANS_BIT | LOGS_BIT] = SIMPLE_OPS(span_end, log_emit),
};

void spool_simple_options_init(spool_simple_options *options) {
    static const spool_simple_options defaults = SPOOL_SIMPLE_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

spool_status spool_simple_create(spool_exporter exporter, const spool_simple_options *options,
                                 spool_processor *out_processor) {
    spool_simple_options given;
    spool_simple_options_init(&given);
    spool_exporter_ops exporter_ops;
    if (!out_processor || !sp_exporter_ops_read(&exporter, &exporter_ops) ||
        (options && options->struct_size < sizeof options->struct_size)) {
        return SPOOL_ERR_INVALID;
    }
    if (options) {
        memcpy(&given, options,
               options->struct_size < sizeof given ? options->struct_size : sizeof given);
    }
    uint32_t signals = given.signals & (SPANS_BIT | LOGS_BIT);
    if (!signals) {
        return SPOOL_ERR_INVALID;
    }
    simple_processor *simple = calloc(1, sizeof *simple);
    if (!simple) {
        return SPOOL_ERR_NOMEM;
    }
    simple->exporter_ops = exporter_ops;
    simple->exporter.ops = &simple->exporter_ops;
    simple->exporter.self = exporter.self;
    simple->export_timeout_ms = given.export_timeout_ms;
    atomic_init(&simple->hurry_ns, SP_NO_DEADLINE);
    pthread_mutex_init(&simple->report_lock, NULL);
    out_processor->ops = &simple_ops[signals];
    out_processor->self = simple;
    return SPOOL_OK;
}
