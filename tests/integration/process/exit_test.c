/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a process: what was recorded is sent by the exit hook, in a bounded time, and the status is
 * the program's (cases T01, T02). Each scenario is a process of its own whose main() returns 7.
 */
#include "tests/integration/process/process_run.h"
#include "tests/integration/process/scenario_kit.h"
#include "tests/support/spt.h"

#include <spool/spool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RECORDS = 100,
    STATUS = 7,
    LIMIT_MS = 60000,
    SLACK_MS = SPT_TSAN ? 8000 : 3000, /* start, sanitizer, a busy machine */
    BUDGET_MS = 2000,
    RUNS = SPT_TSAN ? 3 : 20
};

/* ---- scenarios ---- */

static int returns(void) {
    (void)spt_scenario_start(NULL);
    spt_scenario_records("exit", RECORDS);
    return STATUS;
}

static int returns_with_open_spans(void) {
    (void)spt_scenario_start(NULL);
    spool_span span = spool_span_start(spool_tracer_get("t", NULL), "open", NULL);
    (void)spool_span_enter(span);
    spt_scenario_records("exit", RECORDS);
    return STATUS;
}

static int returns_after_shutdown(void) {
    spool_sdk *sdk = spt_scenario_start(NULL);
    spt_scenario_records("exit", RECORDS);
    (void)spool_shutdown(sdk, 10000, NULL);
    return STATUS;
}

static int returns_after_free(void) {
    spool_sdk *sdk = spt_scenario_start(NULL);
    spt_scenario_records("exit", RECORDS);
    (void)spool_shutdown(sdk, 10000, NULL);
    spool_sdk_free(sdk);
    return STATUS;
}

static int returns_with_file_batch(void) {
    spool_processor processor = spt_scenario_file_batch();
    spool_options options = SPOOL_OPTIONS_INIT;
    options.traces_exporter = "none";
    options.logs_exporter = "console";
    options.processors = &processor;
    options.processor_count = 1;
    (void)spt_scenario_start(&options);
    spt_scenario_records("exit", RECORDS);
    return STATUS;
}

static int returns_without_flush(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    options.no_exit_flush = 1;
    (void)spt_scenario_start(&options);
    spt_scenario_records("exit", RECORDS);
    return STATUS;
}

static int returns_with_short_budget(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    options.exit_timeout_ms = 200;
    (void)spt_scenario_start(&options);
    spt_scenario_records("exit", RECORDS);
    return STATUS;
}

static int returns_with_three_sdks(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    for (uint32_t i = 0; i < 3; i++) {
        options.not_default = i > 0;
        spool_sdk *sdk = spt_scenario_start(&options);
        spool_scope scope = {.name = SPOOL_STR_INIT("each")};
        spool_span_end(spool_span_start(spool_sdk_tracer(sdk, &scope), "s", NULL));
    }
    return STATUS;
}

/* The exit hook is registered before TLS is initialised, and has to come before TLS is cleaned up. */
static int returns_with_network_second(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    options.not_default = 1;
    options.traces_exporter = "none";
    options.logs_exporter = "none";
    (void)spt_scenario_start(&options);
    return returns();
}

static int calls_exit_underscore(void) {
    (void)spt_scenario_start(NULL);
    spt_scenario_records("exit", RECORDS);
    _exit(STATUS);
}

static void *call_exit(void *arg) {
    (void)arg;
    exit(STATUS);
}

static int exits_on_a_thread(void) {
    pthread_t thread;
    (void)spt_scenario_start(NULL);
    spt_scenario_records("exit", RECORDS);
    if (pthread_create(&thread, NULL, call_exit, NULL) == 0) {
        (void)pthread_join(thread, NULL);
    }
    return 98;
}

static void *record_for_ever(void *arg) {
    for (;;) {
        spt_scenario_records(arg, 1);
    }
    return NULL;
}

