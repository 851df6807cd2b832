/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SDK object's life: create, flush, shutdown, free, statistics.
 *
 * Owners: `lifecycle` guards the table, the default cell and changes of state; it is never held across a
 * processor's function. States and the closing protocol: see subscriber.h. The thread that moves OPEN to
 * CLOSING does all the work of a shutdown; the others wait for CLOSED on the condition.
 */
#include "sdk/memory/registry.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/lock_rank.h"
#include "sdk/platform/options.h"
#include "sdk/subscriber/life.h"
#include "sdk/subscriber/subscriber.h"

#include <spool/log.h>
#include <spool/sdk/sampler.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* How long a free waits for threads that are inside the subscriber before it leaves it unfreed. */
enum { FREE_WAIT_MS = 2000 };
/* Calls that are just passing through a processor get this long to leave, even with no timeout at all. */
enum { LEAST_PIN_WAIT_MS = 20 };

sp_subscriber_cell sp_default_subscriber;
sp_subscriber_cell sp_subscribers[SP_MAX_SDKS];
_Atomic uint32_t sp_sdks_with_current_hooks;

uint32_t spool_callsite_epoch = 1;

static sp_mutex lifecycle = SP_MUTEX_INIT(SP_RANK_LIFECYCLE, "lifecycle");
static pthread_cond_t changed; /* an SDK was closed, or its last user left */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static uint32_t last_epoch; /* under lifecycle */
/* 1 once a default SDK was shut down and no other stands in its place. Relaxed: it only chooses a count. */
static _Atomic uint32_t default_is_past;

static void prepare(void) {
    sp_diag_remember_stderr();
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    sp_pins_prepare();
}

void sp_callsites_expire(void) {
    /* Release: a statement that sees the new epoch sees the cells as they were set before. */
    (void)__atomic_add_fetch(&spool_callsite_epoch, 1, __ATOMIC_RELEASE);
}

void sp_count_after_shutdown(const sp_source *source) {
    if (source->epoch || sp_load_relaxed(&default_is_past)) {
        sp_misuse_count(SP_MISUSE_AFTER_SHUTDOWN, 1);
    }
}

void spool_limits_init(spool_limits *limits) {
    static const spool_limits defaults = SPOOL_LIMITS_INIT;
    if (limits) {
        *limits = defaults;
    }
}

