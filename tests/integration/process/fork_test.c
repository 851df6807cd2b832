/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of fork in a process with a running SDK (cases T12, T13): one that only ends keeps its status,
 * ends at once and sends nothing; the parent goes on and sends everything once.
 */
#include "tests/integration/process/process_run.h"
#include "tests/integration/process/scenario_kit.h"
#include "tests/support/spt.h"

#include <spool/spool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RECORDS = 100,
    STATUS = 7,
    CHILD_STATUS = 3,
    LIMIT_MS = 60000,
    CHILD_LIMIT_S = 10,
    FORKS = SPT_TSAN ? 10 : 30
};

/* ---- scenarios; `parent` records wait for an hour, so that the child inherits them queued ---- */

typedef void (*child_body)(void);

/* Forks, and waits for the child: true when it ended by itself with its own status. */
static bool fork_child(child_body body) {
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(CHILD_LIMIT_S); /* a child that hangs ends by a signal */
        body();
        _exit(97);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == CHILD_STATUS;
}

static int with_child(child_body body) {
    (void)spt_scenario_start(NULL);
    spt_scenario_records("before", RECORDS);
    bool well = fork_child(body);
    spt_scenario_records("after", RECORDS);
    return well ? STATUS : 98;
}

static void child_exit(void) {
    exit(CHILD_STATUS);
}

static void child_exit_underscore(void) {
    _exit(CHILD_STATUS);
}

/* What it records is its own; here it is only that neither it nor the parent is harmed by it. */
static void child_records(void) {
    spt_scenario_records("child", 10);
    exit(CHILD_STATUS);
}

/* A handle of the parent's, ended on the other side. */
static spool_span inherited;
static void child_ends_the_parents_span(void) {
    spool_span_end(inherited);
    exit(CHILD_STATUS);
}

static void child_forks(void) {
    exit(fork_child(child_exit) ? CHILD_STATUS : 96);
}

static int exit_in_child(void) {
    return with_child(child_exit);
}

static int exit_underscore_in_child(void) {
    return with_child(child_exit_underscore);
}

static int records_in_child(void) {
    return with_child(child_records);
}

static int exit_in_grandchild(void) {
    return with_child(child_forks);
}

static int parents_span_in_child(void) {
    (void)spt_scenario_start(NULL);
    inherited = spool_span_start(spool_tracer_get("t", NULL), "before-span-0.", NULL);
    bool well = fork_child(child_ends_the_parents_span);
    spool_span_end(inherited);
    return well ? STATUS : 98;
}

/* The hook's own list and lock: other SDKs start and end while the process is forked. */
static atomic_bool stopping;
static void *start_and_free(void *arg) {
    spool_options options = SPOOL_OPTIONS_INIT;
    options.not_default = 1;
    options.traces_exporter = "none";
    options.logs_exporter = "none";
    while (!atomic_load(&stopping)) {
        spool_sdk_free(spt_scenario_start(&options));
        (void)usleep(100);
    }
    return arg;
}

static void *record_until_stopped(void *arg) {
    while (!atomic_load(&stopping)) {
        spt_scenario_records(arg, 1);
        (void)usleep(100);
    }
    return NULL;
}

static int exit_in_children_amid_work(void) {
    static char noise[] = "noise";
    pthread_t threads[2];
    (void)spt_scenario_start(NULL);
    if (pthread_create(&threads[0], NULL, record_until_stopped, noise) != 0 ||
        pthread_create(&threads[1], NULL, start_and_free, NULL) != 0) {
        return 98;
    }
    int well = 0;
    for (int i = 0; i < FORKS; i++) {
        well += fork_child(child_exit);
    }
    atomic_store(&stopping, true);
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    return well == FORKS ? STATUS : 98;
}

/* The first parents of a daemon end by exit(0): they send what they recorded, and nothing else happens. */
static int daemon_by_double_fork(void) {
    (void)spt_scenario_start(NULL);
    spt_scenario_records("before", RECORDS);
    pid_t first = fork();
    if (first != 0) {
        int status = 0;
        return waitpid(first, &status, 0) == first && status == 0 ? STATUS : 98;
    }
    (void)alarm(CHILD_LIMIT_S);
    (void)setsid();
    pid_t second = fork();
    if (second != 0) {
        exit(second > 0 ? 0 : 96);
    }
    (void)alarm(CHILD_LIMIT_S);
    (void)!write(STDOUT_FILENO, "daemon", 6);
    exit(0);
}