static int returns_amid_records(void) {
    static char noise[] = "noise";
    pthread_t threads[3];
    (void)spt_scenario_start(NULL);
    for (size_t i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, record_for_ever, noise) != 0) {
            return 98;
        }
    }
    usleep(50000);
    return STATUS;
}

static void exit_in_hook(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
    exit(STATUS);
}

static void nothing(void *self) {
    (void)self;
}

/* Waiting could wait for itself there: nothing is promised but the end, and the status. */
static int exits_inside_a_hook(void) {
    static const spool_processor_ops ops = {
        .struct_size = sizeof ops, .name = "exits", .log_emit = exit_in_hook, .destroy = nothing};
    spool_processor processor = {&ops, NULL};
    spool_options options = SPOOL_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    (void)spt_scenario_start(&options);
    spt_scenario_records("exit", 1);
    return 98;
}

static const spt_scenario scenarios[] = {
    {"returns", returns},
    {"returns_with_open_spans", returns_with_open_spans},
    {"returns_after_shutdown", returns_after_shutdown},
    {"returns_after_free", returns_after_free},
    {"returns_with_file_batch", returns_with_file_batch},
    {"returns_without_flush", returns_without_flush},
    {"returns_with_short_budget", returns_with_short_budget},
    {"returns_with_three_sdks", returns_with_three_sdks},
    {"returns_with_network_second", returns_with_network_second},
    {"calls_exit_underscore", calls_exit_underscore},
    {"exits_on_a_thread", exits_on_a_thread},
    {"returns_amid_records", returns_amid_records},
    {"exits_inside_a_hook", exits_inside_a_hook},
};

/* ---- tests ---- */

static const spt_step answers = {.status = 200};
static const spt_step never_answers = {.silent = true, .delay_ms = 120000};

static spt_run_result run_checked(const char *scenario, const char *first, const char *second) {
    /* Nothing but the end of the process sends anything, however long that takes. */
    const char *variables[] = {"OTEL_BSP_SCHEDULE_DELAY=3600000",
                               "OTEL_BLRP_SCHEDULE_DELAY=3600000", first, first ? second : NULL,
                               NULL};
    spt_run_result result = {-1, 0, NULL};
    SPT_CHECK(spt_process_run(scenario, variables, LIMIT_MS, &result));
    if (!SPT_CHECK_UINT(result.status, STATUS)) {
        (void)fprintf(stderr, "in %s: status %d, after %u ms\n", scenario, result.status,
                      result.ms);
    }
    return result;
}

/* Runs against a server; the records arrive `times` times. */
static void arrives(const char *scenario, size_t times) {
    spt_collector *collector = spt_collector_start(&answers, 1);
    SPT_REQUIRE(collector != NULL);
    spt_run_result result = run_checked(scenario, spt_endpoint_variable(collector), NULL);
    spt_check_arrived(collector, "exit", RECORDS, times);
    free(result.output);
    spt_collector_stop(collector);
}

static void T01_what_was_recorded_arrives(void) {
    for (int i = 0; i < RUNS; i++) {
        arrives("returns", 1);
    }
}

static void T01_with_spans_that_are_still_open(void) {
    arrives("returns_with_open_spans", 1);
}

static void T01_after_a_shutdown_nothing_is_sent_again(void) {
    arrives("returns_after_shutdown", 1);
    arrives("returns_after_free", 1);
}

static void T01_exit_on_another_thread(void) {
    arrives("exits_on_a_thread", 1);
}

static void T01_the_network_came_after_the_hook(void) {
    arrives("returns_with_network_second", 1);
}

static void T01_console(void) {
    spt_run_result result =
        run_checked("returns", "OTEL_TRACES_EXPORTER=console", "OTEL_LOGS_EXPORTER=console");
    if (result.output) {
        spt_check_printed(result.output, "exit", RECORDS, 1);
    }
    free(result.output);
}

