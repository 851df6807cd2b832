/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards: a thread's share of the registry. Private to sdk/memory.
 *
 * A shard has two pools of slots (headers alone; headers with bodies) in chunks of 64 to 4,096, and
 * two pools of spill memory. Owner: one thread; the shared shard, which is used once the table is
 * full, by whoever holds its lock. What is not the owner's is on cache lines of its own: threads
 * that free a slot of another's shard set a bit in the chunk and, if it is the chunk's first, push
 * the chunk on the shard's stack `returned`. The stack is only ever pushed to or taken whole, so it
 * has no ABA problem.
 *
 * States: OWNED, ORPHANED (in the list of orphans, with its live slots; the next new thread adopts
 * it whole), LOST (its thread did not come along in a fork; never touched again but for remote
 * frees). Closing: none, shards and headers stay for the life of the process.
 */
#ifndef SPOOL_SDK_MEMORY_SHARD_H
#define SPOOL_SDK_MEMORY_SHARD_H

#include "sdk/memory/box_set.h"
#include "sdk/memory/index_alloc.h"
#include "sdk/memory/list.h"
#include "sdk/memory/registry.h"
#include "sdk/memory/slab.h"
#include "sdk/memory/thread_block.h"

enum {
    SP_SHARDS = 1 << SP_HANDLE_SHARD_BITS,
    SP_SHARD_CHUNKS = SP_SLAB_CHUNKS,
    SP_SPILL_CLASSES = 2
};

/* A body with what belongs to it; a chunk's stride is this plus the inline boxes, in cache lines.
 * */
typedef struct sp_body_block {
    sp_box_set *boxes; /* NULL or &set: never used or used; beside the body's first bytes */
    uint64_t reserved;
    uint8_t body[SP_BODY_BYTES];
    sp_box_set set;
} sp_body_block;

_Static_assert(sizeof(sp_body_block) % SP_CACHE_LINE_BYTES == 0, "inline boxes are aligned");

typedef struct sp_chunk {
    sp_index_alloc indices;

    /* Constant once published, but `bodies_held`. */
    SP_CACHE_ALIGNED sp_slot *slots;
    uint8_t *blocks; /* body blocks, or NULL */
    const sp_box_layout *layout;
    uint32_t stride; /* of blocks, in bytes */
    uint32_t number;
    uint32_t with_body;

    /* The owner's. */
    bool listed;      /* in the pool's list `available` */
    bool idle;        /* listed, and wholly free: its bodies count in the pool's idle_bytes */
    bool bodies_held; /* the bytes of the blocks are taken from the cap */
    SP_LIST_LINK(struct sp_chunk) link;

    /* Written by a pusher before its push, read by the owner before the merge. */
    struct sp_chunk *next_returned;
    /* Set by whoever uses the first box; asked by the owner when all slots are free. */
    _Atomic uint32_t has_boxes;
    _Atomic uint32_t retired; /* slots that will never be free again */
} sp_chunk;

SP_LIST_POINTERS(sp_chunk_list, sp_chunk, link);

typedef struct sp_pool {
    sp_chunk *current;       /* hands out; not in `available` */
    sp_chunk_list available; /* chunks with a free slot; those without bodies are last */
    uint64_t idle_bytes;     /* bodies of wholly free chunks that are kept */
    uint32_t chunk_count;    /* the next chunk's size follows from it */
} sp_pool;

/* 64 blocks of one size at a multiple of 64 such blocks; the first block is this. */
typedef struct sp_spill_chunk {
    struct sp_shard *shard;
    uint64_t free; /* the owner's: bit i says that block i is free */
    bool listed;
    SP_LIST_LINK(struct sp_spill_chunk) link;
    struct sp_spill_chunk *next_returned;
    SP_CACHE_ALIGNED _Atomic uint64_t remote; /* freed by others */
} sp_spill_chunk;

SP_LIST_POINTERS(sp_spill_list, sp_spill_chunk, link);

typedef struct sp_spill_pool {
    sp_spill_chunk *current;
    sp_spill_list available;
} sp_spill_pool;

struct sp_shard {
    /* The owner's. */
    uint32_t id;
    uint32_t chunk_count;
    bool shared;
    uint32_t credits;      /* slots with a body that may be taken without asking the cap */
    uint32_t credit_limit; /* more are given back */
    sp_pool pools[2];      /* by with_body */
    sp_spill_pool spills[SP_SPILL_CLASSES];
    /* Counted by the owner alone (sp_count_owner), read by anybody. */
    _Atomic uint64_t local_acquires;
    _Atomic uint64_t remote_frees;
    _Atomic uint64_t remote_merges;
    SP_LIST_LINK(struct sp_shard) link; /* in the list of orphans */

    /* Shared. */
    SP_CACHE_ALIGNED _Atomic(sp_chunk *) returned;
    _Atomic(sp_spill_chunk *) spills_returned[SP_SPILL_CLASSES];

