/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts shared by threads: counting, coroutine stacks that move, propagators that change meanwhile. */
#include "sdk/platform/atomics.h"

#include <spool/baggage.h>
#include <spool/ext/propagator.h>

#include "tests/support/spt.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 5000, STACKS = 3 };

static spool_context shared;
static spool_context_key key;
static _Atomic int destroyed;
static spool_context_stack *stacks[STACKS];
static pthread_mutex_t stack_locks[STACKS];

static void count_destroyed(void *value) {
    (void)value;
    sp_add_relaxed(&destroyed, 1);
}

static void *attach_shared(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        spool_context mine = spool_context_copy(&shared);
        spool_token token = spool_context_attach(&mine);
        spool_context_release(&mine);
        SPT_CHECK_UINT(spool_baggage_count(spool_context_baggage(NULL)), 1);
        SPT_CHECK(spool_context_value(NULL, key) == &key);
        SPT_CHECK_UINT(spool_context_detach(token), SPOOL_OK);
    }
    return NULL;
}

static void run_all(void *(*run)(void *)) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        SPT_REQUIRE(pthread_create(&threads[i], NULL, run, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void a_shared_context_is_ended_once(void) {
    spool_baggage *baggage = spool_baggage_set(NULL, "k", "v");
    spool_context base = spool_context_with_baggage(NULL, baggage);
    spool_baggage_release(baggage);
    key = spool_context_key_create("key", count_destroyed);
    shared = spool_context_with_value(&base, key, &key);
    spool_context_release(&base);
    run_all(attach_shared);
    SPT_CHECK_UINT(sp_load_relaxed(&destroyed), 0);
    spool_context_release(&shared);
    SPT_CHECK_UINT(sp_load_relaxed(&destroyed), 1);
}

static void *run_coroutines(void *arg) {
    spt_random random = {(uint64_t)(uintptr_t)&arg};
    for (int i = 0; i < ROUNDS; i++) {
        size_t which = (size_t)spt_random_below(&random, STACKS);
        pthread_mutex_lock(&stack_locks[which]);
        SPT_CHECK(spool_context_swap(stacks[which]) == NULL);
        spool_token token = spool_context_attach(NULL);
        if (i % 3 == 0) {
            SPT_CHECK_UINT(spool_context_detach(token), SPOOL_OK);
        } else if (i % 100 == 1) {
            spool_context_rewind((spool_mark){token.bits});
        }
        SPT_CHECK(spool_context_swap(NULL) == stacks[which]);
        pthread_mutex_unlock(&stack_locks[which]);
    }
    return NULL;
}

static void coroutine_stacks_move_between_threads(void) {
    for (int i = 0; i < STACKS; i++) {
        stacks[i] = spool_context_stack_create();
        pthread_mutex_init(&stack_locks[i], NULL);
    }
    run_all(run_coroutines);
    for (int i = 0; i < STACKS; i++) {
        spool_context_stack_destroy(stacks[i]);
        pthread_mutex_destroy(&stack_locks[i]);
    }
}

static void *change_propagators(void *arg) {
    const spool_propagator *both[] = {&spool_propagator_baggage, &spool_propagator_tracecontext};
    struct spool_span_context ids = {{7}, {8}, 1, 0, {0}};
    spool_context context = spool_context_with_remote(NULL, &ids, SPOOL_STR("a=b"));
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        spool_header items[4];
        char text[256];
        spool_header_buffer buffer = {items, 4, 0, text, sizeof text, 0, 0};
        SPT_CHECK_UINT(spool_propagators_set(both + i % 2, (size_t)(2 - i % 2)), SPOOL_OK);
        spool_inject(&context, &spool_header_setter, &buffer);
        SPT_CHECK_UINT(buffer.count, 2);
    }
    spool_context_release(&context);
    return NULL;
}

static void propagators_change_while_they_are_used(void) {
    run_all(change_propagators);
}

SPT_MAIN("context_threads", SPT_CASE(a_shared_context_is_ended_once),
         SPT_CASE(coroutine_stacks_move_between_threads),
         SPT_CASE(propagators_change_while_they_are_used))
