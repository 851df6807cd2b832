/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards and their chunks: making, refilling, handing over. See shard.h for owners and states.
 *
 * `lock` guards the table of shards and the list of orphans; `shared_lock` makes its holder the
 * owner of the shared shard. Order: `lock`, `shared_lock`.
 */
#include "sdk/memory/shard.h"

#include "sdk/memory/pages.h"
#include "sdk/platform/check.h"
#include "sdk/platform/lock_rank.h"

SP_LIST_POINTERS(orphan_list, sp_shard, link);

enum { MAX_CREDIT_BATCH = 32, LIGHT_SHARE = 4 };
/* Bodies of wholly free chunks that a shard keeps, so that a swing in load does not cost page
 * faults. */
#define IDLE_BYTES (UINT64_C(4) << 20)

static sp_mutex lock = SP_MUTEX_INIT(SP_RANK_SHARDS, "shards");
static sp_mutex shared_lock = SP_MUTEX_INIT(SP_RANK_SHARED_SHARD, "shared shard");

_Atomic(sp_shard *) sp_shard_table[SP_SHARDS];
static uint32_t shard_count; /* of threads; the shared one is at the end of the table */
static uint32_t shard_limit = SP_SHARDS - 1;
static orphan_list orphans;
static _Atomic uint32_t orphan_count;

static _Atomic uint64_t bytes_cap = UINT64_C(256) << 20;
static _Atomic uint64_t bytes_used;
static _Atomic uint64_t light_bytes;
static _Atomic int64_t credits_cap = INT64_MAX / 2;
static _Atomic int64_t credits_left = INT64_MAX / 2;

sp_shard_totals sp_totals;

/* ---- caps ---- */

