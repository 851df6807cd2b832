/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The span registry: the process-wide store of live spans.
 *
 * A handle is generation:32 | shard:12 | index:20 and names a slot. The slot's header (64 bytes) is
 * never unmapped, so a stale handle can always be looked at; its body (SP_BODY_BYTES) exists for
 * recorded spans alone. A slot whose generation would wrap is retired: no handle ever aliases.
 *
 * The slot word, the one atomic that everything hangs on:
 *
 *     63..32 generation | 31..12 locker | 11..8 state | 7 lock | 6 pinned | 5..0 turn
 *
 *     FREE -> STARTING (sp_registry_acquire, by the shard's owner)
 *     STARTING -> LIVE or LIGHT (sp_slot_publish, release: publishes header and body)
 *     LIVE -> ENDING (sp_slot_begin_end, locker = the ender: it alone may still lock)
 *     ENDING -> ENDED (sp_slot_freeze: nobody may lock any more)
 *     STARTING, ENDING, ENDED -> FREE with generation + 1 (sp_registry_release); pinned slots are
 *     parked in ENDED and freed by the last unpin; LIGHT -> STARTING before (sp_slot_take_light)
 *
 * `turn` counts unlocks, modulo 64: who reads a body without its lock (the dump of live spans) asks
 * the word before and after, and sees that it was changed in between.
 *
 * Owners: a free slot belongs to its shard's owner thread; a live one to whoever holds its lock; an
 * ENDING or ENDED one to its ender, who stays in the locker field and alone may change the word.
 *
 * Pins: `pins` counts them, with SP_PINS_CLOSED on top once the slot was released. The bit `pinned`
 * says that the count matters: it is set by the first pin, together with the count, while the word
 * can still be changed (by anybody while LIVE or LIGHT, by the ender after that) and stays until
 * the slot is free. Without it a release never looks at the count, which keeps it free of a second
 * read-modify-write.
 */
#ifndef SPOOL_SDK_MEMORY_REGISTRY_H
#define SPOOL_SDK_MEMORY_REGISTRY_H

#include "sdk/memory/thread_block.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/compiler.h"

#include <spool/context.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SP_SLOT_FREE = 0,
    SP_SLOT_STARTING = 1,
    SP_SLOT_LIGHT = 2,
    SP_SLOT_LIVE = 3,
    SP_SLOT_ENDING = 4,
    SP_SLOT_ENDED = 5,
    SP_SLOT_RETIRED = 6
};

enum {
    SP_BODY_BYTES = 512,
    SP_SPILL_SMALL_BYTES = 1024,
    SP_SPILL_LARGE_BYTES = 4096,
    SP_HANDLE_INDEX_BITS = 20,
    SP_HANDLE_SHARD_BITS = 12
};

#define SP_WORD_TURN UINT64_C(63)
#define SP_WORD_PINNED (UINT64_C(1) << 6)
#define SP_WORD_LOCK (UINT64_C(1) << 7)
#define SP_WORD_STATE_SHIFT 8
#define SP_WORD_STATE (UINT64_C(15) << SP_WORD_STATE_SHIFT)
#define SP_WORD_LOCKER_SHIFT 12
#define SP_WORD_LOCKER (UINT64_C(0xfffff) << SP_WORD_LOCKER_SHIFT)
#define SP_WORD_GENERATION (UINT64_C(0xffffffff) << 32)
#define SP_PINS_CLOSED UINT32_C(0x80000000)

struct sp_box_set; /* sdk/memory/box.h */
struct sp_trace_state;

/* The header. Fields but `word`, `pins` are written by the holder between acquire and release. */
typedef struct sp_slot {
    _Atomic uint64_t word;
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags;         /* SPOOL_FLAG_* */
    uint8_t remote_parent; /* 1: the parent came from another process */
    uint16_t sdk;          /* index in the table of subscribers */
    uint32_t sdk_epoch;    /* tells that table entry's tenants apart */
    _Atomic uint32_t pins;
    uint32_t self;                      /* shard:12 | index:20, constant */
    struct sp_trace_state *trace_state; /* a reference of the slot's, or NULL */
    uint8_t *body; /* SP_BODY_BYTES, 16-byte aligned; NULL when acquired without */
} sp_slot;

_Static_assert(sizeof(sp_slot) == 64, "a slot header is one cache line");

