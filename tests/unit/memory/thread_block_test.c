/* SPDX-License-Identifier: Apache-2.0 */
/* Thread blocks: numbers, recycling, parts, the passes of a thread's end, and the child of a fork.
 * */
#include "sdk/memory/registry.h"
#include "sdk/memory/thread_block.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void elsewhere(void *(*body)(void *), void *arg) {
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, body, arg), 0);
    cr_assert_eq(pthread_join(other, NULL), 0);
}

Test(thread_block, is_one_for_a_thread_with_a_number_that_lives) {
    sp_thread_block *block = sp_thread();
    cr_assert_not_null(block);
    cr_assert_eq(sp_thread(), block);
    cr_assert_eq(sp_thread_get(), block);
    cr_assert(block->number >= 1 && block->number < 1 << 20);
    cr_assert(sp_thread_lives(block->number));
    cr_assert_not(sp_thread_lives(0));
    cr_assert_not(sp_thread_lives(block->number + 1));
    cr_assert_not(sp_thread_lives((1 << 20) - 1));
    cr_assert_not(sp_thread_lives(UINT32_MAX));
    SPT_TEST_END;
}

static void *note_number(void *arg) {
    *(uint32_t *)arg = sp_thread()->number;
    return NULL;
}

static pthread_barrier_t barrier;
static void *note_number_together(void *arg) {
    note_number(arg);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

Test(thread_block, numbers_are_unique_and_come_back_first_in_first_out) {
    enum { THREADS = 5 };
    uint32_t mine = sp_thread()->number;
    uint32_t numbers[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, note_number_together, &numbers[i]);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        cr_assert_neq(numbers[i], mine);
        cr_assert(sp_thread_lives(numbers[i]));
        for (int k = 0; k < i; k++) {
            cr_assert_neq(numbers[i], numbers[k]);
        }
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_not(sp_thread_lives(numbers[i]));
    }
    uint32_t reused[2 * THREADS];
    for (int i = 0; i < 2 * THREADS; i++) {
        elsewhere(note_number, &reused[i]);
        for (int k = i > THREADS - 1 ? i - THREADS + 1 : 0; k < i; k++) {
            cr_assert_neq(reused[i], reused[k], "a number came back before its turn");
        }
    }
    SPT_TEST_END;
}

static void count_blocks(sp_thread_block *block, void *arg) {
    int *counts = arg;
    counts[sp_load_relaxed(&block->state)]++;
    if (sp_load_relaxed(&block->state) != SP_THREAD_LIVE) {
        for (int i = 0; i < SP_MAX_PINS; i++) {
            cr_assert_null(block->pins[i]);
        }
    }
}

static void *leave_a_pin(void *arg) {
    sp_thread_block *block = sp_thread();
    sp_store_relaxed(&block->pins[0], arg);
    block->pin_count = 1;
    return NULL;
}

Test(thread_block, each_visits_living_and_free_blocks) {
    (void)sp_thread();
    int counts[3] = {0};
    elsewhere(leave_a_pin, &barrier);
    sp_thread_each(count_blocks, counts);
    cr_assert_eq(counts[SP_THREAD_LIVE], 1);
    cr_assert_eq(counts[SP_THREAD_FREE], 1);
    SPT_TEST_END;
}

/* ---- the end of a thread ---- */

static int ended_parts[SP_PARTS + 1];
static int ended_count;
static void end_part(sp_thread_block *block, void *value) {
    cr_assert_eq(sp_thread(), block, "the block serves until the last part is ended");
    ended_parts[ended_count++] = *(int *)value;
}

static int part_values[SP_PARTS];
static void *use_parts(void *arg) {
    (void)arg;
    sp_thread_block *block = sp_thread();
    for (int part = 0; part < SP_PARTS; part++) {
        cr_assert_null(block->parts[part], "a recycled block has no parts");
        part_values[part] = part;
        block->parts[part] = part == 1 ? NULL : &part_values[part];
    }
    return NULL;
}

Test(thread_block, ends_parts_in_reverse_order_once) {
    for (unsigned part = 0; part < SP_PARTS; part++) {
        sp_thread_part_ends_with(part, end_part);
    }
    for (int round = 0; round < 2; round++) {
        ended_count = 0;
        elsewhere(use_parts, NULL);
        cr_assert_eq(ended_count, SP_PARTS - 1, "one part was not used");
        int last = SP_PARTS;
        for (int i = 0; i < ended_count; i++) {
            cr_assert(ended_parts[i] < last && ended_parts[i] != 1);
            last = ended_parts[i];
        }
    }
    SPT_TEST_END;
}

