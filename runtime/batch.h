/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches as processors make them and exporters see them, and the table of those that wait for an answer.
 *
 * Owner: the processor that made the batch. Between sp_batch_await() and the answer the exporter may read
 * it, one thread at a time. States of the entry in the table:
 *
 *     AWAITING -> ANSWERED  spool_batch_done(): `answered` runs once, the entry is gone
 *     AWAITING -> EXPIRED   sp_batch_expire(): the outcome is the owner's now; the exporter may still be
 *                           reading, so the memory stays
 *     EXPIRED  -> gone      a late answer: counted, `answered` runs with late = true
 *     any      -> gone      sp_batch_forget(): the exporter is known to be through with it
 *
 * `answered` runs on the answering thread under the table's lock: it must only post. Once
 * sp_batch_expire() or _forget() has returned, the other cannot be running.
 */
#ifndef SPOOL_RUNTIME_BATCH_H
#define SPOOL_RUNTIME_BATCH_H

#include "runtime/block.h"

#include "sdk/memory/arena.h"
#include "sdk/memory/scratch.h"

#include <spool/ext/exporter.h>
#include <spool/ext/processor.h>

#include <stdbool.h>
#include <stdint.h>

/* Where the iterator is, in a block. */
typedef struct sp_batch_cursor {
    uint32_t group;
    const sp_chunk *chunk;
    sp_wire_piece rest;
    bool started;
} sp_batch_cursor;

/* The one record of a borrowed batch, one of the two; and what its bytes are made of on demand. */
typedef struct sp_batch_record {
    spool_span_record *span;
    const spool_log_data *log;
    sp_scratch *scratch; /* held by the caller for the life of the batch */
    sp_wire_piece resource;
    bool given; /* by the iterator */
} sp_batch_record;

struct spool_batch {
    uint64_t id; /* 0 outside the table */
    uint32_t signal;
    bool borrowed;
    bool failed;
    size_t count;
    const spool_resource_data *resource;

    sp_block *block;
    sp_batch_cursor cursor;
    sp_arena arena;
    union {
        spool_span_data span;
        spool_log_data log;
    } view;

    sp_batch_record record;
    spool_batch_piece single_pieces[SP_SINGLE_PIECES];
    const spool_batch_piece *pieces; /* NULL: not made yet */
    size_t piece_count;
    size_t size;

    /* The owner's. */
    void (*answered)(struct spool_batch *batch, bool late);
    void *owner;
    spool_outcome
        outcome; /* set by the answer, its numbers add up to `count` with the rest dropped */
    uint64_t number;
    uint64_t deadline_ns;
    struct spool_batch *next;

    /* Set by the answer. */
    bool late;
    struct spool_batch *next_answered; /* the owner's, in `answered` */
};

/* A batch over a sealed block, or over one borrowed record. Zeroed but for what they set. */
void sp_batch_init_block(spool_batch *batch, uint32_t signal, const spool_resource_data *resource,
                         sp_block *block);
void sp_batch_init_record(spool_batch *batch, const spool_resource_data *resource,
                          const sp_batch_record *record);
/* Frees what views took; not the block. */
void sp_batch_fini(spool_batch *batch);

/* Gives it an id, under which it can be answered. False without memory. */
bool sp_batch_await(spool_batch *batch);
/* True: the batch was waiting, and is no more; its outcome is the caller's to say. */
bool sp_batch_expire(spool_batch *batch);
/* Takes it out of the table, in whatever state. True: it had not been answered, nor expired. */
bool sp_batch_forget(spool_batch *batch);

/*
 * The exporter's table as of this version: what an older one lacks is NULL. False when it has no
 * export_batch.
 */
bool sp_exporter_ops_read(const spool_exporter *exporter, spool_exporter_ops *out_ops);

/*
 * Encodes the borrowed record, SP_WIRE_SCOPE_RECORDS and length included, into scratch. Empty
 * without memory.
 */
sp_wire_piece sp_batch_encode_span(spool_span_record *span, sp_scratch *scratch);
sp_wire_piece sp_batch_encode_log(const spool_log_data *log, sp_scratch *scratch);

#endif /* SPOOL_RUNTIME_BATCH_H */
