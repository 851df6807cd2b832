/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread block: everything that the library keeps for one thread, behind one pointer in TLS.
 * The block is mapped, not allocated, and recycled when its thread is gone.
 *
 * Owner: its thread alone, but for the fields marked shared. States of a thread: NONE (pointer
 * NULL), LIVE, and LATE (its destructors have run: sp_thread() is NULL from then on and calls do
 * without). Closing: a pthread key's destructor re-arms itself through the destructor passes, then
 * runs the parts' fini functions in reverse order of their index, hands the shard over and recycles
 * the block.
 *
 * In the child of a fork the forking thread's block stays as it was; the blocks of the threads that
 * the child does not have are LOST for good: numbers and parts are kept, nothing of them is used
 * again.
 */
#ifndef SPOOL_SDK_MEMORY_THREAD_BLOCK_H
#define SPOOL_SDK_MEMORY_THREAD_BLOCK_H

#include "sdk/memory/scratch.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/compiler.h"
#include "sdk/platform/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room that a higher layer keeps in the block: a pointer each, with a function that ends it. */
enum {
    SP_PART_CONTEXT,   /* the stack of attached contexts */
    SP_PART_COUNTERS,  /* statistics by SDK */
    SP_PART_RINGS,     /* the batch processors' rings */
    SP_PART_VIEW,      /* the decoded view of a span */
    SP_PART_LOG_BOXES, /* extension boxes of log records */
    SP_PARTS
};

/* Beyond SP_MAX_PINS nothing new begins; the rest is for what has to end: an end for each depth of hooks. */
enum {
    SP_MAX_HOOK_DEPTH = 8,
    SP_MAX_PINS = 16,
    SP_PIN_PLACES = SP_MAX_PINS + SP_MAX_HOOK_DEPTH + 2
};

typedef struct sp_shard sp_shard;

typedef struct sp_thread_block {
    uint32_t number;     /* 1 .. 2^20-1, unique among living threads: the locker of a slot word */
    uint32_t hook_depth; /* hooks of processors on this thread's stack */
    /* Of the process when the block was made; higher layers raise it when they have seen a fork. */
    uint32_t fork_generation;
    uint8_t on_loop;     /* 1: this is a runtime thread: nothing may wait here */
    uint8_t suppressed;  /* not 0: records made now are the library's own; they are not recorded */
    uint8_t exporting;   /* not 0: inside an exporter called by a simple processor */
    uint8_t exit_passes; /* how often the key's destructor has run */
    uint8_t handed_on;   /* log records handed on by processors, on this thread's stack */
    uint8_t reserved[3];

    /* The subscribers in use on this thread; written by the owner, read by a shutdown after
     * membarrier(): see sdk/subscriber/pin.h. */
    _Atomic(void *) pins[SP_PIN_PLACES];
    uint32_t pin_count;

    sp_shard *shard;
    sp_scratch scratch;
    sp_random random;
    void *parts[SP_PARTS];

    struct sp_thread_block *next;      /* in the list of all blocks; blocks are never unlinked */
    struct sp_thread_block *next_free; /* in the queue of free blocks */
    _Atomic uint32_t state;            /* SP_THREAD_*; shared */
} sp_thread_block;

enum { SP_THREAD_FREE = 0, SP_THREAD_LIVE = 1, SP_THREAD_LOST = 2 };

/* One load on glibc; musl has no room for this model in a library that dlopen() brings. */
#ifdef __GLIBC__
#define SP_THREAD_TLS __attribute__((tls_model("initial-exec")))
#else
#define SP_THREAD_TLS
#endif
extern _Thread_local sp_thread_block *sp_thread_of SP_THREAD_TLS;

/* Makes the calling thread's block; NULL without memory or when the thread is LATE. */
SP_COLD sp_thread_block *sp_thread_make(void);

/* The calling thread's block, made on first use; NULL as above: callers then do nothing, counted.
 * */
static inline sp_thread_block *sp_thread(void) {
    sp_thread_block *block = sp_thread_of;
    return SP_LIKELY(block != NULL) ? block : sp_thread_make();
}

/* The same for libspool-export. */
sp_thread_block *sp_thread_get(void) SP_SHARED("thread_get");

/* What ends a part when its thread exits; set once, before the part is first used. */
void sp_thread_part_ends_with(unsigned part, void (*fini)(sp_thread_block *block, void *value))
    SP_SHARED("thread_part_ends_with");

/*
 * Calls `visit` for every block, LIVE or not (one that is not has pins NULL), under the list's
 * lock: no block is made or recycled meanwhile. `visit` takes no lock.
 */
void sp_thread_each(void (*visit)(sp_thread_block *block, void *arg), void *arg)
    SP_SHARED("thread_each");

/* True when the thread with this number still lives. Threads: any; the answer may be old. */
bool sp_thread_lives(uint32_t number);

#endif /* SPOOL_SDK_MEMORY_THREAD_BLOCK_H */
