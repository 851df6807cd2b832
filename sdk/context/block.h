/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counted, immutable block behind a context: trace state, baggage, values of user keys. A context
 * that has none of them has no block.
 */
#ifndef SPOOL_SDK_CONTEXT_BLOCK_H
#define SPOOL_SDK_CONTEXT_BLOCK_H

#include "sdk/context/trace_state.h"
#include "sdk/platform/atomics.h"

#include <spool/baggage.h>
#include <spool/context.h>

#include <stdbool.h>
#include <stdint.h>

/* A value under a key, shared by all the blocks that hold it; the last one ends it. */
typedef struct sp_context_value {
    _Atomic uint32_t references;
    spool_context_key key;
    void *value;
} sp_context_value;

typedef struct spool_context_block {
    _Atomic uint32_t references;
    uint32_t value_count;
    sp_trace_state *trace_state; /* a reference each, or NULL */
    spool_baggage *baggage;
    sp_context_value *values[];
} sp_context_block;

/* What a new block is made of; the block takes references of its own. */
typedef struct sp_context_parts {
    sp_trace_state *trace_state;
    spool_baggage *baggage;
    sp_context_value *const *values;
    uint32_t value_count;
    uint32_t without_key;        /* a value under this key is left out; 0: none is */
    sp_context_value *and_value; /* one more, or NULL */
} sp_context_parts;

/* The parts of a block (NULL: of none), to be changed one by one. */
sp_context_parts sp_context_parts_of(const sp_context_block *block);
/* *out_block is NULL when there is nothing to hold. False without memory, counted. */
bool sp_context_block_make(const sp_context_parts *parts, sp_context_block **out_block);
sp_context_block *sp_context_block_retain(sp_context_block *block);
/* May run destroy functions of user keys. */
void sp_context_block_release(sp_context_block *block);

/* Ends one reference to a value; the last runs the key's destroy function. */
void sp_context_value_release(sp_context_value *value);

#endif /* SPOOL_SDK_CONTEXT_BLOCK_H */
