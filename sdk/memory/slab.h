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

typedef struct sp_slab_chunk {
    sp_index_alloc indices;
    size_t bytes; /* of the mapping */
    uint8_t *nodes;
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

/* Zero-initialised memory becomes an empty slab; nodes are aligned to 64 bytes. */
void sp_slab_init(sp_slab *slab, size_t node_bytes, uint64_t cap);
/* A node, zeroed the first time and as it was freed later. NULL: cap (counted), or no memory. */
void *sp_slab_take(sp_slab *slab, uint32_t *out_index);
/* False, and nothing changes, when the index names no taken node. */
bool sp_slab_free(sp_slab *slab, uint32_t index);
/* The node's place, taken or not; NULL when there never was one. Threads: any. */
void *sp_slab_at(const sp_slab *slab, uint32_t index);
void sp_slab_fini(sp_slab *slab);

#endif /* SPOOL_SDK_MEMORY_SLAB_H */
