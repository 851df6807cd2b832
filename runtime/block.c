/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping, envelopes and the memory of batch blocks. */
#include "runtime/block.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_RESOURCE_RECORDS = 1 << 3 | 2, /* of the request */
    KEY_SCOPE_RECORDS = 2 << 3 | 2,    /* of ResourceSpans, ResourceLogs */
    KEY_SCHEMA_URL = 3 << 3 | 2,       /* of both levels */

    SMALLEST_CHUNK_BYTES = 2048, /* with its header */
    LARGEST_CHUNK_BYTES = SMALLEST_CHUNK_BYTES << (SP_CHUNK_CLASSES - 1),
    /* What a pool keeps for reuse. */
    POOL_KEPT_BYTES = 4 << 20,
    FIRST_GROUPS = 4
};

/* ---- memory ---- */

static int class_of(size_t whole) {
    int class = 0;
    for (size_t size = SMALLEST_CHUNK_BYTES; size < whole; size *= 2) {
        class ++;
    }
    return class;
}

static sp_chunk *chunk_take(sp_block_pool *pool, size_t wanted, size_t need) {
    size_t whole = sizeof(sp_chunk) + need;
    whole = whole < wanted ? wanted : whole;
    sp_chunk *chunk = NULL;
    if (whole <= LARGEST_CHUNK_BYTES) {
        int class = class_of(whole);
        whole = (size_t)SMALLEST_CHUNK_BYTES << class;
        chunk = pool->chunks[class];
        if (chunk) {
            pool->chunks[class] = chunk->next;
            pool->kept_bytes -= whole;
        }
    }
    chunk = chunk ? chunk : malloc(whole);
    if (chunk) {
        chunk->next = NULL;
        chunk->used = 0;
        chunk->capacity = whole - sizeof *chunk;
    }
    return chunk;
}

static void chunk_give(sp_block_pool *pool, sp_chunk *chunk) {
    size_t whole = sizeof *chunk + chunk->capacity;
    if (whole > LARGEST_CHUNK_BYTES || pool->kept_bytes + whole > POOL_KEPT_BYTES) {
        free(chunk);
        return;
    }
    int class = class_of(whole);
    chunk->next = pool->chunks[class];
    pool->chunks[class] = chunk;
    pool->kept_bytes += whole;
}

static void block_free(sp_block *block) {
    free(block->groups);
    free(block->envelope);
    free(block->pieces);
    free(block);
}

void sp_block_pool_fini(sp_block_pool *pool) {
    for (int class = 0; class < SP_CHUNK_CLASSES; class ++) {
        while (pool->chunks[class]) {
            sp_chunk *chunk = pool->chunks[class];
            pool->chunks[class] = chunk->next;
            free(chunk);
        }
    }
    while (pool->blocks) {
        sp_block *block = pool->blocks;
        pool->blocks = block->next;
        block_free(block);
    }
    pool->kept_bytes = 0;
}

static bool grow(void **memory, size_t size) {
    void *larger = realloc(*memory, size);
    if (!larger) {
        return false;
    }
    *memory = larger;
    return true;
}

/* ---- collecting ---- */

sp_block *sp_block_open(sp_block_pool *pool, sp_wire_piece resource, spool_str schema_url) {
    sp_block *block = pool->blocks;
    if (block) {
        pool->blocks = block->next;
    } else {
        block = calloc(1, sizeof *block);
        if (!block) {
            return NULL;
        }
    }
    block->next = NULL;
    block->resource = resource;
    block->schema_url = schema_url;
    return block;
}

static uint32_t *bucket_of(sp_block *block, const sp_scope *scope) {
    return &block->buckets[scope->id % SP_GROUP_BUCKETS];
}

