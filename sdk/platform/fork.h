/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process is this? A page that the kernel wipes on fork tells it with one load, whatever way the
 * process was forked (fork, _Fork, clone without CLONE_VM).
 */
#ifndef SPOOL_SDK_PLATFORM_FORK_H
#define SPOOL_SDK_PLATFORM_FORK_H

#include "sdk/platform/compiler.h"

#include <stdint.h>

/* 1 in the first process, larger in a child; never 0. Threads: any. */
uint32_t sp_fork_generation(void) SP_SHARED("fork_generation");

#endif /* SPOOL_SDK_PLATFORM_FORK_H */
