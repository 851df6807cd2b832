/* SPDX-License-Identifier: Apache-2.0 */
/* Clock reads. clock_gettime cannot fail for these clocks and leaves errno alone. */
#include "sdk/platform/clock.h"

#include <time.h>

enum { KIND_COARSE = 1 }; /* SPOOL_CLOCK_COARSE; everything else is precise */

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * SP_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t sp_clock_wall_ns(uint32_t kind) {
    return clock_ns(kind == KIND_COARSE ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME);
}

uint64_t sp_clock_mono_ns(uint32_t kind) {
    return clock_ns(kind == KIND_COARSE ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC);
}

uint64_t sp_deadline_after_ms(uint64_t timeout_ms) {
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (timeout_ms > (SP_NO_DEADLINE - now) / SP_NS_PER_MS) {
        return SP_NO_DEADLINE;
    }
    return now + timeout_ms * SP_NS_PER_MS;
}