void spool_sdk_options_init(spool_sdk_options *options) {
    static const spool_sdk_options defaults = SPOOL_SDK_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

/* ---- create ---- */

/* The tables' hooks, with what an older, shorter table lacks as NULL. */
static spool_processor_ops ops_of(const spool_processor *processor) {
    spool_processor_ops ops = {0};
    (void)sp_options_read(&ops, sizeof ops, processor->ops);
    return ops;
}

static void hook_add(sp_hook_list *list, bool has, unsigned index) {
    if (has) {
        list->index[list->count++] = (uint8_t)index;
        list->mask |= UINT32_C(1) << index;
    }
}

static void hooks_build(sp_subscriber *sdk) {
    for (unsigned i = 0; i < sdk->processor_count; i++) {
        spool_processor_ops ops = ops_of(&sdk->processors[i]);
        hook_add(&sdk->span_start, ops.span_start, i);
        hook_add(&sdk->span_ending, ops.span_ending, i);
        hook_add(&sdk->span_end, ops.span_end, i);
        hook_add(&sdk->span_enter, ops.span_enter, i);
        hook_add(&sdk->span_exit, ops.span_exit, i);
        hook_add(&sdk->log_emit, ops.log_emit, i);
        hook_add(&sdk->enabled, ops.enabled, i);
    }
    sdk->span_hooks = sdk->span_start.mask | sdk->span_ending.mask | sdk->span_end.mask |
                      sdk->span_enter.mask | sdk->span_exit.mask;
}

static void limits_build(sp_subscriber *sdk, const spool_limits *given) {
    spool_limits_init(&sdk->limits);
    (void)sp_options_read(&sdk->limits, sizeof sdk->limits, given);
    const spool_limits *limits = &sdk->limits;
    uint32_t depth = limits->value_depth ? limits->value_depth : 1;
    sdk->span_attrs = (sp_wire_limits){limits->span_attr_length, depth, limits->span_attr_count};
    sdk->event_attrs = (sp_wire_limits){limits->span_attr_length, depth, limits->event_attr_count};
    sdk->link_attrs = (sp_wire_limits){limits->span_attr_length, depth, limits->link_attr_count};
    sdk->log_attrs = (sp_wire_limits){limits->log_attr_length, depth, limits->log_attr_count};
}

static bool options_are_valid(const spool_sdk_options *options) {
    if (options->processor_count > SP_MAX_PROCESSORS ||
        (options->processor_count && !options->processors) || options->limits.struct_size == 0) {
        return false;
    }
    for (size_t i = 0; i < options->processor_count; i++) {
        const spool_processor_ops *ops = options->processors[i].ops;
        if (!ops || ops->struct_size == 0 || !ops->name) {
            return false;
        }
    }
    const spool_sampler_ops *sampler = options->sampler.ops;
    const spool_id_generator_ops *ids = options->id_generator.ops;
    return (!sampler || (sampler->struct_size && sampler->sample)) &&
           (!ids || (ids->struct_size && ids->trace_id && ids->span_id));
}

/* Fills everything that needs memory; on failure only what is not the caller's is undone. */
static spool_status parts_build(sp_subscriber *sdk, const spool_sdk_options *options,
                                bool *out_own_sampler) {
    sp_filter_set *filters = NULL;
    spool_status made = sp_filter_set_make(options->filter, options->processor_filters,
                                           options->processor_count, &filters);
    if (made != SPOOL_OK) {
        return made;
    }
    sp_store_relaxed(&sdk->filters, filters);
    sdk->sampler = options->sampler;
    if (!sdk->sampler.ops) {
        spool_status status = spool_sampler_parent_based(NULL, &sdk->sampler);
        if (status != SPOOL_OK) {
            return status;
        }
        *out_own_sampler = true;
    }
    if (options->resource) {
        sdk->resource = spool_resource_copy(options->resource);
        return SPOOL_OK;
    }
    return spool_resource_default(&sdk->resource);
}

static void parts_undo(sp_subscriber *sdk, bool own_sampler) {
    if (own_sampler) {
        sdk->sampler.ops->destroy(sdk->sampler.self);
    }
    sp_filter_sets_free(sp_load_relaxed(&sdk->filters));
    spool_resource_release(sdk->resource);
    free(sdk);
}

static spool_status processors_attach(sp_subscriber *sdk) {
    spool_attach_info info = {sizeof info, spool_resource_data_of(sdk->resource), sdk};
    for (unsigned i = 0; i < sdk->processor_count; i++) {
        spool_processor_ops ops = ops_of(&sdk->processors[i]);
        spool_status status = ops.attach ? ops.attach(sdk->processors[i].self, &info) : SPOOL_OK;
        if (status != SPOOL_OK) {
            return status;
        }
    }
    return SPOOL_OK;
}

/* Gives the SDK its index, epoch and, unless it says no, the default cell. Under lifecycle. */
static spool_status publish(sp_subscriber *sdk, bool as_default) {
    if (as_default && sp_load_relaxed(&sp_default_subscriber)) {
        return SPOOL_ERR_EXISTS;
    }
    for (unsigned i = 0; i < SP_MAX_SDKS; i++) {
        if (!sp_load_relaxed(&sp_subscribers[i])) {
            sdk->index = (uint16_t)i;
            sdk->epoch = ++last_epoch;
            if (sdk->span_enter.count || sdk->span_exit.count) {
                /* Relaxed: the store below releases it. */
                (void)sp_add_relaxed(&sp_sdks_with_current_hooks, 1);
            }
            sp_store_release(&sp_subscribers[i], sdk);
            if (as_default) {
                sp_store_relaxed(&default_is_past, 0);
                sp_store_release(&sp_default_subscriber, sdk);
            }
            return SPOOL_OK;
        }
    }
    return SPOOL_ERR_LIMIT;
}

spool_status spool_sdk_create(const spool_sdk_options *options, spool_sdk **out_sdk) {
    spool_sdk_options given = SPOOL_SDK_OPTIONS_INIT;
    if (!out_sdk || (options && !sp_options_read(&given, sizeof given, options)) ||
        !options_are_valid(&given)) {
        return SPOOL_ERR_INVALID;
    }
    (void)pthread_once(&prepared, prepare);
    sp_subscriber *sdk = calloc(1, sizeof *sdk);
    if (!sdk) {
        return SPOOL_ERR_NOMEM;
    }
    sdk->clock = given.clock;
    sdk->source_location = given.source_location;
    sdk->minimum_severity = given.minimum_severity;
    sdk->id_generator = given.id_generator;
    sdk->processor_count = (uint16_t)given.processor_count;
    for (size_t i = 0; i < given.processor_count; i++) {
        sdk->processors[i] = given.processors[i];
    }
    limits_build(sdk, &given.limits);
    hooks_build(sdk);
    bool own_sampler = false;
    spool_status status = parts_build(sdk, &given, &own_sampler);
    if (status == SPOOL_OK && !given.not_default && spool_sdk_default()) {
        status = SPOOL_ERR_EXISTS;
    }
    if (status == SPOOL_OK) {
        status = processors_attach(sdk);
    }
    if (status == SPOOL_OK) {
        sp_registry_set_caps(given.max_live_spans, given.max_live_bytes);
        sp_mutex_lock(&lifecycle);
        status = publish(sdk, !given.not_default);
        sp_mutex_unlock(&lifecycle);
    }
    if (status != SPOOL_OK) {
        parts_undo(sdk, own_sampler);
        return status;
    }
    sp_callsites_expire();
    *out_sdk = sdk;
    return SPOOL_OK;
}

spool_sdk *spool_sdk_default(void) {
    return sp_load_acquire(&sp_default_subscriber);
}

uint32_t sp_sdk_epoch(const spool_sdk *sdk) {
    return sdk->epoch;
}

bool sp_sdk_is_alive(const spool_sdk *sdk, uint32_t epoch) {
    bool alive = false;
    sp_mutex_lock(&lifecycle);
    for (unsigned i = 0; i < SP_MAX_SDKS && !alive; i++) {
        const sp_subscriber *at = sp_load_relaxed(&sp_subscribers[i]);
        alive = at == sdk && at && at->epoch == epoch;
    }
    sp_mutex_unlock(&lifecycle);
    return alive;
}

/* ---- flush and shutdown ---- */

/*
 * The SDK that a control call works on, the default one for NULL, kept from being freed until sdk_leave().
 * NULL when there is none.
 */
static spool_sdk *sdk_enter(spool_sdk *sdk) {
    sp_mutex_lock(&lifecycle);
    sdk = sdk ? sdk : sp_load_relaxed(&sp_default_subscriber);
    if (sdk) {
        sdk->users++;
    }
    sp_mutex_unlock(&lifecycle);
    return sdk;
}

static void sdk_leave(spool_sdk *sdk) {
    sp_mutex_lock(&lifecycle);
    if (--sdk->users == 0) {
        (void)pthread_cond_broadcast(&changed);
    }
    sp_mutex_unlock(&lifecycle);
}

bool sp_thread_must_not_wait(void) {
    sp_thread_block *thread = sp_thread();
    /* A pin without a hook: a sampler, an id generator, a diagnostics callback, a box. */
    return thread &&
           (thread->hook_depth || thread->on_loop || thread->exporting || thread->pin_count);
}

/* The worse of two results: a timeout says the most, then a failed export, then anything else. */
static spool_status worse(spool_status a, spool_status b) {
    if (a == SPOOL_ERR_TIMEOUT || b == SPOOL_ERR_TIMEOUT) {
        return SPOOL_ERR_TIMEOUT;
    }
    return a == SPOOL_OK || (b == SPOOL_ERR_EXPORT) ? b : a;
}

static void report_out(spool_report *report, const spool_report *sums) {
    if (report) {
        size_t size = report->struct_size;
        (void)memcpy(report, sums, size < sizeof *sums ? size : sizeof *sums);
        report->struct_size = size;
    }
}

static spool_status flush(spool_sdk *sdk, uint64_t deadline_ns, spool_report *sums) {
    if (sp_load_acquire(&sdk->state) != SP_SDK_OPEN) {
        return SPOOL_ERR_SHUTDOWN;
    }
    spool_status status = SPOOL_OK;
    for (unsigned i = 0; i < sdk->processor_count; i++) {
        spool_processor_ops ops = ops_of(&sdk->processors[i]);
        if (ops.flush) {
            status = worse(status, ops.flush(sdk->processors[i].self, deadline_ns, sums));
        }
    }
    return status;
}

/* One control call: `work` on the SDK, which is kept meanwhile, with one deadline and one report. */
static spool_status control(spool_sdk *sdk, uint32_t timeout_ms, spool_report *report,
                            spool_status (*work)(spool_sdk *sdk, uint64_t deadline_ns,
                                                 spool_report *sums)) {
    spool_report sums = SPOOL_REPORT_INIT;
    if (report && report->struct_size < sizeof report->struct_size) {
        return SPOOL_ERR_INVALID;
    }
    if (sp_thread_must_not_wait()) {
        return SPOOL_ERR_WOULD_BLOCK;
    }
    uint64_t deadline_ns = sp_deadline_after_ms(timeout_ms);
    spool_status status = SPOOL_OK;
    sdk = sdk_enter(sdk);
    if (sdk) {
        status = work(sdk, deadline_ns, &sums);
        sdk_leave(sdk);
    }
    report_out(report, &sums);
    return status;
}

spool_status spool_flush(spool_sdk *sdk, uint32_t timeout_ms, spool_report *report) {
    return control(sdk, timeout_ms, report, flush);
}

static bool is_closed(const spool_sdk *sdk) {
    return sp_load_relaxed(&sdk->state) == SP_SDK_CLOSED;
}

/* Nobody is inside a flush or the like any more. */
static bool is_unused(const spool_sdk *sdk) {
    return sdk->users == 0;
}

/* Waits on the condition until `over` holds; what it says in the end. */
static bool lifecycle_wait(const spool_sdk *sdk, bool (*over)(const spool_sdk *sdk),
                           uint64_t deadline_ns) {
    struct timespec until = {(time_t)(deadline_ns / SP_NS_PER_S),
                             (long)(deadline_ns % SP_NS_PER_S)};
    int error = 0;
    sp_mutex_lock(&lifecycle);
    while (!over(sdk) && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&changed, &lifecycle.mutex, &until);
    }
    bool is_over = over(sdk);
    sp_mutex_unlock(&lifecycle);
    return is_over;
}

