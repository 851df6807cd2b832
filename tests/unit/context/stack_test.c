/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of attached contexts: order, misuse, marks, coroutine stacks, growth. */
#include "sdk/context/stack.h"
#include "sdk/platform/diagnostics.h"

#include <spool/baggage.h>
#include <spool/context.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

/* A context that is told apart by its span id. */
static spool_context numbered(uint8_t number) {
    struct spool_span_context ids = {{1}, {number}, SPOOL_FLAG_SAMPLED, 0, {0}};
    return spool_context_with_remote(NULL, &ids, SPOOL_STR(""));
}

static uint8_t current_number(void) {
    return sp_context_current()->span.span_id[0];
}

static uint64_t wrong_detaches(void) {
    return sp_misuse_read(SP_MISUSE_WRONG_DETACH);
}

static spool_token attach_numbered(uint8_t number) {
    spool_context context = numbered(number);
    spool_token token = spool_context_attach(&context);
    spool_context_release(&context);
    return token;
}

Test(stack, nothing_attached_is_the_empty_context) {
    cr_assert_eq(current_number(), 0);
    cr_assert_eq(sp_context_top(NULL), &sp_context_empty);
    cr_assert_eq(sp_context_top(sp_thread()), &sp_context_empty);
    cr_assert_eq(spool_context_detach((spool_token){0}), SPOOL_OK);
    cr_assert_eq(wrong_detaches(), 0);
    SPT_TEST_END;
}

Test(stack, attach_and_detach_nest) {
    spool_token one = attach_numbered(1);
    cr_assert_eq(current_number(), 1);
    spool_token two = attach_numbered(2);
    cr_assert_eq(current_number(), 2);
    spool_token none = spool_context_attach(NULL);
    cr_assert_eq(current_number(), 0);
    cr_assert_eq(spool_context_detach(none), SPOOL_OK);
    cr_assert_eq(spool_context_detach(two), SPOOL_OK);
    cr_assert_eq(current_number(), 1);
    cr_assert_eq(spool_context_detach(one), SPOOL_OK);
    cr_assert_eq(current_number(), 0);
    cr_assert_eq(wrong_detaches(), 0);
    SPT_TEST_END;
}

Test(stack, T47_a_c_b_is_right_after_each_step) {
    spool_token a = attach_numbered(1);
    spool_token b = attach_numbered(2);
    spool_token c = attach_numbered(3);
    cr_assert_eq(spool_context_detach(a), SPOOL_ERR_ORDER);
    cr_assert_eq(current_number(), 3);
    cr_assert_eq(spool_context_detach(c), SPOOL_OK);
    cr_assert_eq(current_number(), 2);
    cr_assert_eq(spool_context_detach(b), SPOOL_OK);
    cr_assert_eq(current_number(), 0);
    cr_assert_eq(wrong_detaches(), 1);
    SPT_TEST_END;
}

Test(stack, T47_the_same_context_twice_nests_and_one_detach_too_many_is_counted) {
    spool_context context = numbered(5);
    spool_token one = spool_context_attach(&context);
    spool_token two = spool_context_attach(&context);
    spool_context_release(&context);
    cr_assert_neq(one.bits, two.bits);
    cr_assert_eq(spool_context_detach(two), SPOOL_OK);
    cr_assert_eq(current_number(), 5);
    cr_assert_eq(spool_context_detach(two), SPOOL_ERR_ORDER);
    cr_assert_eq(current_number(), 5);
    cr_assert_eq(spool_context_detach(one), SPOOL_OK);
    cr_assert_eq(spool_context_detach(one), SPOOL_ERR_ORDER);
    cr_assert_eq(wrong_detaches(), 2);
    SPT_TEST_END;
}

static void *detach_elsewhere(void *arg) {
    spool_token *token = arg;
    cr_assert_eq(spool_context_detach(*token), SPOOL_ERR_ORDER);
    spool_token mine = attach_numbered(9);
    cr_assert_eq(spool_context_detach(*token), SPOOL_ERR_ORDER);
    cr_assert_eq(current_number(), 9);
    spool_mark mark = {token->bits};
    cr_assert_eq(spool_context_rewind(mark), 0);
    cr_assert_eq(spool_context_detach(mine), SPOOL_OK);
    *token = mine;
    return NULL;
}

static void join_of(void *(*run)(void *), void *arg) {
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, run, arg), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(stack, T47_the_wrong_thread_changes_nothing) {
    spool_token token = attach_numbered(1);
    spool_token other = token;
    join_of(detach_elsewhere, &other);
    cr_assert_eq(wrong_detaches(), 3);
    cr_assert_eq(current_number(), 1);
    cr_assert_eq(spool_context_detach(other), SPOOL_ERR_ORDER);
    cr_assert_eq(spool_context_detach(token), SPOOL_OK);
    SPT_TEST_END;
}

static void *attach_and_leave(void *arg) {
    *(spool_token *)arg = attach_numbered(7);
    return NULL;
}

