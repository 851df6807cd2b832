/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of misuse and damage; spool_stats() reports them. */
#include "sdk/platform/atomics.h"
#include "sdk/platform/diagnostics.h"

static _Atomic uint64_t counters[SP_MISUSES];

void sp_misuse_count(unsigned what, uint64_t number) {
    if (what < SP_MISUSES) {
        /* Relaxed: sums that are read at quiet points, they publish nothing. */
        sp_add_relaxed(&counters[what], number);
    }
}

uint64_t sp_misuse_read(unsigned what) {
    return what < SP_MISUSES ? sp_load_relaxed(&counters[what]) : 0;
}
