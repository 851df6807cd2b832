/* SPDX-License-Identifier: Apache-2.0 */
/* What the stress programs share: their one processor, their figures, their checks. */
#ifndef SPOOL_STRESS_FIGURES_H
#define SPOOL_STRESS_FIGURES_H

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void figure(const char *name, double value, const char *unit) {
    (void)printf("%s %.2f %s\n", name, value, unit);
}

/* Ends the program when what must be is not. */
#define STRESS_REQUIRE(condition)                                                                  \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One line of /proc/self/status in KiB, such as "VmRSS" or "VmHWM"; 0 when it is not there. */
static inline uint64_t status_kib(const char *name) {
    char line[128];
    char found[32];
    unsigned long long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%31[^:]: %llu", found, &value) == 2) {
            const char *a = found;
            const char *b = name;
            while (*a && *a == *b) {
                a++;
                b++;
            }
            if (*a == *b) {
                break;
            }
        }
        value = 0;
    }
    if (file) {
        (void)fclose(file);
    }
    return value;
}

/* An SDK with that one processor; room for `spans` live ones in at most `bytes`. */
static inline spool_sdk *sdk_with(const spool_processor_ops *ops, uint64_t spans, uint64_t bytes) {
    spool_sdk *sdk = NULL;
    spool_processor processor = {ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.max_live_spans = spans;
    options.max_live_bytes = bytes;
    STRESS_REQUIRE(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    return sdk;
}

/* Everything that was created has finished, and nothing was refused or misused. */
static inline void all_finished(spool_sdk *sdk, uint64_t created) {
    struct spool_stats stats = {.struct_size = sizeof stats};
    STRESS_REQUIRE(spool_stats(sdk, &stats) == SPOOL_OK);
    STRESS_REQUIRE(stats.signals[SPOOL_SIGNAL_SPANS].created == created);
    STRESS_REQUIRE(stats.signals[SPOOL_SIGNAL_SPANS].finished == created);
    STRESS_REQUIRE(stats.signals[SPOOL_SIGNAL_SPANS].live == 0);
    STRESS_REQUIRE(stats.stale_handles == 0 && stats.no_memory == 0);
}

#endif /* SPOOL_STRESS_FIGURES_H */
