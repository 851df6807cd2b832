/* SPDX-License-Identifier: Apache-2.0 */
/* The batch processor's life: options, creation, attachment to an SDK, statistics, end. */
#include "processors/batch/batch_internal.h"

#include "sdk/platform/fork.h"

#include <stdlib.h>
#include <string.h>

/* What a destroy gives a processor that was never shut down. */
enum { DESTROY_GRACE_MS = 100 };

/* Processors whose exporter did not let go of the loop: their memory stays in use. */
static struct {
    pthread_mutex_t lock;
    batch_processor *first;
} abandoned = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* ---- options ---- */

void spool_batch_options_init(spool_batch_options *options, uint32_t signal) {
    static const spool_batch_options spans = SPOOL_BATCH_SPAN_OPTIONS_INIT;
    static const spool_batch_options logs = SPOOL_BATCH_LOG_OPTIONS_INIT;
    if (options) {
        *options = signal == SPOOL_SIGNAL_LOGS ? logs : spans;
    }
}

/* Defaults where the caller's struct is older and shorter. */
static bool read_options(spool_batch_options *out, const spool_batch_options *options,
                         uint32_t signal) {
    spool_batch_options_init(out, signal);
    if (options) {
        if (options->struct_size < sizeof options->struct_size) {
            return false;
        }
        memcpy(out, options,
               options->struct_size < sizeof *out ? options->struct_size : sizeof *out);
        out->struct_size = sizeof *out;
    }
    return out->max_queue_size && out->max_export_batch_size && out->max_queue_bytes &&
           out->max_export_batch_size <= out->max_queue_size &&
           out->overflow <= SPOOL_OVERFLOW_BLOCK;
}

/* ---- statistics ---- */

void batch_totals(const batch_processor *batch, batch_counts *out, uint64_t *out_in_rings) {
    uint64_t in_rings = 0, ringless = sp_load_relaxed(&batch->ringless_dropped);
    *out = batch->counts;
    out->offered += sp_load_relaxed(&batch->ringless_offered);
    out->dropped[SPOOL_DROP_MEMORY] += ringless;
    for (const sp_ring *ring = sp_load_acquire(&batch->rings); ring; ring = ring->next) {
        out->offered += sp_load_relaxed(&ring->offered);
        in_rings += sp_load_relaxed(&ring->published) - ring->consumed;
        for (uint32_t cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
            out->dropped[cause] += sp_load_relaxed(&ring->dropped[cause]);
        }
    }
    if (sp_load_relaxed(&batch->state) == BATCH_CLOSED) {
        /* Published while the loop took its last look: nobody will fetch them. */
        out->dropped[SPOOL_DROP_SHUTDOWN] += in_rings;
        in_rings = 0;
    }
    *out_in_rings = in_rings;
}

static void read_stats(void *self, uint32_t signal, spool_processor_stats *out) {
    batch_processor *batch = self;
    if (signal != batch->signal) {
        return;
    }
    batch_counts totals;
    uint64_t in_rings;
    pthread_mutex_lock(&batch->lock);
    batch_totals(batch, &totals, &in_rings);
    pthread_mutex_unlock(&batch->lock);
    out->offered += totals.offered;
    out->delivered += totals.delivered;
    out->rejected += totals.rejected;
    out->unknown += totals.unknown;
    out->queued += in_rings + totals.held;
    out->in_flight += totals.in_flight;
    for (uint32_t cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        out->dropped[cause] += totals.dropped[cause];
    }
}

/* ---- attach and destroy ---- */