static sp_group *group_add(sp_block *block, const sp_scope *scope) {
    if (block->group_count == block->group_capacity) {
        uint32_t capacity = block->group_capacity ? block->group_capacity * 2 : FIRST_GROUPS;
        void *groups = block->groups;
        if (!grow(&groups, capacity * sizeof *block->groups)) {
            return NULL;
        }
        block->groups = groups;
        block->group_capacity = capacity;
    }
    uint32_t *bucket = bucket_of(block, scope);
    sp_group *group = &block->groups[block->group_count];
    memset(group, 0, sizeof *group);
    group->scope = scope;
    group->next_in_bucket = *bucket;
    block->last_group = block->group_count++;
    *bucket = block->group_count;
    return group;
}

static sp_group *group_of(sp_block *block, const sp_scope *scope) {
    if (block->group_count && block->groups[block->last_group].scope == scope) {
        return &block->groups[block->last_group];
    }
    for (uint32_t at = *bucket_of(block, scope); at; at = block->groups[at - 1].next_in_bucket) {
        if (block->groups[at - 1].scope == scope) {
            block->last_group = at - 1;
            return &block->groups[at - 1];
        }
    }
    return group_add(block, scope);
}

static sp_chunk *group_room(sp_group *group, sp_block_pool *pool, size_t len) {
    sp_chunk *last = group->last;
    if (last && last->capacity - last->used >= len) {
        return last;
    }
    /* Each chunk of a group is twice as large as the one before: many scopes stay small. */
    size_t wanted = last ? (last->capacity + sizeof *last) * 2 : SMALLEST_CHUNK_BYTES;
    wanted = wanted > LARGEST_CHUNK_BYTES ? LARGEST_CHUNK_BYTES : wanted;
    sp_chunk *chunk = chunk_take(pool, wanted, len);
    if (!chunk) {
        return NULL;
    }
    if (last) {
        last->next = chunk;
    } else {
        group->first = chunk;
    }
    group->last = chunk;
    return chunk;
}

bool sp_block_append(sp_block *block, sp_block_pool *pool, const sp_scope *scope,
                     const uint8_t *bytes, size_t len) {
    sp_group *group = group_of(block, scope);
    sp_chunk *chunk = group ? group_room(group, pool, len) : NULL;
    if (!chunk) {
        return false;
    }
    memcpy(chunk->bytes + chunk->used, bytes, len);
    chunk->used += len;
    group->bytes += len;
    block->bytes += len;
    block->count++;
    return true;
}

void sp_block_close(sp_block *block, sp_block_pool *pool) {
    for (uint32_t i = 0; i < block->group_count; i++) {
        sp_chunk *chunk = block->groups[i].first;
        while (chunk) {
            sp_chunk *next = chunk->next;
            chunk_give(pool, chunk);
            chunk = next;
        }
    }
    block->group_count = block->last_group = 0;
    block->count = block->bytes = block->piece_count = block->size = 0;
    memset(block->buckets, 0, sizeof block->buckets);
    block->next = pool->blocks;
    pool->blocks = block;
}

/* ---- envelopes ---- */

static size_t field_size(size_t len) {
    return 1 + sp_wire_varint_size(len) + len;
}

static size_t schema_size(spool_str url) {
    return url.len ? field_size(url.len) : 0;
}

static uint8_t *schema_write(uint8_t *at, spool_str url) {
    return url.len ? sp_wire_bytes(at, KEY_SCHEMA_URL, url.ptr, url.len) : at;
}

static void piece_add(spool_batch_piece *pieces, size_t *count, const void *bytes, size_t len) {
    if (len) {
        pieces[*count].bytes = bytes;
        pieces[*count].len = len;
        ++*count;
    }
}

