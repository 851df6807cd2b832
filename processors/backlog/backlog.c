/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor: hooks, statistics, life. What is kept and what becomes of it is in tree.c; owners
 * and states are in backlog_internal.h.
 *
 * Box types are never given back to the process, so those of backlogs that are gone are used again:
 * `types` has a place for each, taken until the core is freed, when no box refers to it any more.
 */
#include "processors/backlog/backlog_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BACKLOGS = 4 };

static struct {
    pthread_mutex_t lock;
    spool_ext_id ids[MAX_BACKLOGS]; /* 0: not registered yet */
    bool taken[MAX_BACKLOGS];
} types = {PTHREAD_MUTEX_INITIALIZER, {0}, {false}};

/* 0: all taken. */
static spool_ext_id type_take(void) {
    spool_ext_id id = 0;
    (void)pthread_mutex_lock(&types.lock);
    for (unsigned i = 0; i < MAX_BACKLOGS && id == 0; i++) {
        if (types.taken[i]) {
            continue;
        }
        if (types.ids[i] == 0) {
            types.ids[i] = spool_ext_register("backlog", sizeof(backlog_state),
                                              _Alignof(backlog_state), backlog_state_close, NULL);
        }
        id = types.ids[i];
        types.taken[i] = id != 0;
    }
    (void)pthread_mutex_unlock(&types.lock);
    return id;
}

static void type_give(spool_ext_id id) {
    (void)pthread_mutex_lock(&types.lock);
    for (unsigned i = 0; i < MAX_BACKLOGS; i++) {
        if (types.ids[i] == id) {
            types.taken[i] = false;
        }
    }
    (void)pthread_mutex_unlock(&types.lock);
}

/* ---- the core ---- */

backlog_core *backlog_core_ref(backlog_core *core) {
    /* Relaxed: the caller has a reference. */
    (void)atomic_fetch_add_explicit(&core->references, 1, memory_order_relaxed);
    return core;
}

void backlog_core_unref(backlog_core *core) {
    /* Release: this user's writes; acquire: those of the others, before the end. */
    if (atomic_fetch_sub_explicit(&core->references, 1, memory_order_acq_rel) == 1) {
        backlog_pool_fini(&core->pool);
        type_give(core->type);
        free(core);
    }
}

void backlog_drop(backlog_core *core, uint32_t cause, uint64_t count) {
    (void)atomic_fetch_add_explicit(&core->dropped[cause], count, memory_order_relaxed);
}

static void kept_less(backlog_core *core, uint64_t count) {
    (void)atomic_fetch_sub_explicit(&core->kept, count, memory_order_relaxed);
}

void backlog_hand_on(backlog_core *core, backlog_queue *queue) {
    for (backlog_record *at = queue->head, *next; at; at = next) {
        next = at->next;
        if (!spool_log_data_hand_on(core->sdk, &core->downstream, &at->data)) {
            backlog_drop(core, SPOOL_DROP_LIMIT, 1);
        }
        kept_less(core, 1);
        backlog_pool_give(&core->pool, at, at->block_bytes);
    }
    *queue = (backlog_queue){0};
}

void backlog_discard(backlog_core *core, backlog_queue *queue, uint32_t cause) {
    if (!queue->head) {
        return;
    }
    backlog_drop(core, cause, queue->count);
    kept_less(core, queue->count);
    for (backlog_record *at = queue->head, *next; at; at = next) {
        next = at->next;
        backlog_pool_give(&core->pool, at, at->block_bytes);
    }
    *queue = (backlog_queue){0};
}

/* ---- hooks ---- */

static void span_start(void *self, spool_span_record *span, const spool_context *parent) {
    backlog_core *core = self;
    backlog_state_open(core, span);
    if (core->downstream_ops.span_start) {
        core->downstream_ops.span_start(core->downstream.self, span, parent);
    }
}

static void span_ending(void *self, spool_span_record *span) {
    backlog_core *core = self;
    core->downstream_ops.span_ending(core->downstream.self, span);
}

static void span_end(void *self, spool_span_record *span) {
    backlog_core *core = self;
    backlog_state *state = backlog_state_of(core, span);
    if (state) {
        backlog_queue released = {0};
        backlog_queue vanished = {0};
        bool failed = spool_span_record_status(span) == SPOOL_STATUS_ERROR;
        backlog_state_end(state, failed, &released, &vanished);
        backlog_hand_on(core, &released);
        backlog_discard(core, &vanished, SPOOL_DROP_VANISHED);
    }
    if (core->downstream_ops.span_end) {
        core->downstream_ops.span_end(core->downstream.self, span);
    }
}

static void span_enter(void *self, spool_span span) {
    backlog_core *core = self;
    core->downstream_ops.span_enter(core->downstream.self, span);
}

static void span_exit(void *self, spool_span span) {
    backlog_core *core = self;
    core->downstream_ops.span_exit(core->downstream.self, span);
}

