/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks, in nanoseconds. Waits and deadlines use the monotonic one alone. */
#ifndef SPOOL_SDK_PLATFORM_CLOCK_H
#define SPOOL_SDK_PLATFORM_CLOCK_H

#include "sdk/platform/compiler.h"

#include <stdint.h>

#define SP_NS_PER_MS UINT64_C(1000000)
#define SP_NS_PER_S UINT64_C(1000000000)
/* "No deadline", in the functions that take one. */
#define SP_NO_DEADLINE UINT64_MAX

/* Since the epoch. `kind` is SPOOL_CLOCK_*. */
uint64_t sp_clock_wall_ns(uint32_t kind) SP_SHARED("clock_wall_ns");
/* CLOCK_MONOTONIC. */
uint64_t sp_clock_mono_ns(uint32_t kind) SP_SHARED("clock_mono_ns");
/* Now (precise) plus the milliseconds; saturates. */
uint64_t sp_deadline_after_ms(uint64_t timeout_ms) SP_SHARED("deadline_after_ms");

#endif /* SPOOL_SDK_PLATFORM_CLOCK_H */
