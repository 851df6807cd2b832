/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that no application can seed: a generator of 256 bits of state for each thread, seeded
 * by getrandom(2). After fork() the child's state is told apart (see sp_random_next).
 */
#ifndef SPOOL_SDK_PLATFORM_RANDOM_H
#define SPOOL_SDK_PLATFORM_RANDOM_H

#include "sdk/platform/compiler.h"

#include <stdint.h>

typedef struct sp_random {
    uint64_t state[4];
    uint32_t fork_generation; /* of the process that seeded it; 0: not seeded */
} sp_random;

/* Seeds from the kernel; where that fails, from clocks, addresses, the process and thread ids. */
void sp_random_seed(sp_random *random) SP_SHARED("random_seed");
/* The next 64 bits. Seeds itself first when it is not seeded, or seeded in another process. */
uint64_t sp_random_next(sp_random *random) SP_SHARED("random_next");

#endif /* SPOOL_SDK_PLATFORM_RANDOM_H */
