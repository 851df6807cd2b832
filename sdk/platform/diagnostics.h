/* SPDX-License-Identifier: Apache-2.0 */
/* The one way for library code to say something; see <spool/sdk/diagnostics.h> for the promises. */
#ifndef SPOOL_SDK_PLATFORM_DIAGNOSTICS_H
#define SPOOL_SDK_PLATFORM_DIAGNOSTICS_H

#include "sdk/platform/compiler.h"

#include <spool/sdk/diagnostics.h>

#include <stdbool.h>

/*
 * One line, at most 511 bytes, control characters replaced. `component` has static storage. Rate
 * limited for the process. Must be called with no lock held: the user's callback runs inside.
 */
void sp_diag(int level, const char *component, const char *format, ...) SP_SHARED("diag")
    SP_PRINTF(3, 4);

/* Says how many lines were held back, if any: where nothing may come after it (a shutdown). */
void sp_diag_sum_up(void) SP_SHARED("diag_sum_up");

/*
 * Learns which file descriptor 2 is; the first call counts. To be called where the library is first
 * used (a thread's first use, the making of an SDK), before the host has a chance to close it.
 */
void sp_diag_remember_stderr(void) SP_SHARED("diag_remember_stderr");

/* Process-wide counters of misuse and damage: rare events, so a shared atomic each. */
enum {
    SP_MISUSE_STALE_HANDLE,
    SP_MISUSE_STALE_PARENT,
    SP_MISUSE_WRONG_DETACH,
    SP_MISUSE_DROPPED_ATTRIBUTE,
    SP_MISUSE_REPAIRED_TEXT,
    SP_MISUSE_TRUNCATED_TEXT,
    SP_MISUSE_NO_MEMORY,
    SP_MISUSE_SCOPE_OVERFLOW,
    SP_MISUSE_AFTER_SHUTDOWN,
    SP_MISUSE_RELEASED_SPAN,
    SP_MISUSE_HOOK_RECURSION,
    SP_MISUSE_INVALID_CALL,
    SP_MISUSES
};
void sp_misuse_count(unsigned what, uint64_t number) SP_SHARED("misuse_count");
uint64_t sp_misuse_read(unsigned what) SP_SHARED("misuse_read");

#endif /* SPOOL_SDK_PLATFORM_DIAGNOSTICS_H */