/*
 * Takes a slot for the calling thread, in state STARTING, and its handle. NULL: cap, or no memory.
 * `with_body` false makes a light slot. The body is not zeroed. No allocation once warm.
 */
sp_slot *sp_registry_acquire(sp_thread_block *thread, bool with_body, spool_span *out_handle);

/* STARTING -> `state` (LIVE or LIGHT). */
static inline void sp_slot_publish(sp_slot *slot, unsigned state) {
    /* Relaxed: nobody else changes the word of a STARTING slot. */
    uint64_t word = sp_load_relaxed(&slot->word);
    /* Release: header and body; partners: the acquires in slot_lock.c. */
    sp_store_release(&slot->word, (word & (SP_WORD_GENERATION | SP_WORD_PINNED)) |
                                      (uint64_t)state << SP_WORD_STATE_SHIFT);
}

/* The slot that a handle names, whatever state it is in; NULL when there never was one. */
sp_slot *sp_registry_slot(spool_span handle);

/* The present handle of a slot. */
static inline spool_span sp_slot_handle(const sp_slot *slot) {
    /* Relaxed: whoever asks took the slot or pinned it, so that the generation stands still. */
    uint64_t word = sp_load_relaxed(&slot->word);
    return (spool_span){(word & SP_WORD_GENERATION) | slot->self};
}

static inline unsigned sp_slot_state(const sp_slot *slot) {
    /* Acquire: what was done in the state before; partners: the releases of its changes. */
    return (unsigned)((sp_load_acquire(&slot->word) & SP_WORD_STATE) >> SP_WORD_STATE_SHIFT);
}

/*
 * Locks a LIVE slot, or an ENDING one whose ender is the caller. NULL: stale, light, frozen, locked
 * by the caller already, or given up after 2 s behind a dead or stuck locker (counted). Waiting:
 * pause, then yield, then short sleeps.
 */
sp_slot *sp_slot_lock(sp_thread_block *thread, spool_span handle);
static inline void sp_slot_unlock(sp_slot *slot) {
    /* Relaxed: the holder of the lock alone changes the word. */
    uint64_t word = sp_load_relaxed(&slot->word);
    uint64_t live = (uint64_t)SP_SLOT_LIVE << SP_WORD_STATE_SHIFT;
    uint64_t dropped =
        (word & SP_WORD_STATE) == live ? SP_WORD_LOCK | SP_WORD_LOCKER : SP_WORD_LOCK;
    uint64_t turn = (word + 1) & SP_WORD_TURN;
    /* Release: what was changed under the lock; partners: the acquires in slot_lock.c. */
    sp_store_release(&slot->word, (word & ~(dropped | SP_WORD_TURN)) | turn);
}

/* LIVE -> ENDING with the caller as locker, once nobody holds the lock. NULL as sp_slot_lock(). */
sp_slot *sp_slot_begin_end(sp_thread_block *thread, spool_span handle);
/* An ENDING slot that its ender has left behind gets the caller as its locker. */
void sp_slot_adopt(sp_thread_block *thread, sp_slot *slot);
/* ENDING -> ENDED: the last change was made. */
static inline void sp_slot_freeze(sp_slot *slot) {
    /* Relaxed: the ender alone changes the word of an ENDING slot. */
    uint64_t word = sp_load_relaxed(&slot->word) & ~SP_WORD_STATE;
    /* Release: the final body; partners: the acquires in slot_lock.c (a pin that comes now). */
    sp_store_release(&slot->word, word | (uint64_t)SP_SLOT_ENDED << SP_WORD_STATE_SHIFT);
}
/* LIGHT -> STARTING if the handle is that light slot's, so that one of several enders frees it. */
sp_slot *sp_slot_take_light(sp_thread_block *thread, spool_span handle);
/*
 * Gives a slot back that the caller took (STARTING, ENDING, ENDED): the reclaim function runs,
 * boxes are reset, the generation rises, the slot returns to its shard, now or with the last unpin.
 * Any other state is a caller's mistake and changes nothing.
 */
void sp_registry_release(sp_thread_block *thread, sp_slot *slot);

/*
 * Writes the fields of a STARTING slot that sp_slot_read() copies, in a way that a reader with a
 * stale handle may overlap. Code that assigns the fields one by one relies on the same in practice,
 * not in C.
 */
