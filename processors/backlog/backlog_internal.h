/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the backlog. It is built on the public extension interface alone, as anybody's
 * processor could be.
 *
 * Owners: a span's state is its extension box; it and the queues in it belong to whoever holds the
 * lock of its tree. A tree belongs to the states that refer to it. The core (memory, counters, the
 * box type) belongs to the processor and to every open state: boxes are reset whenever spans end,
 * which may be after the processor's destroy, so the last of them frees it.
 *
 * States of a tree: waiting -> released (its root failed: everything goes on), or
 * waiting -> over (its root ended well: whatever is still kept vanishes with its span). The lock of a
 * tree is never held while a record is handed on.
 */
#ifndef SPOOL_PROCESSORS_BACKLOG_BACKLOG_INTERNAL_H
#define SPOOL_PROCESSORS_BACKLOG_BACKLOG_INTERNAL_H

#include <spool/ext/ext.h>
#include <spool/sdk/backlog.h>

#include <pthread.h>
#include <stdatomic.h>

enum { BACKLOG_CLASSES = 4, BACKLOG_SMALLEST = 256 }; /* 256, 1024, 4096, 16384 bytes */

/* Blocks of few sizes, kept for reuse; larger ones come and go. `lock` guards all of it. */
typedef struct backlog_pool {
    pthread_mutex_t lock;
    void *free[BACKLOG_CLASSES]; /* linked through their first bytes */
    uint64_t held;               /* bytes from the heap, free ones too */
    uint64_t limit;
} backlog_pool;

void backlog_pool_init(backlog_pool *pool, uint64_t limit);
void backlog_pool_fini(backlog_pool *pool);
/* A block of at least `size` bytes; its real size is needed to give it back. NULL: *out_cause says why. */
void *backlog_pool_take(backlog_pool *pool, size_t size, size_t *out_size, uint32_t *out_cause);
void backlog_pool_give(backlog_pool *pool, void *block, size_t size);

/* One kept record: a deep copy in one block. */
typedef struct backlog_record {
    struct backlog_record *next;
    uint64_t sequence; /* in its tree */
    size_t block_bytes;
    spool_log_data data;
} backlog_record;

/* NULL: *out_cause says why. */
backlog_record *backlog_record_copy(backlog_pool *pool, const spool_log_data *log,
                                    uint64_t max_bytes, uint32_t *out_cause);

/* Oldest first; all zero is empty. */
typedef struct backlog_queue {
    backlog_record *head;
    backlog_record *tail;
    uint64_t count;
    uint64_t bytes;
} backlog_queue;

void backlog_queue_push(backlog_queue *queue, backlog_record *record);
void backlog_queue_append(backlog_queue *queue, backlog_queue *from);
void backlog_queue_sort(backlog_queue *queue);

typedef struct backlog_core {
    _Atomic uint32_t references;
    spool_ext_id type;
    spool_sdk *sdk; /* set by attach */
    spool_processor downstream;
    spool_processor_ops downstream_ops; /* as of this version: what an older table lacks is NULL */
    spool_processor_ops ops;            /* ours: hooks that downstream lacks are absent */
    spool_backlog_options options;
    backlog_pool pool;
    /* Relaxed: counts. `kept` falls when a record was handed on, or counted elsewhere. */
    _Atomic uint64_t kept;
    _Atomic uint64_t dropped[SPOOL_DROP_CAUSES];
} backlog_core;

backlog_core *backlog_core_ref(backlog_core *core);
void backlog_core_unref(backlog_core *core);
void backlog_drop(backlog_core *core, uint32_t cause, uint64_t count);
/* Empties the queue: to the downstream processor, or into dropped[cause]. */
void backlog_hand_on(backlog_core *core, backlog_queue *queue);
void backlog_discard(backlog_core *core, backlog_queue *queue, uint32_t cause);

typedef struct backlog_tree backlog_tree;

/* The box of a span. */
typedef struct backlog_state {
    backlog_core *core; /* NULL: not open */
    backlog_tree *tree;
    backlog_queue kept;
    bool is_root;
    bool released;
    bool
        ended; /* the verdict is spoken: a record that comes now finds it, or waits for the root's */
} backlog_state;

/* The span starts: its own tree, or its parent's. Without memory it stays closed: nothing is kept. */
void backlog_state_open(backlog_core *core, spool_span_record *span);
/* The span's open state, or NULL. */
backlog_state *backlog_state_of(const backlog_core *core, spool_span_record *span);
/* Keeps a copy; false when the record is to go on at once, after what *out_released holds. */
bool backlog_state_keep(backlog_state *state, const spool_log_data *log,
                        backlog_queue *out_released);
/* Something failed in the span: what is to go on. */
void backlog_state_release(backlog_state *state, backlog_queue *out_released);
/* The span ends: what is to go on, and what vanishes. */
void backlog_state_end(backlog_state *state, bool failed, backlog_queue *out_released,
                       backlog_queue *out_vanished);
/* The box's reset. */
void backlog_state_close(void *value);

#endif /* SPOOL_PROCESSORS_BACKLOG_BACKLOG_INTERNAL_H */