/* Sizes of all groups; the sum of their fields, what the envelope takes, and how many pieces. */
static size_t measure(sp_block *block, size_t *out_envelope, size_t *out_pieces) {
    size_t sum = 0;
    /* The keys and lengths of the request and of the resource's schema URL. */
    size_t envelope = SP_SINGLE_ENVELOPE_BYTES + block->schema_url.len, pieces = 3;
    for (uint32_t i = 0; i < block->group_count; i++) {
        sp_group *group = &block->groups[i];
        spool_str url = group->scope->view.schema_url;
        group->message_size = group->scope->bytes.len + group->bytes + schema_size(url);
        sum += field_size(group->message_size);
        envelope += 1 + sp_wire_varint_size(group->message_size) + schema_size(url);
        pieces += 3; /* its header, its scope, its schema URL */
        for (const sp_chunk *chunk = group->first; chunk; chunk = chunk->next) {
            pieces++;
        }
    }
    *out_envelope = envelope;
    *out_pieces = pieces;
    return sum;
}

static bool reserve(sp_block *block, size_t envelope, size_t pieces) {
    if (envelope > block->envelope_capacity) {
        void *memory = block->envelope;
        if (!grow(&memory, envelope)) {
            return false;
        }
        block->envelope = memory;
        block->envelope_capacity = envelope;
    }
    if (pieces > block->piece_capacity) {
        void *memory = block->pieces;
        if (!grow(&memory, pieces * sizeof *block->pieces)) {
            return false;
        }
        block->pieces = memory;
        block->piece_capacity = pieces;
    }
    return true;
}

bool sp_block_seal(sp_block *block) {
    size_t envelope, pieces, count = 0;
    size_t scopes = measure(block, &envelope, &pieces);
    if (!reserve(block, envelope, pieces)) {
        return false;
    }
    size_t message = block->resource.len + scopes + schema_size(block->schema_url);
    uint8_t *from = block->envelope;
    uint8_t *at = sp_wire_open(from, KEY_RESOURCE_RECORDS, message);
    block->size = (size_t)(at - from) + message;
    piece_add(block->pieces, &count, from, (size_t)(at - from));
    piece_add(block->pieces, &count, block->resource.bytes, block->resource.len);
    for (uint32_t i = 0; i < block->group_count; i++) {
        const sp_group *group = &block->groups[i];
        from = at;
        at = sp_wire_open(from, KEY_SCOPE_RECORDS, group->message_size);
        piece_add(block->pieces, &count, from, (size_t)(at - from));
        piece_add(block->pieces, &count, group->scope->bytes.bytes, group->scope->bytes.len);
        for (const sp_chunk *chunk = group->first; chunk; chunk = chunk->next) {
            piece_add(block->pieces, &count, chunk->bytes, chunk->used);
        }
        from = at;
        at = schema_write(from, group->scope->view.schema_url);
        piece_add(block->pieces, &count, from, (size_t)(at - from));
    }
    from = at;
    at = schema_write(from, block->schema_url);
    piece_add(block->pieces, &count, from, (size_t)(at - from));
    block->piece_count = count;
    return true;
}

size_t sp_block_single(sp_wire_piece resource, spool_str schema_url, const sp_scope *scope,
                       sp_wire_piece record, uint8_t *envelope, spool_batch_piece *out_pieces,
                       size_t *out_size) {
    spool_str scope_url = scope->view.schema_url;
    size_t scope_message = scope->bytes.len + record.len + schema_size(scope_url);
    size_t message = resource.len + field_size(scope_message) + schema_size(schema_url);
    uint8_t *head_end = sp_wire_open(envelope, KEY_RESOURCE_RECORDS, message);
    uint8_t *scope_end = sp_wire_open(head_end, KEY_SCOPE_RECORDS, scope_message);
    uint8_t *end = schema_write(schema_write(scope_end, scope_url), schema_url);
    size_t count = 0;
    piece_add(out_pieces, &count, envelope, (size_t)(head_end - envelope));
    piece_add(out_pieces, &count, resource.bytes, resource.len);
    piece_add(out_pieces, &count, head_end, (size_t)(scope_end - head_end));
    piece_add(out_pieces, &count, scope->bytes.bytes, scope->bytes.len);
    piece_add(out_pieces, &count, record.bytes, record.len);
    piece_add(out_pieces, &count, scope_end, (size_t)(end - scope_end));
    *out_size = (size_t)(head_end - envelope) + message;
    return count;
}
