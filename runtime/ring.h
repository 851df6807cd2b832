/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of one thread and one batch processor: records as OTLP bytes, in a chain of 64 KiB segments.
 * One thread writes, the loop reads; no write is shared but the publishing store.
 *
 * Owners. The producer is the ring's thread; the consumer is the loop, or whoever has the processor to
 * itself when the loop is gone. A segment belongs to the chain; a drained one goes back to the producer
 * through `spare`, or to the pool of the process, which has a lock and is asked once a segment at most.
 *
 * States of a segment, as the chain shows them:
 *
 *     OPEN    `next` is NULL: the producer writes behind `end`, the consumer reads what is before it
 *     SEALED  `next` is set, the producer's last touch: `end` is final
 *     DRAINED the consumer has read all of a sealed segment and left it; it is in `spare` or the pool
 *
 * Publishing: `end` is stored with release after the record is written; the consumer loads it with acquire.
 * What lies beyond `end` is invisible, and overwritten by the next record.
 *
 * Closing protocol: when its thread exits the ring is marked orphan (release), the last thing its
 * producer does; the consumer reads the mark (acquire) before it drains, and destroys the ring after.
 */
#ifndef SPOOL_RUNTIME_RING_H
#define SPOOL_RUNTIME_RING_H

#include "runtime/budget.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/compiler.h"
#include "sdk/resource/scope.h"

#include <spool/sdk/stats.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SP_SEGMENT_BYTES = 65536, /* a mapping, its header included */
    SP_RECORD_MAX_BYTES = 1 << 30
};

typedef struct sp_segment {
    /* Written by the producer; `next` and `end` with release, the consumer loads them with acquire. */
    _Atomic(struct sp_segment *) next;
    _Atomic uint64_t end; /* bytes of published records */
    uint64_t capacity;    /* bytes after this header */

    /* Written by the consumer. */
    SP_CACHE_ALIGNED uint64_t read;
    struct sp_segment *pooled; /* in the pool */
} sp_segment;

typedef struct sp_ring {
    /* Written by the producer. */
    SP_CACHE_ALIGNED sp_segment *tail;
    _Atomic uint64_t offered;
    _Atomic uint64_t published;
    _Atomic uint64_t dropped[SPOOL_DROP_CAUSES];
    _Atomic bool orphan; /* release; the consumer loads it with acquire */

    /* Written by both, seldom: the credit, see budget.h, and one drained segment on its way back. */
    SP_CACHE_ALIGNED sp_credit credit;
    _Atomic(sp_segment *) spare;

    /* Written by the consumer. */
    SP_CACHE_ALIGNED sp_segment *head;
    uint64_t consumed; /* guarded by the processor's lock, as is `next` */
    struct sp_ring *next;
} sp_ring;

/* A record as the consumer sees it; valid until the next call for the same ring. */
typedef struct sp_ring_record {
    const uint8_t *bytes;
    size_t len;
    const sp_scope *scope;
} sp_ring_record;

/* NULL without memory. */
sp_ring *sp_ring_create(void);
/* Nobody writes or reads any more. */
void sp_ring_destroy(sp_ring *ring);

/* Room for a record of `len` bytes (at most SP_RECORD_MAX_BYTES), invisible yet. NULL without memory. */
uint8_t *sp_ring_reserve(sp_ring *ring, size_t len);
/* Makes the reserved record visible. `len` is that of the reserve. */
void sp_ring_publish(sp_ring *ring, size_t len, const sp_scope *scope);

/* The half of sp_ring_next() that takes something. */
bool sp_ring_take(sp_ring *ring, sp_ring_record *out_record);

/* The next published record; false when there is none now, which costs a look. Consumer alone. */
static inline bool sp_ring_next(sp_ring *ring, sp_ring_record *out_record) {
    const sp_segment *segment = ring->head;
    /* Relaxed: what the look finds is looked at again, with acquire. */
    if (segment->read == sp_load_relaxed(&segment->end) &&
        sp_load_relaxed(&segment->next) == NULL) {
        return false;
    }
    return sp_ring_take(ring, out_record);
}

/* Mappings made so far, in the process: what tests of the warm state ask. */
uint64_t sp_ring_mappings(void);

#endif /* SPOOL_RUNTIME_RING_H */
