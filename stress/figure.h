/* SPDX-License-Identifier: Apache-2.0 */
/* What the stress programs share: their figures, one `name value unit` a line, and their end. */
#ifndef SPOOL_STRESS_FIGURE_H
#define SPOOL_STRESS_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void figure(const char *name, double value, const char *unit) {
    (void)printf("%s %.6g %s\n", name, value, unit);
    (void)fflush(stdout);
}

/* Says what did not hold and ends the program: its figures mean nothing then. */
static inline void require(bool held, const char *what) {
    if (!held) {
        (void)fprintf(stderr, "stress: does not hold: %s\n", what);
        exit(1);
    }
}

static inline double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line of /proc/self/status in KiB ("VmRSS:", "VmHWM:"), 0 if there is none. */
static inline double status_kib(const char *key) {
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kib = strtod(line + strlen(key), NULL);
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return kib;
}

#endif /* SPOOL_STRESS_FIGURE_H */
