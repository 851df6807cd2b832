/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers: xoshiro256++ (Blackman and Vigna, public domain), one state a thread. Ids need no
 * secrecy, only that no two processes or threads share a sequence: hence the seed from the kernel, and
 * the look at the fork generation before each number.
 */
#include "sdk/platform/random.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/fork.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t rotated(uint64_t value, unsigned bits) {
    return (value << bits) | (value >> (64 - bits));
}

/* One step of splitmix64: spreads what little a weak source has over all bits. */
static uint64_t mixed(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = *state;
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static uint64_t clock_word(clockid_t clock) {
    struct timespec now = {0, 0};
    (void)clock_gettime(clock, &now);
    return ((uint64_t)now.tv_sec << 30) ^ (uint64_t)now.tv_nsec;
}

/* Without the kernel's generator: everything that differs between processes, threads and calls. */
static void seed_weakly(sp_random *random) {
    static _Atomic uint64_t calls;
    uint64_t pool = sp_add_relaxed(&calls, 1);
    const uint64_t words[] = {
        clock_word(CLOCK_REALTIME),       clock_word(CLOCK_MONOTONIC), (uint64_t)getpid(),
        (uint64_t)syscall(SYS_gettid),    (uint64_t)(uintptr_t)random, (uint64_t)(uintptr_t)&pool,
        (uint64_t)(uintptr_t)seed_weakly,
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        pool ^= words[i];
        pool = mixed(&pool);
    }
    const uint8_t *boot = (const uint8_t *)(uintptr_t)getauxval(AT_RANDOM);
    if (boot) {
        uint64_t half;
        memcpy(&half, boot, sizeof half);
        pool ^= half;
    }
    for (size_t i = 0; i < 4; i++) {
        random->state[i] = mixed(&pool);
    }
}

void sp_random_seed(sp_random *random) {
    int saved = errno;
    /* Not waiting for the kernel's pool at boot: a service must start. */
    ssize_t got = getrandom(random->state, sizeof random->state, GRND_NONBLOCK);
    if (got != (ssize_t)sizeof random->state) {
        seed_weakly(random);
    }
    if ((random->state[0] | random->state[1] | random->state[2] | random->state[3]) == 0) {
        random->state[0] = 1; /* the one state that the generator never leaves */
    }
    random->fork_generation = sp_fork_generation();
    errno = saved;
}

uint64_t sp_random_next(sp_random *random) {
    if (SP_UNLIKELY(random->fork_generation != sp_fork_generation())) {
        sp_random_seed(random);
    }
    uint64_t *s = random->state;
    uint64_t result = rotated(s[0] + s[3], 23) + s[0];
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotated(s[3], 45);
    return result;
}