static spool_status attach(void *self, const spool_attach_info *info) {
    batch_processor *batch = self;
    uint32_t state = sp_load_acquire(&batch->state);
    if (!info || (state != BATCH_NEW && state != BATCH_OPEN)) {
        return SPOOL_ERR_INVALID;
    }
    sp_wire_piece resource = {NULL, 0};
    if (info->resource) {
        resource = sp_wire_resource(info->resource);
        if (!resource.bytes) {
            return SPOOL_ERR_NOMEM;
        }
    }
    spool_status status = SPOOL_OK;
    if (state == BATCH_NEW) {
        status = batch->id ? SPOOL_OK : batch_intake_open(batch);
        status = status == SPOOL_OK ? sp_runtime_acquire(&batch->runtime) : status;
    }
    if (status != SPOOL_OK) {
        free((void *)(uintptr_t)resource.bytes);
        return status;
    }
    /* A second time: the creation of the first SDK failed after this; no record came yet. */
    free((void *)(uintptr_t)batch->resource_bytes.bytes);
    batch->resource = info->resource;
    batch->resource_bytes = resource;
    batch->fork_generation = sp_fork_generation();
    batch->pump_task.run = batch_pump;
    /* Release: all of the above, for the loop and for hooks. */
    sp_store_release(&batch->state, BATCH_OPEN);
    (void)batch_wake(batch); /* the first pump makes the timer */
    return SPOOL_OK;
}

static void free_processor(batch_processor *batch) {
    if (batch->exporter.ops->destroy) {
        batch->exporter.ops->destroy(batch->exporter.self);
    }
    batch_delivery_fini(batch);
    pthread_cond_destroy(&batch->changed);
    pthread_mutex_destroy(&batch->lock);
    free((void *)(uintptr_t)batch->resource_bytes.bytes);
    free(batch);
}

static void destroy(void *self) {
    batch_processor *batch = self;
    if (sp_load_acquire(&batch->state) == BATCH_OPEN) {
        (void)batch_shutdown(batch, sp_deadline_after_ms(DESTROY_GRACE_MS), NULL);
    }
    bool left_behind = batch->stuck || sp_load_acquire(&batch->state) == BATCH_CLOSING ||
                       sp_load_acquire(&batch->state) == BATCH_OPEN;
    if (left_behind) {
        pthread_mutex_lock(&abandoned.lock);
        batch->next_abandoned = abandoned.first;
        abandoned.first = batch;
        pthread_mutex_unlock(&abandoned.lock);
        return;
    }
    batch_intake_close(batch);
    free_processor(batch);
}

/* ---- creation ---- */

static void init_sync(batch_processor *batch) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&batch->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&batch->lock, NULL);
}

static const spool_processor_ops span_ops = {
    .struct_size = sizeof(spool_processor_ops),
    .name = "batch_spans",
    .attach = attach,
    .span_end = batch_intake_span,
    .flush = batch_flush_wait,
    .shutdown = batch_shutdown,
    .stats = read_stats,
    .destroy = destroy,
};

static const spool_processor_ops log_ops = {
    .struct_size = sizeof(spool_processor_ops),
    .name = "batch_logs",
    .attach = attach,
    .log_emit = batch_intake_log,
    .flush = batch_flush_wait,
    .shutdown = batch_shutdown,
    .stats = read_stats,
    .destroy = destroy,
};

spool_status spool_batch_create(uint32_t signal, spool_exporter exporter,
                                const spool_batch_options *options,
                                spool_processor *out_processor) {
    spool_batch_options given;
    spool_exporter_ops exporter_ops;
    if (!out_processor || signal >= SPOOL_SIGNALS ||
        !sp_exporter_ops_read(&exporter, &exporter_ops) || !read_options(&given, options, signal)) {
        return SPOOL_ERR_INVALID;
    }
    if (given.overflow == SPOOL_OVERFLOW_DROP_OLDEST) {
        return SPOOL_ERR_UNSUPPORTED;
    }
    batch_processor *batch = aligned_alloc(SP_CACHE_LINE_BYTES, sizeof *batch);
    if (!batch) {
        return SPOOL_ERR_NOMEM;
    }
    memset(batch, 0, sizeof *batch);
    batch->signal = signal;
    batch->exporter_ops = exporter_ops;
    batch->exporter.ops = &batch->exporter_ops;
    batch->exporter.self = exporter.self;
    batch->max_in_flight = exporter_ops.max_in_flight;
    batch->options = given;
    /* No delay at all would keep the loop busy for nothing. */
    batch->options.schedule_delay_ms = given.schedule_delay_ms ? given.schedule_delay_ms : 1;
    sp_budget_init(&batch->budget, given.max_queue_size, given.max_queue_bytes);
    init_sync(batch);
    out_processor->ops = signal == SPOOL_SIGNAL_SPANS ? &span_ops : &log_ops;
    out_processor->self = batch;
    return SPOOL_OK;
}
