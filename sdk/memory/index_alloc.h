/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands out small integers: a bitmap of two levels, 1 = free, so that taking one is find-first-set
 * twice whatever the length, up to 4,096.
 *
 * Owner: one thread at a time takes, frees and merges. Other threads free through a second bitmap
 * (sp_index_alloc_free_remote), which the owner merges word by word when it runs dry.
 *
 * Indices are handed out in rising order inside one word of 64 and round again, and only when the
 * word is empty does it go on to another: the 64 things that the indices name stay in the cache,
 * yet each comes back 64 times later than from a stack.
 */
#ifndef SPOOL_SDK_MEMORY_INDEX_ALLOC_H
#define SPOOL_SDK_MEMORY_INDEX_ALLOC_H

#include "sdk/platform/atomics.h"
#include "sdk/platform/check.h"
#include "sdk/platform/compiler.h"

#include <stdbool.h>
#include <stdint.h>

enum { SP_INDEX_WORDS = 64, SP_INDEX_MAX = SP_INDEX_WORDS * 64 };

#define SP_INDEX_NONE UINT32_MAX

typedef struct sp_index_alloc {
    /* The owner's. Bit w of `summary` says that words[w] is not zero. */
    uint64_t summary;
    uint32_t length;
    uint32_t free_count;
    uint32_t word; /* where it hands out */
    uint32_t bit;  /* the next index of that word, if free */
    uint32_t double_frees;
    uint64_t words[SP_INDEX_WORDS];

    /* Shared: other threads set bits, the owner exchanges them for zero. */
    SP_CACHE_ALIGNED _Atomic uint64_t remote_summary;
    _Atomic uint64_t remote[SP_INDEX_WORDS];
} sp_index_alloc;

/* All indices below `length` are free. False, and nothing is ever handed out, past SP_INDEX_MAX. */
bool sp_index_alloc_init(sp_index_alloc *alloc, uint32_t length);

/*
 * Frees an index from a thread that is not the owner. False: not an index, or freed remotely before
 * (what the owner freed itself is found at the merge). *out_first: there was nothing to merge
 * before, so that the freer should tell the owner.
 */
bool sp_index_alloc_free_remote(sp_index_alloc *alloc, uint32_t index, bool *out_first);

/* The half of sp_index_alloc_merge() that does it. */
uint32_t sp_index_alloc_merge_words(sp_index_alloc *alloc);

/* The two levels and the count agree, and no surplus bit is set. For tests and expensive checks. */
bool sp_index_alloc_is_consistent(const sp_index_alloc *alloc);

/*
 * Owner: takes remote frees over; returns how many words had some. Indices that were free already are
 * counted in double_frees. When there are none it costs a look.
 */
static inline uint32_t sp_index_alloc_merge(sp_index_alloc *alloc) {
    /* Relaxed: a look. Whoever was told of a free by other means sees it here too. */
    return sp_load_relaxed(&alloc->remote_summary) == 0 ? 0 : sp_index_alloc_merge_words(alloc);
}

/* Owner: is there an index to take without a merge? */
static inline bool sp_index_alloc_has_free(const sp_index_alloc *alloc) {
    return alloc->summary != 0;
}

/* Owner: the next free index, or SP_INDEX_NONE. */
static inline uint32_t sp_index_alloc_take(sp_index_alloc *alloc) {
    uint64_t word = alloc->words[alloc->word];
    if (SP_UNLIKELY(word == 0)) {
        if (alloc->summary == 0) {
            return SP_INDEX_NONE;
        }
        uint64_t later = alloc->summary & (UINT64_MAX << alloc->word);
        alloc->word = (uint32_t)__builtin_ctzll(later != 0 ? later : alloc->summary);
        alloc->bit = 0;
        word = alloc->words[alloc->word];
    }
    uint64_t later = word & (UINT64_MAX << alloc->bit);
    uint32_t bit = (uint32_t)__builtin_ctzll(later != 0 ? later : word);
    word &= ~(UINT64_C(1) << bit);
    alloc->words[alloc->word] = word;
    if (SP_UNLIKELY(word == 0)) {
        alloc->summary &= ~(UINT64_C(1) << alloc->word);
    }
    alloc->bit = (bit + 1) & 63;
    alloc->free_count--;
    return alloc->word * 64 + bit;
}

/* Owner: gives an index back. False, and nothing changes, when it is free already or no index. */
static inline bool sp_index_alloc_free(sp_index_alloc *alloc, uint32_t index) {
    if (SP_UNLIKELY(index >= alloc->length)) {
        return false;
    }
    uint64_t bit = UINT64_C(1) << (index & 63);
    uint64_t word = alloc->words[index / 64];
    if (SP_UNLIKELY((word & bit) != 0)) {
        alloc->double_frees++;
        return false;
    }
    alloc->words[index / 64] = word | bit;
    alloc->summary |= UINT64_C(1) << (index / 64);
    alloc->free_count++;
    return true;
}

#endif /* SPOOL_SDK_MEMORY_INDEX_ALLOC_H */
