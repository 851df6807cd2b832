/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts heap allocations and mappings, to prove that a path makes none. A program that is linked
 * with spt_malloc_count has its malloc, calloc, realloc, aligned_alloc, posix_memalign and memalign
 * counted from the first instruction on, those of libraries included. Under a sanitizer its hooks
 * count instead; ThreadSanitizer's leave out the aligned forms.
 *
 *     uint64_t before = spt_mallocs_of_thread();
 *     path();
 *     SPT_CHECK_UINT(spt_mallocs_of_thread() - before, 0);
 */
#ifndef SPT_MALLOC_COUNT_H
#define SPT_MALLOC_COUNT_H

#include <stdint.h>

/* Calls that asked for memory, realloc included whatever it did; never decreases. */
uint64_t spt_mallocs_of_thread(void);
uint64_t spt_mallocs_of_process(void);

/* Calls of mmap by this program and its libraries outside libc; always zero under a sanitizer. */
uint64_t spt_mmaps_of_thread(void);
uint64_t spt_mmaps_of_process(void);

#endif /* SPT_MALLOC_COUNT_H */
