/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slab: nodes of one size by index, in chunks of 64 slots, doubling up to 4,096. An address is
 * stable from take to free and, since chunks stay until the slab is finished, readable beyond.
 *
 * One thread at a time takes and frees; sp_slab_at() may run on any thread meanwhile. A cap is the
 * caller's policy: the slab itself holds SP_SLAB_MAX nodes at most.
 */
#ifndef SPOOL_SDK_MEMORY_SLAB_H
#define SPOOL_SDK_MEMORY_SLAB_H

#include "sdk/memory/index_alloc.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SP_CHUNK_FIRST_SLOTS = 64,
    SP_CHUNK_MAX_SLOTS = SP_INDEX_MAX,
    SP_CHUNK_SLOT_BITS = 12, /* an index is chunk << 12 | slot */
    SP_SLAB_CHUNKS = 256
};

/* Slots of chunk number `chunk`: 64, 128, ... 4,096, 4,096, ... */
static inline uint32_t sp_chunk_slots(uint32_t chunk) {
    return chunk >= 6 ? (uint32_t)SP_CHUNK_MAX_SLOTS : (uint32_t)SP_CHUNK_FIRST_SLOTS << chunk;
}

/* The nodes follow it. */
typedef struct sp_slab_chunk {
    sp_index_alloc indices;
    SP_CACHE_ALIGNED size_t bytes; /* of the mapping */
} sp_slab_chunk;

typedef struct sp_slab {
    size_t node_bytes;
    uint64_t cap;  /* nodes taken at once */
    uint64_t used; /* nodes taken now */
    uint64_t refused;
    uint32_t chunk_count;
    uint32_t current; /* the chunk that hands out */
    /* Written once each, by the taker; read by sp_slab_at(). */
    _Atomic(sp_slab_chunk *) chunks[SP_SLAB_CHUNKS];
} sp_slab;

#define SP_SLAB_MAX                                                                                \
    ((uint64_t)SP_CHUNK_FIRST_SLOTS * 63 + (uint64_t)SP_CHUNK_MAX_SLOTS * (SP_SLAB_CHUNKS - 6))

/* Zero-initialised memory becomes an empty slab. Nodes are aligned to 16 bytes, those of more than 32
 * bytes to 64. */
void sp_slab_init(sp_slab *slab, size_t node_bytes, uint64_t cap);
void sp_slab_fini(sp_slab *slab);
/* Makes `current` a chunk with room: the first that has some, or a new one. NULL: no memory. */
SP_COLD sp_slab_chunk *sp_slab_refill(sp_slab *slab);

static inline sp_slab_chunk *sp_slab_chunk_at(const sp_slab *slab, uint32_t number) {
    /* Acquire: the chunk's fields; partner: the release in add_chunk(). */
    return SP_LIKELY(number < SP_SLAB_CHUNKS) ? sp_load_acquire(&slab->chunks[number]) : NULL;
}

static inline void *sp_slab_node(const sp_slab *slab, sp_slab_chunk *chunk, uint32_t slot) {
    return (uint8_t *)(chunk + 1) + slot * slab->node_bytes;
}

/* A node, zeroed the first time and as it was freed later. NULL: cap (counted), or no memory. */
static inline void *sp_slab_take(sp_slab *slab, uint32_t *out_index) {
    if (SP_UNLIKELY(slab->used >= slab->cap)) {
        slab->refused++;
        return NULL;
    }
    sp_slab_chunk *chunk = sp_slab_chunk_at(slab, slab->current);
    if (SP_UNLIKELY(chunk == NULL || !sp_index_alloc_has_free(&chunk->indices))) {
        chunk = sp_slab_refill(slab);
        if (chunk == NULL) {
            return NULL;
        }
    }
    uint32_t slot = sp_index_alloc_take(&chunk->indices);
    slab->used++;
    *out_index = slab->current << SP_CHUNK_SLOT_BITS | slot;
    return sp_slab_node(slab, chunk, slot);
}

/* False, and nothing changes, when the index names no taken node. */
static inline bool sp_slab_free(sp_slab *slab, uint32_t index) {
    sp_slab_chunk *chunk = sp_slab_chunk_at(slab, index >> SP_CHUNK_SLOT_BITS);
    if (SP_UNLIKELY(chunk == NULL ||
                    !sp_index_alloc_free(&chunk->indices, index & (SP_INDEX_MAX - 1)))) {
        return false;
    }
    slab->used--;
    return true;
}

/* The node's place, taken or not; NULL when there never was one. Threads: any. */
static inline void *sp_slab_at(const sp_slab *slab, uint32_t index) {
    sp_slab_chunk *chunk = sp_slab_chunk_at(slab, index >> SP_CHUNK_SLOT_BITS);
    uint32_t slot = index & (SP_INDEX_MAX - 1);
    if (SP_UNLIKELY(chunk == NULL || slot >= chunk->indices.length)) {
        return NULL;
    }
    return sp_slab_node(slab, chunk, slot);
}

#endif /* SPOOL_SDK_MEMORY_SLAB_H */
