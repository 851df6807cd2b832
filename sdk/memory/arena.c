/* SPDX-License-Identifier: Apache-2.0 */
/* The arena. The newest chunk comes first in the chain; `used` counts bytes of it. */
#include "sdk/memory/arena.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGN_BYTES = 16, CHUNK_BYTES = 4096 };

struct sp_arena_chunk {
    sp_arena_chunk *older;
    size_t bytes; /* of memory */
    uint8_t memory[];
};

_Static_assert(sizeof(sp_arena_chunk) % ALIGN_BYTES == 0, "chunk memory is aligned");

static void free_chunks(sp_arena_chunk *chunk, sp_arena_chunk *until) {
    while (chunk != until) {
        sp_arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
}

void *sp_arena_alloc(sp_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t rounded = (size + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    sp_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || rounded > chunk->bytes - arena->used) {
        size_t bytes = chunk == NULL ? CHUNK_BYTES - sizeof *chunk : chunk->bytes * 2;
        if (bytes < rounded) {
            bytes = rounded;
        }
        int saved_errno = errno;
        chunk = malloc(sizeof *chunk + bytes);
        errno = saved_errno;
        if (chunk == NULL) {
            return NULL;
        }
        chunk->bytes = bytes;
        chunk->older = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
    }
    void *memory = chunk->memory + arena->used;
    arena->used += rounded;
    return memory;
}

void sp_arena_reset(sp_arena *arena) {
    sp_arena_chunk *first = arena->chunks;
    while (first != NULL && first->older != NULL) {
        first = first->older;
    }
    free_chunks(arena->chunks, first);
    arena->chunks = first;
    arena->used = 0;
}

void sp_arena_fini(sp_arena *arena) {
    free_chunks(arena->chunks, NULL);
    *arena = (sp_arena){NULL, 0};
}
