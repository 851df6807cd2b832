/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists, both kinds. Cases are written once as a macro over a list type, so that each kind is
 * asked the same; `node(i)` is the reference of the i-th node.
 */
#include "sdk/memory/list.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>

enum { NODES = 8 };

typedef struct linked {
    int value;
    SP_LIST_LINK(struct linked) link;
} linked;
SP_LIST_POINTERS(linked_list, linked, link);

typedef struct seat {
    int value;
    SP_LIST_INDEX_LINK link;
} seat;
typedef struct hall {
    seat seats[NODES];
} hall;
static seat *seat_at(hall *store, uint32_t index) {
    return &store->seats[index];
}
SP_LIST_INDICES(seat_list, hall, seat_at, link);

static linked nodes[NODES];
static linked *pointer_node(int i) {
    return &nodes[i];
}
static hall the_hall;
static uint32_t index_node(int i) {
    return (uint32_t)i;
}

_Static_assert(sizeof(uint32_t) * 2 <= sizeof(((seat *)NULL)->link), "two links of 32 bits");

/* `expected` is a string of digits: the nodes from head to tail; checked both ways. */
#define CHECKER(name, ref, none, store, at, node)                                                  \
    static void name##_is(const name *list, const char *expected) {                                \
        const char *want = expected;                                                               \
        ref last = none;                                                                           \
        ref here = list->head;                                                                     \
        ref next;                                                                                  \
        for (; name##_step(list, store, here, &next); here = next) {                               \
            cr_assert(*want != '\0' && here == node(*want - '0'), "expected %s", expected);        \
            cr_assert(at(store, here)->link.prev == last, "backward link in %s", expected);        \
            last = here;                                                                           \
            want++;                                                                                \
        }                                                                                          \
        cr_assert(*want == '\0', "too short for %s", expected);                                    \
        cr_assert(list->tail == last);                                                             \
        cr_assert_eq(name##_is_empty(list), expected[0] == '\0');                                  \
    }                                                                                              \
    static void name##_prepare(name *list) {                                                       \
        name##_init(list);                                                                         \
        for (int i = 0; i < NODES; i++) {                                                          \
            name##_init_node(store, node(i));                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name##_fill(name *list, const char *which) {                                       \
        for (; *which != '\0'; which++) {                                                          \
            name##_push_back(list, store, node(*which - '0'));                                     \
        }                                                                                          \
    }

