/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One log record on its way through the processors. It lives in the emitting frame and is passed by
 * pointer; the inline array is never zeroed, `data.attr_count` guards it.
 */
#ifndef SPOOL_SDK_LOG_EMISSION_H
#define SPOOL_SDK_LOG_EMISSION_H

#include "sdk/memory/box.h"
#include "sdk/subscriber/subscriber.h"

#include <spool/ext/data.h>
#include <spool/log.h>

enum { SP_EMISSION_SPARE = 8 }; /* attributes that processors may add without scratch */

typedef struct sp_emission {
    spool_log_data data; /* first: what hooks are handed */
    sp_thread_block *thread;
    sp_subscriber *subscriber;
    const sp_scope *scope;
    spool_span span;       /* the live span it belongs to, or zero */
    unsigned processor;    /* whose hook runs */
    uint32_t own_capacity; /* of the array in use, when it is ours: 0 means it is the caller's */
    spool_attr own[SP_EMISSION_SPARE * 2];
} sp_emission;

/* As a record's timestamp, from the calls that make a record of what happens now: the observed time. */
#define SP_LOG_TIME_IS_NOW UINT64_MAX

/* A record in a hook is told from a view that an exporter made by its size. */
static inline sp_emission *sp_emission_of(const spool_log_data *data) {
    return data && data->struct_size == sizeof(sp_emission) ? (sp_emission *)(uintptr_t)data : NULL;
}

/* As `admitted` of sp_emit(): the filters were not asked yet. */
#define SP_ADMIT_ASK UINT32_MAX

/*
 * Emits for a source that the caller has pinned; `record` is complete but for what it left open.
 * `admitted`: the processors that see it, as bits.
 */
void sp_emit(sp_thread_block *thread, sp_subscriber *subscriber, const sp_scope *scope,
             const spool_log_record *record, uint32_t admitted);

/* The processors that the filters let see such a record in such a context, as bits. */
uint32_t sp_log_admitted(sp_thread_block *thread, const sp_subscriber *subscriber,
                         const sp_scope *scope, const spool_context *context, int32_t severity,
                         spool_str event_name);

#endif /* SPOOL_SDK_LOG_EMISSION_H */
