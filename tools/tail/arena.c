/* SPDX-License-Identifier: Apache-2.0 */
/* A list of heap chunks with a bump pointer in the newest. */
#include "tools/tail/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

struct sp_tail_chunk {
    sp_tail_chunk *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char data[];
};

void sp_tail_arena_init(sp_tail_arena *arena, size_t chunk_bytes, size_t limit) {
    *arena = (sp_tail_arena){NULL, chunk_bytes, 0, limit};
}

static sp_tail_chunk *chunk_add(sp_tail_arena *arena, size_t size) {
    size_t room = size > arena->chunk_bytes ? size : arena->chunk_bytes;
    if (room > SIZE_MAX - sizeof(sp_tail_chunk) ||
        room + sizeof(sp_tail_chunk) > arena->limit - arena->bytes) {
        return NULL;
    }
    sp_tail_chunk *chunk = malloc(sizeof *chunk + room);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->next = arena->chunks;
    chunk->used = 0;
    chunk->size = room;
    arena->chunks = chunk;
    arena->bytes += sizeof *chunk + room;
    return chunk;
}

void *sp_tail_arena_take(sp_tail_arena *arena, size_t size) {
    const size_t unit = alignof(max_align_t);
    if (size > SIZE_MAX - unit) {
        return NULL;
    }
    size = (size + unit - 1) / unit * unit;
    sp_tail_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        chunk = chunk_add(arena, size);
    }
    if (chunk == NULL) {
        return NULL;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

void sp_tail_arena_clear(sp_tail_arena *arena) {
    while (arena->chunks != NULL) {
        sp_tail_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->bytes = 0;
}
