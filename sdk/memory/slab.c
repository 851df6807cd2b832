/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slab. Chunks are mapped one by one; the table of them has its full length from the start, so
 * that a reader on another thread never sees it move.
 */
#include "sdk/memory/slab.h"

#include "sdk/memory/pages.h"

static sp_slab_chunk *chunk_of(const sp_slab *slab, uint32_t number) {
    /* Acquire: the chunk's fields; partner: the release in add_chunk(). */
    return number < SP_SLAB_CHUNKS ? sp_load_acquire(&slab->chunks[number]) : NULL;
}

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
    chunk->nodes = (uint8_t *)chunk + sizeof *chunk;
    slab->current = slab->chunk_count;
    /* Release: publishes the chunk; partner: the acquire in chunk_of(). */
    sp_store_release(&slab->chunks[slab->chunk_count++], chunk);
    return chunk;
}

/* The chunk to take from: the current one, the first with a free slot, or a new one. */
static sp_slab_chunk *chunk_with_room(sp_slab *slab) {
    for (uint32_t i = 0; i < slab->chunk_count; i++) {
        sp_slab_chunk *chunk = chunk_of(slab, i);
        if (sp_index_alloc_has_free(&chunk->indices)) {
            slab->current = i;
            return chunk;
        }
    }
    return add_chunk(slab);
}

void sp_slab_init(sp_slab *slab, size_t node_bytes, uint64_t cap) {
    slab->node_bytes = (node_bytes + 63) & ~(size_t)63;
    slab->cap = cap < SP_SLAB_MAX ? cap : SP_SLAB_MAX;
    slab->used = 0;
    slab->refused = 0;
    slab->chunk_count = 0;
    slab->current = 0;
    for (uint32_t i = 0; i < SP_SLAB_CHUNKS; i++) {
        sp_store_relaxed(&slab->chunks[i], NULL);
    }
}

void *sp_slab_take(sp_slab *slab, uint32_t *out_index) {
    if (slab->used >= slab->cap) {
        slab->refused++;
        return NULL;
    }
    sp_slab_chunk *chunk = chunk_of(slab, slab->current);
    if (chunk == NULL || !sp_index_alloc_has_free(&chunk->indices)) {
        chunk = chunk_with_room(slab);
        if (chunk == NULL) {
            return NULL;
        }
    }
    uint32_t slot = sp_index_alloc_take(&chunk->indices);
    slab->used++;
    *out_index = slab->current << SP_CHUNK_SLOT_BITS | slot;
    return chunk->nodes + slot * slab->node_bytes;
}

bool sp_slab_free(sp_slab *slab, uint32_t index) {
    sp_slab_chunk *chunk = chunk_of(slab, index >> SP_CHUNK_SLOT_BITS);
    if (chunk == NULL || !sp_index_alloc_free(&chunk->indices, index & (SP_INDEX_MAX - 1))) {
        return false;
    }
    slab->used--;
    return true;
}

void *sp_slab_at(const sp_slab *slab, uint32_t index) {
    sp_slab_chunk *chunk = chunk_of(slab, index >> SP_CHUNK_SLOT_BITS);
    uint32_t slot = index & (SP_INDEX_MAX - 1);
    if (chunk == NULL || slot >= chunk->indices.length) {
        return NULL;
    }
    return chunk->nodes + slot * slab->node_bytes;
}

void sp_slab_fini(sp_slab *slab) {
    for (uint32_t i = 0; i < slab->chunk_count; i++) {
        sp_slab_chunk *chunk = chunk_of(slab, i);
        sp_pages_unmap(chunk, chunk->bytes);
        sp_store_relaxed(&slab->chunks[i], NULL);
    }
    slab->chunk_count = 0;
    slab->current = 0;
    slab->used = 0;
}
