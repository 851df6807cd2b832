/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of kept records: the states of spans and of their trees (see backlog_internal.h). */
#include "processors/backlog/backlog_internal.h"

#include <string.h>

struct backlog_tree {
    pthread_mutex_t lock;
    _Atomic uint32_t references;
    size_t block_bytes;
    /* Under the lock. */
    uint64_t last_sequence;
    backlog_queue ended; /* records of descendants that ended well, for the root to decide about */
    bool released;
    bool over;
};

/* ---- trees ---- */

static backlog_tree *tree_make(backlog_core *core) {
    size_t bytes;
    uint32_t cause;
    backlog_tree *tree = backlog_pool_take(&core->pool, sizeof *tree, &bytes, &cause);
    if (tree) {
        memset(tree, 0, sizeof *tree);
        (void)pthread_mutex_init(&tree->lock, NULL);
        atomic_init(&tree->references, 1);
        tree->block_bytes = bytes;
    }
    return tree;
}

static void tree_unref(backlog_core *core, backlog_tree *tree) {
    /* Release: this user's writes; acquire: those of the others, before the memory is used again. */
    if (atomic_fetch_sub_explicit(&tree->references, 1, memory_order_acq_rel) == 1) {
        (void)pthread_mutex_destroy(&tree->lock);
        backlog_discard(core, &tree->ended, SPOOL_DROP_SHUTDOWN);
        backlog_pool_give(&core->pool, tree, tree->block_bytes);
    }
}

/* The tree of the live parent, with a reference; NULL: there is none. */
static backlog_tree *tree_of_parent(const backlog_core *core, spool_span_record *span) {
    spool_span_record *parent = spool_ext_pin_parent(span);
    if (!parent) {
        return NULL;
    }
    /* The pin keeps the parent's box, and that its reference to the tree. */
    backlog_state *state = backlog_state_of(core, parent);
    backlog_tree *tree = state ? state->tree : NULL;
    if (tree) {
        /* Relaxed: the reference that is copied is held meanwhile. */
        (void)atomic_fetch_add_explicit(&tree->references, 1, memory_order_relaxed);
    }
    spool_ext_unpin(parent);
    return tree;
}

/* ---- a span's state ---- */

void backlog_state_open(backlog_core *core, spool_span_record *span) {
    backlog_state *state = spool_ext_get_or_init(span, core->type, NULL);
    if (!state) {
        return;
    }
    memset(state, 0, sizeof *state);
    backlog_tree *tree = tree_of_parent(core, span);
    if (!tree) {
        tree = tree_make(core);
        state->is_root = true;
    }
    if (tree) {
        state->core = backlog_core_ref(core);
        state->tree = tree;
    }
}

backlog_state *backlog_state_of(const backlog_core *core, spool_span_record *span) {
    backlog_state *state = spool_ext_get(span, core->type);
    return state && state->core == core ? state : NULL;
}

/* Under the tree's lock. */
static bool is_released(const backlog_state *state) {
    return state->released || state->tree->released;
}

/* Under the tree's lock: over a limit, the oldest records of the span go. */
static void trim(backlog_state *state, backlog_queue *out_dropped) {
    const spool_backlog_options *options = &state->core->options;
    backlog_queue *kept = &state->kept;
    while (kept->head &&
           (kept->count > options->max_span_records || kept->bytes > options->max_span_bytes)) {
        backlog_record *oldest = kept->head;
        kept->head = oldest->next;
        if (!kept->head) {
            kept->tail = NULL;
        }
        kept->count--;
        kept->bytes -= oldest->block_bytes;
        backlog_queue_push(out_dropped, oldest);
    }
}

bool backlog_state_keep(backlog_state *state, const spool_log_data *log,
                        backlog_queue *out_released) {
    backlog_core *core = state->core;
    backlog_tree *tree = state->tree;
    (void)pthread_mutex_lock(&tree->lock);
    bool released = is_released(state);
    if (released) {
        backlog_queue_append(out_released, &state->kept);
    }
    (void)pthread_mutex_unlock(&tree->lock);
    if (released) {
        return false;
    }
    uint32_t cause;
    backlog_record *record =
        backlog_record_copy(&core->pool, log, core->options.max_span_bytes, &cause);
    if (!record) {
        backlog_drop(core, cause, 1);
        return true;
    }
    (void)atomic_fetch_add_explicit(&core->kept, 1, memory_order_relaxed);
    backlog_queue dropped = {0};
    backlog_queue vanished = {0};
    (void)pthread_mutex_lock(&tree->lock);
    record->sequence = ++tree->last_sequence;
    backlog_queue_push(&state->kept, record);
    if (is_released(state)) {
        backlog_queue_append(out_released, &state->kept);
    } else if (state->ended) {
        backlog_queue_append(tree->over ? &vanished : &tree->ended, &state->kept);
    } else {
        trim(state, &dropped);
    }
    (void)pthread_mutex_unlock(&tree->lock);
    backlog_discard(core, &dropped, SPOOL_DROP_LIMIT);
    backlog_discard(core, &vanished, SPOOL_DROP_VANISHED);
    return true;
}

/* Under the tree's lock: the span's records; a root takes those of its descendants along. */
static void release(backlog_state *state, backlog_queue *out_released) {
    backlog_queue_append(out_released, &state->kept);
    if (state->is_root) {
        state->tree->released = true;
        bool mixed = state->tree->ended.head != NULL;
        backlog_queue_append(out_released, &state->tree->ended);
        if (mixed) {
            backlog_queue_sort(out_released);
        }
    }
}

void backlog_state_release(backlog_state *state, backlog_queue *out_released) {
    (void)pthread_mutex_lock(&state->tree->lock);
    state->released = true;
    release(state, out_released);
    (void)pthread_mutex_unlock(&state->tree->lock);
}

void backlog_state_end(backlog_state *state, bool failed, backlog_queue *out_released,
                       backlog_queue *out_vanished) {
    backlog_tree *tree = state->tree;
    (void)pthread_mutex_lock(&tree->lock);
    state->ended = true;
    state->released = state->released || failed;
    if (is_released(state)) {
        release(state, out_released);
    } else if (state->is_root || tree->over) {
        backlog_queue_append(out_vanished, &state->kept);
        backlog_queue_append(out_vanished, &tree->ended);
        tree->over = true;
    } else {
        backlog_queue_append(&tree->ended, &state->kept);
    }
    (void)pthread_mutex_unlock(&tree->lock);
}

/* Records are still here only when the span ended without its hooks, or was left in its start. */
void backlog_state_close(void *value) {
    backlog_state *state = value;
    backlog_core *core = state->core;
    if (core) {
        backlog_tree *tree = state->tree;
        (void)pthread_mutex_lock(&tree->lock);
        backlog_queue left = state->kept;
        if (state->is_root) {
            backlog_queue_append(&left, &tree->ended);
            tree->over = true;
        }
        (void)pthread_mutex_unlock(&tree->lock);
        backlog_discard(core, &left, SPOOL_DROP_SHUTDOWN);
        tree_unref(core, tree);
        backlog_core_unref(core);
    }
    memset(state, 0, sizeof *state);
}