void sp_slot_describe(sp_slot *slot, const struct spool_span_context *context, uint16_t sdk,
                      uint32_t sdk_epoch, struct sp_trace_state *trace_state);

/* A consistent copy of what a header says; false when the handle is stale. No lock, no write. */
typedef struct sp_slot_view {
    struct spool_span_context context;
    unsigned state;
    uint16_t sdk;
    uint32_t sdk_epoch;
    bool has_trace_state;
} sp_slot_view;
bool sp_slot_read(spool_span handle, sp_slot_view *out_view) SP_SHARED("slot_read");
/* Its context alone, which may be half written when the answer is false: also for a slot with a trace
 * state, which a context cannot carry without a block. */
bool sp_slot_read_context(spool_span handle, struct spool_span_context *out_context);

/*
 * Keeps the slot until the unpin, past its end. NULL when the handle is stale, and for an ENDING or
 * ENDED slot that is not pinned yet unless the caller is its ender: such a span has ended as far as
 * another thread can tell. The unpin may be on any thread; it may run the reclaim function.
 */
sp_slot *sp_slot_pin(spool_span handle);
void sp_slot_unpin(sp_thread_block *thread, sp_slot *slot);

/* Runs when a slot is really given up, before its boxes are reset; set once by the trace layer. */
void sp_registry_reclaims_with(void (*reclaim)(sp_thread_block *thread, sp_slot *slot));

/*
 * Spill memory of at least `size` bytes, 16-byte aligned, not zeroed: pooled in
 * SP_SPILL_SMALL_BYTES and _LARGE_BYTES, from the heap above. NULL: cap, or no memory. The release,
 * on any thread, names the size that was asked for.
 *
 * A pooled block is at a multiple of SP_SPILL_SMALL_BYTES, is never unmapped, and belongs to one
 * class for ever; one from the heap is never at such a multiple. So a reader without a lock knows
 * by the address alone what it may touch.
 */
void *sp_spill_acquire(sp_thread_block *thread, size_t size);
void sp_spill_release(sp_thread_block *thread, void *spill, size_t size);

static inline bool sp_spill_is_pooled(const void *spill) {
    return spill != NULL && ((uintptr_t)spill & (SP_SPILL_SMALL_BYTES - 1)) == 0;
}

/*
 * A walk over all headers that were ever used; zero-initialised it starts at the first. NULL after
 * the last. No lock, no allocation: from signal handlers too. A slot that is taken meanwhile may or
 * may not be met.
 */
typedef struct sp_slot_walk {
    uint32_t shard;
    uint32_t chunk;
    uint32_t index;
} sp_slot_walk;
struct sp_slot *sp_registry_next(sp_slot_walk *walk);

/* Slots in state LIVE or ENDING that belong to one SDK: a walk over all headers. */
size_t sp_registry_count_live(uint16_t sdk, uint32_t sdk_epoch);

/*
 * Caps of the process: slots with a body alive at once (default: none; each thread keeps a few
 * credits of it, at most a 32nd), and bytes of bodies and pooled spills (default 256 MiB; a quarter
 * of it for the headers of slots without). Lowering a cap takes nothing back.
 */
void sp_registry_set_caps(uint64_t live_spans, uint64_t body_bytes);

/* Fast paths that tests ask about: how often each was taken, process-wide, approximate while
 * running. */
typedef struct sp_registry_counters {
    uint64_t local_acquires; /* from the owner's bitmap, no shared write */
    uint64_t remote_frees;   /* a slot freed by a thread that does not own its shard */
    uint64_t remote_merges;  /* words of remote frees taken back by the owner */
    uint64_t chunks_mapped;
    uint64_t retired_slots;
    uint64_t adopted_shards;
    uint64_t cap_refusals;
    uint64_t lock_refusals;  /* locks given up behind a dead or stuck locker */
    uint64_t bodies_dropped; /* chunks whose bodies went back to the kernel */
} sp_registry_counters;
void sp_registry_read_counters(sp_registry_counters *out_counters);

/* For tests: gives a STARTING slot another generation; sp_slot_handle() is its handle then. */
void sp_slot_age(sp_slot *slot, uint32_t generation);
/* For tests: at most so many shards of threads from now on (4,095 at first). */
void sp_registry_limit_shards(uint32_t shards);

#endif /* SPOOL_SDK_MEMORY_REGISTRY_H */