    /* Written once each, by the owner; read by anybody who has a handle. */
    SP_CACHE_ALIGNED _Atomic(sp_chunk *) chunks[SP_SHARD_CHUNKS];
};

/* Rare events, process-wide. */
typedef struct sp_shard_totals {
    _Atomic uint64_t chunks_mapped;
    _Atomic uint64_t retired_slots;
    _Atomic uint64_t adopted_shards;
    _Atomic uint64_t cap_refusals;
    _Atomic uint64_t lock_refusals;
    _Atomic uint64_t bodies_dropped;
    _Atomic uint64_t remote_frees; /* by threads without a shard of their own */
} sp_shard_totals;
extern sp_shard_totals sp_totals;

/* The table: a shard by number, NULL when there is none. Threads: any. */
extern _Atomic(sp_shard *) sp_shard_table[SP_SHARDS] __attribute__((visibility("hidden")));
static inline sp_shard *sp_shard_at(uint32_t number) {
    /* Acquire: the shard; partner: the release in make_shard(). */
    return sp_load_acquire(&sp_shard_table[number & (SP_SHARDS - 1)]);
}
/* A shard for the thread: an orphan, a new one, or the shared one, in thread->shard. NULL: no
 * memory. */
SP_COLD sp_shard *sp_shard_attach(sp_thread_block *thread);
/* The thread ends: its shard becomes an orphan. */
void sp_shard_hand_over(sp_thread_block *thread);
/* The shared shard's lock, for callers whose thread->shard says `shared`. */
void sp_shard_lock_shared(void);
void sp_shard_unlock_shared(void);
/* True when a thread that uses the shared shard could have one of its own. */
bool sp_shard_has_orphans(void);

/* Makes pool->current a chunk with a free slot. NULL: cap, index space, or no memory. */
SP_COLD sp_chunk *sp_pool_refill(sp_shard *shard, bool with_body);
/*
 * The owner's half of a free, when the chunk was not handing out. It may give the bodies of a
 * wholly free chunk back to the kernel, which destroys their boxes: foreign code, unless the shard
 * is shared.
 */
void sp_pool_offer(sp_shard *shard, sp_chunk *chunk);
/* The other half, from any thread. */
void sp_chunk_free_remote(sp_shard *shard, sp_chunk *chunk, uint32_t index);

/* Bytes of the cap. */
bool sp_cap_take_bytes(uint64_t bytes);
void sp_cap_give_bytes(uint64_t bytes);
/* Credits of the cap on live bodies. */
SP_COLD bool sp_cap_take_credits(sp_shard *shard);
/* Credits back to everybody: what a shard has too many, or one of a thread without a shard. */
SP_COLD void sp_cap_give_credits(sp_shard *shard);

void sp_shard_before_fork(void);
void sp_shard_after_fork(void);

static inline uint32_t sp_self_shard(uint32_t self) {
    return self >> SP_HANDLE_INDEX_BITS;
}
static inline uint32_t sp_self_chunk(uint32_t self) {
    return self >> SP_CHUNK_SLOT_BITS & (SP_SHARD_CHUNKS - 1);
}
static inline uint32_t sp_self_slot(uint32_t self) {
    return self & (SP_CHUNK_MAX_SLOTS - 1);
}
/* The chunk of a slot or handle whose shard is known. */
static inline sp_chunk *sp_shard_chunk(sp_shard *shard, uint32_t self) {
    /* Acquire: the chunk's constants; partner: the release that published it. */
    return sp_load_acquire(&shard->chunks[sp_self_chunk(self)]);
}

/* The slot that a handle names, whatever state it is in; NULL when there never was one. */
static inline sp_slot *sp_handle_slot(spool_span handle) {
    uint32_t self = (uint32_t)handle.bits;
    sp_shard *shard = sp_shard_at(sp_self_shard(self));
    sp_chunk *chunk = SP_LIKELY(shard != NULL) ? sp_shard_chunk(shard, self) : NULL;
    if (SP_UNLIKELY(chunk == NULL || sp_self_slot(self) >= chunk->indices.length)) {
        return NULL;
    }
    return &chunk->slots[sp_self_slot(self)];
}

/* One credit back, to the thread's shard if it has one. */
static inline void sp_cap_give_credit(sp_thread_block *thread) {
    sp_shard *shard = thread->shard;
    if (SP_UNLIKELY(shard == NULL || shard->shared || ++shard->credits > shard->credit_limit)) {
        sp_cap_give_credits(shard);
    }
}

/* Does the thread own that shard alone? Then it may free into it without asking. */
static inline bool sp_thread_owns(const sp_thread_block *thread, uint32_t self) {
    const sp_shard *shard = thread->shard;
    return shard != NULL && shard->id == sp_self_shard(self) && !shard->shared;
}

static inline sp_body_block *sp_slot_block(const sp_slot *slot) {
    return (sp_body_block *)(void *)(slot->body - offsetof(sp_body_block, body));
}

#endif /* SPOOL_SDK_MEMORY_SHARD_H */
