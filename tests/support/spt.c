/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test kit's core. Failures of a case are counted in one atomic, so that the threads of a case
 * may check at the same time; which case runs is changed only between cases, with no such thread left.
 */
#include "tests/support/spt.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if SPT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

enum { PAUSE_NS = 1000000 };

static atomic_uint failures_of_case;
/* Why the running case is skipped; NULL while it is not. */
static const char *skip_reason;

bool spt_leaks(void) {
#if SPT_ASAN
    return __lsan_do_recoverable_leak_check() != 0;
#else
    return false;
#endif
}

uint64_t spt_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t spt_deadline_ns(uint32_t ms) {
    return spt_now_ns() + (uint64_t)ms * UINT64_C(1000000);
}

bool spt_pause_until(uint64_t deadline_ns) {
    if (spt_now_ns() >= deadline_ns) {
        return false;
    }
    struct timespec pause = {.tv_sec = 0, .tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
    return true;
}

uint64_t spt_seed(uint64_t fallback) {
    const char *text = getenv("SPT_SEED");
    uint64_t seed = text && *text ? strtoull(text, NULL, 0) : fallback;
    fprintf(stderr, "seed: SPT_SEED=%" PRIu64 "\n", seed);
    return seed;
}

uint64_t spt_random_next(spt_random *random) {
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = random->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

uint64_t spt_random_below(spt_random *random, uint64_t limit) {
    return spt_random_next(random) % limit;
}

/* The first failures of a case are enough; a loop of a million checks must not flood the log. */
static bool worth_printing(void) {
    enum { PRINTED_PER_CASE = 20 };
    return atomic_fetch_add_explicit(&failures_of_case, 1, memory_order_relaxed) < PRINTED_PER_CASE;
}

bool spt_check(bool held, const char *file, int line, const char *text) {
    if (!held && worth_printing()) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    }
    return held;
}

bool spt_check_uint(uint64_t got, uint64_t want, const char *file, int line, const char *text) {
    if (got != want && worth_printing()) {
        fprintf(stderr, "%s:%d: %s is %" PRIu64 " (0x%" PRIx64 "), not %" PRIu64 "\n", file, line,
                text, got, got, want);
    }
    return got == want;
}

bool spt_check_string(const char *got, const char *want, const char *file, int line,
                      const char *text) {
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    if (!same && worth_printing()) {
        fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", file, line, text, got ? got : "(null)",
                want ? want : "(null)");
    }
    return same;
}

void spt_skip(const char *reason) {
    skip_reason = reason;
}

static bool chosen(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc <= 1;
}

static bool case_passes(const spt_case *test) {
    atomic_store_explicit(&failures_of_case, 0, memory_order_relaxed);
    skip_reason = NULL;
    test->run();
    if (spt_leaks()) {
        SPT_CHECK(false && "memory is leaked, see the report above");
    }
    unsigned failures = atomic_load_explicit(&failures_of_case, memory_order_relaxed);
    if (failures) {
        fprintf(stderr, "FAILED: %s (%u checks)\n", test->name, failures);
    }
    if (skip_reason) {
        printf("skipped: %s: %s\n", test->name, skip_reason);
    }
    return failures == 0;
}

int spt_run(const char *name, const spt_case *cases, size_t count, int argc, char **argv) {
    unsigned passed = 0;
    unsigned failed = 0;
    unsigned skipped = 0;
    for (size_t i = 0; i < count; i++) {
        if (!chosen(cases[i].name, argc, argv)) {
            continue;
        }
        if (!case_passes(&cases[i])) {
            failed++;
        } else if (skip_reason) {
            skipped++;
        } else {
            passed++;
        }
    }
    if (passed + failed + skipped == 0) {
        fprintf(stderr, "no case of %s has that name\n", name);
        failed = 1;
    }
    fflush(stderr);
    if (skipped) {
        printf("%s: %u passed, %u failed, %u skipped\n", name, passed, failed, skipped);
    } else {
        printf("%s: %u passed, %u failed\n", name, passed, failed);
    }
    fflush(stdout);
    if (failed) {
        return EXIT_FAILURE;
    }
    return passed ? EXIT_SUCCESS : SPT_EXIT_SKIP;
}
