/* SPDX-License-Identifier: Apache-2.0 */
/* Counted nodes: dropped exactly once, at stable addresses, in a pool that outlives its close. */
#include "sdk/memory/counted.h"
#include "sdk/memory/list.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct job {
    int number;
    SP_LIST_LINK(struct job) link;
} job;
SP_LIST_POINTERS(job_list, job, link);

enum { JOBS = 200 };
static int drops[JOBS];
static sp_counted_pool *pool;

static void drop(void *node) {
    drops[((job *)node)->number]++;
}

static job *take(int number) {
    job *made = sp_counted_take(pool);
    if (made) {
        made->number = number;
    }
    return made;
}

static void open_pool(uint64_t cap, void (*drop_with)(void *)) {
    memset(drops, 0, sizeof drops);
    pool = sp_counted_pool_create(sizeof(job), cap, drop_with);
    cr_assert_not_null(pool);
}

Test(counted, a_fresh_node_is_zeroed_aligned_and_in_no_list) {
    open_pool(10, drop);
    for (int round = 0; round < 3; round++) {
        job *made = take(0);
        cr_assert_eq((uintptr_t)made % 16, 0);
        cr_assert(made->link.prev == NULL && made->link.next == NULL);
        made->link.prev = made; /* what is left in it does not come back */
        sp_counted_unref(made);
    }
    sp_counted_pool_close(pool);
    SPT_TEST_END;
}

Test(counted, is_dropped_once_with_the_last_reference) {
    open_pool(10, drop);
    job *made = take(3);
    sp_counted_ref(made);
    sp_counted_ref(made);
    sp_counted_unref(made);
    sp_counted_unref(made);
    cr_assert_eq(drops[3], 0);
    cr_assert_eq(sp_counted_used(pool), 1);
    sp_counted_unref(made);
    cr_assert_eq(drops[3], 1);
    cr_assert_eq(sp_counted_used(pool), 0);
    sp_counted_unref(NULL);
    sp_counted_pool_close(pool);
    cr_assert_eq(drops[3], 1);
    SPT_TEST_END;
}

Test(counted, addresses_stay_while_others_come_and_go) {
    open_pool(JOBS, drop);
    job *jobs[JOBS];
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = take(i);
        cr_assert_not_null(jobs[i]);
    }
    for (int i = 0; i < JOBS; i += 2) {
        sp_counted_unref(jobs[i]);
        cr_assert_eq(drops[i], 1);
    }
    for (int i = 1; i < JOBS; i += 2) {
        cr_assert_eq(jobs[i]->number, i);
    }
    for (int i = 0; i < JOBS; i += 2) {
        jobs[i] = take(i);
    }
    for (int i = 0; i < JOBS; i++) {
        cr_assert_eq(jobs[i]->number, i);
        sp_counted_unref(jobs[i]);
    }
    cr_assert_eq(sp_counted_used(pool), 0);
    sp_counted_pool_close(pool);
    SPT_TEST_END;
}

Test(counted, a_full_pool_refuses_and_counts_it) {
    open_pool(2, drop);
    job *a = take(0);
    job *b = take(1);
    cr_assert_null(take(2));
    cr_assert_eq(sp_counted_refused(pool), 1);
    sp_counted_unref(a);
    job *c = take(2);
    cr_assert_not_null(c);
    sp_counted_unref(b);
    sp_counted_unref(c);
    sp_counted_pool_close(pool);
    SPT_TEST_END;
}

Test(counted, a_closed_pool_lives_as_long_as_its_nodes) {
    open_pool(10, drop);
    job *a = take(0);
    job *b = take(1);
    sp_counted_pool_close(pool);
    cr_assert_null(sp_counted_take(pool));
    sp_counted_unref(a);
    cr_assert_eq(b->number, 1);
    sp_counted_unref(b); /* the pool goes with it, and not under it */
    cr_assert(drops[0] == 1 && drops[1] == 1);
    SPT_TEST_END;
}

static job *held;
static void drop_another(void *node) {
    drops[((job *)node)->number]++;
    sp_counted_ref(node); /* in passing */
    sp_counted_unref(node);
    job *other = held;
    held = NULL;
    sp_counted_unref(other);
    if (other) {
        sp_counted_pool_close(pool);
    }
}

Test(counted, a_drop_may_use_and_close_the_pool) {
    open_pool(10, drop_another);
    job *a = take(0);
    held = take(1);
    sp_counted_unref(a);
    cr_assert(drops[0] == 1 && drops[1] == 1);
    SPT_TEST_END;
}

Test(counted, a_list_holds_no_reference) {
    open_pool(JOBS, drop);
    job_list list = {NULL, NULL};
    job_list other = {NULL, NULL};
    for (int i = 0; i < 10; i++) {
        job_list_push_back(i < 5 ? &list : &other, NULL, take(i));
    }
    job_list_splice_back(&list, NULL, &other);
    cr_assert(job_list_is_empty(&other));
    int number = 0;
    job *at = list.head;
    for (job *next; job_list_step(&list, NULL, at, &next); at = next) {
        cr_assert_eq(at->number, number++);
        cr_assert(job_list_remove(&list, NULL, at));
        sp_counted_unref(at);
    }
    cr_assert(job_list_is_empty(&list));
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(drops[i], 1);
    }
    sp_counted_pool_close(pool);
    SPT_TEST_END;
}
