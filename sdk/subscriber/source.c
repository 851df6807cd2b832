/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources: what tracers and loggers are. Those that follow the default SDK stand in an array by scope id;
 * those of one SDK in a list that only grows, at most SP_SCOPE_LIMIT of them. Neither is ever freed, so
 * a pointer that was handed out is valid for ever.
 */
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/lock_rank.h"
#include "sdk/subscriber/subscriber.h"

#include <stdlib.h>

typedef struct owned_source {
    sp_source source;
    struct owned_source *next;
} owned_source;

/* Entries are filled under the lock and published by a release store of `scope`. */
static struct {
    sp_source source;
    _Atomic uint32_t ready;
} following[SP_SCOPE_LIMIT + 1];
static owned_source *owned; /* under lock */
static uint32_t owned_count;
static sp_mutex lock = SP_MUTEX_INIT(SP_RANK_SOURCES, "sources");

static sp_subscriber_cell empty_cell;
static sp_source nowhere; /* for SDKs past the limit: its cell is always empty */

static sp_source *following_get(const sp_scope *scope) {
    uint32_t id = scope->id;
    /* Acquire pairs with the release below: the source is complete. */
    if (SP_UNLIKELY(!sp_load_acquire(&following[id].ready))) {
        sp_mutex_lock(&lock);
        following[id].source.scope = scope;
        following[id].source.cell = &sp_default_subscriber;
        sp_store_release(&following[id].ready, 1);
        sp_mutex_unlock(&lock);
    }
    return &following[id].source;
}

static sp_source *owned_get(spool_sdk *sdk, const sp_scope *scope) {
    sp_source *result = NULL;
    sp_mutex_lock(&lock);
    for (owned_source *at = owned; at && !result; at = at->next) {
        if (at->source.scope == scope && at->source.epoch == sdk->epoch) {
            result = &at->source;
        }
    }
    if (!result && owned_count < SP_SCOPE_LIMIT) {
        owned_source *made = calloc(1, sizeof *made);
        if (made) {
            made->source.scope = scope;
            made->source.cell = &sp_subscribers[sdk->index];
            made->source.epoch = sdk->epoch;
            made->next = owned;
            owned = made;
            owned_count++;
            result = &made->source;
        }
    }
    if (!result) {
        nowhere.scope = scope;
        nowhere.cell = &empty_cell;
        result = &nowhere;
    }
    sp_mutex_unlock(&lock);
    if (result == &nowhere) {
        sp_misuse_count(SP_MISUSE_SCOPE_OVERFLOW, 1);
    }
    return result;
}

sp_source *sp_source_get(spool_sdk *sdk, const spool_scope *scope) {
    const sp_scope *interned = sp_scope_intern(scope);
    if (interned->view.name.len == 0) {
        static _Atomic uint32_t told;
        if (sp_exchange_acq_rel(&told, 1) == 0) {
            sp_diag(SPOOL_DIAG_WARN, "api", "a tracer or logger was asked for without a name");
        }
    }
    return sdk ? owned_get(sdk, interned) : following_get(interned);
}
