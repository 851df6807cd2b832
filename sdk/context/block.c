/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks are written before anybody else sees them and never after, so counting is all there is. */
#include "sdk/context/block.h"

#include "sdk/platform/diagnostics.h"

#include <stdlib.h>

sp_context_parts sp_context_parts_of(const sp_context_block *block) {
    sp_context_parts parts = {NULL, NULL, NULL, 0, 0, NULL};
    if (block) {
        parts.trace_state = block->trace_state;
        parts.baggage = block->baggage;
        parts.values = block->values;
        parts.value_count = block->value_count;
    }
    return parts;
}

static bool value_stays(const sp_context_parts *parts, uint32_t index) {
    return parts->values[index]->key.id != parts->without_key;
}

bool sp_context_block_make(const sp_context_parts *parts, sp_context_block **out_block) {
    uint32_t count = parts->and_value ? 1 : 0;
    for (uint32_t i = 0; i < parts->value_count; i++) {
        count += value_stays(parts, i);
    }
    if (count == 0 && !parts->trace_state && !parts->baggage) {
        *out_block = NULL;
        return true;
    }
    sp_context_block *block = malloc(sizeof *block + count * sizeof block->values[0]);
    if (!block) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return false;
    }
    atomic_init(&block->references, 1);
    block->trace_state = sp_trace_state_retain(parts->trace_state);
    block->baggage = spool_baggage_copy(parts->baggage);
    block->value_count = count;
    uint32_t at = 0;
    for (uint32_t i = 0; i < parts->value_count; i++) {
        if (value_stays(parts, i)) {
            block->values[at++] = parts->values[i];
        }
    }
    if (parts->and_value) {
        block->values[at++] = parts->and_value;
    }
    for (uint32_t i = 0; i < count; i++) {
        sp_add_relaxed(&block->values[i]->references, 1);
    }
    *out_block = block;
    return true;
}

sp_context_block *sp_context_block_retain(sp_context_block *block) {
    if (block) {
        /* Relaxed: who calls holds a reference, the block is immutable. */
        sp_add_relaxed(&block->references, 1);
    }
    return block;
}

void sp_context_block_release(sp_context_block *block) {
    /* Acquire and release: the last holder frees after every other's reads. */
    if (!block || sp_sub_acq_rel(&block->references, 1) != 1) {
        return;
    }
    sp_trace_state_release(block->trace_state);
    spool_baggage_release(block->baggage);
    for (uint32_t i = 0; i < block->value_count; i++) {
        sp_context_value_release(block->values[i]);
    }
    free(block);
}
