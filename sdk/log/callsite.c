/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callsites: the static descriptions behind the logging macros.
 *
 * States of a verdict: stale (its epoch is not the present one), on, off. Any thread may renew it: it
 * reads the epoch first, then looks, then stores both in one word, so a change that comes in between
 * leaves it stale again rather than wrong.
 */
#include "sdk/context/stack.h"
#include "sdk/log/emission.h"
#include "sdk/log/format.h"

#include <spool/log.h>

#include <string.h>

enum { VERDICT_ON = 1, VERDICT_ASK = 2 };

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
        if (sp_load_relaxed(&subscriber->state) == SP_SDK_OPEN && subscriber->log_emit.count &&
            !(site->severity && site->severity < subscriber->minimum_severity)) {
            mask = VERDICT_ON | (subscriber->enabled.count ? VERDICT_ASK : 0U);
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

void spool_callsite_emit(spool_callsite *site, const spool_context *context, spool_str body,
                         const spool_attr *attrs, size_t count) {
    sp_thread_block *thread = sp_thread();
    spool_logger *logger = spool_logger_cached(site->logger, site->scope, site->scope_version);
    uint64_t verdict = __atomic_load_n(&site->verdict, __ATOMIC_RELAXED);
    if (!thread || thread->suppressed) {
        return;
    }
    if (SP_UNLIKELY(verdict & VERDICT_ASK) &&
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
        record.timestamp_ns = 0;
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
        sp_emit(thread, subscriber, logger->source.scope, &record);
        sp_scratch_release(&thread->scratch, mark);
    }
    sp_unpin(thread);
}

void spool_callsite_emitf(spool_callsite *site, const spool_context *context, const char *format,
                          ...) {
    char text[SP_FORMAT_BYTES];
    va_list args;
    va_start(args, format);
    spool_str body = sp_format(text, format, args);
    va_end(args);
    spool_callsite_emit(site, context, body, NULL, 0);
}
