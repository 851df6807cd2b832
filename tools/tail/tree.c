/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting instead of recursion: a trace may be a chain of any length, and a hostile
 * one a circle. Spans are looked up in an array sorted by id; children lie together
 * in an array sorted by parent; the walk keeps its own stack.
 */
#include "tools/tail/tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct tree_node {
    const sp_tail_span *span;
    struct tree_node *parent;
    size_t shown; /* index in the tree; SIZE_MAX: not yet */
    bool orphan;
    bool twice;
} tree_node;

typedef struct tree_plan {
    tree_node *nodes;      /* in order of arrival */
    tree_node **by_id;     /* sorted by id, arrival */
    tree_node **by_parent; /* sorted by parent (roots first), start, arrival */
    tree_node **stack;
    size_t count;
} tree_plan;

static int size_compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int id_compare(const void *left, const void *right) {
    const tree_node *a = *(tree_node *const *)left;
    const tree_node *b = *(tree_node *const *)right;
    int order = memcmp(a->span->id, b->span->id, SP_TAIL_SPAN_ID_SIZE);
    return order != 0 ? order : size_compare(a->span->arrival, b->span->arrival);
}

static int parent_compare(const void *left, const void *right) {
    const tree_node *a = *(tree_node *const *)left;
    const tree_node *b = *(tree_node *const *)right;
    uint64_t a_parent = a->parent == NULL ? 0 : a->parent->span->arrival + 1;
    uint64_t b_parent = b->parent == NULL ? 0 : b->parent->span->arrival + 1;
    int order = size_compare(a_parent, b_parent);
    order = order != 0 ? order : size_compare(a->span->start_ns, b->span->start_ns);
    return order != 0 ? order : size_compare(a->span->arrival, b->span->arrival);
}

/* The first received span of that id, or NULL. */
static tree_node *node_find(const tree_plan *plan, const uint8_t *id) {
    size_t low = 0;
    size_t high = plan->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(plan->by_id[middle]->span->id, id, SP_TAIL_SPAN_ID_SIZE) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found =
        low < plan->count && memcmp(plan->by_id[low]->span->id, id, SP_TAIL_SPAN_ID_SIZE) == 0;
    return found ? plan->by_id[low] : NULL;
}

static void plan_fini(tree_plan *plan) {
    free(plan->nodes);
    free(plan->by_id);
    free(plan->by_parent);
    free(plan->stack);
}

static bool plan_init(tree_plan *plan, const sp_tail_trace *trace) {
    size_t count = trace->span_count;
    size_t room = count + 1;
    plan->count = count;
    plan->nodes = calloc(room, sizeof *plan->nodes);
    plan->by_id = calloc(room, sizeof(tree_node *));
    plan->by_parent = calloc(room, sizeof(tree_node *));
    plan->stack = calloc(room, sizeof(tree_node *));
    if (plan->nodes == NULL || plan->by_id == NULL || plan->by_parent == NULL ||
        plan->stack == NULL) {
        plan_fini(plan);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        plan->nodes[i] = (tree_node){.span = trace->spans[i], .shown = SIZE_MAX};
        plan->by_id[i] = plan->by_parent[i] = &plan->nodes[i];
    }
    qsort(plan->by_id, count, sizeof(tree_node *), id_compare);
    for (size_t i = 0; i < count; i++) {
        tree_node *node = &plan->nodes[i];
        node->twice = node_find(plan, node->span->id) != node;
        if (!sp_tail_id_is_zero(node->span->parent, SP_TAIL_SPAN_ID_SIZE)) {
            node->parent = node_find(plan, node->span->parent);
            node->orphan = node->parent == NULL;
        }
    }
    qsort(plan->by_parent, count, sizeof(tree_node *), parent_compare);
    return true;
}