/* No new records reach the SDK from here on. */
static void default_leave(spool_sdk *sdk) {
    sp_subscriber *expected = sdk;
    sp_mutex_lock(&lifecycle);
    if (sp_load_relaxed(&sp_default_subscriber) == expected) {
        sp_store_relaxed(&default_is_past, 1);
        sp_store_release(&sp_default_subscriber, NULL);
    }
    sp_mutex_unlock(&lifecycle);
    sp_callsites_expire();
}

static spool_status processors_shut(spool_sdk *sdk, uint64_t deadline_ns, spool_report *sums) {
    spool_status status = SPOOL_OK;
    for (unsigned i = 0; i < sdk->processor_count; i++) {
        spool_processor_ops ops = ops_of(&sdk->processors[i]);
        if (ops.shutdown) {
            status = worse(status, ops.shutdown(sdk->processors[i].self, deadline_ns, sums));
        }
    }
    return status;
}

/* The first shutdown does the work, the others wait for it. */
static spool_status shut_down(spool_sdk *sdk, uint64_t deadline_ns, spool_report *sums) {
    uint32_t expected = SP_SDK_OPEN;
    /* Acquire-release: one caller wins, and hooks that read the state later see it. */
    if (!sp_cas_acq_rel(&sdk->state, &expected, SP_SDK_CLOSING)) {
        return lifecycle_wait(sdk, is_closed, deadline_ns) ? SPOOL_ERR_SHUTDOWN : SPOOL_ERR_TIMEOUT;
    }
    default_leave(sdk);
    /* Sources of this SDK alone still find it; the state, read after the pin, turns them away. */
    uint64_t least_ns = sp_deadline_after_ms(LEAST_PIN_WAIT_MS);
    if (!sp_unpinned_wait(sdk, deadline_ns > least_ns ? deadline_ns : least_ns)) {
        sp_diag(SPOOL_DIAG_WARN, "sdk", "shut down while a thread is still inside a processor");
    }
    spool_status status = processors_shut(sdk, deadline_ns, sums);
    sp_mutex_lock(&lifecycle);
    sp_store_release(&sdk->state, SP_SDK_CLOSED);
    (void)pthread_cond_broadcast(&changed);
    sp_mutex_unlock(&lifecycle);
    sp_diag_sum_up();
    return status;
}