/* Spans wait in a batch processor of code, logs are printed at once: both are there at the end. */
static void T01_batch_without_a_network(void) {
    spt_run_result result = run_checked("returns_with_file_batch", NULL, NULL);
    if (result.output) {
        spt_check_printed(result.output, "exit", RECORDS, 1);
    }
    free(result.output);
}

static void no_exit_flush_sends_nothing(void) {
    arrives("returns_without_flush", 0);
    arrives("calls_exit_underscore", 0);
}

/* The collector takes the connection and never answers. */
static void ends_within(const char *scenario, const char *variable, uint32_t at_least_ms,
                        uint32_t budget_ms) {
    spt_collector *collector = spt_collector_start(&never_answers, 1);
    SPT_REQUIRE(collector != NULL);
    spt_run_result result = run_checked(scenario, spt_endpoint_variable(collector), variable);
    if (!SPT_CHECK(result.ms >= at_least_ms && result.ms <= budget_ms + SLACK_MS)) {
        (void)fprintf(stderr, "in %s: %u ms\n", scenario, result.ms);
    }
    free(result.output);
    spt_collector_stop(collector);
}

static void T02_a_stuck_collector_costs_the_budget(void) {
    ends_within("returns", NULL, BUDGET_MS / 2, BUDGET_MS);
}

static void T02_the_budget_is_the_environments_or_codes(void) {
    ends_within("returns", "OTEL_C_EXIT_TIMEOUT=300", 100, 300);
    ends_within("returns", "OTEL_C_EXIT_TIMEOUT=0", 0, 0);
    ends_within("returns_with_short_budget", "OTEL_C_EXIT_TIMEOUT=50000", 100, 200);
    ends_within("returns", "OTEL_C_EXIT_TIMEOUT=nonsense", BUDGET_MS / 2, BUDGET_MS);
}

static void T02_several_sdks_share_one_budget(void) {
    ends_within("returns_with_three_sdks", NULL, BUDGET_MS / 2, BUDGET_MS);
}

static void T02_nobody_listens(void) {
    spt_run_result result =
        run_checked("returns", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", NULL);
    SPT_CHECK(result.ms <= BUDGET_MS + SLACK_MS);
    free(result.output);
}

static void exit_while_other_threads_record(void) {
    for (int i = 0; i < RUNS / 2; i++) {
        spt_collector *collector = spt_collector_start(&answers, 1);
        SPT_REQUIRE(collector != NULL);
        spt_run_result result =
            run_checked("returns_amid_records", spt_endpoint_variable(collector), NULL);
        SPT_CHECK(result.ms <= BUDGET_MS + SLACK_MS);
        free(result.output);
        spt_collector_stop(collector);
    }
}

static void exit_inside_a_hook_ends(void) {
    spt_run_result result = run_checked("exits_inside_a_hook", NULL, NULL);
    SPT_CHECK(result.ms <= BUDGET_MS + SLACK_MS);
    free(result.output);
}

int main(int argc, char **argv) {
    static const spt_case cases[] = {
        SPT_CASE(T01_what_was_recorded_arrives),
        SPT_CASE(T01_with_spans_that_are_still_open),
        SPT_CASE(T01_after_a_shutdown_nothing_is_sent_again),
        SPT_CASE(T01_exit_on_another_thread),
        SPT_CASE(T01_the_network_came_after_the_hook),
        SPT_CASE(T01_console),
        SPT_CASE(T01_batch_without_a_network),
        SPT_CASE(no_exit_flush_sends_nothing),
        SPT_CASE(T02_a_stuck_collector_costs_the_budget),
        SPT_CASE(T02_the_budget_is_the_environments_or_codes),
        SPT_CASE(T02_several_sdks_share_one_budget),
        SPT_CASE(T02_nobody_listens),
        SPT_CASE(exit_while_other_threads_record),
        SPT_CASE(exit_inside_a_hook_ends),
    };
    const spt_scenario *scenario =
        spt_scenario_of(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
    return scenario ? scenario->run()
                    : spt_run("process.exit", cases, sizeof cases / sizeof cases[0], argc, argv);
}