/* Where the children of `parent` begin in by_parent. */
static size_t children_find(const tree_plan *plan, const tree_node *parent) {
    size_t low = 0;
    size_t high = plan->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tree_node *other = plan->by_parent[middle]->parent;
        if (other == NULL || other->span->arrival < parent->span->arrival) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void node_show(sp_tail_tree *tree, tree_node *node, bool circle) {
    size_t parent = node->parent != NULL && !circle ? node->parent->shown : SIZE_MAX;
    node->shown = tree->span_count;
    tree->spans[tree->span_count++] = (sp_tail_tree_span){
        .span = node->span,
        .parent = parent,
        .depth = parent != SIZE_MAX ? tree->spans[parent].depth + 1 : 0,
        .orphan = node->orphan,
        .circle = circle,
        .twice = node->twice,
    };
    if (parent != SIZE_MAX) {
        tree->spans[parent].child_count++;
    }
}

/* Shows a root and everything below it. */
static void root_show(const tree_plan *plan, sp_tail_tree *tree, tree_node *root, bool circle) {
    size_t depth = 0;
    node_show(tree, root, circle);
    plan->stack[depth++] = root;
    while (depth > 0) {
        tree_node *parent = plan->stack[--depth];
        if (parent->shown == SIZE_MAX) {
            node_show(tree, parent, false);
        }
        /* Pushed last to first, so that the earliest child is taken next. */
        size_t first = children_find(plan, parent);
        size_t end = first;
        while (end < plan->count && plan->by_parent[end]->parent == parent) {
            end++;
        }
        while (end > first) {
            tree_node *child = plan->by_parent[--end];
            if (child->shown == SIZE_MAX) {
                plan->stack[depth++] = child;
            }
        }
    }
}

static void last_mark(sp_tail_tree *tree) {
    size_t *left = calloc(tree->span_count + 1, sizeof *left);
    if (left == NULL) {
        return; /* costs a connector's shape, nothing else */
    }
    for (size_t i = 0; i < tree->span_count; i++) {
        left[i] = tree->spans[i].child_count;
    }
    for (size_t i = 0; i < tree->span_count; i++) {
        size_t parent = tree->spans[i].parent;
        tree->spans[i].last = parent == SIZE_MAX || --left[parent] == 0;
    }
    free(left);
}

static void range_find(sp_tail_tree *tree) {
    tree->start_ns = UINT64_MAX;
    for (size_t i = 0; i < tree->span_count; i++) {
        const sp_tail_span *span = tree->spans[i].span;
        tree->start_ns = span->start_ns < tree->start_ns ? span->start_ns : tree->start_ns;
        tree->end_ns = span->start_ns > tree->end_ns ? span->start_ns : tree->end_ns;
        tree->end_ns = span->end_ns > tree->end_ns ? span->end_ns : tree->end_ns;
    }
}

typedef struct placed_note {
    const sp_tail_note *note;
    size_t span; /* index in the tree; SIZE_MAX: stray */
} placed_note;

static int placed_compare(const void *left, const void *right) {
    const placed_note *a = left;
    const placed_note *b = right;
    int order = size_compare(a->span, b->span);
    order = order != 0 ? order : size_compare(a->note->time_ns, b->note->time_ns);
    return order != 0 ? order : size_compare(a->note->arrival, b->note->arrival);
}

static size_t span_of(const tree_plan *plan, const sp_tail_note *note) {
    if (note->owner != NULL) {
        return plan->nodes[note->owner->arrival].shown;
    }
    const tree_node *node = node_find(plan, note->span_id);
    return node != NULL ? node->shown : SIZE_MAX;
}

static bool notes_place(const tree_plan *plan, const sp_tail_trace *trace, sp_tail_tree *tree) {
    size_t count = trace->note_count;
    placed_note *placed = calloc(count + 1, sizeof *placed);
    tree->notes = calloc(count + 1, sizeof *tree->notes);
    if (placed == NULL || tree->notes == NULL) {
        free(placed);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        placed[i] = (placed_note){trace->notes[i], span_of(plan, trace->notes[i])};
    }
    qsort(placed, count, sizeof *placed, placed_compare);
    tree->note_count = tree->first_stray = count;
    for (size_t i = count; i > 0; i--) {
        size_t span = placed[i - 1].span;
        tree->notes[i - 1] = placed[i - 1].note;
        if (span == SIZE_MAX) {
            tree->first_stray = i - 1;
        } else {
            tree->spans[span].first_note = i - 1;
            tree->spans[span].note_count++;
        }
    }
    free(placed);
    return true;
}

bool sp_tail_tree_build(const sp_tail_trace *trace, sp_tail_tree *out_tree) {
    tree_plan plan;
    sp_tail_tree tree = {0};
    if (!plan_init(&plan, trace)) {
        return false;
    }
    tree.spans = calloc(plan.count + 1, sizeof *tree.spans);
    if (tree.spans == NULL) {
        plan_fini(&plan);
        return false;
    }
    for (size_t i = 0; i < plan.count && plan.by_parent[i]->parent == NULL; i++) {
        root_show(&plan, &tree, plan.by_parent[i], false);
    }
    /* What no root leads to hangs on a circle. */
    for (size_t i = 0; i < plan.count; i++) {
        if (plan.nodes[i].shown == SIZE_MAX) {
            root_show(&plan, &tree, &plan.nodes[i], true);
        }
    }
    last_mark(&tree);
    range_find(&tree);
    bool ok = notes_place(&plan, trace, &tree);
    plan_fini(&plan);
    if (!ok) {
        sp_tail_tree_fini(&tree);
        return false;
    }
    *out_tree = tree;
    return true;
}

void sp_tail_tree_fini(sp_tail_tree *tree) {
    free(tree->spans);
    free(tree->notes);
    *tree = (sp_tail_tree){0};
}
