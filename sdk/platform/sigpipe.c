/* SPDX-License-Identifier: Apache-2.0 */
/* See sigpipe.h. */
#include "sdk/platform/sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static sigset_t pipe_only(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    return set;
}

bool sp_sigpipe_hold(sp_sigpipe_guard *guard) {
    sigset_t pending;
    sigset_t only = pipe_only();
    if (pthread_sigmask(SIG_BLOCK, &only, &guard->before) != 0) {
        return false;
    }
    guard->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    return true;
}

void sp_sigpipe_release(const sp_sigpipe_guard *guard, bool raised) {
    int kept_errno = errno;
    if (raised && !guard->was_pending) {
        const struct timespec at_once = {0, 0};
        sigset_t only = pipe_only();
        while (sigtimedwait(&only, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = kept_errno;
}
