/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: allocations that are freed together. Not for the hot path; one thread at a time. */
#ifndef SPOOL_SDK_MEMORY_ARENA_H
#define SPOOL_SDK_MEMORY_ARENA_H

#include "sdk/platform/compiler.h"

#include <stddef.h>

typedef struct sp_arena_chunk sp_arena_chunk;

/* Zero-initialised, it is empty. */
typedef struct sp_arena {
    sp_arena_chunk *chunks;
    size_t used;
} sp_arena;

/* 16-byte aligned, not zeroed; NULL without memory. */
void *sp_arena_alloc(sp_arena *arena, size_t size) SP_SHARED("arena_alloc");
/* Frees everything but the first chunk, which is kept for reuse. */
void sp_arena_reset(sp_arena *arena) SP_SHARED("arena_reset");
void sp_arena_fini(sp_arena *arena) SP_SHARED("arena_fini");

#endif /* SPOOL_SDK_MEMORY_ARENA_H */
