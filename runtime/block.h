/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch block: the records of one batch, as the request that will be sent. Records are grouped by
 * scope while they arrive, each group in chunks of its own; sealing writes the envelopes and fixes their
 * lengths. The sealed block, piece after piece, is the request body: no second copy.
 *
 *     field 1 of the request: ResourceSpans { resource = 1, scope_spans = 2 ..., schema_url = 3 }
 *     each ScopeSpans { scope = 1, spans = 2 ..., schema_url = 3 }
 *
 * and the same numbers for logs. Owner: one thread at a time (the loop, for a batch processor); a sealed
 * block does not change any more and may be read by any thread that was handed it.
 */
#ifndef SPOOL_RUNTIME_BLOCK_H
#define SPOOL_RUNTIME_BLOCK_H

#include "sdk/resource/scope.h"
#include "sdk/wire/wire.h"

#include <spool/ext/exporter.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_CHUNK_CLASSES = 6 }; /* 2, 4, 8, 16, 32, 64 KiB */

/* Memory of records, one piece of the body. */
typedef struct sp_chunk {
    struct sp_chunk *next;
    size_t capacity;
    size_t used;
    uint8_t bytes[];
} sp_chunk;

/* Chunks and blocks for reuse; zero-initialised, it is empty. */
typedef struct sp_block_pool {
    sp_chunk *chunks[SP_CHUNK_CLASSES];
    size_t kept_bytes;
    struct sp_block *blocks;
} sp_block_pool;

typedef struct sp_group {
    const sp_scope *scope;
    sp_chunk *first;
    sp_chunk *last;
    size_t bytes;        /* of records */
    size_t message_size; /* sealed: of ScopeSpans */
    uint32_t next_in_bucket;
} sp_group;

enum { SP_GROUP_BUCKETS = 32 };

typedef struct sp_block {
    struct sp_block *next;
    sp_wire_piece resource; /* field 1 of ResourceSpans; borrowed */
    spool_str schema_url;   /* of the resource; borrowed */
    uint64_t number;        /* the owner's, in the order of making */
    size_t count;           /* records */
    size_t bytes;           /* of records */

    sp_group *groups;
    uint32_t group_count;
    uint32_t group_capacity;
    uint32_t last_group;
    uint32_t buckets[SP_GROUP_BUCKETS]; /* index + 1 */

    uint8_t *envelope; /* sealed: what is written around the records */
    size_t envelope_capacity;
    spool_batch_piece *pieces;
    size_t piece_count;
    size_t piece_capacity;
    size_t size; /* sealed: of the body */
} sp_block;

/* An empty block; NULL without memory. */
sp_block *sp_block_open(sp_block_pool *pool, sp_wire_piece resource, spool_str schema_url);
/* Copies a record, SP_WIRE_SCOPE_RECORDS and length included. False without memory. */
bool sp_block_append(sp_block *block, sp_block_pool *pool, const sp_scope *scope,
                     const uint8_t *bytes, size_t len);
/* False without memory; the block can be sealed again then. */
bool sp_block_seal(sp_block *block);
/* Back into the pool. */
void sp_block_close(sp_block *block, sp_block_pool *pool);
void sp_block_pool_fini(sp_block_pool *pool);

/*
 * The body of a single record: writes the envelopes into memory of SP_SINGLE_ENVELOPE_BYTES plus the
 * two schema URLs, and fills at most SP_SINGLE_PIECES pieces. Returns their number.
 */
enum { SP_SINGLE_PIECES = 6, SP_SINGLE_ENVELOPE_BYTES = 64 };
size_t sp_block_single(sp_wire_piece resource, spool_str schema_url, const sp_scope *scope,
                       sp_wire_piece record, uint8_t *envelope, spool_batch_piece *out_pieces,
                       size_t *out_size);

#endif /* SPOOL_RUNTIME_BLOCK_H */
