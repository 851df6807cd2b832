/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: taking slots and giving them back. See registry.h for the slot word, its states and
 * owners, shard.h for where slots come from, slot_lock.c for everything that happens to a live one.
 *
 * Giving back: the releaser makes the word ENDED with no locker, so that nobody can lock or newly
 * pin; runs the reclaim function and the resets of boxes, which may be foreign code; then makes the
 * word FREE with the next generation and sets the slot's bit, in that order: whoever takes the slot
 * finds the word free. A word that was never used is zero: generation 0, which no handle has.
 */
#include "sdk/memory/registry.h"

#include "sdk/memory/shard.h"
#include "sdk/platform/check.h"

#include <string.h>

/* Release in sp_registry_reclaims_with(), acquire in give_up(). */
static _Atomic(uintptr_t) reclaim_with;

static uint64_t word_of(uint64_t generation_bits, unsigned state) {
    return generation_bits | (uint64_t)state << SP_WORD_STATE_SHIFT;
}

/* ---- taking ---- */

static SP_COLD void init_slot(const sp_shard *shard, const sp_chunk *chunk, uint32_t index) {
    sp_slot *slot = &chunk->slots[index];
    slot->self = shard->id << SP_HANDLE_INDEX_BITS | chunk->number << SP_CHUNK_SLOT_BITS | index;
    if (chunk->with_body) {
        slot->body = chunk->blocks + (size_t)index * chunk->stride + offsetof(sp_body_block, body);
    }
    /* Relaxed: no handle names the slot yet. */
    sp_store_relaxed(&slot->word, word_of(UINT64_C(1) << 32, SP_SLOT_FREE));
}

/* The caller owns the shard. */
static inline sp_slot *acquire_from(sp_shard *shard, bool with_body, spool_span *out_handle) {
    sp_chunk *chunk = shard->pools[with_body].current;
    if (SP_UNLIKELY(chunk == NULL || !sp_index_alloc_has_free(&chunk->indices))) {
        chunk = sp_pool_refill(shard, with_body);
        if (chunk == NULL) {
            return NULL;
        }
    }
    if (with_body) {
        if (SP_UNLIKELY(shard->credits == 0 && !sp_cap_take_credits(shard))) {
            return NULL;
        }
        shard->credits--;
    }
    uint32_t index = sp_index_alloc_take(&chunk->indices);
    sp_slot *slot = &chunk->slots[index];
    /* Relaxed: a free slot is its shard's owner's; remote frees were acquired by the merge. */
    uint64_t word = sp_load_relaxed(&slot->word);
    if (SP_UNLIKELY(word == 0)) {
        init_slot(shard, chunk, index);
        word = sp_load_relaxed(&slot->word);
    }
    SP_CHECK((word & ~SP_WORD_GENERATION) == word_of(0, SP_SLOT_FREE));
    sp_store_relaxed(&slot->word, word_of(word & SP_WORD_GENERATION, SP_SLOT_STARTING));
    /* The new generation is seen before new fields are; partner: the fence in sp_slot_read(). */
    sp_fence_release();
    sp_count_owner(&shard->local_acquires, 1);
    out_handle->bits = (word & SP_WORD_GENERATION) | slot->self;
    return slot;
}

/* The thread's first slot, or a thread without a shard of its own. */
static SP_COLD sp_slot *acquire_cold(sp_thread_block *thread, bool with_body,
                                     spool_span *out_handle) {
    if (thread->shard == NULL || sp_shard_has_orphans()) {
        if (sp_shard_attach(thread) == NULL) {
            return NULL;
        }
    }
    if (!thread->shard->shared) {
        return acquire_from(thread->shard, with_body, out_handle);
    }
    sp_shard_lock_shared();
    sp_slot *slot = acquire_from(thread->shard, with_body, out_handle);
    sp_shard_unlock_shared();
    return slot;
}

sp_slot *sp_registry_acquire(sp_thread_block *thread, bool with_body, spool_span *out_handle) {
    sp_shard *shard = thread->shard;
    if (SP_UNLIKELY(shard == NULL || shard->shared)) {
        return acquire_cold(thread, with_body, out_handle);
    }
    return acquire_from(shard, with_body, out_handle);
}

/* ---- giving back ---- */

