/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User keys and their values. A key is an index in a table that only grows: the maker of a key writes its
 * entry before anyone can know the number, so reading it needs no lock.
 */
#include "sdk/context/block.h"
#include "sdk/context/stack.h"
#include "sdk/platform/diagnostics.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 1024 };

typedef struct key_entry {
    char *name; /* kept for ever, as the key is; NULL without memory */
    void (*destroy)(void *value);
} key_entry;

static key_entry keys[KEYS];
static _Atomic uint32_t key_count;

static key_entry *key_find(spool_context_key key) {
    if (key.id == 0 || key.id > KEYS || key.id > sp_load_relaxed(&key_count)) {
        return NULL;
    }
    return &keys[key.id - 1];
}

spool_context_key spool_context_key_create(const char *name, void (*destroy)(void *value)) {
    uint32_t index = sp_load_relaxed(&key_count);
    do {
        if (index >= KEYS) {
            sp_diag(SPOOL_DIAG_WARN, "context", "no key for \"%.64s\": all %d are taken",
                    name ? name : "", KEYS);
            return (spool_context_key){0};
        }
    } while (!sp_cas_acq_rel(&key_count, &index, index + 1));
    keys[index].name = name ? strdup(name) : NULL;
    keys[index].destroy = destroy;
    return (spool_context_key){index + 1};
}

void sp_context_value_release(sp_context_value *value) {
    if (!value || sp_sub_acq_rel(&value->references, 1) != 1) {
        return;
    }
    key_entry *key = key_find(value->key);
    if (key && key->destroy) {
        key->destroy(value->value);
    }
    free(value);
}

/* A value with one reference; without memory it is ended at once, since it was handed over. */
static sp_context_value *value_make(spool_context_key key, void *value) {
    sp_context_value *made = malloc(sizeof *made);
    if (made) {
        atomic_init(&made->references, 1);
        made->key = key;
        made->value = value;
        return made;
    }
    sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    key_entry *entry = key_find(key);
    if (entry && entry->destroy) {
        entry->destroy(value);
    }
    return NULL;
}

spool_context spool_context_with_value(const spool_context *base, spool_context_key key,
                                       void *value) {
    spool_context made = base ? spool_context_copy(base) : spool_context_capture();
    key_entry *entry = key_find(key);
    if (!entry) {
        return made;
    }
    sp_context_value *held = value ? value_make(key, value) : NULL;
    if (value && !held) {
        sp_diag(SPOOL_DIAG_WARN, "context", "out of memory for a value of the key \"%.64s\"",
                entry->name ? entry->name : "");
        return made;
    }
    sp_context_parts parts = sp_context_parts_of(made.block);
    parts.without_key = key.id;
    parts.and_value = held;
    sp_context_block *block;
    if (sp_context_block_make(&parts, &block)) {
        sp_context_block_release(made.block);
        made.block = block;
    }
    sp_context_value_release(held);
    return made;
}

void *spool_context_value(const spool_context *context, spool_context_key key) {
    const sp_context_block *block = (context ? context : sp_context_current())->block;
    for (uint32_t i = 0; block && i < block->value_count; i++) {
        if (block->values[i]->key.id == key.id) {
            return block->values[i]->value;
        }
    }
    return NULL;
}