/* A key of the application's, whose destructor uses the library in every pass that there is. */
static pthread_key_t application_key;
static int passes;
static int passes_with_block;
static void use_in_destructor(void *value) {
    passes++;
    sp_thread_block *block = sp_thread();
    if (block != NULL) {
        passes_with_block++;
        spool_span handle;
        sp_slot *slot = sp_registry_acquire(block, true, &handle);
        cr_assert_not_null(slot);
        sp_registry_release(block, slot);
    }
    pthread_setspecific(application_key, value);
}

static void *use_key(void *arg) {
    (void)sp_thread();
    pthread_setspecific(application_key, arg);
    return NULL;
}

static void destructor_passes(void) {
    elsewhere(use_key, &passes);
    cr_assert_geq(passes, 4);
    int counts[3] = {0};
    sp_thread_each(count_blocks, counts);
    cr_assert_eq(counts[SP_THREAD_LIVE], 1, "the other thread's block was recycled");
}

Test(thread_block, serves_destructors_that_run_before_its_own) {
    pthread_key_create(&application_key, use_in_destructor);
    (void)sp_thread();
    destructor_passes();
    cr_assert_eq(passes_with_block, passes - 1, "LATE after the last pass but one, no new block");
    SPT_TEST_END;
}

Test(thread_block, serves_destructors_that_run_after_its_own) {
    (void)sp_thread();
    pthread_key_create(&application_key, use_in_destructor);
    destructor_passes();
    cr_assert_eq(passes_with_block, passes - 2, "LATE in the last pass but one, no new block");
    SPT_TEST_END;
}

static void *use_key_alone(void *arg) {
    pthread_setspecific(application_key, arg);
    return NULL;
}

Test(thread_block, of_a_thread_that_first_uses_it_in_a_destructor_is_recycled) {
    (void)sp_thread();
    pthread_key_create(&application_key, use_in_destructor);
    for (int i = 0; i < 3; i++) {
        elsewhere(use_key_alone, &passes);
    }
    int counts[3] = {0};
    sp_thread_each(count_blocks, counts);
    cr_assert_eq(counts[SP_THREAD_LIVE], 1);
    cr_assert_eq(counts[SP_THREAD_FREE], 1);
    SPT_TEST_END;
}

/* ---- fork ---- */

static sp_thread_block *elsewhere_block;
static void *live_through_a_fork(void *arg) {
    elsewhere_block = sp_thread();
    spool_span handle;
    sp_slot *slot = sp_registry_acquire(elsewhere_block, true, &handle);
    sp_slot_publish(slot, SP_SLOT_LIVE);
    *(spool_span *)arg = handle;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void *acquire_once(void *arg) {
    sp_registry_counters *before = arg;
    spool_span handle;
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, &handle);
    before->local_acquires = slot != NULL ? 1 : 0;
    before->adopted_shards = sp_thread()->number;
    return NULL;
}

/* Exit status 0, or the number of the first thing that is wrong. */
static int in_child(spool_span mine, spool_span other) {
    sp_thread_block *block = sp_thread();
    if (!sp_thread_lives(block->number)) {
        return 1;
    }
    if (sp_thread_lives(elsewhere_block->number) ||
        sp_load_relaxed(&elsewhere_block->state) != SP_THREAD_LOST) {
        return 2;
    }
    sp_slot *slot = sp_slot_lock(block, mine);
    if (slot == NULL) {
        return 3;
    }
    sp_slot_unlock(slot);
    slot = sp_slot_begin_end(block, other);
    if (slot == NULL) {
        return 4;
    }
    sp_slot_freeze(slot);
    sp_registry_release(block, slot);
    sp_registry_counters seen = {0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, acquire_once, &seen) != 0 ||
        pthread_join(thread, NULL) != 0 || seen.local_acquires != 1) {
        return 5;
    }
    if (seen.adopted_shards == elsewhere_block->number) {
        return 6;
    }
    sp_registry_read_counters(&seen);
    return seen.adopted_shards == 0 ? 0 : 7;
}

Test(thread_block, goes_on_in_the_child_of_a_fork_and_loses_the_others) {
    spool_span mine;
    spool_span other;
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, &mine);
    sp_slot_publish(slot, SP_SLOT_LIVE);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, live_through_a_fork, &other);
    pthread_barrier_wait(&barrier);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        _exit(in_child(mine, other));
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 0, "check %d failed in the child", WEXITSTATUS(status));
    cr_assert(sp_thread_lives(elsewhere_block->number), "nothing changes in the parent");
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    cr_assert_not(sp_thread_lives(elsewhere_block->number));
    SPT_TEST_END;
}
