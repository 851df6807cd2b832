/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole processes as test subjects: the program runs itself again with the name of a scenario, whose
 * result is the status of its main().
 */
#ifndef SPT_PROCESS_RUN_H
#define SPT_PROCESS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct spt_scenario {
    const char *name;
    int (*run)(void); /* what main() returns */
} spt_scenario;

enum { SPT_OUTPUT_BYTES = 1 << 18 };

typedef struct spt_run {
    int status;   /* exit status; -1: a signal, or it had to be killed */
    uint32_t ms;  /* from start to end */
    char *output; /* its standard output; free() it */
} spt_run_result;

/*
 * Runs a scenario with further `variables` ("NAME=value", NULL at the end) in its environment, at most
 * `limit_ms`. False: no such process could be started.
 */
bool spt_process_run(const char *scenario, const char *const *variables, uint32_t limit_ms,
                     spt_run_result *out);

/* In main(): the scenario that this process is to be, or NULL when it is the test. */
const spt_scenario *spt_scenario_of(int argc, char **argv, const spt_scenario *scenarios,
                                    size_t count);

/* How often a text occurs. */
size_t spt_occurrences(const void *bytes, size_t len, const char *part);

#endif /* SPT_PROCESS_RUN_H */