Test(stack, a_token_of_a_thread_that_is_gone_names_nothing_on_its_successor) {
    spool_token left;
    for (int i = 0; i < 20; i++) {
        join_of(attach_and_leave, &left);
        join_of(detach_elsewhere, &left);
    }
    cr_assert_eq(wrong_detaches(), 60);
    SPT_TEST_END;
}

Test(stack, T47_a_million_wrong_rounds_retain_nothing) {
    enum { ROUNDS = SPT_ASAN ? 100000 : 1000000 };
    spool_baggage *baggage = spool_baggage_set(NULL, "k", "v");
    spool_context context = spool_context_with_baggage(NULL, baggage);
    spool_baggage_release(baggage);
    for (int i = 0; i < ROUNDS; i++) {
        spool_token a = spool_context_attach(&context);
        spool_token b = spool_context_attach(&context);
        spool_token c = spool_context_attach(&context);
        spool_context_detach(a);
        spool_context_detach(c);
        spool_context_detach(b);
        spool_context_detach(b);
    }
    cr_assert_eq(sp_context_top(sp_thread()), &sp_context_empty);
    cr_assert_eq(wrong_detaches(), 2 * ROUNDS);
    spool_context_release(&context);
    SPT_TEST_END;
}

Test(stack, windows_that_overlap_for_ever_take_no_room) {
    spool_token before = attach_numbered(1);
    for (int i = 0; i < 200000; i++) {
        spool_token after = attach_numbered((uint8_t)(i % 200 + 2));
        spool_context_detach(before);
        cr_assert_eq(current_number(), i % 200 + 2);
        before = after;
    }
    cr_assert_eq(spool_context_detach(before), SPOOL_OK);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_NO_MEMORY), 0);
    SPT_TEST_END;
}

Test(stack, grows_past_its_inline_room_and_finds_every_token) {
    enum { DEPTH = 3000 };
    static spool_token tokens[DEPTH];
    spt_random random = {spt_seed(47)};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < DEPTH; i++) {
            tokens[i] = attach_numbered((uint8_t)(i % 255 + 1));
        }
        for (int i = DEPTH - 1; i > 0; i--) {
            size_t other = (size_t)spt_random_below(&random, (uint64_t)i + 1);
            spool_token swapped = tokens[i];
            tokens[i] = tokens[other];
            tokens[other] = swapped;
        }
        for (int i = 0; i < DEPTH; i++) {
            spool_token again = tokens[i];
            uint64_t before = wrong_detaches();
            spool_status status = spool_context_detach(tokens[i]);
            cr_assert_eq(wrong_detaches() - before, status == SPOOL_ERR_ORDER);
            cr_assert_eq(spool_context_detach(again), SPOOL_ERR_ORDER);
        }
        cr_assert_eq(current_number(), 0);
    }
    SPT_TEST_END;
}

Test(stack, forgotten_entries_have_a_bound) {
    spool_mark mark = spool_context_mark();
    size_t attached = 0;
    while (spool_context_attach(NULL).bits) {
        attached++;
        cr_assert(attached <= 65536);
    }
    cr_assert_eq(attached, 65536);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_NO_MEMORY), 1);
    cr_assert_eq(spool_context_rewind(mark), attached);
    cr_assert_neq(attach_numbered(1).bits, 0);
    cr_assert_eq(spool_context_rewind(mark), 1);
    SPT_TEST_END;
}

Test(stack, rewind_takes_off_what_came_after_the_mark) {
    spool_token one = attach_numbered(1);
    spool_token two = attach_numbered(2);
    spool_mark mark = spool_context_mark();
    attach_numbered(3);
    attach_numbered(4);
    /* What leaves below does not shift the mark. */
    cr_assert_eq(spool_context_detach(one), SPOOL_ERR_ORDER);
    cr_assert_eq(spool_context_rewind(mark), 2);
    cr_assert_eq(current_number(), 2);
    cr_assert_eq(spool_context_rewind(mark), 0);
    cr_assert_eq(spool_context_detach(two), SPOOL_OK);
    cr_assert_eq(spool_context_rewind(mark), 0);
    cr_assert_eq(spool_context_rewind((spool_mark){0}), 0);
    SPT_TEST_END;
}

