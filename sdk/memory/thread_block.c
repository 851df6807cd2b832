/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread blocks: making, finding, recycling them.
 *
 * Owners: the list of all blocks, the queue of free ones and the slab under them belong to whoever
 * holds `lock`; a LIVE block to its thread. A block keeps its number for ever, and the queue is
 * first in, first out, so a number comes back as late as can be: a locker that died must not look
 * alive.
 *
 * Closing: see end_thread(). The block ends in the last pass but one, so that a thread whose first
 * use is in a destructor of the first pass still gets there; one that comes later than that is
 * never seen to end, and its block stays LIVE. From then on a mark in the key says LATE.
 *
 * Lock order: `lock`, then the locks of the registry, then that of the box types (see fork
 * handlers).
 */
#include "sdk/memory/thread_block.h"

#include "sdk/memory/shard.h"
#include "sdk/memory/slab.h"
#include "sdk/platform/check.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/fork.h"
#include "sdk/platform/lock_rank.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#ifdef PTHREAD_DESTRUCTOR_ITERATIONS
enum { SERVED_PASSES = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { SERVED_PASSES = _POSIX_THREAD_DESTRUCTOR_ITERATIONS - 1 };
#endif
enum { MAX_NUMBER = (1 << 20) - 1 };

/* Nothing of ThreadSanitizer, not even the bookkeeping of calls that clang leaves in otherwise. */
#if defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNSANITIZED __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef UNSANITIZED
#define UNSANITIZED __attribute__((no_sanitize("thread")))
#endif

_Thread_local sp_thread_block *sp_thread_of SP_THREAD_TLS;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;
static char late_mark; /* its address is the key's value of a LATE thread */

static sp_mutex lock = SP_MUTEX_INIT(SP_RANK_THREADS, "threads");
static sp_slab slab;
static sp_thread_block *all;
static sp_thread_block *free_head;
static sp_thread_block *free_tail;

/* Relaxed is not enough: release in sp_thread_part_ends_with(), acquire in end_parts(). */
static _Atomic(uintptr_t) part_fini[SP_PARTS];

static void end_parts(sp_thread_block *block) {
    for (unsigned part = SP_PARTS; part-- > 0;) {
        void *value = block->parts[part];
        void (*fini)(sp_thread_block *, void *) =
            (void (*)(sp_thread_block *, void *))sp_load_acquire(&part_fini[part]);
        block->parts[part] = NULL;
        if (value != NULL && fini != NULL) {
            fini(block, value);
        }
    }
}

static void recycle(sp_thread_block *block) {
    sp_mutex_lock(&lock);
    for (unsigned i = 0; i < SP_PIN_PLACES; i++) {
        sp_store_relaxed(&block->pins[i], NULL);
    }
    block->pin_count = 0;
    block->next_free = NULL;
    if (free_tail != NULL) {
        free_tail->next_free = block;
    } else {
        free_head = block;
    }
    free_tail = block;
    /* Release: all that the thread did with its number is over; partner: sp_thread_lives(). */
    sp_store_release(&block->state, SP_THREAD_FREE);
    sp_mutex_unlock(&lock);
}

static SP_NOINLINE void end_block(sp_thread_block *block) {
    end_parts(block);
    sp_shard_hand_over(block);
    sp_scratch_fini(&block->scratch);
    sp_thread_of = NULL;
    recycle(block);
}

/*
 * The key's destructor. The mark is set again in each pass that follows, until there is none.
 * ThreadSanitizer's own destructor may have ended the thread before the last pass gets here.
 */
UNSANITIZED static void end_thread(void *value) {
    if (value != &late_mark) {
        sp_thread_block *block = value;
        if (++block->exit_passes < SERVED_PASSES && pthread_setspecific(key, block) == 0) {
            return;
        }
        end_block(block);
    }
    (void)pthread_setspecific(key, &late_mark);
}

static void before_fork(void) {
    sp_mutex_lock(&lock);
    sp_shard_before_fork();
}

static void after_fork_in_parent(void) {
    sp_shard_after_fork();
    sp_mutex_unlock(&lock);
}

/*
 * Threads that did not come along may have been anywhere in their shards and blocks, so nothing of
 * theirs is adopted or recycled; not LIVE, they do not count as lockers.
 */
static void after_fork_in_child(void) {
    for (sp_thread_block *block = all; block != NULL; block = block->next) {
        /* Relaxed: the child has one thread. */
        if (block == sp_thread_of || sp_load_relaxed(&block->state) != SP_THREAD_LIVE) {
            continue;
        }
        for (unsigned i = 0; i < SP_PIN_PLACES; i++) {
            sp_store_relaxed(&block->pins[i], NULL);
        }
        block->pin_count = 0;
        sp_store_relaxed(&block->state, SP_THREAD_LOST);
    }
    sp_shard_after_fork();
    sp_mutex_unlock(&lock);
}

static void init_once(void) {
    sp_slab_init(&slab, sizeof(sp_thread_block), MAX_NUMBER);
    key_made = pthread_key_create(&key, end_thread) == 0;
    if (key_made) {
        (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

static void prepare(sp_thread_block *block) {
    block->hook_depth = 0;
    block->fork_generation = sp_fork_generation();
    block->on_loop = 0;
    block->suppressed = 0;
    block->exporting = 0;
    block->handed_on = 0;
    block->exit_passes = 0;
    block->shard = NULL;
    memset(block->parts, 0, sizeof block->parts);
}

/* A free block, or a new one. */
static sp_thread_block *take_block(void) {
    sp_mutex_lock(&lock);
    sp_thread_block *block = free_head;
    if (block != NULL) {
        free_head = block->next_free;
        free_tail = free_head != NULL ? free_tail : NULL;
    } else {
        uint32_t index;
        block = sp_slab_take(&slab, &index);
        if (block != NULL) {
            block->number = index + 1;
            block->next = all;
            all = block;
        }
    }
    if (block != NULL) {
        prepare(block);
        /* Release: the number is in use; partner: sp_thread_lives(). */
        sp_store_release(&block->state, SP_THREAD_LIVE);
    }
    sp_mutex_unlock(&lock);
    return block;
}

sp_thread_block *sp_thread_make(void) {
    if (sp_thread_of != NULL) {
        return sp_thread_of;
    }
    int saved_errno = errno;
    (void)pthread_once(&once, init_once);
    sp_diag_remember_stderr();
    sp_thread_block *block = NULL;
    if (key_made && pthread_getspecific(key) != &late_mark) {
        block = take_block();
    }
    if (block != NULL && pthread_setspecific(key, block) != 0) {
        recycle(block);
        block = NULL;
    }
    sp_thread_of = block;
    errno = saved_errno;
    return block;
}

sp_thread_block *sp_thread_get(void) {
    return sp_thread();
}

void sp_thread_part_ends_with(unsigned part, void (*fini)(sp_thread_block *block, void *value)) {
    SP_CHECK(part < SP_PARTS);
    if (part < SP_PARTS) {
        sp_store_release(&part_fini[part], (uintptr_t)fini);
    }
}

void sp_thread_each(void (*visit)(sp_thread_block *block, void *arg), void *arg) {
    sp_mutex_lock(&lock);
    for (sp_thread_block *block = all; block != NULL; block = block->next) {
        visit(block, arg);
    }
    sp_mutex_unlock(&lock);
}

bool sp_thread_lives(uint32_t number) {
    if (number == 0 || number > MAX_NUMBER) {
        return false;
    }
    sp_thread_block *block = sp_slab_at(&slab, number - 1);
    /* Acquire: partners are the releases in take_block() and recycle(). */
    return block != NULL && sp_load_acquire(&block->state) == SP_THREAD_LIVE;
}
