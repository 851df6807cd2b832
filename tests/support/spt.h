/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test kit's core: leak checks, waiting with a deadline, seeded randomness, and what a program
 * test needs instead of a framework. Unit tests (Criterion) use the first three; program tests all.
 *
 * A program test:
 *
 *     static void value_is_kept(void) {
 *         SPT_CHECK(box_get(box) == 3);
 *     }
 *     SPT_MAIN("box", SPT_CASE(value_is_kept))
 *
 * Checks may run on any thread of a case, as long as the case joins that thread.
 */
#ifndef SPT_SPT_H
#define SPT_SPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define SPT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPT_ASAN 1
#endif
#endif
#ifndef SPT_ASAN
#define SPT_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define SPT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SPT_TSAN 1
#endif
#endif
#ifndef SPT_TSAN
#define SPT_TSAN 0
#endif

/* Exit status of a test that cannot run here; ctest shows it as skipped, by name. */
enum { SPT_EXIT_SKIP = 77 };

/* True if LeakSanitizer finds memory that nothing points to; it reports on stderr. False without ASan. */
bool spt_leaks(void);

/*
 * Last statement of every Criterion test body: a leak makes the test fail. It must be in the body,
 * since neither LeakSanitizer's own report at exit nor a failure in a teardown fails a Criterion run.
 */
#define SPT_TEST_END cr_assert(!spt_leaks(), "memory is leaked, see the report above")

/* Monotonic time in nanoseconds, and the point `ms` milliseconds from now. */
uint64_t spt_now_ns(void);
uint64_t spt_deadline_ns(uint32_t ms);

/* Sleeps about a millisecond; false once the deadline has passed. */
bool spt_pause_until(uint64_t deadline_ns);

/*
 * Waits until the condition holds, at most `ms` milliseconds; then assert the condition. Times are
 * limits for a failing run only, so take them long (5000): a passing run never waits for them.
 */
#define SPT_WAIT_UNTIL(ms, condition)                                                              \
    do {                                                                                           \
        uint64_t spt_deadline = spt_deadline_ns(ms);                                               \
        while (!(condition) && spt_pause_until(spt_deadline)) {                                    \
        }                                                                                          \
    } while (0)

/* A generator with a seed: splitmix64. Not for secrets. */
typedef struct spt_random {
    uint64_t state;
} spt_random;

/* The seed of this run: SPT_SEED from the environment, else `fallback`. Printed once, to be repeated. */
uint64_t spt_seed(uint64_t fallback);
uint64_t spt_random_next(spt_random *random);

/* A number below `limit`, which is not zero. */
uint64_t spt_random_below(spt_random *random, uint64_t limit);

/* --- program tests --- */

typedef struct spt_case {
    const char *name;
    void (*run)(void);
} spt_case;

/* Counts and prints a failure of the running case; the case goes on. Returns whether it held. */
bool spt_check(bool held, const char *file, int line, const char *text);
bool spt_check_uint(uint64_t got, uint64_t want, const char *file, int line, const char *text);
bool spt_check_string(const char *got, const char *want, const char *file, int line,
                      const char *text);

#define SPT_CHECK(condition) spt_check((condition) ? true : false, __FILE__, __LINE__, #condition)
#define SPT_CHECK_UINT(got, want)                                                                  \
    spt_check_uint((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define SPT_CHECK_STRING(got, want) spt_check_string((got), (want), __FILE__, __LINE__, #got)

/* As SPT_CHECK, but leaves the function (of type void) when it does not hold. */
#define SPT_REQUIRE(condition)                                                                     \
    do {                                                                                           \
        if (!SPT_CHECK(condition)) {                                                               \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/*
 * Marks the running case as skipped, for a reason that is printed (static text); follow it with
 * return. The program's exit status is SPT_EXIT_SKIP if cases were skipped and none failed or passed.
 */
void spt_skip(const char *reason);

/*
 * Runs the cases in order, or those that are named on the command line; prints each failed one and
 * the closing line "name: N passed, N failed". A name that matches nothing is a failure. Leaks are
 * looked for after each case under AddressSanitizer. Returns the exit status.
 */
int spt_run(const char *name, const spt_case *cases, size_t count, int argc, char **argv);

/* clang-format off */
#define SPT_CASE(function) { #function, function }
#define SPT_MAIN(name, ...)                                                                        \
    int main(int argc, char **argv) {                                                              \
        static const spt_case spt_cases[] = { __VA_ARGS__ };                                       \
        return spt_run(name, spt_cases, sizeof spt_cases / sizeof spt_cases[0], argc, argv);       \
    }
/* clang-format on */

#endif /* SPT_SPT_H */
