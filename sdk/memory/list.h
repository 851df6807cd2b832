/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive doubly linked lists: the links live in the nodes, a list is two references. One macro
 * family makes both kinds: nodes linked by pointer, and nodes of a store linked by 32-bit index
 * (half the memory, and the store may be moved or shared).
 *
 *     typedef struct job { int work; SP_LIST_LINK(struct job) link; } job;
 *     SP_LIST_POINTERS(job_list, job, link);
 *     job_list list = {NULL, NULL};               all zero is an empty list of pointers
 *     job_list_push_back(&list, NULL, &some_job);
 *
 *     typedef struct seat { int row; SP_LIST_INDEX_LINK link; } seat;
 *     static inline seat *seat_at(hall *store, uint32_t index);
 *     SP_LIST_INDICES(seat_list, hall, seat_at, link);
 *     seat_list_init(&list);
 *     seat_list_push_back(&list, hall, 7);
 *
 * Every function takes the store (for pointers: NULL) and is O(1). The list neither owns nor counts
 * its nodes.
 *
 * `remove` of a node that is in no list is a no-op that returns false, also when the list it was in
 * has been cleared: neighbours are asked before they are written. A node that was never in a list
 * must have been initialised (`init_node`; zeroed is enough for pointers). With SP_CHECKS >= 1 each
 * node carries the list it is in, to catch a push of a member and a removal from the wrong list; to
 * keep that tag, splice and clear then walk the nodes.
 *
 * Iteration tolerates the removal of the current node:
 *
 *     for (job *at = list.head, *next; job_list_step(&list, NULL, at, &next); at = next) { ... }
 */
#ifndef SPOOL_SDK_MEMORY_LIST_H
#define SPOOL_SDK_MEMORY_LIST_H

#include "sdk/platform/check.h"
#include "sdk/platform/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_LIST_NO_INDEX UINT32_MAX

#if SP_CHECKS >= 1
#define SP_LIST_TAG const void *in_list;
#define SP_LIST_TAG_SET(node_link, list) ((node_link).in_list = (list))
#define SP_LIST_TAG_IS(node_link, list) ((node_link).in_list == (const void *)(list))
#else
#define SP_LIST_TAG
#define SP_LIST_TAG_SET(node_link, list) ((void)(list))
#define SP_LIST_TAG_IS(node_link, list) ((void)(list), true)
#endif

#define SP_LIST_LINK(node_type)                                                                    \
    struct {                                                                                       \
        node_type *prev;                                                                           \
        node_type *next;                                                                           \
        SP_LIST_TAG                                                                                \
    }
#define SP_LIST_INDEX_LINK                                                                         \
    struct {                                                                                       \
        uint32_t prev;                                                                             \
        uint32_t next;                                                                             \
        SP_LIST_TAG                                                                                \
    }