Test(stack, swapped_stacks_keep_their_entries_apart) {
    spool_token mine = attach_numbered(1);
    spool_context_stack *first = spool_context_stack_create();
    spool_context_stack *second = spool_context_stack_create();
    cr_assert_null(spool_context_swap(first));
    cr_assert_eq(current_number(), 0);
    spool_token of_first = attach_numbered(2);
    cr_assert_eq(spool_context_swap(second), first);
    cr_assert_eq(current_number(), 0);
    spool_token of_second = attach_numbered(3);
    cr_assert_eq(spool_context_detach(of_first), SPOOL_ERR_ORDER);
    cr_assert_eq(spool_context_detach(mine), SPOOL_ERR_ORDER);
    cr_assert_eq(spool_context_swap(second), second);
    cr_assert_eq(current_number(), 3);
    cr_assert_eq(spool_context_swap(first), second);
    cr_assert_eq(current_number(), 2);
    cr_assert_eq(spool_context_detach(of_first), SPOOL_OK);
    cr_assert_eq(spool_context_swap(NULL), first);
    cr_assert_eq(current_number(), 1);
    cr_assert_eq(spool_context_detach(mine), SPOOL_OK);
    cr_assert_neq(of_second.bits, 0);
    spool_context_stack_destroy(first);
    spool_context_stack_destroy(second); /* with an entry left */
    spool_context_stack_destroy(NULL);
    cr_assert_eq(wrong_detaches(), 2);
    SPT_TEST_END;
}

Test(stack, a_current_stack_that_is_destroyed_gives_the_thread_its_own) {
    spool_token mine = attach_numbered(1);
    spool_context_stack *stack = spool_context_stack_create();
    spool_context_swap(stack);
    attach_numbered(2);
    spool_context_stack_destroy(stack);
    cr_assert_eq(current_number(), 1);
    cr_assert_null(spool_context_swap(NULL));
    cr_assert_eq(spool_context_detach(mine), SPOOL_OK);
    SPT_TEST_END;
}

static void *take_and_carry_on(void *arg) {
    spool_context_stack *stack = *(spool_context_stack **)arg;
    /* It is current on the other thread still. */
    cr_assert_null(spool_context_swap(stack));
    cr_assert_eq(current_number(), 0);
    spool_context_stack_destroy(stack);
    return NULL;
}

Test(stack, a_stack_is_current_on_one_thread_and_its_destruction_waits_for_it) {
    spool_context_stack *stack = spool_context_stack_create();
    spool_context_swap(stack);
    attach_numbered(4);
    join_of(take_and_carry_on, &stack);
    cr_assert_eq(wrong_detaches(), 2);
    cr_assert_eq(current_number(), 4);
    cr_assert_null(spool_context_swap(NULL));
    SPT_TEST_END;
}

static void *leave_swapped(void *arg) {
    spool_context_swap(*(spool_context_stack **)arg);
    attach_numbered(6);
    return NULL;
}

Test(stack, a_thread_that_exits_lets_go_of_the_stack) {
    spool_context_stack *stack = spool_context_stack_create();
    join_of(leave_swapped, &stack);
    cr_assert_null(spool_context_swap(stack));
    cr_assert_eq(current_number(), 6);
    spool_context_stack_destroy(stack);
    SPT_TEST_END;
}

Test(stack, push_span_keeps_baggage_and_keys_and_shares_the_block) {
    sp_thread_block *thread = sp_thread();
    spool_baggage *baggage = spool_baggage_set(NULL, "k", "v");
    spool_context base = spool_context_with_baggage(NULL, baggage);
    spool_baggage_release(baggage);
    spool_token below = spool_context_attach(&base);
    struct spool_span_context ids = {{1}, {8}, 1, 0, {0}};
    spool_token token = sp_context_push_span(thread, (spool_span){77}, &ids, NULL);
    cr_assert_eq(current_number(), 8);
    cr_assert_eq(sp_context_top(thread)->block, base.block);
    cr_assert_eq(sp_context_top(thread)->handle.bits, 77);

    sp_trace_state *state = sp_trace_state_parse(SPOOL_STR("a=b"));
    spool_token with_state = sp_context_push_span(thread, (spool_span){78}, &ids, state);
    cr_assert_neq(sp_context_top(thread)->block, base.block);
    cr_assert_eq(spool_baggage_count(spool_context_baggage(NULL)), 1);
    cr_assert_eq(spool_context_trace_state(NULL).len, 3);
    const spool_context *top = sp_context_top(thread);
    spool_token same = sp_context_push_span(thread, (spool_span){79}, &ids, state);
    cr_assert_eq(sp_context_top(thread)->block, top->block);
    sp_trace_state_release(state);

    spool_span span;
    cr_assert_eq(sp_context_pop(thread, with_state, &span), SPOOL_ERR_ORDER);
    cr_assert_eq(span.bits, 78);
    cr_assert_eq(sp_context_pop(thread, with_state, &span), SPOOL_ERR_ORDER);
    cr_assert_eq(span.bits, 0);
    cr_assert_eq(sp_context_pop(thread, same, &span), SPOOL_OK);
    cr_assert_eq(sp_context_pop(thread, token, &span), SPOOL_OK);
    cr_assert_eq(span.bits, 77);
    cr_assert_eq(sp_context_pop(NULL, below, NULL), SPOOL_ERR_ORDER);
    cr_assert_eq(sp_context_pop(thread, below, NULL), SPOOL_OK);
    cr_assert_eq(sp_context_push_span(NULL, span, &ids, NULL).bits, 0);
    spool_context_release(&base);
    SPT_TEST_END;
}
