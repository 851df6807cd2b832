/* SPDX-License-Identifier: Apache-2.0 */
/* See process_run.h. The process is spawned, not only forked: the test's own threads stay behind. */
#include "tests/integration/process/process_run.h"

#include "tests/support/spt.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char MARK[] = "--scenario";

const spt_scenario *spt_scenario_of(int argc, char **argv, const spt_scenario *scenarios,
                                    size_t count) {
    for (size_t i = 0; argc == 3 && strcmp(argv[1], MARK) == 0 && i < count; i++) {
        if (strcmp(argv[2], scenarios[i].name) == 0) {
            return &scenarios[i];
        }
    }
    return NULL;
}

static bool same_name(const char *a, const char *b) {
    size_t len = strcspn(a, "=");
    return strncmp(a, b, len + 1) == 0;
}

/* Our own environment without OTEL_ variables, and without those that are given. */
static bool is_kept(const char *variable, const char *const *variables) {
    bool kept = strncmp(variable, "OTEL_", 5) != 0;
    for (size_t i = 0; kept && variables && variables[i]; i++) {
        kept = !same_name(variables[i], variable);
    }
    return kept;
}

static char **environment_of(const char *const *variables) {
    size_t count = 0;
    size_t more = 0;
    while (environ[count]) {
        count++;
    }
    while (variables && variables[more]) {
        more++;
    }
    char **all = calloc(count + more + 1, sizeof *all);
    size_t used = 0;
    for (size_t i = 0; all && i < count; i++) {
        if (is_kept(environ[i], variables)) {
            all[used++] = environ[i];
        }
    }
    for (size_t i = 0; all && i < more; i++) {
        all[used++] = (char *)(uintptr_t)variables[i];
    }
    return all;
}

static int status_wait(pid_t child, uint32_t limit_ms) {
    uint64_t deadline_ns = spt_deadline_ns(limit_ms);
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (!spt_pause_until(deadline_ns)) {
            (void)kill(child, SIGKILL);
            (void)waitpid(child, &status, 0);
            (void)fprintf(stderr, "the process was killed after %u ms\n", limit_ms);
            return -1;
        }
    }
    if (WIFSIGNALED(status)) {
        (void)fprintf(stderr, "the process ended by signal %d\n", WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *output_of(int file) {
    char *output = calloc(1, SPT_OUTPUT_BYTES);
    if (output) {
        (void)!pread(file, output, SPT_OUTPUT_BYTES - 1, 0);
    }
    return output;
}

bool spt_process_run(const char *scenario, const char *const *variables, uint32_t limit_ms,
                     spt_run_result *out) {
    char self[] = "/proc/self/exe";
    char mark[sizeof MARK];
    char name[64];
    (void)snprintf(mark, sizeof mark, "%s", MARK);
    (void)snprintf(name, sizeof name, "%s", scenario);
    char *argv[] = {self, mark, name, NULL};
    char **environment = environment_of(variables);
    int file = memfd_create("output", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
    pid_t child = 0;
    uint64_t begin_ns = spt_now_ns();
    bool started = environment && file >= 0 &&
                   posix_spawn(&child, self, &actions, NULL, argv, environment) == 0;
    if (started) {
        out->status = status_wait(child, limit_ms);
        out->ms = (uint32_t)((spt_now_ns() - begin_ns) / 1000000);
        out->output = output_of(file);
    }
    posix_spawn_file_actions_destroy(&actions);
    (void)close(file);
    free(environment);
    return started && out->output;
}

size_t spt_occurrences(const void *bytes, size_t len, const char *part) {
    size_t found = 0;
    const char *at = bytes;
    const char *end = at + len;
    while (len && (at = memmem(at, (size_t)(end - at), part, strlen(part)))) {
        found++;
        at++;
    }
    return found;
}
