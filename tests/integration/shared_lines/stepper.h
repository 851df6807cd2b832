/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a piece of code really executes: it runs in a child process, one instruction at a time,
 * and each is looked at. x86-64 alone.
 */
#ifndef SPT_SHARED_LINES_STEPPER_H
#define SPT_SHARED_LINES_STEPPER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct stepper_counts {
    uint64_t instructions;
    uint64_t read_modify_writes; /* with a lock, or an exchange with memory */
} stepper_counts;

/* Counting is possible here: the machine, and no instrumentation of a sanitizer. */
bool stepper_works(void);

/*
 * Forks; the child calls prepare(arg), then work(arg), which is counted, then ends. False when the
 * child died or could not be traced.
 */
bool stepper_count(void (*prepare)(void *arg), void (*work)(void *arg), void *arg,
                   stepper_counts *out_counts);

#endif /* SPT_SHARED_LINES_STEPPER_H */
