/* SPDX-License-Identifier: Apache-2.0 */
/* The system call behind a timed wait on a word. */
#include "runtime/futex.h"

#include "sdk/platform/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool sp_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns) {
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / SP_NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % SP_NS_PER_S)};
    int saved_errno = errno;
    /* The _BITSET form takes an absolute time, on CLOCK_MONOTONIC. */
    long failed =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                deadline_ns == SP_NO_DEADLINE ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
    bool in_time = failed == 0 || errno != ETIMEDOUT;
    errno = saved_errno;
    return in_time;
}

void sp_futex_wake(_Atomic uint32_t *word, int threads) {
    int saved_errno = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
    errno = saved_errno;
}