spool_status spool_shutdown(spool_sdk *sdk, uint32_t timeout_ms, spool_report *report) {
    return control(sdk, timeout_ms, report, shut_down);
}

void spool_sdk_free(spool_sdk *sdk) {
    if (!sdk) {
        return;
    }
    if (sp_thread_must_not_wait()) {
        sp_diag(SPOOL_DIAG_ERROR, "sdk", "freed from inside a hook: it is left as it is");
        return;
    }
    (void)spool_shutdown(sdk, 0, NULL);
    sp_mutex_lock(&lifecycle);
    sp_store_release(&sp_subscribers[sdk->index], NULL);
    if (sdk->span_enter.count || sdk->span_exit.count) {
        (void)sp_sub_relaxed(&sp_sdks_with_current_hooks, 1);
    }
    sp_mutex_unlock(&lifecycle);
    uint64_t deadline_ns = sp_deadline_after_ms(FREE_WAIT_MS);
    if (sp_load_acquire(&sdk->state) != SP_SDK_CLOSED ||
        !lifecycle_wait(sdk, is_unused, deadline_ns) || !sp_unpinned_wait(sdk, deadline_ns)) {
        sp_diag(SPOOL_DIAG_ERROR, "sdk", "a thread is still inside: the SDK's memory is kept");
        return;
    }
    for (unsigned i = 0; i < sdk->processor_count; i++) {
        spool_processor_ops ops = ops_of(&sdk->processors[i]);
        if (ops.destroy) {
            ops.destroy(sdk->processors[i].self);
        }
    }
    if (sdk->sampler.ops->destroy) {
        sdk->sampler.ops->destroy(sdk->sampler.self);
    }
    if (sdk->id_generator.ops && sdk->id_generator.ops->destroy) {
        sdk->id_generator.ops->destroy(sdk->id_generator.self);
    }
    sp_filter_sets_free(sdk->retired);
    sp_filter_sets_free(sp_load_relaxed(&sdk->filters));
    spool_resource_release(sdk->resource);
    free(sdk);
}

