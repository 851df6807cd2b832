/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch processor (specification: trace/sdk "Batching processor", logs/sdk the same): writes each
 * record once, as OTLP bytes, into a ring of the calling thread; the runtime's loop hands batches of
 * them to the exporter.
 */
#ifndef SPOOL_SDK_BATCH_H
#define SPOOL_SDK_BATCH_H

#include <spool/ext/exporter.h>
#include <spool/ext/processor.h>

SPOOL_BEGIN_DECLS

enum {
    SPOOL_OVERFLOW_DROP_NEWEST = 0, /* the record that finds no room is dropped */
    SPOOL_OVERFLOW_DROP_OLDEST = 1, /* room is made from the thread's own oldest records */
    SPOOL_OVERFLOW_BLOCK = 2        /* the caller waits, at most block_limit_ms, then as newest */
};

typedef struct spool_batch_options {
    size_t struct_size;
    uint32_t max_queue_size;        /* records, queued and in flight; default 2048 */
    uint32_t max_export_batch_size; /* default 512; more than the queue: SPOOL_ERR_INVALID */
    uint32_t schedule_delay_ms;     /* default 5000 for spans, 1000 for logs */
    uint32_t export_timeout_ms;     /* default 30000; 0: none */
    uint32_t overflow;              /* SPOOL_OVERFLOW_*; default drop newest */
    uint32_t block_limit_ms;        /* default 100 */
    uint64_t max_queue_bytes;       /* default 64 MiB */
} spool_batch_options;

#define SPOOL_BATCH_SPAN_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(spool_batch_options), 2048, 512, 5000, 30000, SPOOL_OVERFLOW_DROP_NEWEST, 100,      \
            67108864                                                                               \
    }
#define SPOOL_BATCH_LOG_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(spool_batch_options), 2048, 512, 1000, 30000, SPOOL_OVERFLOW_DROP_NEWEST, 100,      \
            67108864                                                                               \
    }
SPOOL_API void spool_batch_options_init(spool_batch_options *options, uint32_t signal);
/* Defaults, then OTEL_BSP_* (spans) or OTEL_BLRP_* (logs); what is invalid is named and left out. */
SPOOL_API void spool_batch_options_from_env(spool_batch_options *options, uint32_t signal);

/*
 * Makes a batch processor for one signal (SPOOL_SIGNAL_*).
 *
 * exporter      consumed on success; still the caller's on failure
 * options       read during the call; NULL: defaults
 * out_processor set on success only; hand it to spool_sdk_create(), or destroy it by its table
 *
 * SPOOL_ERR_INVALID: an option, the exporter's table; SPOOL_ERR_UNSUPPORTED: drop oldest; SPOOL_ERR_NOMEM.
 * Its background thread ("spool", one for the process, all signals blocked) starts when an SDK is made
 * with it. Threads: any. Blocks: no.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_batch_create(uint32_t signal, spool_exporter exporter,
                                                         const spool_batch_options *options,
                                                         spool_processor *out_processor);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_BATCH_H */
