/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps SIGPIPE away from the host: a write to a closed pipe raises it for the writing thread, so it is
 * blocked meanwhile and taken back before the host can see it. One that the host had pending already
 * (blocked, then) stays.
 *
 *     sp_sigpipe_guard guard;
 *     if (sp_sigpipe_hold(&guard)) {
 *         ... write(2) ...
 *         sp_sigpipe_release(&guard, it failed with EPIPE);
 *     }
 */
#ifndef SPOOL_SDK_PLATFORM_SIGPIPE_H
#define SPOOL_SDK_PLATFORM_SIGPIPE_H

#include "sdk/platform/compiler.h"

#include <signal.h>
#include <stdbool.h>

typedef struct sp_sigpipe_guard {
    sigset_t before;
    bool was_pending;
} sp_sigpipe_guard;

/* False: the mask could not be changed; do not write. */
bool sp_sigpipe_hold(sp_sigpipe_guard *guard) SP_SHARED("sigpipe_hold");
void sp_sigpipe_release(const sp_sigpipe_guard *guard, bool raised) SP_SHARED("sigpipe_release");

#endif /* SPOOL_SDK_PLATFORM_SIGPIPE_H */
