/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch: a thread's stack of temporary memory. Allocation bumps a pointer; a mark is taken before
 * and released after, in stack order, so that hooks that come in between keep their own. The first
 * chunk stays with the thread; larger needs get chunks that are kept for reuse up to 64 KiB.
 */
#ifndef SPOOL_SDK_MEMORY_SCRATCH_H
#define SPOOL_SDK_MEMORY_SCRATCH_H

#include "sdk/platform/compiler.h"

#include <stddef.h>
#include <stdint.h>

typedef struct sp_scratch_chunk sp_scratch_chunk;

typedef struct sp_scratch {
    sp_scratch_chunk *chunk; /* the one in use; older ones behind it */
    uint8_t *at;
    uint8_t *end;
} sp_scratch;

typedef struct sp_scratch_mark {
    sp_scratch_chunk *chunk;
    uint8_t *at;
} sp_scratch_mark;

/* 16-byte aligned, not zeroed; NULL without memory. */
void *sp_scratch_alloc(sp_scratch *scratch, size_t size) SP_SHARED("scratch_alloc");
sp_scratch_mark sp_scratch_hold(const sp_scratch *scratch) SP_SHARED("scratch_hold");
void sp_scratch_release(sp_scratch *scratch, sp_scratch_mark mark) SP_SHARED("scratch_release");
void sp_scratch_fini(sp_scratch *scratch);

#endif /* SPOOL_SDK_MEMORY_SCRATCH_H */