#define CASES(name, ref, none, store, at, node)                                                    \
    CHECKER(name, ref, none, store, at, node)                                                      \
    Test(list, name##_pushes_and_pops_at_both_ends) {                                              \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        cr_assert(name##_pop_front(&list, store) == none);                                         \
        cr_assert(name##_pop_back(&list, store) == none);                                          \
        name##_push_back(&list, store, node(1));                                                   \
        name##_is(&list, "1");                                                                     \
        name##_push_front(&list, store, node(0));                                                  \
        name##_is(&list, "01");                                                                    \
        name##_push_back(&list, store, node(2));                                                   \
        name##_is(&list, "012");                                                                   \
        cr_assert(name##_pop_front(&list, store) == node(0));                                      \
        name##_is(&list, "12");                                                                    \
        cr_assert(name##_pop_back(&list, store) == node(2));                                       \
        cr_assert(name##_pop_back(&list, store) == node(1));                                       \
        name##_is(&list, "");                                                                      \
        cr_assert(at(store, node(1))->link.prev == none && at(store, node(1))->link.next == none); \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_removes_head_middle_tail_and_only_node) {                                    \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        name##_fill(&list, "01234");                                                               \
        cr_assert(name##_remove(&list, store, node(2)));                                           \
        name##_is(&list, "0134");                                                                  \
        cr_assert(name##_remove(&list, store, node(0)));                                           \
        name##_is(&list, "134");                                                                   \
        cr_assert(name##_remove(&list, store, node(4)));                                           \
        name##_is(&list, "13");                                                                    \
        cr_assert(name##_remove(&list, store, node(1)));                                           \
        cr_assert(name##_remove(&list, store, node(3)));                                           \
        name##_is(&list, "");                                                                      \
        cr_assert(at(store, node(3))->link.prev == none && at(store, node(3))->link.next == none); \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_leaves_a_node_that_is_no_member_alone) {                                     \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        cr_assert_not(name##_remove(&list, store, node(5)));                                       \
        name##_fill(&list, "012");                                                                 \
        cr_assert_not(name##_remove(&list, store, node(5)));                                       \
        cr_assert(name##_remove(&list, store, node(1)));                                           \
        cr_assert_not(name##_remove(&list, store, node(1)), "twice");                              \
        name##_is(&list, "02");                                                                    \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_inserts_after_any_member) {                                                  \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        name##_fill(&list, "02");                                                                  \
        name##_insert_after(&list, store, node(0), node(1));                                       \
        name##_insert_after(&list, store, node(2), node(3));                                       \
        name##_is(&list, "0123");                                                                  \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_splices_empty_and_full_lists) {                                              \
        name list;                                                                                 \
        name other;                                                                                \
        name##_prepare(&list);                                                                     \
        name##_init(&other);                                                                       \
        name##_splice_back(&list, store, &other);                                                  \
        name##_is(&list, "");                                                                      \
        name##_fill(&other, "01");                                                                 \
        name##_splice_back(&list, store, &other);                                                  \
        name##_is(&list, "01");                                                                    \
        name##_is(&other, "");                                                                     \
        name##_splice_back(&list, store, &other);                                                  \
        name##_is(&list, "01");                                                                    \
        name##_fill(&other, "23");                                                                 \
        name##_splice_back(&list, store, &other);                                                  \
        name##_is(&list, "0123");                                                                  \
        name##_splice_back(&list, store, &list);                                                   \
        name##_is(&list, "0123");                                                                  \
        cr_assert(name##_remove(&list, store, node(2)), "members of the list that took them");     \
        name##_fill(&other, "2");                                                                  \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_clears_and_takes_its_nodes_again) {                                          \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        name##_fill(&list, "01234");                                                               \
        name##_clear(&list, store);                                                                \
        name##_is(&list, "");                                                                      \
        name##_fill(&list, "56");                                                                  \
        for (int i = 0; i < 5; i++) {                                                              \
            (void)name##_remove(&list, store, node(i));                                            \
            name##_is(&list, "56");                                                                \
        }                                                                                          \
        name##_fill(&list, "3");                                                                   \
        name##_is(&list, "563");                                                                   \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_tolerates_removal_of_the_current_node) {                                     \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        name##_fill(&list, "01234567");                                                            \
        ref here = list.head;                                                                      \
        ref next;                                                                                  \
        int steps = 0;                                                                             \
        for (; name##_step(&list, store, here, &next); here = next) {                              \
            if (steps++ % 2 == 0) {                                                                \
                cr_assert(name##_remove(&list, store, here));                                      \
            }                                                                                      \
        }                                                                                          \
        cr_assert_eq(steps, 8);                                                                    \
        name##_is(&list, "1357");                                                                  \
        SPT_TEST_END;                                                                              \
    }                                                                                              \
    Test(list, name##_follows_a_model_through_random_steps) {                                      \
        spt_random random = {spt_seed(0x5eed0003)};                                                \
        char model[NODES + 1] = "";                                                                \
        name list;                                                                                 \
        name##_prepare(&list);                                                                     \
        for (int step = 0; step < 20000; step++) {                                                 \
            model_step(&random, model, &change);                                                   \
            ref changed = node(change.which);                                                      \
            switch (change.what) {                                                                 \
            case PUSH_FRONT:                                                                       \
                name##_push_front(&list, store, changed);                                          \
                break;                                                                             \
            case PUSH_BACK:                                                                        \
                name##_push_back(&list, store, changed);                                           \
                break;                                                                             \
            case REMOVE:                                                                           \
                cr_assert_eq(name##_remove(&list, store, changed), change.member);                 \
                break;                                                                             \
            default:                                                                               \
                cr_assert(name##_pop_front(&list, store) == (change.member ? changed : none));     \
                break;                                                                             \
            }                                                                                      \
            name##_is(&list, model);                                                               \
        }                                                                                          \
        SPT_TEST_END;                                                                              \
    }

enum { PUSH_FRONT, PUSH_BACK, REMOVE, POP_FRONT };
static struct model_change {
    int what;
    int which;
    bool member; /* of the list before the change; for POP_FRONT: there was one */
} change;

/* Chooses a change and makes it to the model, a string of digits. */
static void model_step(spt_random *random, char *model, struct model_change *out) {
    size_t length = strlen(model);
    out->what = (int)spt_random_below(random, 4);
    out->which = (int)spt_random_below(random, NODES);
    char *place = strchr(model, '0' + out->which);
    out->member = place != NULL;
    if (out->member && out->what < REMOVE) {
        out->what = REMOVE;
    }
    switch (out->what) {
    case PUSH_FRONT:
        memmove(model + 1, model, length + 1);
        model[0] = (char)('0' + out->which);
        break;
    case PUSH_BACK:
        model[length] = (char)('0' + out->which);
        model[length + 1] = '\0';
        break;
    case REMOVE:
        if (place != NULL) {
            memmove(place, place + 1, strlen(place));
        }
        break;
    default:
        out->member = length > 0;
        if (length > 0) {
            out->which = model[0] - '0';
            memmove(model, model + 1, length);
        }
        break;
    }
}

CASES(linked_list, linked *, NULL, NULL, linked_list_node, pointer_node)
CASES(seat_list, uint32_t, SP_LIST_NO_INDEX, &the_hall, seat_at, index_node)

#if SP_CHECKS >= 1
#include <signal.h>

Test(list, a_removal_from_the_wrong_list_is_caught, .signal = SIGABRT) {
    linked_list list;
    linked_list other;
    linked_list_prepare(&list);
    linked_list_init(&other);
    linked_list_fill(&list, "012");
    (void)linked_list_remove(&other, NULL, &nodes[1]);
}

Test(list, a_push_of_a_member_is_caught, .signal = SIGABRT) {
    linked_list list;
    linked_list_prepare(&list);
    linked_list_fill(&list, "00");
}
#endif
