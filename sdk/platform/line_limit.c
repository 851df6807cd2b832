/* SPDX-License-Identifier: Apache-2.0 */
/* A window of a minute that starts with its first line. */
#include "sdk/platform/line_limit.h"

#include "sdk/platform/clock.h"

static bool pass(sp_line_limit *limit, uint64_t now_ns, uint32_t most, uint64_t *out_held_back) {
    if (limit->window_start_ns == 0 || now_ns - limit->window_start_ns >= 60 * SP_NS_PER_S) {
        limit->window_start_ns = now_ns ? now_ns : 1;
        limit->lines = 0;
    }
    if (limit->lines >= most) {
        return false;
    }
    limit->lines++;
    *out_held_back = limit->held_back;
    limit->held_back = 0;
    return true;
}

bool sp_line_limit_pass(sp_line_limit *limit, uint64_t now_ns, uint64_t *out_held_back) {
    bool passes = pass(limit, now_ns, SP_LINES_PER_MINUTE - 1, out_held_back);
    limit->held_back += !passes;
    return passes;
}

bool sp_line_limit_pass_summary(sp_line_limit *limit, uint64_t now_ns, uint64_t *out_held_back) {
    return limit->held_back && pass(limit, now_ns, SP_LINES_PER_MINUTE, out_held_back);
}
