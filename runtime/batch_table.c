/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of batches that wait for an answer. One lock for the process, taken twice a batch; nothing
 * foreign runs under it. An id is sequence << 16 | slot, so that an old id never finds a newer batch.
 */
#include "runtime/batch.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/diagnostics.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOT_BITS = 16, FIRST_SLOTS = 16, MAX_SLOTS = 1 << SLOT_BITS };

typedef struct slot {
    spool_batch *batch; /* NULL: free */
    uint64_t id;
    bool expired;
} slot;

static struct {
    pthread_mutex_t lock;
    slot *slots;
    uint32_t capacity;
    uint64_t sequence;
} table = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0};


static slot *free_slot(void) {
    for (uint32_t i = 0; i < table.capacity; i++) {
        if (!table.slots[i].batch) {
            return &table.slots[i];
        }
    }
    uint32_t capacity = table.capacity ? table.capacity * 2 : FIRST_SLOTS;
    slot *slots = capacity > MAX_SLOTS ? NULL : realloc(table.slots, capacity * sizeof *slots);
    if (!slots) {
        return NULL;
    }
    for (uint32_t i = table.capacity; i < capacity; i++) {
        slots[i].batch = NULL;
    }
    slot *first = &slots[table.capacity];
    table.slots = slots;
    table.capacity = capacity;
    return first;
}

static slot *find(uint64_t id) {
    uint64_t index = id & (MAX_SLOTS - 1);
    if (index >= table.capacity || !table.slots[index].batch || table.slots[index].id != id) {
        return NULL;
    }
    return &table.slots[index];
}

bool sp_batch_await(spool_batch *batch) {
    pthread_mutex_lock(&table.lock);
    slot *entry = free_slot();
    if (entry) {
        entry->id = ++table.sequence << SLOT_BITS | (uint64_t)(entry - table.slots);
        entry->batch = batch;
        entry->expired = false;
        batch->id = entry->id;
    }
    pthread_mutex_unlock(&table.lock);
    return entry != NULL;
}

bool sp_batch_expire(spool_batch *batch) {
    pthread_mutex_lock(&table.lock);
    slot *entry = find(batch->id);
    bool waiting = entry && !entry->expired;
    if (waiting) {
        entry->expired = true;
    }
    pthread_mutex_unlock(&table.lock);
    return waiting;
}

bool sp_batch_forget(spool_batch *batch) {
    pthread_mutex_lock(&table.lock);
    slot *entry = find(batch->id);
    bool waiting = entry && !entry->expired;
    if (entry) {
        entry->batch = NULL;
    }
    pthread_mutex_unlock(&table.lock);
    return waiting;
}

/* The numbers as they will be counted: cut from the end to what the batch holds. */
static spool_outcome fitted(const spool_outcome *said, uint64_t count) {
    spool_outcome outcome = {0};
    if (said) {
        outcome.delivered = said->delivered < count ? said->delivered : count;
        count -= outcome.delivered;
        outcome.rejected = said->rejected < count ? said->rejected : count;
        count -= outcome.rejected;
        outcome.unknown = said->unknown < count ? said->unknown : count;
        outcome.drop_cause =
            said->drop_cause < SPOOL_DROP_CAUSES ? said->drop_cause : SPOOL_DROP_LIMIT;
    } else {
        outcome.drop_cause = SPOOL_DROP_LIMIT;
    }
    return outcome;
}

void spool_batch_done(uint64_t batch_id, const spool_outcome *outcome) {
    pthread_mutex_lock(&table.lock);
    slot *entry = find(batch_id);
    bool late = !entry || entry->expired;
    if (late) {
        sp_misuse_count(SP_MISUSE_INVALID_CALL, 1);
    }
    if (entry) {
        spool_batch *batch = entry->batch;
        entry->batch = NULL;
        batch->late = late;
        if (!late) {
            batch->outcome = fitted(outcome, batch->count);
        }
        batch->answered(batch, late);
    }
    pthread_mutex_unlock(&table.lock);
}
