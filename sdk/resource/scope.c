/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned scopes. Owner: this file; a scope never changes once it is in the table and is never freed.
 * Look-ups walk a hash chain without the lock: a chain only grows at its head, and each scope is complete
 * before it is published.
 */
#include "sdk/resource/scope.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/lock_rank.h"
#include "sdk/resource/copy.h"

#include <stdlib.h>

enum { BUCKETS = 1024 };

typedef struct interned {
    sp_scope scope; /* first: handed out by pointer */
    uint64_t hash;
    struct interned *next;
} interned;

/* Pairs: the release store of a new head publishes the scope behind it; readers load with acquire. */
static _Atomic(interned *) table[BUCKETS];
static sp_mutex lock = SP_MUTEX_INIT(SP_RANK_SCOPES, "scopes");
static uint32_t interned_count; /* under lock */

static const uint8_t overflow_bytes[] = {0x0a, 0x10, 0x0a, 0x0e, 's', 'p', 'o', 'o', 'l',
                                         '.',  'o',  'v',  'e',  'r', 'f', 'l', 'o', 'w'};
static const sp_scope overflow = {
    .view = {.name = SPOOL_STR_INIT("spool.overflow")},
    .bytes = {.bytes = overflow_bytes, .len = sizeof overflow_bytes},
    .id = 0,
};

static uint64_t hash_text(uint64_t hash, spool_str text) {
    for (size_t i = 0; i < text.len; i++) {
        hash = (hash ^ (uint8_t)text.ptr[i]) * UINT64_C(0x100000001b3);
    }
    return (hash ^ text.len) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Attributes are compared without order (CM-09), so they enter the hash by their number alone. */
static uint64_t hash_scope(const spool_scope *scope) {
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), scope->name);
    hash = hash_text(hash, scope->version);
    hash = hash_text(hash, scope->schema_url);
    return hash ^ scope->attr_count;
}

static const sp_scope *find(const spool_scope *scope, uint64_t hash) {
    for (interned *at = sp_load_acquire(&table[hash % BUCKETS]); at; at = at->next) {
        const spool_scope *view = &at->scope.view;
        if (at->hash == hash && sp_text_equals(view->name, scope->name) &&
            sp_text_equals(view->version, scope->version) &&
            sp_text_equals(view->schema_url, scope->schema_url) &&
            sp_attrs_equal(view->attrs, view->attr_count, scope->attrs, scope->attr_count)) {
            return &at->scope;
        }
    }
    return NULL;
}

static interned *make(const spool_scope *scope, uint64_t hash) {
    interned *made = calloc(1, sizeof *made);
    sp_arena arena = {0};
    if (!made) {
        return NULL;
    }
    spool_scope *view = &made->scope.view;
    made->hash = hash;
    bool ok =
        sp_copy_text(&arena, scope->name, &view->name) &&
        sp_copy_text(&arena, scope->version, &view->version) &&
        sp_copy_valid_text(&arena, scope->schema_url, &view->schema_url) &&
        sp_copy_attrs(&arena, scope->attrs, scope->attr_count, &view->attrs, &view->attr_count);
    if (ok) {
        made->scope.bytes = sp_wire_scope(view);
    }
    if (!ok || !made->scope.bytes.bytes) {
        sp_arena_fini(&arena);
        free(made);
        return NULL;
    }
    /* The arena is left to the scope: both live as long as the process. */
    return made;
}

const sp_scope *sp_scope_intern(const spool_scope *scope) {
    static const spool_scope nameless = {0};
    spool_scope clean = scope ? *scope : nameless;
    clean.name = spool_str_n(clean.name.ptr, clean.name.len);
    clean.version = spool_str_n(clean.version.ptr, clean.version.len);
    clean.schema_url = spool_str_n(clean.schema_url.ptr, clean.schema_url.len);
    clean.attr_count = clean.attrs ? clean.attr_count : 0;
    uint64_t hash = hash_scope(&clean);
    const sp_scope *found = find(&clean, hash);
    if (found) {
        return found;
    }
    sp_mutex_lock(&lock);
    found = find(&clean, hash);
    if (!found && interned_count < SP_SCOPE_LIMIT) {
        interned *made = make(&clean, hash);
        if (made) {
            made->scope.id = ++interned_count;
            made->next = sp_load_relaxed(&table[hash % BUCKETS]);
            sp_store_release(&table[hash % BUCKETS], made);
            found = &made->scope;
        }
    }
    sp_mutex_unlock(&lock);
    if (!found) {
        sp_misuse_count(SP_MISUSE_SCOPE_OVERFLOW, 1);
        found = &overflow;
    }
    return found;
}
