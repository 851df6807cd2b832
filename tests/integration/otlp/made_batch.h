/* SPDX-License-Identifier: Apache-2.0 */
/* A batch without a processor: some bytes, a count, and the place where the answer is kept. */
#ifndef SPT_MADE_BATCH_H
#define SPT_MADE_BATCH_H

#include "runtime/batch.h"

#include <stdatomic.h>

typedef struct made_batch {
    spool_batch batch;
    spool_batch_piece pieces[2];
    atomic_uint answers;
} made_batch;

/* `records` records in the bytes of `text`, which go out in two pieces. Ready to be exported. */
void made_batch_init(made_batch *made, const char *text, size_t records);
/* Waits for the answer, at most 20 s; false: none came, which is checked. */
bool made_batch_wait(made_batch *made);
/* The answer, as one number each; `dropped` is what is left. */
typedef struct made_outcome {
    uint64_t delivered, rejected, unknown, dropped;
    uint32_t cause;
} made_outcome;
made_outcome made_batch_outcome(const made_batch *made);
/* Checks that all records ended in one way: 'd'elivered, 'r'ejected, 'u'nknown, or dropped ('x'). */
void made_batch_expect(made_batch *made, char way, uint32_t cause);

#endif /* SPT_MADE_BATCH_H */