static SP_COLD void free_remote(sp_thread_block *thread, uint32_t self) {
    if (thread->shard != NULL && !thread->shard->shared) {
        sp_count_owner(&thread->shard->remote_frees, 1);
    } else {
        (void)sp_add_relaxed(&sp_totals.remote_frees, 1);
    }
    sp_shard *shard = sp_shard_at(sp_self_shard(self));
    sp_chunk_free_remote(shard, sp_shard_chunk(shard, self), sp_self_slot(self));
}

static inline void free_slot(sp_thread_block *thread, uint32_t self) {
    if (SP_UNLIKELY(!sp_thread_owns(thread, self))) {
        free_remote(thread, self);
        return;
    }
    sp_shard *shard = thread->shard;
    /* Relaxed would do: the owner published the chunk itself. */
    sp_chunk *chunk = sp_shard_chunk(shard, self);
    (void)sp_index_alloc_free(&chunk->indices, sp_self_slot(self));
    if (SP_UNLIKELY(chunk != shard->pools[chunk->with_body].current)) {
        sp_pool_offer(shard, chunk);
    }
}

/* The last generation is never left: a handle would come again. */
static SP_COLD void retire_slot(sp_slot *slot) {
    sp_store_release(&slot->word, word_of(SP_WORD_GENERATION, SP_SLOT_RETIRED));
    (void)sp_add_relaxed(&sp_totals.retired_slots, 1);
    sp_chunk *chunk = sp_shard_chunk(sp_shard_at(sp_self_shard(slot->self)), slot->self);
    /* Release: the tenant is done with the body; partner: the acquire in sp_pool_offer(). */
    (void)sp_add_acq_rel(&chunk->retired, 1);
}

/* The caller alone may change the word, which says ENDED with no locker. */
static void give_up(sp_thread_block *thread, sp_slot *slot) {
    void (*reclaim)(sp_thread_block *, sp_slot *) =
        (void (*)(sp_thread_block *, sp_slot *))sp_load_acquire(&reclaim_with);
    if (reclaim != NULL) {
        reclaim(thread, slot);
    }
    if (slot->body != NULL) {
        sp_box_set *boxes = sp_slot_block(slot)->boxes;
        if (SP_UNLIKELY(boxes != NULL)) {
            sp_box_reset_all(boxes);
        }
        sp_cap_give_credit(thread);
    }
    uint64_t word = sp_load_relaxed(&slot->word);
    uint64_t generation = word & SP_WORD_GENERATION;
    bool retired = generation == SP_WORD_GENERATION;
    if (SP_UNLIKELY(retired)) {
        retire_slot(slot);
    } else {
        /* Release: the old tenant's use of the slot; partner: the acquire on `pins` in slot_lock.c.
         * */
        sp_store_release(&slot->word, word_of(generation + (UINT64_C(1) << 32), SP_SLOT_FREE));
    }
    if (SP_UNLIKELY((word & SP_WORD_PINNED) != 0)) {
        /* Release: the word above; partner: the acquire of a pin that comes with a stale handle. */
        sp_store_release(&slot->pins, 0);
    }
    if (SP_LIKELY(!retired)) {
        free_slot(thread, slot->self);
    }
}

void sp_registry_release(sp_thread_block *thread, sp_slot *slot) {
    /* Relaxed: the caller took the slot and alone changes the word. */
    uint64_t word = sp_load_relaxed(&slot->word);
    unsigned state = (unsigned)((word & SP_WORD_STATE) >> SP_WORD_STATE_SHIFT);
    if (SP_UNLIKELY(state != SP_SLOT_STARTING && state != SP_SLOT_ENDING &&
                    state != SP_SLOT_ENDED)) {
        SP_CHECK(state == SP_SLOT_STARTING);
        return;
    }
    word = word_of(word & (SP_WORD_GENERATION | SP_WORD_PINNED), SP_SLOT_ENDED);
    /* Release: the span's last state, for who holds a pin; partner: the acquire in sp_slot_pin().
     * */
    sp_store_release(&slot->word, word);
    if (SP_UNLIKELY((word & SP_WORD_PINNED) != 0)) {
        /* Acquire: what unpinned threads did; release: see sp_slot_unpin(), the partner of both. */
        if (sp_add_acq_rel(&slot->pins, SP_PINS_CLOSED) != 0) {
            return;
        }
    }
    give_up(thread, slot);
}

