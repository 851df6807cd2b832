/* SPDX-License-Identifier: Apache-2.0 */
/* User keys: distinct, values shared and ended once. */
#include <spool/context.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <pthread.h>

static int destroyed;
static void *destroyed_last;

static void count_destroyed(void *value) {
    destroyed++;
    destroyed_last = value;
}

Test(key, CX_02_two_keys_of_one_name_are_different) {
    spool_context_key one = spool_context_key_create("name", NULL);
    spool_context_key two = spool_context_key_create("name", NULL);
    int value;
    cr_assert(one.id != 0 && two.id != 0 && one.id != two.id);
    spool_context context = spool_context_with_value(NULL, one, &value);
    cr_assert_eq(spool_context_value(&context, one), &value);
    cr_assert_null(spool_context_value(&context, two));
    spool_context_release(&context);
    SPT_TEST_END;
}

Test(key, CX_01_a_write_leaves_the_old_context_as_it_was) {
    spool_context_key key = spool_context_key_create(NULL, count_destroyed);
    int a, b;
    spool_context first = spool_context_with_value(NULL, key, &a);
    spool_context second = spool_context_with_value(&first, key, &b);
    spool_context none = spool_context_with_value(&second, key, NULL);
    cr_assert_eq(spool_context_value(&first, key), &a);
    cr_assert_eq(spool_context_value(&second, key), &b);
    cr_assert_null(spool_context_value(&none, key));
    cr_assert_null(none.block);
    cr_assert_eq(destroyed, 0);
    spool_context_release(&first);
    cr_assert_eq(destroyed, 1);
    cr_assert_eq(destroyed_last, &a);
    spool_context_release(&second);
    spool_context_release(&second);
    spool_context_release(&none);
    cr_assert_eq(destroyed, 2);
    SPT_TEST_END;
}

Test(key, a_value_lives_as_long_as_any_context_that_holds_it) {
    spool_context_key key = spool_context_key_create("a", count_destroyed);
    spool_context_key other = spool_context_key_create("b", NULL);
    int value, more;
    spool_context first = spool_context_with_value(NULL, key, &value);
    spool_context second = spool_context_with_value(&first, other, &more);
    spool_context third = spool_context_copy(&second);
    spool_token token = spool_context_attach(&third);
    spool_context_release(&first);
    spool_context_release(&second);
    spool_context_release(&third);
    cr_assert_eq(spool_context_value(NULL, key), &value);
    cr_assert_eq(spool_context_value(NULL, other), &more);
    cr_assert_eq(destroyed, 0);
    spool_context_detach(token);
    cr_assert_eq(destroyed, 1);
    cr_assert_null(spool_context_value(NULL, key));
    SPT_TEST_END;
}

Test(key, a_thousand_and_twenty_four_then_zero_which_is_harmless) {
    spool_context_key key = {0};
    int value;
    for (int i = 0; i < 1024; i++) {
        key = spool_context_key_create("key", NULL);
        cr_assert_neq(key.id, 0);
    }
    spool_context_key none = spool_context_key_create("one too many", NULL);
    cr_assert_eq(none.id, 0);
    spool_context context = spool_context_with_value(NULL, none, &value);
    cr_assert_null(context.block);
    cr_assert_null(spool_context_value(&context, none));
    context = spool_context_with_value(&context, (spool_context_key){5000}, &value);
    cr_assert_null(context.block);
    spool_context_release(&context);
    SPT_TEST_END;
}

static spool_context_key of_thread;

static void attach_again(void *value) {
    count_destroyed(value);
    /* Thread exit: it is refused or released, never leaked. */
    spool_context context = spool_context_with_value(NULL, of_thread, NULL);
    (void)spool_context_attach(&context);
    spool_context_release(&context);
}

static void *attach_and_exit(void *arg) {
    for (int i = 0; i < 50; i++) {
        spool_context context = spool_context_with_value(NULL, of_thread, arg);
        (void)spool_context_attach(&context);
        spool_context_release(&context);
    }
    return NULL;
}

Test(key, a_threads_exit_ends_what_it_had_attached) {
    pthread_t thread;
    int value;
    of_thread = spool_context_key_create("thread", attach_again);
    cr_assert_eq(pthread_create(&thread, NULL, attach_and_exit, &value), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(destroyed, 50);
    SPT_TEST_END;
}
