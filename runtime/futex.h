/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a word to change, with an absolute monotonic deadline. errno is left as it was. */
#ifndef SPOOL_RUNTIME_FUTEX_H
#define SPOOL_RUNTIME_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns at once when *word is not `expected`; else when it is woken, or for no reason, or at the
 * deadline. False: the deadline has passed. The caller looks again at what it waits for.
 */
bool sp_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);
void sp_futex_wake(_Atomic uint32_t *word, int threads);

#endif /* SPOOL_RUNTIME_FUTEX_H */
