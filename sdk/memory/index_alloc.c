/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rare half of the index allocator: set-up and remote frees.
 *
 * A remote freer sets the index's bit, then, if its word was empty, the word's bit in the remote
 * summary. The owner takes the summary first and the words after: a bit that is set once the owner
 * has taken the word finds the word empty and sets the summary again, and one that is set before is
 * taken with the word. So no bit is ever left without a summary bit that is set or about to be set.
 */
#include "sdk/memory/index_alloc.h"

bool sp_index_alloc_init(sp_index_alloc *alloc, uint32_t length) {
    bool fits = length <= SP_INDEX_MAX;
    uint32_t kept = fits ? length : 0;
    alloc->summary = 0;
    alloc->length = kept;
    alloc->free_count = kept;
    alloc->word = 0;
    alloc->bit = 0;
    alloc->double_frees = 0;
    /* Relaxed: the allocator is handed to other threads by whoever publishes it. */
    sp_store_relaxed(&alloc->remote_summary, 0);
    for (uint32_t w = 0; w < SP_INDEX_WORDS; w++) {
        uint32_t first = w * 64;
        uint64_t word = 0;
        if (kept >= first + 64) {
            word = UINT64_MAX;
        } else if (kept > first) {
            word = (UINT64_C(1) << (kept - first)) - 1;
        }
        alloc->words[w] = word;
        if (word != 0) {
            alloc->summary |= UINT64_C(1) << w;
        }
        sp_store_relaxed(&alloc->remote[w], 0);
    }
    return fits;
}

bool sp_index_alloc_free_remote(sp_index_alloc *alloc, uint32_t index, bool *out_first) {
    *out_first = false;
    if (index >= alloc->length) {
        return false;
    }
    uint64_t bit = UINT64_C(1) << (index & 63);
    /* Release: publishes what the freer did to the thing; partner: the exchange in the merge. */
    uint64_t before = sp_or_release(&alloc->remote[index / 64], bit);
    if ((before & bit) != 0) {
        return false;
    }
    if (before == 0) {
        /* Release: the word's bit is there when the summary says so; acquire: the owner is done
         * with the last merge, should this be the first to tell it of another; partner: the
         * exchange. */
        uint64_t summary = sp_or_acq_rel(&alloc->remote_summary, UINT64_C(1) << (index / 64));
        *out_first = summary == 0;
    }
    return true;
}

uint32_t sp_index_alloc_merge_words(sp_index_alloc *alloc) {
    uint32_t merged = 0;
    /* Acquire, both exchanges: what the freers did; release: what the caller did before, for the
     * next first freer; partners: the two or-operations above. */
    uint64_t summary = sp_exchange_acq_rel(&alloc->remote_summary, 0);
    while (summary != 0) {
        uint32_t w = (uint32_t)__builtin_ctzll(summary);
        summary &= summary - 1;
        uint64_t freed = sp_exchange_acquire(&alloc->remote[w], 0);
        if (freed == 0) {
            continue;
        }
        merged++;
        uint64_t twice = freed & alloc->words[w];
        alloc->double_frees += (uint32_t)__builtin_popcountll(twice);
        freed &= ~twice;
        alloc->words[w] |= freed;
        alloc->free_count += (uint32_t)__builtin_popcountll(freed);
        if (alloc->words[w] != 0) {
            alloc->summary |= UINT64_C(1) << w;
        }
    }
    SP_CHECK_SLOW(sp_index_alloc_is_consistent(alloc));
    return merged;
}

bool sp_index_alloc_is_consistent(const sp_index_alloc *alloc) {
    uint32_t count = 0;
    for (uint32_t w = 0; w < SP_INDEX_WORDS; w++) {
        uint64_t word = alloc->words[w];
        bool summarised = (alloc->summary >> w & 1) != 0;
        if (summarised != (word != 0)) {
            return false;
        }
        if (word != 0 && w * 64 + 63 - (uint32_t)__builtin_clzll(word) >= alloc->length) {
            return false;
        }
        count += (uint32_t)__builtin_popcountll(word);
    }
    return count == alloc->free_count && alloc->word < SP_INDEX_WORDS && alloc->bit < 64;
}
