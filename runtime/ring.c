/* SPDX-License-Identifier: Apache-2.0 */
/* Segments, their pool, and the two ends of the ring; the protocol is in the header. */
#include "runtime/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    RECORD_ALIGN = 8,
    /* Drained segments that the process keeps for reuse: 8 MiB. */
    POOL_SEGMENTS = 128,
    /* Segments are mapped this many at a time; what was never used is not resident. */
    RUN_SEGMENTS = 16
};

typedef struct record_header {
    uint64_t len;
    const sp_scope *scope;
} record_header;

enum { SEGMENT_CAPACITY = SP_SEGMENT_BYTES - (int)sizeof(sp_segment) };

/* Segments of standard size that nobody uses. */
static struct {
    pthread_mutex_t lock;
    sp_segment *first;
    uint32_t count;
    uint8_t *fresh; /* the rest of the last run */
    uint32_t fresh_count;
} pool = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, NULL, 0};

static _Atomic uint64_t mappings;

static uint8_t *data_of(sp_segment *segment) {
    return (uint8_t *)(segment + 1);
}

static uint64_t room_for(size_t len) {
    return sizeof(record_header) +
           (((uint64_t)len + RECORD_ALIGN - 1) & ~(uint64_t)(RECORD_ALIGN - 1));
}

/* ---- segments ---- */

static void *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    sp_add_relaxed(&mappings, 1);
    return memory;
}

/* A segment that was never used; the lock is held. */
static sp_segment *fresh_take(void) {
    if (!pool.fresh_count) {
        pool.fresh = map((size_t)RUN_SEGMENTS * SP_SEGMENT_BYTES);
        pool.fresh_count = pool.fresh ? RUN_SEGMENTS : 0;
    }
    if (!pool.fresh_count) {
        return NULL;
    }
    sp_segment *segment = (sp_segment *)(void *)pool.fresh;
    pool.fresh += SP_SEGMENT_BYTES;
    pool.fresh_count--;
    segment->capacity = SEGMENT_CAPACITY;
    return segment;
}

static sp_segment *pool_take(void) {
    pthread_mutex_lock(&pool.lock);
    sp_segment *segment = pool.first;
    if (segment) {
        pool.first = segment->pooled;
        pool.count--;
    } else {
        segment = fresh_take();
    }
    pthread_mutex_unlock(&pool.lock);
    return segment;
}

static void segment_free(sp_segment *segment) {
    if (segment->capacity == SEGMENT_CAPACITY) {
        pthread_mutex_lock(&pool.lock);
        bool kept = pool.count < POOL_SEGMENTS;
        if (kept) {
            segment->pooled = pool.first;
            pool.first = segment;
            pool.count++;
        }
        pthread_mutex_unlock(&pool.lock);
        if (kept) {
            return;
        }
    }
    (void)munmap(segment, sizeof *segment + segment->capacity);
}

/* One for a record that is larger than a segment. */
static sp_segment *segment_map(uint64_t capacity) {
    sp_segment *segment = map(sizeof *segment + capacity);
    if (segment) {
        segment->capacity = capacity;
    }
    return segment;
}

static sp_segment *segment_take(sp_ring *ring, uint64_t need) {
    sp_segment *segment;
    if (need > SEGMENT_CAPACITY) {
        segment = segment_map(need);
    } else {
        /* Acquire: pairs with the consumer's exchange in segment_return(). */
        segment = sp_load_relaxed(&ring->spare) ? sp_exchange_acq_rel(&ring->spare, NULL) : NULL;
        segment = segment ? segment : pool_take();
    }
    if (segment) {
        sp_store_relaxed(&segment->next, NULL);
        sp_store_relaxed(&segment->end, 0);
        segment->read = 0;
    }
    return segment;
}

/* A drained segment goes back to where it is used next. */
static void segment_return(sp_ring *ring, sp_segment *segment) {
    if (segment->capacity == SEGMENT_CAPACITY) {
        segment = sp_exchange_acq_rel(&ring->spare, segment);
    }
    if (segment) {
        segment_free(segment);
    }
}

uint64_t sp_ring_mappings(void) {
    return sp_load_relaxed(&mappings);
}

/* ---- the ring ---- */

sp_ring *sp_ring_create(void) {
    sp_ring *ring = aligned_alloc(SP_CACHE_LINE_BYTES, sizeof *ring);
    if (!ring) {
        return NULL;
    }
    memset(ring, 0, sizeof *ring);
    sp_segment *segment = segment_take(ring, 0);
    if (!segment) {
        free(ring);
        return NULL;
    }
    ring->head = ring->tail = segment;
    return ring;
}

void sp_ring_destroy(sp_ring *ring) {
    if (!ring) {
        return;
    }
    sp_segment *segment = ring->head;
    while (segment) {
        sp_segment *next = sp_load_relaxed(&segment->next);
        segment_free(segment);
        segment = next;
    }
    segment = sp_load_acquire(&ring->spare);
    if (segment) {
        segment_free(segment);
    }
    free(ring);
}

/* ---- producer ---- */

static bool next_segment(sp_ring *ring, uint64_t need) {
    sp_segment *segment = segment_take(ring, need);
    if (!segment) {
        return false;
    }
    sp_segment *full = ring->tail;
    ring->tail = segment;
    /* `end` is final, the new segment is empty. Pairs with the acquire in leave_segment(). */
    sp_store_release(&full->next, segment);
    return true;
}

uint8_t *sp_ring_reserve(sp_ring *ring, size_t len) {
    uint64_t need = room_for(len);
    uint64_t end = sp_load_relaxed(&ring->tail->end);
    if (SP_UNLIKELY(ring->tail->capacity - end < need)) {
        if (!next_segment(ring, need)) {
            return NULL;
        }
        end = 0;
    }
    return data_of(ring->tail) + end + sizeof(record_header);
}

void sp_ring_publish(sp_ring *ring, size_t len, const sp_scope *scope) {
    sp_segment *tail = ring->tail;
    uint64_t end = sp_load_relaxed(&tail->end);
    record_header *header = (record_header *)(void *)(data_of(tail) + end);
    header->len = len;
    header->scope = scope;
    sp_count_owner(&ring->published, 1);
    /* Pairs with the acquire in sp_ring_take(). */
    sp_store_release(&tail->end, end + room_for(len));
}

/* ---- consumer ---- */

/* Moves on to the next segment, when there is one and this one is done with. */
static bool leave_segment(sp_ring *ring) {
    sp_segment *segment = ring->head;
    sp_segment *next = sp_load_acquire(&segment->next);
    if (!next) {
        return false;
    }
    if (segment->read == sp_load_relaxed(&segment->end)) {
        ring->head = next;
        segment_return(ring, segment);
    } /* else more was published between the look at `end` and the seal */
    return true;
}

bool sp_ring_take(sp_ring *ring, sp_ring_record *out_record) {
    do {
        sp_segment *segment = ring->head;
        /* Pairs with the release in sp_ring_publish(). */
        uint64_t end = sp_load_acquire(&segment->end);
        if (segment->read < end) {
            const record_header *header =
                (const record_header *)(const void *)(data_of(segment) + segment->read);
            out_record->bytes = (const uint8_t *)(header + 1);
            out_record->len = header->len;
            out_record->scope = header->scope;
            segment->read += room_for(header->len);
            return true;
        }
    } while (leave_segment(ring));
    return false;
}
