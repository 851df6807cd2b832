/* SPDX-License-Identifier: Apache-2.0 */
/* The test kit under test: what must fail fails, what is counted is counted, waits end. */
#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void holds(void) {
    SPT_CHECK(1 + 1 == 2);
}

static void does_not_hold(void) {
    SPT_CHECK(1 + 1 == 3);
}

static void wrong_number(void) {
    SPT_CHECK_UINT(1, 2);
}

static void wrong_string(void) {
    SPT_CHECK_STRING("one", NULL);
}

static void skips(void) {
    spt_skip("for the test of skipping");
}

static void leaks(void) {
    char *volatile lost = malloc(77);
    lost = NULL;
    (void)lost;
}

/* The exit status of a program with these cases; its output is not ours and goes nowhere. */
static int status_of(const spt_case *cases, size_t count, int argc, char **argv) {
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        _exit(spt_run("inner", cases, count, argc, argv));
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

static int status_of_case(void (*run)(void)) {
    spt_case one = {"one", run};
    return status_of(&one, 1, 1, NULL);
}

static void exit_status_tells_how_the_cases_went(void) {
    SPT_CHECK(status_of_case(holds) == EXIT_SUCCESS);
    SPT_CHECK(status_of_case(does_not_hold) == EXIT_FAILURE);
    SPT_CHECK(status_of_case(wrong_number) == EXIT_FAILURE);
    SPT_CHECK(status_of_case(wrong_string) == EXIT_FAILURE);
    SPT_CHECK(status_of_case(skips) == SPT_EXIT_SKIP);
    const spt_case mixed[] = {SPT_CASE(holds), SPT_CASE(does_not_hold), SPT_CASE(skips)};
    SPT_CHECK(status_of(mixed, 3, 1, NULL) == EXIT_FAILURE);
}

static void leak_fails_where_leaks_are_looked_for(void) {
    SPT_CHECK(status_of_case(leaks) == (SPT_ASAN ? EXIT_FAILURE : EXIT_SUCCESS));
}

static void named_case_runs_alone_and_unknown_name_fails(void) {
    const spt_case cases[] = {SPT_CASE(holds), SPT_CASE(does_not_hold)};
    char program[] = "kit";
    char good[] = "holds";
    char unknown[] = "unheard_of";
    char *chosen[] = {program, good, NULL};
    char *nothing[] = {program, unknown, NULL};
    SPT_CHECK(status_of(cases, 2, 2, chosen) == EXIT_SUCCESS);
    SPT_CHECK(status_of(cases, 2, 2, nothing) == EXIT_FAILURE);
}

static void every_form_of_allocation_is_counted(void) {
    uint64_t before = spt_mallocs_of_thread();
    void *volatile memory = malloc(3);
    memory = realloc(memory, 1000);
    free(memory);
    memory = calloc(3, 5);
    free(memory);
    SPT_CHECK_UINT(spt_mallocs_of_thread() - before, 3);
#if !SPT_TSAN
    void *aligned = NULL;
    SPT_CHECK(posix_memalign(&aligned, 64, 10) == 0);
    free(aligned);
    memory = aligned_alloc(64, 128);
    free(memory);
    SPT_CHECK_UINT(spt_mallocs_of_thread() - before, 5);
#endif
}

static void mapping_is_counted(void) {
    if (SPT_ASAN || SPT_TSAN) {
        spt_skip("sanitizers map for themselves");
        return;
    }
    uint64_t before = spt_mmaps_of_thread();
    void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SPT_REQUIRE(mapped != MAP_FAILED);
    munmap(mapped, 4096);
    SPT_CHECK_UINT(spt_mmaps_of_thread() - before, 1);
}

static void *allocate(void *argument) {
    void *volatile memory = malloc(10);
    free(memory);
    return argument;
}

static void other_threads_count_for_the_process_alone(void) {
    uint64_t process_before = spt_mallocs_of_process();
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, allocate, NULL) == 0);
    uint64_t thread_before = spt_mallocs_of_thread();
    pthread_join(thread, NULL);
    SPT_CHECK_UINT(spt_mallocs_of_thread() - thread_before, 0);
    SPT_CHECK(spt_mallocs_of_process() > process_before);
}

static atomic_bool ready;

static void *become_ready(void *argument) {
    atomic_store(&ready, true);
    return argument;
}

static void waiting_ends_with_the_condition_or_the_deadline(void) {
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, become_ready, NULL) == 0);
    SPT_WAIT_UNTIL(10000, atomic_load(&ready));
    SPT_CHECK(atomic_load(&ready));
    pthread_join(thread, NULL);

    uint64_t start = spt_now_ns();
    SPT_WAIT_UNTIL(20, false);
    SPT_CHECK(spt_now_ns() - start >= UINT64_C(20000000));
}

static void same_seed_gives_the_same_numbers(void) {
    spt_random one = {7};
    spt_random other = {7};
    spt_random third = {8};
    uint64_t number = spt_random_next(&one);
    SPT_CHECK_UINT(spt_random_next(&other), number);
    SPT_CHECK(spt_random_next(&third) != number);
    for (int i = 0; i < 1000; i++) {
        SPT_CHECK(spt_random_below(&one, 10) < 10);
    }
}

SPT_MAIN("kit", SPT_CASE(exit_status_tells_how_the_cases_went),
         SPT_CASE(leak_fails_where_leaks_are_looked_for),
         SPT_CASE(named_case_runs_alone_and_unknown_name_fails),
         SPT_CASE(every_form_of_allocation_is_counted), SPT_CASE(mapping_is_counted),
         SPT_CASE(other_threads_count_for_the_process_alone),
         SPT_CASE(waiting_ends_with_the_condition_or_the_deadline),
         SPT_CASE(same_seed_gives_the_same_numbers))