/* True: the record is kept, or gone. */
static bool is_kept(backlog_core *core, spool_log_data *log, bool releases) {
    spool_span_record *span = spool_ext_log_pin_span(log);
    if (!span) {
        return false;
    }
    bool kept = false;
    backlog_queue released = {0};
    backlog_state *state = backlog_state_of(core, span);
    if (state && releases) {
        backlog_state_release(state, &released);
    } else if (state) {
        kept = backlog_state_keep(state, log, &released);
    }
    spool_ext_unpin(span);
    backlog_hand_on(core, &released);
    return kept;
}

static void log_emit(void *self, spool_log_data *log) {
    backlog_core *core = self;
    bool releases = log->severity >= core->options.release_at;
    bool is_low = log->severity > 0 && log->severity < core->options.keep_below;
    if ((releases || is_low) && is_kept(core, log, releases)) {
        return;
    }
    core->downstream_ops.log_emit(core->downstream.self, log);
}

static bool enabled(void *self, const spool_enabled_query *query) {
    backlog_core *core = self;
    return core->downstream_ops.enabled(core->downstream.self, query);
}

static spool_status flush(void *self, uint64_t deadline_ns, spool_report *report) {
    backlog_core *core = self;
    return core->downstream_ops.flush(core->downstream.self, deadline_ns, report);
}

static spool_status shut_down(void *self, uint64_t deadline_ns, spool_report *report) {
    backlog_core *core = self;
    return core->downstream_ops.shutdown(core->downstream.self, deadline_ns, report);
}

/* ---- statistics, life ---- */

/* Downstream's numbers, and those of what never came there. */
static void stats(void *self, uint32_t signal, spool_processor_stats *out) {
    backlog_core *core = self;
    if (core->downstream_ops.stats) {
        core->downstream_ops.stats(core->downstream.self, signal, out);
    }
    if (signal != SPOOL_SIGNAL_LOGS) {
        return;
    }
    uint64_t kept = atomic_load_explicit(&core->kept, memory_order_relaxed);
    out->queued += kept;
    out->offered += kept;
    for (unsigned cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        uint64_t dropped = atomic_load_explicit(&core->dropped[cause], memory_order_relaxed);
        out->dropped[cause] += dropped;
        out->offered += dropped;
    }
}

static spool_status attach(void *self, const spool_attach_info *info) {
    backlog_core *core = self;
    if (!info || !info->sdk) {
        return SPOOL_ERR_INVALID;
    }
    core->sdk = info->sdk;
    return core->downstream_ops.attach ? core->downstream_ops.attach(core->downstream.self, info)
                                       : SPOOL_OK;
}

static void destroy(void *self) {
    backlog_core *core = self;
    if (core->downstream_ops.destroy) {
        core->downstream_ops.destroy(core->downstream.self);
    }
    backlog_core_unref(core);
}

static void ops_build(backlog_core *core) {
    const spool_processor_ops *has = &core->downstream_ops;
    core->ops = (spool_processor_ops){
        .struct_size = sizeof core->ops,
        .name = "backlog",
        .attach = attach,
        .span_start = span_start,
        .span_ending = has->span_ending ? span_ending : NULL,
        .span_end = span_end,
        .span_enter = has->span_enter ? span_enter : NULL,
        .span_exit = has->span_exit ? span_exit : NULL,
        .log_emit = log_emit,
        .enabled = has->enabled ? enabled : NULL,
        .flush = has->flush ? flush : NULL,
        .shutdown = has->shutdown ? shut_down : NULL,
        .stats = stats,
        .destroy = destroy,
    };
}

void spool_backlog_options_init(spool_backlog_options *options) {
    static const spool_backlog_options defaults = SPOOL_BACKLOG_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

static bool options_read(spool_backlog_options *out, const spool_backlog_options *given) {
    spool_backlog_options_init(out);
    if (given && given->struct_size) {
        size_t size = given->struct_size < sizeof *out ? given->struct_size : sizeof *out;
        memcpy(out, given, size);
    }
    return (!given || given->struct_size) && out->max_span_records && out->max_span_bytes &&
           out->max_bytes && out->keep_below <= out->release_at;
}

spool_status spool_backlog_create(spool_processor downstream, const spool_backlog_options *options,
                                  spool_processor *out_processor) {
    spool_processor_ops ops = {0};
    spool_backlog_options read;
    if (!out_processor || !downstream.ops || !downstream.ops->struct_size ||
        !options_read(&read, options)) {
        return SPOOL_ERR_INVALID;
    }
    memcpy(&ops, downstream.ops,
           downstream.ops->struct_size < sizeof ops ? downstream.ops->struct_size : sizeof ops);
    if (!ops.log_emit) {
        return SPOOL_ERR_INVALID;
    }
    int saved_errno = errno;
    backlog_core *core = calloc(1, sizeof *core);
    errno = saved_errno;
    if (!core) {
        return SPOOL_ERR_NOMEM;
    }
    core->type = type_take();
    if (core->type == 0) {
        free(core);
        return SPOOL_ERR_LIMIT;
    }
    atomic_init(&core->references, 1);
    core->downstream = downstream;
    core->downstream_ops = ops;
    core->options = read;
    backlog_pool_init(&core->pool, read.max_bytes);
    ops_build(core);
    *out_processor = (spool_processor){&core->ops, core};
    return SPOOL_OK;
}
