/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slab. Chunks are mapped one by one; the table of them has its full length from the start, so
 * that a reader on another thread never sees it move.
 */
#include "sdk/memory/slab.h"

#include "sdk/memory/pages.h"

static sp_slab_chunk *add_chunk(sp_slab *slab) {
    if (slab->chunk_count == SP_SLAB_CHUNKS) {
        return NULL;
    }
    uint32_t slots = sp_chunk_slots(slab->chunk_count);
    size_t bytes = sizeof(sp_slab_chunk) + slots * slab->node_bytes;
    sp_slab_chunk *chunk = sp_pages_map(bytes);
    if (chunk == NULL) {
        return NULL;
    }
    (void)sp_index_alloc_init(&chunk->indices, slots);
    chunk->bytes = bytes;
    slab->current = slab->chunk_count;
    /* Release: publishes the chunk; partner: the acquire in sp_slab_chunk_at(). */
    sp_store_release(&slab->chunks[slab->chunk_count++], chunk);
    return chunk;
}

sp_slab_chunk *sp_slab_refill(sp_slab *slab) {
    for (uint32_t i = 0; i < slab->chunk_count; i++) {
        sp_slab_chunk *chunk = sp_slab_chunk_at(slab, i);
        if (sp_index_alloc_has_free(&chunk->indices)) {
            slab->current = i;
            return chunk;
        }
    }
    return add_chunk(slab);
}

void sp_slab_init(sp_slab *slab, size_t node_bytes, uint64_t cap) {
    size_t align = node_bytes > 32 ? 64 : 16;
    slab->node_bytes = (node_bytes + align - 1) & ~(align - 1);
    slab->cap = cap < SP_SLAB_MAX ? cap : SP_SLAB_MAX;
    slab->used = 0;
    slab->refused = 0;
    slab->chunk_count = 0;
    slab->current = 0;
    for (uint32_t i = 0; i < SP_SLAB_CHUNKS; i++) {
        sp_store_relaxed(&slab->chunks[i], NULL);
    }
}

void sp_slab_fini(sp_slab *slab) {
    for (uint32_t i = 0; i < slab->chunk_count; i++) {
        sp_slab_chunk *chunk = sp_slab_chunk_at(slab, i);
        sp_pages_unmap(chunk, chunk->bytes);
        sp_store_relaxed(&slab->chunks[i], NULL);
    }
    slab->chunk_count = 0;
    slab->current = 0;
    slab->used = 0;
}
