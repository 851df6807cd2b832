/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the records of one trace are shown: parents before children,
 * siblings by start time, and each span's notes by time.
 */
#ifndef SPOOL_TOOLS_TAIL_TREE_H
#define SPOOL_TOOLS_TAIL_TREE_H

#include "tools/tail/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sp_tail_tree_span {
    const sp_tail_span *span;
    size_t parent; /* index in sp_tail_tree.spans; SIZE_MAX: a root */
    size_t depth;  /* 0 for roots */
    bool orphan;   /* has a parent id that was not received */
    bool circle;   /* its ancestors lead back to it; shown as a root */
    bool twice;    /* its id was received before in this trace */
    bool last;     /* no sibling after it */
    size_t child_count;
    size_t first_note; /* in sp_tail_tree.notes */
    size_t note_count;
} sp_tail_tree_span;

typedef struct sp_tail_tree {
    sp_tail_tree_span *spans; /* in the order they are shown */
    size_t span_count;
    const sp_tail_note **notes; /* grouped by span, in time order */
    size_t note_count;
    size_t first_stray; /* from here on: logs whose span was not received */
    uint64_t start_ns;  /* earliest and latest time of any span */
    uint64_t end_ns;
} sp_tail_tree;

/* The tree borrows the trace's records. Returns false without memory. */
bool sp_tail_tree_build(const sp_tail_trace *trace, sp_tail_tree *out_tree);
void sp_tail_tree_fini(sp_tail_tree *tree);

#endif /* SPOOL_TOOLS_TAIL_TREE_H */
