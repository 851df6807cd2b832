/* SPDX-License-Identifier: Apache-2.0 */
/* The processor interface (specification: trace/sdk "Span processor", logs/sdk "LogRecordProcessor"). */
#ifndef SPOOL_EXT_PROCESSOR_H
#define SPOOL_EXT_PROCESSOR_H

#include <spool/ext/box.h>
#include <spool/ext/data.h>
#include <spool/sdk/stats.h>
#include <spool/status.h>

SPOOL_BEGIN_DECLS

/* What `enabled` is asked about. */
typedef struct spool_enabled_query {
    size_t struct_size;
    uint32_t signal; /* SPOOL_SIGNAL_* */
    int32_t severity;
    spool_str event_name;
    const spool_scope *scope;
    const struct spool_span_context *span; /* the context's span; never NULL, may be all zero */
} spool_enabled_query;

/* What a processor learns when its SDK is made. */
typedef struct spool_attach_info {
    size_t struct_size;
    const spool_resource_data *resource; /* valid until destroy */
    spool_sdk *sdk;
} spool_attach_info;

/*
 * A processor. Absent hooks (NULL) are skipped without a call. One processor may serve both signals.
 *
 * The hooks span_start .. log_emit run on the thread that makes the span or record, concurrently on
 * any number of threads, with no lock held: they may call every function of the API, on the same span
 * too. They must not block. What they are handed is borrowed for the call. Telemetry that a hook itself
 * makes goes through all processors; recursion is cut at depth 8, counted.
 *
 * With a filter (<spool/sdk/filter.h>) a processor sees all hooks of the spans that it admits, and none of
 * the others.
 *
 * attach      once, when the SDK is created, before any other hook; a failure fails the creation
 * span_start  the span may be changed through its handle; `parent` is its parent's context
 * span_ending the end time is set; the span may still be changed, by this hook alone (SP-04)
 * span_end    the span is fixed; only spans that are recorded come here, sampled or not: look at the
 *             flags (TS-13)
 * span_enter, span_exit  the span was made current, or stopped being, on the calling thread; a span that
 *             ended while it was current has no span_exit
 * log_emit    may change the record for the processors after it
 * enabled     may refuse (LS-10); absent means yes
 * flush       delivers what came before the call, by the deadline (absolute, CLOCK_MONOTONIC,
 *             nanoseconds; UINT64_MAX: none); adds to *report
 * shutdown    once; includes flush; afterwards the other hooks are not called, but may still be
 *             running on other threads until it returns
 * stats       adds the processor's counters for one signal to *out; any thread, any time
 * destroy     last call, once
 */
typedef struct spool_processor_ops {
    size_t struct_size;
    const char *name; /* static storage; for diagnostics and statistics */
    spool_status (*attach)(void *self, const spool_attach_info *info);
    void (*span_start)(void *self, spool_span_record *span, const spool_context *parent);
    void (*span_ending)(void *self, spool_span_record *span);
    void (*span_end)(void *self, spool_span_record *span);
    void (*span_enter)(void *self, spool_span span);
    void (*span_exit)(void *self, spool_span span);
    void (*log_emit)(void *self, spool_log_data *log);
    bool (*enabled)(void *self, const spool_enabled_query *query);
    spool_status (*flush)(void *self, uint64_t deadline_ns, spool_report *report);
    spool_status (*shutdown)(void *self, uint64_t deadline_ns, spool_report *report);
    void (*stats)(void *self, uint32_t signal, spool_processor_stats *out);
    void (*destroy)(void *self);
} spool_processor_ops;

/* A processor by value: its table and its state. */
typedef struct spool_processor {
    const spool_processor_ops *ops;
    void *self;
} spool_processor;

/* Of a span in a hook: its handle, and its data as it is now (decoded at each call; borrowed). */
SPOOL_API spool_span spool_span_record_handle(const spool_span_record *span);
SPOOL_API const spool_span_data *spool_span_record_data(spool_span_record *span);
/* The status alone, SPOOL_STATUS_*, without decoding the rest. */
SPOOL_API uint32_t spool_span_record_status(spool_span_record *span);

/*
 * For processors that keep records and let them go later: hands one record to one processor's log_emit,
 * with the ids, times and everything else that `log` says; nothing of it is changed, filtered or
 * counted again. Missing scope or resource (NULL) become the empty scope and the SDK's resource. The
 * processor may change the record, which is a copy of `log` with borrowed texts and attributes; boxes
 * of the record are its own and end with the call; it has no live span.
 *
 * `sdk` is what attach was told; call this from hooks, flush or shutdown of a processor of that SDK.
 * False when the processor has no log_emit, or the record came too deep in records handed on (8).
 */
SPOOL_API bool spool_log_data_hand_on(spool_sdk *sdk, const spool_processor *processor,
                                      const spool_log_data *log);

SPOOL_END_DECLS
#endif /* SPOOL_EXT_PROCESSOR_H */