/* ---- statistics ---- */

static void signals_read(spool_sdk *sdk, struct spool_stats *out, uint64_t sums[2][SP_COUNTS]) {
    for (unsigned signal = 0; signal < SPOOL_SIGNALS; signal++) {
        spool_signal_stats *stats = &out->signals[signal];
        stats->created = sums[signal][SP_COUNT_CREATED];
        stats->not_recorded = sums[signal][SP_COUNT_NOT_RECORDED];
        stats->filtered = sums[signal][SP_COUNT_FILTERED];
        stats->finished = sums[signal][SP_COUNT_FINISHED];
    }
    out->signals[SPOOL_SIGNAL_SPANS].live = sp_registry_count_live(sdk->index, sdk->epoch);
}

static void processors_read(spool_sdk *sdk, struct spool_stats *out, const uint64_t *late) {
    out->processor_count = sdk->processor_count;
    for (unsigned i = 0; i < sdk->processor_count; i++) {
        spool_processor_ops ops = ops_of(&sdk->processors[i]);
        for (unsigned signal = 0; signal < SPOOL_SIGNALS; signal++) {
            spool_processor_stats *stats = &out->processors[i][signal];
            stats->name = ops.name;
            if (!ops.stats) {
                continue;
            }
            ops.stats(sdk->processors[i].self, signal, stats);
            if (signal == SPOOL_SIGNAL_SPANS && ops.span_end) {
                uint64_t offered = late[signal] - sp_load_relaxed(&sdk->late_refused[i]);
                stats->offered += offered;
                stats->dropped[SPOOL_DROP_SHUTDOWN] += offered;
            }
        }
    }
}