#define SP_LIST_POINTERS(name, node_type, link)                                                    \
    static inline node_type *name##_node(void *store, node_type *node) {                           \
        (void)store;                                                                               \
        return node;                                                                               \
    }                                                                                              \
    SP_LIST_FAMILY(name, void, node_type *, NULL, name##_node, link)

#define SP_LIST_INDICES(name, store_type, at, link)                                                \
    SP_LIST_FAMILY(name, store_type, uint32_t, SP_LIST_NO_INDEX, at, link)

/* What at() returns: each function asks once for the address of a node. */
#define SP_LIST_NODE(at, store, node) __typeof__(at(store, node))

/* `ref` names a node, `none` is no node, at(store, ref) is its address. */
#define SP_LIST_FAMILY(name, store_type, ref, none, at, link)                                      \
    typedef struct name {                                                                          \
        ref head;                                                                                  \
        ref tail;                                                                                  \
    } name;                                                                                        \
                                                                                                   \
    SP_UNUSED static inline void name##_init(name *list) {                                         \
        list->head = none;                                                                         \
        list->tail = none;                                                                         \
    }                                                                                              \
                                                                                                   \
    SP_UNUSED static inline void name##_init_node(store_type *store, ref node) {                   \
        SP_LIST_NODE(at, store, node) self = at(store, node);                                      \
        self->link.prev = none;                                                                    \
        self->link.next = none;                                                                    \
        SP_LIST_TAG_SET(self->link, NULL);                                                         \
    }                                                                                              \
                                                                                                   \
    SP_UNUSED static inline bool name##_is_empty(const name *list) {                               \
        return list->head == none;                                                                 \
    }                                                                                              \
                                                                                                   \
    /* Between two neighbours, either of which may be none. */                                     \
    SP_UNUSED static inline void name##_link(name *list, store_type *store, ref prev, ref node,    \
                                             ref next) {                                           \
        SP_LIST_NODE(at, store, node) self = at(store, node);                                      \
        SP_CHECK(SP_LIST_TAG_IS(self->link, NULL));                                                \
        self->link.prev = prev;                                                                    \
        self->link.next = next;                                                                    \
        SP_LIST_TAG_SET(self->link, list);                                                         \
        if (prev != none) {                                                                        \
            at(store, prev)->link.next = node;                                                     \
        } else {                                                                                   \
            list->head = node;                                                                     \
        }                                                                                          \
        if (next != none) {                                                                        \
            at(store, next)->link.prev = node;                                                     \
        } else {                                                                                   \
            list->tail = node;                                                                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SP_UNUSED static inline void name##_push_front(name *list, store_type *store, ref node) {      \
        name##_link(list, store, none, node, list->head);                                          \
    }                                                                                              \
                                                                                                   \
    SP_UNUSED static inline void name##_push_back(name *list, store_type *store, ref node) {       \
        name##_link(list, store, list->tail, node, none);                                          \
    }                                                                                              \
                                                                                                   \
    /* `after` is a member. */                                                                     \
    SP_UNUSED static inline void name##_insert_after(name *list, store_type *store, ref after,     \
                                                     ref node) {                                   \
        SP_CHECK(SP_LIST_TAG_IS(at(store, after)->link, list));                                    \
        name##_link(list, store, after, node, at(store, after)->link.next);                        \
    }                                                                                              \
                                                                                                   \
    SP_UNUSED static inline bool name##_remove(name *list, store_type *store, ref node) {          \
        ref prev = at(store, node)->link.prev;                                                     \
        ref next = at(store, node)->link.next;                                                     \
        SP_CHECK(SP_LIST_TAG_IS(at(store, node)->link, NULL) ||                                    \
                 SP_LIST_TAG_IS(at(store, node)->link, list));                                     \
        bool was_linked = (prev != none ? at(store, prev)->link.next : list->head) == node &&      \
                          (next != none ? at(store, next)->link.prev : list->tail) == node;        \
        if (was_linked) {                                                                          \
            if (prev != none) {                                                                    \
                at(store, prev)->link.next = next;                                                 \
            } else {                                                                               \
                list->head = next;                                                                 \
            }                                                                                      \
            if (next != none) {                                                                    \
                at(store, next)->link.prev = prev;                                                 \
            } else {                                                                               \
                list->tail = prev;                                                                 \
            }                                                                                      \
        }                                                                                          \
        name##_init_node(store, node);                                                             \
        return was_linked;                                                                         \
    }                                                                                              \
                                                                                                   \
    /* none when the list is empty. */                                                             \
    SP_UNUSED static inline ref name##_pop_front(name *list, store_type *store) {                  \
        ref node = list->head;                                                                     \
        if (node != none) {                                                                        \
            list->head = at(store, node)->link.next;                                               \
            if (list->head != none) {                                                              \
                at(store, list->head)->link.prev = none;                                           \
            } else {                                                                               \
                list->tail = none;                                                                 \
            }                                                                                      \
            name##_init_node(store, node);                                                         \
        }                                                                                          \
        return node;                                                                               \
    }                                                                                              \
                                                                                                   \
    SP_UNUSED static inline ref name##_pop_back(name *list, store_type *store) {                   \
        ref node = list->tail;                                                                     \
        if (node != none) {                                                                        \
            list->tail = at(store, node)->link.prev;                                               \
            if (list->tail != none) {                                                              \
                at(store, list->tail)->link.next = none;                                           \
            } else {                                                                               \
                list->head = none;                                                                 \
            }                                                                                      \
            name##_init_node(store, node);                                                         \
        }                                                                                          \
        return node;                                                                               \
    }                                                                                              \
                                                                                                   \
    /* In checked builds alone: the members of `list` now say that they are in `owner`. */         \
    SP_UNUSED static inline void name##_retag(const name *list, store_type *store,                 \
                                              const name *owner) {                                 \
        if (SP_CHECK_LEVEL >= 1) {                                                                 \
            for (ref node = list->head; node != none; node = at(store, node)->link.next) {         \
                SP_LIST_TAG_SET(at(store, node)->link, owner);                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Moves all of `from` to the end of `list`; `from` is empty then. */                          \
    SP_UNUSED static inline void name##_splice_back(name *list, store_type *store, name *from) {   \
        if (from->head == none || from == list) {                                                  \
            return;                                                                                \
        }                                                                                          \
        name##_retag(from, store, list);                                                           \
        at(store, from->head)->link.prev = list->tail;                                             \
        if (list->tail != none) {                                                                  \
            at(store, list->tail)->link.next = from->head;                                         \
        } else {                                                                                   \
            list->head = from->head;                                                               \
        }                                                                                          \
        list->tail = from->tail;                                                                   \
        name##_init(from);                                                                         \
    }                                                                                              \
                                                                                                   \
    /* The list is empty; its nodes are in no list, and are not touched in unchecked builds. */    \
    SP_UNUSED static inline void name##_clear(name *list, store_type *store) {                     \
        name##_retag(list, store, NULL);                                                           \
        name##_init(list);                                                                         \
    }                                                                                              \
                                                                                                   \
    /* For loops: is `node` one, and which comes after it? */                                      \
    SP_UNUSED static inline bool name##_step(const name *list, store_type *store, ref node,        \
                                             ref *out_next) {                                      \
        (void)list;                                                                                \
        *out_next = node != none ? at(store, node)->link.next : none;                              \
        return node != none;                                                                       \
    }                                                                                              \
    typedef struct name name##_defined

#endif /* SPOOL_SDK_MEMORY_LIST_H */
