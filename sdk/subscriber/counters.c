/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners: a block of counters belongs to the thread that claimed it (flag `taken`), for writing; all
 * blocks are in one list that only grows. States of an entry: its epoch says which SDK's numbers it
 * holds; the owner zeroes the numbers and then publishes the new epoch (release), so a reader that sees
 * the epoch (acquire) never adds an earlier tenant's numbers. Closing: at thread exit `taken` is cleared
 * (release) and the next thread that claims the block (acquire) continues its numbers.
 */
#include "sdk/subscriber/counters.h"

#include "sdk/platform/diagnostics.h"
#include "sdk/platform/lock_rank.h"

#include <stdlib.h>

typedef struct counters_entry {
    _Atomic uint32_t epoch;
    _Atomic uint64_t numbers[2][SP_COUNTS];
} counters_entry;

typedef struct counters_block {
    struct counters_block *next; /* constant once in the list */
    _Atomic uint32_t taken;
    counters_entry entries[SP_MAX_SDKS];
} counters_block;

static _Atomic(counters_block *) blocks;
static counters_block shared; /* for threads without a block; under shared_lock */
static sp_mutex shared_lock = SP_MUTEX_INIT(SP_RANK_COUNTERS, "counters");

static void leave(sp_thread_block *thread, void *value) {
    (void)thread;
    counters_block *block = value;
    /* Pairs with the acquire of claim(): the next owner sees our last numbers. */
    sp_store_release(&block->taken, 0);
}

static counters_block *claim(void) {
    for (counters_block *at = sp_load_acquire(&blocks); at; at = at->next) {
        uint32_t is_free = 0;
        if (sp_load_relaxed(&at->taken) == 0 && sp_cas_acquire(&at->taken, &is_free, 1)) {
            return at;
        }
    }
    counters_block *made = calloc(1, sizeof *made);
    if (!made) {
        return NULL;
    }
    sp_store_relaxed(&made->taken, 1);
    counters_block *head = sp_load_relaxed(&blocks);
    do {
        made->next = head;
        /* Release on success: publishes `next` to the readers' acquire of the head. */
    } while (!sp_cas_acq_rel(&blocks, &head, made));
    return made;
}

static SP_COLD counters_block *block_make(sp_thread_block *thread) {
    sp_thread_part_ends_with(SP_PART_COUNTERS, leave);
    counters_block *block = claim();
    thread->parts[SP_PART_COUNTERS] = block;
    return block;
}

static void add(counters_entry *entry, uint32_t epoch, unsigned signal, unsigned what) {
    if (SP_UNLIKELY(sp_load_relaxed(&entry->epoch) != epoch)) {
        for (unsigned i = 0; i < 2 * SP_COUNTS; i++) {
            sp_store_relaxed(&entry->numbers[i / SP_COUNTS][i % SP_COUNTS], 0);
        }
        sp_store_release(&entry->epoch, epoch);
    }
    sp_count_owner(&entry->numbers[signal][what], 1);
}

static SP_COLD void add_shared(unsigned sdk, uint32_t epoch, unsigned signal, unsigned what) {
    sp_mutex_lock(&shared_lock);
    add(&shared.entries[sdk], epoch, signal, what);
    sp_mutex_unlock(&shared_lock);
}

void sp_counters_add(sp_thread_block *thread, unsigned sdk, uint32_t epoch, unsigned signal,
                     unsigned what) {
    counters_block *block = NULL;
    if (SP_LIKELY(thread != NULL)) {
        block = thread->parts[SP_PART_COUNTERS];
        if (SP_UNLIKELY(!block)) {
            block = block_make(thread);
        }
    }
    if (SP_LIKELY(block != NULL)) {
        add(&block->entries[sdk], epoch, signal, what);
    } else {
        add_shared(sdk, epoch, signal, what);
    }
}

static void sum(const counters_entry *entry, uint32_t epoch, uint64_t out_sums[2][SP_COUNTS]) {
    if (sp_load_acquire(&entry->epoch) != epoch) {
        return;
    }
    for (unsigned i = 0; i < 2 * SP_COUNTS; i++) {
        out_sums[i / SP_COUNTS][i % SP_COUNTS] +=
            sp_load_relaxed(&entry->numbers[i / SP_COUNTS][i % SP_COUNTS]);
    }
}

void sp_counters_sum(unsigned sdk, uint32_t epoch, uint64_t out_sums[2][SP_COUNTS]) {
    for (unsigned i = 0; i < 2 * SP_COUNTS; i++) {
        out_sums[i / SP_COUNTS][i % SP_COUNTS] = 0;
    }
    for (const counters_block *at = sp_load_acquire(&blocks); at; at = at->next) {
        sum(&at->entries[sdk], epoch, out_sums);
    }
    sp_mutex_lock(&shared_lock);
    sum(&shared.entries[sdk], epoch, out_sums);
    sp_mutex_unlock(&shared_lock);
}
