/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter's retry policy; pure, so that its tables can be tested without a network. */
#include "exporters/otlp/retry.h"

#include "sdk/platform/clock.h"

enum { JITTER_PERCENT = 20, MAX_DOUBLINGS = 20 };

/* Longer than any deadline, and small enough for sums. */
#define LONGEST_NS (UINT64_C(365) * 24 * 3600 * SP_NS_PER_S)

bool sp_retry_is_status(long status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* 0 to `limit`, both included. */
static uint64_t random_up_to(sp_random *random, uint64_t limit) {
    return sp_random_next(random) % (limit + 1);
}

uint64_t sp_retry_delay_ns(const sp_retry *retry, uint32_t attempt, int64_t retry_after_ms,
                           sp_random *random) {
    if (retry_after_ms >= 0) {
        if ((uint64_t)retry_after_ms >= LONGEST_NS / SP_NS_PER_MS) {
            return LONGEST_NS;
        }
        uint64_t asked = (uint64_t)retry_after_ms * SP_NS_PER_MS;
        return asked + random_up_to(random, asked / 100 * JITTER_PERCENT);
    }
    uint32_t doublings = attempt > 1 ? attempt - 1 : 0;
    uint64_t wait_ms = (uint64_t)retry->initial_ms
                       << (doublings < MAX_DOUBLINGS ? doublings : MAX_DOUBLINGS);
    if (wait_ms > retry->max_ms) {
        wait_ms = retry->max_ms;
    }
    uint64_t wait = wait_ms * SP_NS_PER_MS;
    uint64_t jitter = wait / 100 * JITTER_PERCENT;
    return wait - jitter + random_up_to(random, 2 * jitter);
}
