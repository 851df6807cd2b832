/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics per thread and SDK. A thread adds to counters of its own without a read-modify-write; a
 * reader sums all threads. Counter blocks outlive their threads: the next thread goes on counting in
 * them, so nothing has to be moved when a thread ends.
 */
#ifndef SPOOL_SDK_SUBSCRIBER_COUNTERS_H
#define SPOOL_SDK_SUBSCRIBER_COUNTERS_H

#include "sdk/memory/thread_block.h"

#include <spool/sdk/stats.h>

#include <stdint.h>

enum { SP_MAX_SDKS = 64 };

enum {
    SP_COUNT_CREATED,
    SP_COUNT_NOT_RECORDED,
    SP_COUNT_FILTERED,
    SP_COUNT_FINISHED,
    SP_COUNT_LATE, /* finished and sampled, but the processors were shut down already */
    SP_COUNTS
};

/* Adds 1. `thread` NULL: the shared counters of threads without a block. */
void sp_counters_add(sp_thread_block *thread, unsigned sdk, uint32_t epoch, unsigned signal,
                     unsigned what);
/* Sums over all threads; exact when no call is in progress. */
void sp_counters_sum(unsigned sdk, uint32_t epoch, uint64_t out_sums[2][SP_COUNTS]);

#endif /* SPOOL_SDK_SUBSCRIBER_COUNTERS_H */
