/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At most so many lines in a minute; the rest are counted. The caller serialises and brings the time,
 * so that tests need not wait for it.
 */
#ifndef SPOOL_SDK_PLATFORM_LINE_LIMIT_H
#define SPOOL_SDK_PLATFORM_LINE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_LINES_PER_MINUTE = 10 };

/* Zero-initialised it is ready. */
typedef struct sp_line_limit {
    uint64_t window_start_ns; /* 0: no line yet */
    uint32_t lines;           /* let through in this window */
    uint64_t held_back;       /* since the last line that was let through */
} sp_line_limit;

/* Whether a line may be shown at `now_ns`; if so *out_held_back tells how many were not before it. */
bool sp_line_limit_pass(sp_line_limit *limit, uint64_t now_ns, uint64_t *out_held_back);

/* The same for the line that sums up what was held back: one line in each window is kept for it. False
 * also when there is nothing to sum up. */
bool sp_line_limit_pass_summary(sp_line_limit *limit, uint64_t now_ns, uint64_t *out_held_back);

#endif /* SPOOL_SDK_PLATFORM_LINE_LIMIT_H */