static const spt_scenario scenarios[] = {
    {"exit_in_child", exit_in_child},
    {"exit_underscore_in_child", exit_underscore_in_child},
    {"records_in_child", records_in_child},
    {"exit_in_grandchild", exit_in_grandchild},
    {"parents_span_in_child", parents_span_in_child},
    {"exit_in_children_amid_work", exit_in_children_amid_work},
    {"daemon_by_double_fork", daemon_by_double_fork},
};

/* ---- tests ---- */

static const spt_step answers = {.status = 200};

static spt_collector *run_scenario(const char *scenario, spt_run_result *result) {
    spt_collector *collector = spt_collector_start(&answers, 1);
    if (!SPT_CHECK(collector != NULL)) {
        return NULL;
    }
    /* A child that waited in the exit hook would still be there when its alarm rings. */
    /* Memory that only a thread of the parent's knew is no leak of the child's. */
    const char *variables[] = {
        spt_endpoint_variable(collector),   "OTEL_BSP_SCHEDULE_DELAY=3600000",
        "OTEL_BLRP_SCHEDULE_DELAY=3600000", "OTEL_C_EXIT_TIMEOUT=60000",
        "ASAN_OPTIONS=detect_leaks=0",      NULL};
    SPT_CHECK(spt_process_run(scenario, variables, LIMIT_MS, result));
    if (!SPT_CHECK_UINT(result->status, STATUS)) {
        (void)fprintf(stderr, "in %s: status %d\n", scenario, result->status);
    }
    return collector;
}

static void parent_sends_once(const char *scenario) {
    spt_run_result result = {-1, 0, NULL};
    spt_collector *collector = run_scenario(scenario, &result);
    if (collector) {
        spt_check_arrived(collector, "before", RECORDS, 1);
        spt_check_arrived(collector, "after", RECORDS, 1);
    }
    free(result.output);
    spt_collector_stop(collector);
}

static void T12_a_child_that_exits(void) {
    parent_sends_once("exit_in_child");
}

static void T12_a_child_that_leaves_by_exit_underscore(void) {
    parent_sends_once("exit_underscore_in_child");
}

static void T12_a_child_that_records_and_exits(void) {
    parent_sends_once("records_in_child");
}

static void T12_a_grandchild_that_exits(void) {
    parent_sends_once("exit_in_grandchild");
}

static void T12_a_span_that_both_sides_end(void) {
    spt_run_result result = {-1, 0, NULL};
    spt_collector *collector = run_scenario("parents_span_in_child", &result);
    spt_request request;
    size_t found = 0;
    for (size_t i = 0; collector && spt_collector_request(collector, i, &request); i++) {
        found += spt_occurrences(request.body, request.body_len, "before-span-0.");
    }
    SPT_CHECK_UINT(found, 1);
    free(result.output);
    spt_collector_stop(collector);
}

static void T12_children_that_exit_amid_work(void) {
    spt_run_result result = {-1, 0, NULL};
    spt_collector *collector = run_scenario("exit_in_children_amid_work", &result);
    free(result.output);
    spt_collector_stop(collector);
}

static void T13_a_daemon(void) {
    spt_run_result result = {-1, 0, NULL};
    spt_collector *collector = run_scenario("daemon_by_double_fork", &result);
    if (collector) {
        spt_check_arrived(collector, "before", RECORDS, 1);
    }
    free(result.output);
    spt_collector_stop(collector);
}

int main(int argc, char **argv) {
    static const spt_case cases[] = {
        SPT_CASE(T12_a_child_that_exits),
        SPT_CASE(T12_a_child_that_leaves_by_exit_underscore),
        SPT_CASE(T12_a_child_that_records_and_exits),
        SPT_CASE(T12_a_grandchild_that_exits),
        SPT_CASE(T12_a_span_that_both_sides_end),
        SPT_CASE(T12_children_that_exit_amid_work),
        SPT_CASE(T13_a_daemon),
    };
    const spt_scenario *scenario =
        spt_scenario_of(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
    return scenario ? scenario->run()
                    : spt_run("process.fork", cases, sizeof cases / sizeof cases[0], argc, argv);
}
