/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simple processor (specification: trace/sdk "Simple processor"): hands each finished record, borrowed,
 * to its exporter on the thread that finished it, one at a time. For tests, consoles and files. With a
 * network exporter the caller waits for the answer, at most the export timeout; where waiting could
 * deadlock (inside a hook, on the runtime's thread) the record is dropped, counted.
 */
#ifndef SPOOL_SDK_SIMPLE_H
#define SPOOL_SDK_SIMPLE_H

#include <spool/ext/exporter.h>
#include <spool/ext/processor.h>

SPOOL_BEGIN_DECLS

typedef struct spool_simple_options {
    size_t struct_size;
    uint32_t export_timeout_ms; /* default 30000; 0: none */
    uint32_t signals;           /* bits 1 << SPOOL_SIGNAL_*; default both (3) */
} spool_simple_options;
#define SPOOL_SIMPLE_OPTIONS_INIT                                                                  \
    { sizeof(spool_simple_options), 30000, 3 }
SPOOL_API void spool_simple_options_init(spool_simple_options *options);

/* Ownership and failure as spool_batch_create(). Starts no thread. */
SPOOL_API SPOOL_MUST_USE spool_status spool_simple_create(spool_exporter exporter,
                                                          const spool_simple_options *options,
                                                          spool_processor *out_processor);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_SIMPLE_H */
