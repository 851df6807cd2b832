/* SPDX-License-Identifier: Apache-2.0 */
/* C11 atomics with the memory order in the name of the operation. Fields are declared _Atomic. */
#ifndef SPOOL_SDK_PLATFORM_ATOMICS_H
#define SPOOL_SDK_PLATFORM_ATOMICS_H

#include <stdatomic.h>

#define sp_load_relaxed(object) atomic_load_explicit((object), memory_order_relaxed)
#define sp_load_acquire(object) atomic_load_explicit((object), memory_order_acquire)
#define sp_store_relaxed(object, value)                                                            \
    atomic_store_explicit((object), (value), memory_order_relaxed)
#define sp_store_release(object, value)                                                            \
    atomic_store_explicit((object), (value), memory_order_release)
#define sp_add_relaxed(object, value)                                                              \
    atomic_fetch_add_explicit((object), (value), memory_order_relaxed)
#define sp_sub_relaxed(object, value)                                                              \
    atomic_fetch_sub_explicit((object), (value), memory_order_relaxed)
#define sp_add_acq_rel(object, value)                                                              \
    atomic_fetch_add_explicit((object), (value), memory_order_acq_rel)
#define sp_sub_acq_rel(object, value)                                                              \
    atomic_fetch_sub_explicit((object), (value), memory_order_acq_rel)
#define sp_or_release(object, value)                                                               \
    atomic_fetch_or_explicit((object), (value), memory_order_release)
#define sp_or_acq_rel(object, value)                                                               \
    atomic_fetch_or_explicit((object), (value), memory_order_acq_rel)
#define sp_exchange_acquire(object, value)                                                         \
    atomic_exchange_explicit((object), (value), memory_order_acquire)
#define sp_exchange_acq_rel(object, value)                                                         \
    atomic_exchange_explicit((object), (value), memory_order_acq_rel)
/* Success: acquire; failure: relaxed. May fail spuriously: use it in a loop. */
#define sp_cas_weak_acquire(object, expected, desired)                                             \
    atomic_compare_exchange_weak_explicit((object), (expected), (desired), memory_order_acquire,   \
                                          memory_order_relaxed)
#define sp_cas_acquire(object, expected, desired)                                                  \
    atomic_compare_exchange_strong_explicit((object), (expected), (desired), memory_order_acquire, \
                                            memory_order_relaxed)
#define sp_cas_acq_rel(object, expected, desired)                                                  \
    atomic_compare_exchange_strong_explicit((object), (expected), (desired), memory_order_acq_rel, \
                                            memory_order_acquire)
#define sp_fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)
#define sp_fence_acquire() atomic_thread_fence(memory_order_acquire)
#define sp_fence_release() atomic_thread_fence(memory_order_release)
/* Orders against a signal handler or a membarrier() caller alone: no instruction. */
#define sp_fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/*
 * Adds to a counter that its owner alone writes and anybody reads: a plain add, no read-modify-write.
 * The reader sees some recent value; at a quiet point the exact one.
 */
#define sp_count_owner(object, value) sp_store_relaxed((object), sp_load_relaxed(object) + (value))

#endif /* SPOOL_SDK_PLATFORM_ATOMICS_H */
