/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a request is tried again, and after how long (specification: OTLP/HTTP "Failures",
 * "Throttling"; protocol/exporter "Retry").
 */
#ifndef SPOOL_EXPORTERS_OTLP_RETRY_H
#define SPOOL_EXPORTERS_OTLP_RETRY_H

#include "sdk/platform/random.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sp_retry {
    uint32_t initial_ms;   /* the first back-off; each next is twice as long */
    uint32_t max_ms;       /* the longest, before jitter */
    uint32_t max_attempts; /* 0: as many as there is time for */
} sp_retry;

/* 429, 502, 503, 504, and no other. */
bool sp_retry_is_status(long status);

/*
 * How long to wait after the attempt of that number (from 1). What the server asked for
 * (`retry_after_ms`, -1: nothing) takes the place of the back-off and is never undercut. Jitter: the
 * back-off +-20 %, the server's wish up to 20 % more.
 */
uint64_t sp_retry_delay_ns(const sp_retry *retry, uint32_t attempt, int64_t retry_after_ms,
                           sp_random *random);

#endif /* SPOOL_EXPORTERS_OTLP_RETRY_H */