void sp_slot_unpin(sp_thread_block *thread, sp_slot *slot) {
    /* Release: what was done under the pin; acquire: the same of others; partners: each other, and
     * the addition in sp_registry_release(). */
    if (sp_sub_acq_rel(&slot->pins, 1) == (SP_PINS_CLOSED | 1)) {
        give_up(thread, slot);
    }
}

void sp_registry_reclaims_with(void (*reclaim)(sp_thread_block *thread, sp_slot *slot)) {
    sp_store_release(&reclaim_with, (uintptr_t)reclaim);
}

sp_box_set **sp_slot_boxes(sp_slot *slot) {
    if (slot->body == NULL) {
        return NULL;
    }
    sp_body_block *block = sp_slot_block(slot);
    if (SP_UNLIKELY(block->boxes == NULL)) {
        sp_shard *shard = sp_shard_at(sp_self_shard(slot->self));
        sp_chunk *chunk = sp_shard_chunk(shard, slot->self);
        sp_box_set_place(&block->set, chunk->layout, (uint8_t *)block + sizeof *block);
        sp_store_relaxed(&chunk->has_boxes, 1); /* its reader is behind the slot's free */
        block->boxes = &block->set;
    }
    return &block->boxes;
}

/* ---- looking at ---- */

sp_slot *sp_registry_slot(spool_span handle) {
    return sp_handle_slot(handle);
}

sp_slot *sp_registry_next(sp_slot_walk *walk) {
    for (; walk->shard < SP_SHARDS; walk->shard++, walk->chunk = 0) {
        sp_shard *shard = sp_shard_at(walk->shard);
        for (; shard != NULL && walk->chunk < SP_SHARD_CHUNKS; walk->chunk++, walk->index = 0) {
            sp_chunk *chunk = sp_shard_chunk(shard, walk->chunk << SP_CHUNK_SLOT_BITS);
            if (chunk == NULL) {
                break;
            }
            while (walk->index < chunk->indices.length) {
                sp_slot *slot = &chunk->slots[walk->index++];
                /* Relaxed: zero says that the slot was never used; callers look again. */
                if (sp_load_relaxed(&slot->word) != 0) {
                    return slot;
                }
            }
        }
        walk->index = 0;
    }
    return NULL;
}

static bool is_live(unsigned state) {
    return state == SP_SLOT_LIVE || state == SP_SLOT_ENDING;
}

size_t sp_registry_count_live(uint16_t sdk, uint32_t sdk_epoch) {
    size_t count = 0;
    sp_slot_walk walk = {0, 0, 0};
    for (sp_slot *slot = sp_registry_next(&walk); slot != NULL; slot = sp_registry_next(&walk)) {
        sp_slot_view view;
        if (is_live(sp_slot_state(slot)) && sp_slot_read(sp_slot_handle(slot), &view) &&
            is_live(view.state) && view.sdk == sdk && view.sdk_epoch == sdk_epoch) {
            count++;
        }
    }
    return count;
}

void sp_registry_read_counters(sp_registry_counters *out_counters) {
    /* Relaxed: counts. */
    *out_counters = (sp_registry_counters){
        .remote_frees = sp_load_relaxed(&sp_totals.remote_frees),
        .chunks_mapped = sp_load_relaxed(&sp_totals.chunks_mapped),
        .retired_slots = sp_load_relaxed(&sp_totals.retired_slots),
        .adopted_shards = sp_load_relaxed(&sp_totals.adopted_shards),
        .cap_refusals = sp_load_relaxed(&sp_totals.cap_refusals),
        .lock_refusals = sp_load_relaxed(&sp_totals.lock_refusals),
        .bodies_dropped = sp_load_relaxed(&sp_totals.bodies_dropped),
    };
    for (uint32_t s = 0; s < SP_SHARDS; s++) {
        sp_shard *shard = sp_shard_at(s);
        if (shard != NULL) {
            out_counters->local_acquires += sp_load_relaxed(&shard->local_acquires);
            out_counters->remote_frees += sp_load_relaxed(&shard->remote_frees);
            out_counters->remote_merges += sp_load_relaxed(&shard->remote_merges);
        }
    }
}

void sp_slot_age(sp_slot *slot, uint32_t generation) {
    SP_CHECK(sp_slot_state(slot) == SP_SLOT_STARTING);
    sp_store_relaxed(&slot->word, word_of((uint64_t)generation << 32, SP_SLOT_STARTING));
}