spool_status spool_stats(spool_sdk *sdk, struct spool_stats *out) {
    if (!out || out->struct_size == 0) {
        return SPOOL_ERR_INVALID;
    }
    struct spool_stats stats = {.struct_size = sizeof stats};
    sdk = sdk_enter(sdk);
    if (sdk) {
        uint64_t sums[2][SP_COUNTS];
        sp_counters_sum(sdk->index, sdk->epoch, sums);
        uint64_t late[SPOOL_SIGNALS] = {sums[0][SP_COUNT_LATE], sums[1][SP_COUNT_LATE]};
        signals_read(sdk, &stats, sums);
        processors_read(sdk, &stats, late);
        sdk_leave(sdk);
    }
    stats.stale_handles = sp_misuse_read(SP_MISUSE_STALE_HANDLE);
    stats.stale_parents = sp_misuse_read(SP_MISUSE_STALE_PARENT);
    stats.wrong_detaches = sp_misuse_read(SP_MISUSE_WRONG_DETACH);
    stats.dropped_attributes = sp_misuse_read(SP_MISUSE_DROPPED_ATTRIBUTE);
    stats.repaired_text = sp_misuse_read(SP_MISUSE_REPAIRED_TEXT);
    stats.truncated_text = sp_misuse_read(SP_MISUSE_TRUNCATED_TEXT);
    stats.no_memory = sp_misuse_read(SP_MISUSE_NO_MEMORY);
    stats.scope_overflow = sp_misuse_read(SP_MISUSE_SCOPE_OVERFLOW);
    stats.after_shutdown = sp_misuse_read(SP_MISUSE_AFTER_SHUTDOWN);
    stats.released_spans = sp_misuse_read(SP_MISUSE_RELEASED_SPAN);
    stats.hook_recursion = sp_misuse_read(SP_MISUSE_HOOK_RECURSION);
    stats.invalid_calls = sp_misuse_read(SP_MISUSE_INVALID_CALL);
    size_t size = out->struct_size;
    (void)memcpy(out, &stats, size < sizeof stats ? size : sizeof stats);
    out->struct_size = size;
    return sdk ? SPOOL_OK : SPOOL_ERR_INVALID;
}

/* ---- enabled ---- */

bool sp_subscriber_refuses(sp_subscriber *subscriber, sp_thread_block *thread,
                           const spool_enabled_query *query, uint32_t processors) {
    /* A processor that cannot be asked may want it, and so may one that says yes. */
    if (processors & ~subscriber->enabled.mask) {
        return false;
    }
    if (processors == 0) {
        return true;
    }
    if (!sp_hooks_enter(thread)) {
        return false;
    }
    bool refused = true;
    for (unsigned i = 0; i < subscriber->enabled.count && refused; i++) {
        unsigned index = subscriber->enabled.index[i];
        const spool_processor *processor = &subscriber->processors[index];
        refused = !(processors >> index & 1) || !processor->ops->enabled(processor->self, query);
    }
    sp_hooks_leave(thread);
    return refused;
}
