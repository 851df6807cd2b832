/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory straight from the kernel, zeroed, in whole pages: for what must never move, is never given
 * to free(), or goes back at once. errno is left as it was. Threads: any.
 */
#ifndef SPOOL_SDK_MEMORY_PAGES_H
#define SPOOL_SDK_MEMORY_PAGES_H

#include <stddef.h>

/* `bytes` rounded up to whole pages. */
size_t sp_pages_round(size_t bytes);
/* NULL without memory. Pages that are never touched cost address space alone. */
void *sp_pages_map(size_t bytes);
/* The same at a multiple of `align`, a power of two and at least a page. */
void *sp_pages_map_aligned(size_t bytes, size_t align);
void sp_pages_unmap(void *pages, size_t bytes);
/* Gives the memory back but keeps the addresses: zeroed when it is touched again. */
void sp_pages_drop(void *pages, size_t bytes);

#endif /* SPOOL_SDK_MEMORY_PAGES_H */
