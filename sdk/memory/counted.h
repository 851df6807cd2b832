/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counted nodes from a pool: for things in flight that more than one party may look at, and whose
 * owner may go away in the middle of their end. A node is dropped, exactly once, with its last
 * reference; the pool goes when it is closed and its last node is gone, so that it cannot die under a
 * node that is just being removed. Links are not counted: a node may be in an intrusive list (list.h)
 * without a reference of the list's.
 *
 * Addresses are stable. Past the cap a take is refused and counted, never served from elsewhere.
 * One thread at a time per pool.
 */
#ifndef SPOOL_SDK_MEMORY_COUNTED_H
#define SPOOL_SDK_MEMORY_COUNTED_H

#include "sdk/platform/compiler.h"

#include <stddef.h>
#include <stdint.h>

typedef struct sp_counted_pool sp_counted_pool;

/* `drop` (may be NULL) ends what a node holds; it may use the pool. NULL without memory. */
sp_counted_pool *sp_counted_pool_create(size_t node_bytes, uint64_t cap, void (*drop)(void *node))
    SP_SHARED("counted_pool_create");
/* No takes from now on; nodes stay valid. NULL is a no-op. */
void sp_counted_pool_close(sp_counted_pool *pool) SP_SHARED("counted_pool_close");

/* A zeroed node with one reference, 16-byte aligned; NULL: cap (counted), closed, or no memory. */
void *sp_counted_take(sp_counted_pool *pool) SP_SHARED("counted_take");
void sp_counted_ref(void *node) SP_SHARED("counted_ref");
/* NULL is a no-op. */
void sp_counted_unref(void *node) SP_SHARED("counted_unref");

uint64_t sp_counted_used(const sp_counted_pool *pool);
uint64_t sp_counted_refused(const sp_counted_pool *pool);

#endif /* SPOOL_SDK_MEMORY_COUNTED_H */
