/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spill memory: what of a span does not fit its body. Two classes of blocks in chunks of 64, at a
 * multiple of the chunk's size, so that a block's address tells its chunk; the chunk's first block
 * is its head. Owners and remote frees are as for slots (shard.h), with one word for the whole
 * chunk.
 *
 * Chunks stay with their shard and count towards the cap in bytes.
 *
 * A block from the heap starts behind a word that says how far, so chosen that its address is never
 * one that a pooled block could have.
 */
#include "sdk/memory/pages.h"
#include "sdk/memory/registry.h"
#include "sdk/memory/shard.h"
#include "sdk/platform/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 64 };

static size_t block_bytes(unsigned class) {
    return class == 0 ? (size_t)SP_SPILL_SMALL_BYTES : (size_t)SP_SPILL_LARGE_BYTES;
}

static unsigned class_of(size_t size) {
    return size <= SP_SPILL_SMALL_BYTES ? 0 : 1;
}

static sp_spill_chunk *add_chunk(sp_shard *shard, unsigned class) {
    size_t bytes = block_bytes(class) * BLOCKS;
    if (!sp_cap_take_bytes(bytes)) {
        (void)sp_add_relaxed(&sp_totals.cap_refusals, 1);
        return NULL;
    }
    sp_spill_chunk *chunk = sp_pages_map_aligned(bytes, bytes);
    if (chunk == NULL) {
        sp_cap_give_bytes(bytes);
        return NULL;
    }
    chunk->shard = shard;
    chunk->free = UINT64_MAX << 1;
    (void)sp_add_relaxed(&sp_totals.chunks_mapped, 1);
    return chunk;
}

static void offer(sp_spill_pool *pool, sp_spill_chunk *chunk) {
    if (chunk != pool->current && !chunk->listed) {
        chunk->listed = true;
        sp_spill_list_push_front(&pool->available, NULL, chunk);
    }
}

static void merge_returned(sp_shard *shard, unsigned class) {
    /* Acquire: next_returned; partner: the push in free_remote(). */
    sp_spill_chunk *chunk = sp_exchange_acquire(&shard->spills_returned[class], NULL);
    while (chunk != NULL) {
        /* Read before the exchange: after it another push may write it. */
        sp_spill_chunk *next = chunk->next_returned;
        /* Acquire: the freers are done with their blocks; release: `next` was read; partner: the
         * or-operation in free_remote(). */
        chunk->free |= sp_exchange_acq_rel(&chunk->remote, 0);
        sp_count_owner(&shard->remote_merges, 1);
        offer(&shard->spills[class], chunk);
        chunk = next;
    }
}

static sp_spill_chunk *next_available(sp_spill_pool *pool) {
    if (pool->current != NULL && pool->current->free != 0) {
        return pool->current;
    }
    sp_spill_chunk *chunk = sp_spill_list_pop_front(&pool->available, NULL);
    if (chunk != NULL) {
        chunk->listed = false;
    }
    return chunk;
}

static SP_COLD sp_spill_chunk *refill(sp_shard *shard, unsigned class) {
    sp_spill_pool *pool = &shard->spills[class];
    sp_spill_chunk *chunk = next_available(pool);
    if (chunk == NULL) {
        merge_returned(shard, class);
        chunk = next_available(pool);
    }
    if (chunk == NULL) {
        chunk = add_chunk(shard, class);
    }
    if (chunk != NULL) {
        pool->current = chunk;
    }
    return chunk;
}

/* The caller owns the shard. */
static void *acquire_from(sp_shard *shard, unsigned class) {
    sp_spill_chunk *chunk = shard->spills[class].current;
    if (SP_UNLIKELY(chunk == NULL || chunk->free == 0)) {
        chunk = refill(shard, class);
        if (chunk == NULL) {
            return NULL;
        }
    }
    size_t block = (size_t)__builtin_ctzll(chunk->free);
    chunk->free &= chunk->free - 1;
    return (uint8_t *)chunk + block * block_bytes(class);
}

/* Twice the alignment at most: one of two neighbouring places is no multiple of a block. */
static void *heap_acquire(size_t size) {
    enum { STEP = 16 };
    int saved_errno = errno;
    uint8_t *raw = size <= SIZE_MAX - 2 * STEP ? malloc(size + (size_t)(2 * STEP)) : NULL;
    errno = saved_errno;
    if (raw == NULL) {
        return NULL;
    }
    size_t skip = STEP;
    if (sp_spill_is_pooled(raw + skip)) {
        skip += STEP;
    }
    memcpy(raw + skip - sizeof skip, &skip, sizeof skip);
    return raw + skip;
}

static void heap_release(uint8_t *spill) {
    size_t skip;
    memcpy(&skip, spill - sizeof skip, sizeof skip);
    free(spill - skip);
}

void *sp_spill_acquire(sp_thread_block *thread, size_t size) {
    if (size > SP_SPILL_LARGE_BYTES) {
        return heap_acquire(size);
    }
    if (thread->shard == NULL && sp_shard_attach(thread) == NULL) {
        return NULL;
    }
    if (SP_LIKELY(!thread->shard->shared)) {
        return acquire_from(thread->shard, class_of(size));
    }
    sp_shard_lock_shared();
    void *spill = acquire_from(thread->shard, class_of(size));
    sp_shard_unlock_shared();
    return spill;
}

static SP_COLD void free_remote(sp_spill_chunk *chunk, unsigned class, uint64_t bit) {
    sp_shard *shard = chunk->shard;
    /* Release: the freer is done with the block; acquire: the owner has read next_returned;
     * partner: the exchange in merge_returned(). */
    if (sp_or_acq_rel(&chunk->remote, bit) != 0) {
        return;
    }
    sp_spill_chunk *top = sp_load_relaxed(&shard->spills_returned[class]);
    do {
        chunk->next_returned = top;
        /* Release: next_returned; partner: the exchange in merge_returned(). */
    } while (!atomic_compare_exchange_weak_explicit(&shard->spills_returned[class], &top, chunk,
                                                    memory_order_release, memory_order_relaxed));
}

void sp_spill_release(sp_thread_block *thread, void *spill, size_t size) {
    if (spill == NULL) {
        return;
    }
    if (size > SP_SPILL_LARGE_BYTES) {
        heap_release(spill);
        return;
    }
    unsigned class = class_of(size);
    uintptr_t mask = block_bytes(class) * BLOCKS - 1;
    sp_spill_chunk *chunk =
        (sp_spill_chunk *)(void *)((uint8_t *)spill - ((uintptr_t)spill & mask));
    uint64_t bit = UINT64_C(1) << (((uintptr_t)spill & mask) / block_bytes(class));
    if (SP_UNLIKELY(chunk->shard != thread->shard || chunk->shard->shared)) {
        free_remote(chunk, class, bit);
        return;
    }
    SP_CHECK((chunk->free & bit) == 0);
    chunk->free |= bit;
    offer(&chunk->shard->spills[class], chunk);
}