static bool take_of(_Atomic uint64_t *used, uint64_t bytes, uint64_t cap) {
    /* Relaxed, here and in all caps: a count that publishes nothing. */
    uint64_t present = sp_load_relaxed(used);
    do {
        if (bytes > cap || present > cap - bytes) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(used, &present, present + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

bool sp_cap_take_bytes(uint64_t bytes) {
    return take_of(&bytes_used, bytes, sp_load_relaxed(&bytes_cap));
}

void sp_cap_give_bytes(uint64_t bytes) {
    (void)sp_sub_relaxed(&bytes_used, bytes);
}

/* Small enough that what idle threads keep is a small part of the cap. */
static uint32_t credit_batch(void) {
    int64_t batch = sp_load_relaxed(&credits_cap) / 64;
    if (batch < 1) {
        return 1;
    }
    return batch < MAX_CREDIT_BATCH ? (uint32_t)batch : MAX_CREDIT_BATCH;
}

bool sp_cap_take_credits(sp_shard *shard) {
    int64_t wanted = shard->shared ? 1 : credit_batch();
    int64_t left = sp_load_relaxed(&credits_left);
    do {
        if (left <= 0) {
            (void)sp_add_relaxed(&sp_totals.cap_refusals, 1);
            return false;
        }
        wanted = left < wanted ? left : wanted;
    } while (!atomic_compare_exchange_weak_explicit(&credits_left, &left, left - wanted,
                                                    memory_order_relaxed, memory_order_relaxed));
    shard->credits += (uint32_t)wanted;
    shard->credit_limit = 2 * credit_batch();
    return true;
}

void sp_cap_give_credits(sp_shard *shard) {
    if (shard == NULL || shard->shared) {
        (void)sp_add_relaxed(&credits_left, 1);
        return;
    }
    uint32_t kept = credit_batch();
    kept = kept < shard->credits ? kept : shard->credits;
    (void)sp_add_relaxed(&credits_left, (int64_t)(shard->credits - kept));
    shard->credits = kept;
    shard->credit_limit = 2 * credit_batch();
}

void sp_registry_set_caps(uint64_t live_spans, uint64_t body_bytes) {
    int64_t cap = live_spans < INT64_MAX / 2 ? (int64_t)live_spans : INT64_MAX / 2;
    sp_mutex_lock(&lock);
    int64_t before = sp_load_relaxed(&credits_cap);
    sp_store_relaxed(&credits_cap, cap);
    (void)sp_add_relaxed(&credits_left, cap - before);
    sp_store_relaxed(&bytes_cap, body_bytes);
    sp_mutex_unlock(&lock);
}

/* ---- chunks ---- */

static bool take_chunk_bytes(bool with_body, uint32_t slots, uint32_t stride) {
    if (with_body) {
        return sp_cap_take_bytes((uint64_t)slots * stride);
    }
    return take_of(&light_bytes, (uint64_t)slots * sizeof(sp_slot),
                   sp_load_relaxed(&bytes_cap) / LIGHT_SHARE);
}

static void give_chunk_bytes(bool with_body, uint32_t slots, uint32_t stride) {
    if (with_body) {
        sp_cap_give_bytes((uint64_t)slots * stride);
    } else {
        (void)sp_sub_relaxed(&light_bytes, (uint64_t)slots * sizeof(sp_slot));
    }
}

/* Headers come with their chunk in one mapping, bodies in one of their own. */
static sp_chunk *map_chunk(bool with_body, uint32_t slots, const sp_box_layout *layout,
                           uint32_t stride) {
    size_t head = (sizeof(sp_chunk) + SP_CACHE_LINE_BYTES - 1) & ~(size_t)(SP_CACHE_LINE_BYTES - 1);
    size_t bytes = head + slots * sizeof(sp_slot);
    sp_chunk *chunk = sp_pages_map(bytes);
    if (chunk == NULL) {
        return NULL;
    }
    if (with_body) {
        chunk->blocks = sp_pages_map((size_t)slots * stride);
        if (chunk->blocks == NULL) {
            sp_pages_unmap(chunk, bytes);
            return NULL;
        }
    }
    (void)sp_index_alloc_init(&chunk->indices, slots);
    chunk->slots = (sp_slot *)(void *)((uint8_t *)chunk + head);
    chunk->layout = layout;
    chunk->stride = stride;
    chunk->with_body = with_body;
    chunk->bodies_held = with_body;
    return chunk;
}

/* A chunk of the size that is due, or a smaller one when that is past the cap. */
static sp_chunk *make_chunk(sp_pool *pool, bool with_body) {
    const sp_box_layout *layout = sp_box_layout_now();
    uint32_t stride = (uint32_t)sizeof(sp_body_block) + layout->bytes;
    uint32_t slots = sp_chunk_slots(pool->chunk_count);
    while (!take_chunk_bytes(with_body, slots, stride)) {
        slots /= 2;
        if (slots < SP_CHUNK_FIRST_SLOTS) {
            (void)sp_add_relaxed(&sp_totals.cap_refusals, 1);
            return NULL;
        }
    }
    sp_chunk *chunk = map_chunk(with_body, slots, layout, stride);
    if (chunk == NULL) {
        give_chunk_bytes(with_body, slots, stride);
        return NULL;
    }
    pool->chunk_count++;
    (void)sp_add_relaxed(&sp_totals.chunks_mapped, 1);
    return chunk;
}

static sp_chunk *add_chunk(sp_shard *shard, bool with_body) {
    if (shard->chunk_count == SP_SHARD_CHUNKS) {
        (void)sp_add_relaxed(&sp_totals.cap_refusals, 1);
        return NULL;
    }
    sp_chunk *chunk = make_chunk(&shard->pools[with_body], with_body);
    if (chunk != NULL) {
        chunk->number = shard->chunk_count;
        /* Release: the chunk's constants; partner: the acquire in sp_shard_chunk(). */
        sp_store_release(&shard->chunks[shard->chunk_count++], chunk);
    }
    return chunk;
}

static void list_chunk(sp_pool *pool, sp_chunk *chunk) {
    chunk->listed = true;
    if (chunk->bodies_held || !chunk->with_body) {
        sp_chunk_list_push_front(&pool->available, NULL, chunk);
    } else {
        sp_chunk_list_push_back(&pool->available, NULL, chunk);
    }
}

static void unlist_chunk(sp_pool *pool, sp_chunk *chunk) {
    (void)sp_chunk_list_remove(&pool->available, NULL, chunk);
    chunk->listed = false;
    if (chunk->idle) {
        chunk->idle = false;
        pool->idle_bytes -= (uint64_t)chunk->indices.length * chunk->stride;
    }
}

static void destroy_boxes(sp_chunk *chunk) {
    for (uint32_t i = 0; i < chunk->indices.length; i++) {
        sp_body_block *block = (sp_body_block *)(void *)(chunk->blocks + (size_t)i * chunk->stride);
        sp_box_set_destroy(block->boxes);
        block->boxes = NULL;
    }
}

/*
 * Gives the bodies of a wholly free chunk back. The chunk is in no list meanwhile: what destroy
 * functions start takes its slots elsewhere.
 */
static SP_COLD void drop_bodies(sp_pool *pool, sp_chunk *chunk) {
    size_t bytes = (size_t)chunk->indices.length * chunk->stride;
    /* Relaxed: who used a box freed its slot since, and the merge acquired that. */
    if (sp_load_relaxed(&chunk->has_boxes) != 0) {
        destroy_boxes(chunk);
        sp_store_relaxed(&chunk->has_boxes, 0);
    }
    sp_pages_drop(chunk->blocks, bytes);
    chunk->bodies_held = false;
    sp_cap_give_bytes(bytes);
    (void)sp_add_relaxed(&sp_totals.bodies_dropped, 1);
    list_chunk(pool, chunk);
}

void sp_pool_offer(sp_shard *shard, sp_chunk *chunk) {
    sp_pool *pool = &shard->pools[chunk->with_body];
    if (chunk == pool->current) {
        return;
    }
    if (!chunk->listed) {
        list_chunk(pool, chunk);
    }
    /* Acquire: the end of the retired slots' last tenants; partner: the release in retire_slot().
     * */
    uint32_t gone = sp_load_acquire(&chunk->retired);
    if (!chunk->with_body || shard->shared ||
        chunk->indices.free_count + gone != chunk->indices.length) {
        return;
    }
    uint64_t bytes = (uint64_t)chunk->indices.length * chunk->stride;
    if (pool->idle_bytes + bytes <= IDLE_BYTES) {
        chunk->idle = true;
        pool->idle_bytes += bytes;
        return;
    }
    unlist_chunk(pool, chunk);
    drop_bodies(pool, chunk);
}

static void merge_returned(sp_shard *shard) {
    /* Acquire: next_returned of each; partner: the push in sp_chunk_free_remote(). */
    sp_chunk *chunk = sp_exchange_acquire(&shard->returned, NULL);
    while (chunk != NULL) {
        /* Read before the merge: after it another push may write it. */
        sp_chunk *next = chunk->next_returned;
        uint32_t words = sp_index_alloc_merge(&chunk->indices);
        sp_count_owner(&shard->remote_merges, words);
        if (sp_index_alloc_has_free(&chunk->indices)) {
            sp_pool_offer(shard, chunk);
        }
        chunk = next;
    }
}

void sp_chunk_free_remote(sp_shard *shard, sp_chunk *chunk, uint32_t index) {
    bool first;
    if (!sp_index_alloc_free_remote(&chunk->indices, index, &first) || !first) {
        return;
    }
    sp_chunk *top = sp_load_relaxed(&shard->returned);
    do {
        chunk->next_returned = top;
        /* Release: next_returned; partner: the exchange in merge_returned(). */
    } while (!atomic_compare_exchange_weak_explicit(&shard->returned, &top, chunk,
                                                    memory_order_release, memory_order_relaxed));
}

/* A chunk whose bodies were given back may take them again if the cap allows. */
static bool hold_bodies(sp_chunk *chunk) {
    if (!chunk->with_body || chunk->bodies_held) {
        return true;
    }
    chunk->bodies_held = sp_cap_take_bytes((uint64_t)chunk->indices.length * chunk->stride);
    return chunk->bodies_held;
}

/* The next chunk with a free slot among those that there are. */
static sp_chunk *next_available(sp_pool *pool) {
    if (pool->current != NULL && sp_index_alloc_has_free(&pool->current->indices)) {
        return pool->current;
    }
    sp_chunk *chunk = pool->available.head;
    sp_chunk *next;
    for (; sp_chunk_list_step(&pool->available, NULL, chunk, &next); chunk = next) {
        if (hold_bodies(chunk)) {
            unlist_chunk(pool, chunk);
            return chunk;
        }
    }
    return NULL;
}

sp_chunk *sp_pool_refill(sp_shard *shard, bool with_body) {
    sp_pool *pool = &shard->pools[with_body];
    sp_chunk *chunk = next_available(pool);
    if (chunk == NULL) {
        merge_returned(shard);
        chunk = next_available(pool);
    }
    if (chunk == NULL) {
        chunk = add_chunk(shard, with_body);
    }
    if (chunk != NULL) {
        pool->current = chunk;
    }
    return chunk;
}

/* ---- shards ---- */

/* Under `lock`. */
static sp_shard *make_shard(uint32_t number, bool shared) {
    sp_shard *shard = sp_pages_map(sizeof *shard);
    if (shard != NULL) {
        shard->id = number;
        shard->shared = shared;
        /* Release: publishes the shard; partner: the acquire in sp_shard_at(). */
        sp_store_release(&sp_shard_table[number], shard);
    }
    return shard;
}

static sp_shard *adopt_or_make(void) {
    sp_shard *shard = orphan_list_pop_front(&orphans, NULL);
    if (shard != NULL) {
        (void)sp_sub_relaxed(&orphan_count, 1);
        (void)sp_add_relaxed(&sp_totals.adopted_shards, 1);
        return shard;
    }
    if (shard_count < shard_limit) {
        shard = make_shard(shard_count, false);
        if (shard != NULL) {
            shard_count++;
        }
        return shard;
    }
    shard = sp_load_relaxed(&sp_shard_table[SP_SHARDS - 1]);
    return shard != NULL ? shard : make_shard(SP_SHARDS - 1, true);
}

sp_shard *sp_shard_attach(sp_thread_block *thread) {
    sp_mutex_lock(&lock);
    thread->shard = adopt_or_make();
    sp_mutex_unlock(&lock);
    return thread->shard;
}

bool sp_shard_has_orphans(void) {
    /* Relaxed: a hint, the list itself is looked at under the lock. */
    return sp_load_relaxed(&orphan_count) != 0;
}

void sp_shard_hand_over(sp_thread_block *thread) {
    sp_shard *shard = thread->shard;
    thread->shard = NULL;
    if (shard == NULL || shard->shared) {
        return;
    }
    (void)sp_add_relaxed(&credits_left, (int64_t)shard->credits);
    shard->credits = 0;
    sp_mutex_lock(&lock);
    orphan_list_push_front(&orphans, NULL, shard);
    (void)sp_add_relaxed(&orphan_count, 1);
    sp_mutex_unlock(&lock);
}

void sp_shard_lock_shared(void) {
    sp_mutex_lock(&shared_lock);
}

void sp_shard_unlock_shared(void) {
    sp_mutex_unlock(&shared_lock);
}

void sp_registry_limit_shards(uint32_t shards) {
    sp_mutex_lock(&lock);
    shard_limit = shards < SP_SHARDS - 1 ? shards : SP_SHARDS - 1;
    sp_mutex_unlock(&lock);
}

void sp_shard_before_fork(void) {
    sp_mutex_lock(&lock);
    sp_mutex_lock(&shared_lock);
    sp_box_before_fork();
}

/* The shards of threads that are gone are on no list: nothing is to be done to lose them. */
void sp_shard_after_fork(void) {
    sp_box_after_fork();
    sp_mutex_unlock(&shared_lock);
    sp_mutex_unlock(&lock);
}
