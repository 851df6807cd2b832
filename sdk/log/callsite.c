/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callsites: the static descriptions behind the logging macros.
 *
 * States of a verdict: stale (its epoch is not the present one), on, off, sometimes. Any thread may renew
 * it: it reads the epoch first, then looks, then stores both in one word, so a change that comes in
 * between leaves it stale again rather than wrong. On and sometimes hold the processors that see the
 * record, or may; sometimes says besides whom to ask each time: the filters, `enabled` hooks, or both.
 */
#include "sdk/context/stack.h"
#include "sdk/log/emission.h"
#include "sdk/log/format.h"

#include <spool/log.h>

#include <string.h>

#define VERDICT_ASK_HOOKS (UINT32_C(1) << 31)
#define VERDICT_ASK_FILTERS (UINT32_C(1) << 30)

/* The low half of the statement's verdict. */
static uint32_t verdict_make(sp_thread_block *thread, const sp_subscriber *subscriber,
                             const sp_scope *scope, int32_t severity) {
    uint32_t mask = subscriber->log_emit.mask;
    uint32_t ask = 0;
    const sp_filter_set *filters = sp_filters_of(subscriber);
    if (severity && severity < subscriber->minimum_severity) {
        return 0;
    }
    if (filters) {
        static const struct spool_span_context nowhere = {{0}, {0}, 0, 0, {0}};
        spool_log_query query = {sizeof query, severity, 0, {NULL, 0}, &scope->view, &nowhere};
        sp_filter_question question = {NULL, &query, thread, 0, true};
        mask &= sp_filter_set_ask(filters, subscriber->processor_count, &question, &ask);
        ask &= mask;
    }
    if (mask && subscriber->enabled.count) {
        mask |= VERDICT_ASK_HOOKS;
    }
    return mask | (ask ? VERDICT_ASK_FILTERS : 0);
}

bool spool_callsite_renew(spool_callsite *site) {
    uint32_t epoch = __atomic_load_n(&spool_callsite_epoch, __ATOMIC_ACQUIRE);
    spool_logger *logger = spool_logger_cached(site->logger, site->scope, site->scope_version);
    sp_thread_block *thread = sp_thread();
    if (!thread) {
        return false;
    }
    uint32_t mask = 0;
    sp_subscriber *subscriber = sp_pin(thread, logger->source.cell, logger->source.epoch);
    if (subscriber) {
        if (sp_load_relaxed(&subscriber->state) == SP_SDK_OPEN) {
            mask = verdict_make(thread, subscriber, logger->source.scope, site->severity);
        }
        sp_unpin(thread);
    }
    /* Relaxed: the verdict is one word and publishes nothing else. */
    __atomic_store_n(&site->verdict, (uint64_t)epoch << 32 | mask, __ATOMIC_RELAXED);
    return mask != 0;
}

/* code.* attributes behind the user's, in scratch; the user's own array without memory. */
static const spool_attr *with_location(sp_thread_block *thread, const spool_callsite *site,
                                       const spool_attr *attrs, size_t *count) {
    spool_attr *all = sp_scratch_alloc(&thread->scratch, (*count + 3) * sizeof *all);
    if (!all) {
        return attrs;
    }
    if (*count) {
        memcpy(all, attrs, *count * sizeof *all);
    }
    all[(*count)++] = spool_string("code.file.path", site->file);
    all[(*count)++] = spool_int("code.line.number", site->line);
    all[(*count)++] = spool_string("code.function.name", site->function);
    return all;
}

/*
 * What the verdict says by itself. To be asked under the pin: a verdict of the present epoch was made for
 * the SDK that is pinned now (but while one SDK follows another, when it does no harm to guess).
 */
static uint32_t admitted_now(uint64_t verdict) {
    bool lasting =
        (uint32_t)(verdict >> 32) == __atomic_load_n(&spool_callsite_epoch, __ATOMIC_RELAXED) &&
        !(verdict & VERDICT_ASK_FILTERS);
    return lasting ? (uint32_t)verdict & SP_ADMIT_ALL : SP_ADMIT_ASK;
}

void spool_callsite_emit(spool_callsite *site, const spool_context *context, spool_str body,
                         const spool_attr *attrs, size_t count) {
    sp_thread_block *thread = sp_thread();
    spool_logger *logger = spool_logger_cached(site->logger, site->scope, site->scope_version);
    uint64_t verdict = __atomic_load_n(&site->verdict, __ATOMIC_RELAXED);
    if (!thread || thread->suppressed) {
        return;
    }
    if (SP_UNLIKELY(verdict & VERDICT_ASK_HOOKS) &&
        !spool_logger_enabled_n(logger, context, site->severity, spool_str_n(NULL, 0))) {
        return;
    }
    sp_subscriber *subscriber = sp_pin(thread, logger->source.cell, logger->source.epoch);
    if (!subscriber) {
        return;
    }
    if (SP_LIKELY(sp_load_relaxed(&subscriber->state) == SP_SDK_OPEN)) {
        sp_scratch_mark mark = sp_scratch_hold(&thread->scratch);
        spool_log_record record;
        record.struct_size = sizeof record;
        record.timestamp_ns = SP_LOG_TIME_IS_NOW;
        record.observed_timestamp_ns = 0;
        record.context = context;
        record.severity = site->severity;
        record.reserved = 0;
        record.severity_text = spool_str_of(spool_severity_name(site->severity));
        record.event_name = spool_str_n(NULL, 0);
        record.body = spool_value_string_n(body);
        record.attrs = SP_UNLIKELY(subscriber->source_location)
                           ? with_location(thread, site, attrs, &count)
                           : attrs;
        record.attr_count = count;
        sp_emit(thread, subscriber, logger->source.scope, &record, admitted_now(verdict));
        sp_scratch_release(&thread->scratch, mark);
    }
    sp_unpin(thread);
}

void spool_callsite_emitf(spool_callsite *site, const spool_context *context, const char *format,
                          ...) {
    uint64_t verdict = __atomic_load_n(&site->verdict, __ATOMIC_RELAXED);
    if (SP_UNLIKELY(verdict & VERDICT_ASK_FILTERS) &&
        !spool_logger_enabled_n(spool_logger_cached(site->logger, site->scope, site->scope_version),
                                context, site->severity, spool_str_n(NULL, 0))) {
        return; /* before the formatting, which costs the most */
    }
    char text[SP_FORMAT_BYTES];
    va_list args;
    va_start(args, format);
    spool_str body = sp_format(text, format, args);
    va_end(args);
    spool_callsite_emit(site, context, body, NULL, 0);
}
