/* SPDX-License-Identifier: Apache-2.0 */
/* The fork generation: the same in one process, another in each child, however it was made. */
#include "sdk/platform/fork.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *ask_together(void *arg) {
    pthread_barrier_wait(&barrier);
    *(uint32_t *)arg = sp_fork_generation();
    return NULL;
}

enum { ASKERS = 8 };

/* All threads of a process get one answer, also when they are the first who ask. */
static uint32_t asked_by_all(void) {
    pthread_t threads[ASKERS];
    uint32_t answers[ASKERS];
    pthread_barrier_init(&barrier, NULL, ASKERS);
    for (int i = 0; i < ASKERS; i++) {
        if (pthread_create(&threads[i], NULL, ask_together, &answers[i]) != 0) {
            return 0;
        }
    }
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
    for (int i = 1; i < ASKERS; i++) {
        if (answers[i] != answers[0]) {
            return 0;
        }
    }
    return answers[0];
}

Test(fork, is_one_at_first_for_all_who_ask_at_once) {
    errno = 4711;
    cr_assert_eq(asked_by_all(), 1);
    cr_assert_eq(sp_fork_generation(), 1);
    cr_assert_eq(errno, 4711);
    SPT_TEST_END;
}

static void expect_success(pid_t child) {
    int status;
    cr_assert(child > 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

Test(fork, is_larger_in_a_child_and_in_its_child) {
    uint32_t parent = sp_fork_generation();
    pid_t child = fork();
    if (child == 0) {
        uint32_t mine = asked_by_all();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            uint32_t deepest = sp_fork_generation();
            _exit(deepest > mine ? 0 : 1);
        }
        int status = 1;
        waitpid(grandchild, &status, 0);
        _exit(mine > parent && mine == sp_fork_generation() && status == 0 ? 0 : 1);
    }
    expect_success(child);
    cr_assert_eq(sp_fork_generation(), parent);
    SPT_TEST_END;
}

Test(fork, a_clone_without_libcs_knowledge_is_noticed) {
    uint32_t parent = sp_fork_generation();
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        _exit(sp_fork_generation() > parent ? 0 : 1);
    }
    expect_success(child);
    SPT_TEST_END;
}
