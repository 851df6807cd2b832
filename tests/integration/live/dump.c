/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps while spans are started, changed and ended everywhere, from a thread of its own and from a
 * signal handler on top of the changes. Every line must be well formed, and true: a text is one
 * letter, as often as the letter says, so a line made of two states of a span gives itself away.
 */
#include "tests/integration/live/dump_line.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/live.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORKERS = 8, SPANS = 24, DUMPS = SPT_TSAN || SPT_ASAN ? 60 : 300, SIGNALS = 400 };

static _Atomic bool stop;
static _Atomic int ready;
static _Atomic uint64_t listed;
static int signal_file;

/* 'a': 3 letters, 'b': 6, ... 'z': 78. */
static const char *letters(spt_random *random, char *room) {
    unsigned letter = (unsigned)spt_random_below(random, 26);
    memset(room, (int)('a' + letter), 3 * (letter + 1));
    room[3 * (letter + 1)] = '\0';
    return room;
}

static bool are_letters(const char *text) {
    size_t len = strlen(text);
    return len && text[0] >= 'a' && text[0] <= 'z' && len == 3 * (size_t)(text[0] - 'a' + 1) &&
           text[strspn(text, (char[]){text[0], '\0'})] == '\0';
}

static void change(spool_span *span, spool_tracer *tracer, spt_random *random) {
    static const char *const keys[] = {"one", "two", "three", "four", "five", "six", "seven"};
    char room[80];
    switch (spt_random_below(random, 12)) {
    case 0:
        spool_span_end(*span);
        *span = spool_span_start(tracer, letters(random, room), NULL);
        break;
    case 1:
        spool_span_rename(*span, letters(random, room));
        break;
    case 2:
        spool_span_event(*span, letters(random, room), NULL, 0);
        break;
    default:
        spool_span_set(*span,
                       spool_string(keys[spt_random_below(random, 7)], letters(random, room)));
    }
}

static void *work(void *arg) {
    spool_tracer *tracer = spool_tracer_get("live", NULL);
    spt_random random = {(uint64_t)(uintptr_t)arg};
    spool_span spans[SPANS];
    char room[80];
    for (int i = 0; i < SPANS; i++) {
        spans[i] = spool_span_start(tracer, letters(&random, room), NULL);
    }
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&stop)) {
        change(&spans[spt_random_below(&random, SPANS)], tracer, &random);
    }
    for (int i = 0; i < SPANS; i++) {
        spool_span_end(spans[i]);
    }
    return NULL;
}

static void workers_start(pthread_t *threads) {
    atomic_store(&stop, false);
    atomic_store(&ready, 0);
    for (uintptr_t i = 0; i < WORKERS; i++) {
        SPT_CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    }
    SPT_WAIT_UNTIL(20000, atomic_load(&ready) == WORKERS);
    SPT_CHECK(atomic_load(&ready) == WORKERS);
}

static void workers_stop(pthread_t *threads) {
    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* Returns false at the first line that is not well formed or not true. */
static bool lines_are_true(char *text, size_t *lines, size_t *busy) {
    for (char *at = text, *next; *at; at = next) {
        char *end = strchr(at, '\n');
        if (!end) {
            return false;
        }
        next = end + 1;
        char saved = *next;
        *next = '\0';
        char copy[1100];
        (void)strncpy(copy, at, sizeof copy - 1);
        copy[sizeof copy - 1] = '\0';
        dump_line line;
        bool good = dump_line_read(copy, &line);
        *busy += good && line.busy;
        if (good && !line.busy) {
            good = are_letters(line.name) && line.attr_count <= 7 && line.left_out == 0 &&
                   line.age < 600;
            for (size_t i = 0; i < line.attr_count; i++) {
                good = good && line.attrs[i].quoted && are_letters(line.attrs[i].value);
            }
        }
        if (!good) {
            (void)!write(STDERR_FILENO, at, (size_t)(end + 1 - at));
            return false;
        }
        *next = saved;
        ++*lines;
    }
    return true;
}

static bool see(void *arg, const spool_live_span *span) {
    bool *good = arg;
    char room[128];
    for (size_t i = 0; i < span->attr_count; i++) {
        spool_str text = span->attrs[i].value.as.string;
        if (span->attrs[i].value.type != SPOOL_VALUE_STRING || text.len >= sizeof room) {
            *good = false;
            return false;
        }
        memcpy(room, text.ptr, text.len);
        room[text.len] = '\0';
        *good = *good && are_letters(room);
    }
    atomic_fetch_add(&listed, 1);
    return *good;
}

static void a_dump_beside_changes_is_true(void) {
    spool_sdk *sdk;
    SPT_REQUIRE(spool_sdk_create(NULL, &sdk) == SPOOL_OK);
    pthread_t threads[WORKERS];
    workers_start(threads);
    size_t lines = 0;
    size_t busy = 0;
    bool good = true;
    for (int i = 0; i < DUMPS && good; i++) {
        int file = memfd_create("dump", MFD_CLOEXEC);
        size_t count = spool_dump_live_spans(file);
        size_t len = 0;
        size_t before = lines;
        char *text = dump_text(file, &len);
        good = SPT_CHECK(lines_are_true(text, &lines, &busy));
        SPT_CHECK_UINT(lines - before, good ? count : lines - before);
        free(text);
        (void)close(file);
        SPT_CHECK(spool_live_spans(see, &good) <= WORKERS * (SPANS + 1) * 2);
        SPT_CHECK(good);
    }
    workers_stop(threads);
    SPT_CHECK(lines > (size_t)DUMPS && atomic_load(&listed) > (uint64_t)DUMPS);
    SPT_CHECK(busy < lines);
    int file = memfd_create("dump", MFD_CLOEXEC);
    SPT_CHECK_UINT(spool_dump_live_spans(file), 0);
    (void)close(file);
    spool_sdk_free(sdk);
}

static _Atomic uint32_t handled;
static void on_signal(int number) {
    (void)number;
    (void)spool_dump_live_spans(signal_file);
    atomic_fetch_add(&handled, 1);
}

static void a_dump_on_top_of_a_change_is_true(void) {
    spool_sdk *sdk;
    SPT_REQUIRE(spool_sdk_create(NULL, &sdk) == SPOOL_OK);
    signal_file = memfd_create("dump", MFD_CLOEXEC);
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = on_signal;
    SPT_REQUIRE(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t threads[WORKERS];
    workers_start(threads);
    for (uint32_t i = 0; i < SIGNALS / (SPT_TSAN || SPT_ASAN ? 8 : 1); i++) {
        SPT_CHECK(pthread_kill(threads[i % WORKERS], SIGUSR1) == 0);
        SPT_WAIT_UNTIL(20000, atomic_load(&handled) > i);
        SPT_CHECK(atomic_load(&handled) > i);
    }
    workers_stop(threads);
    size_t len = 0;
    size_t lines = 0;
    size_t busy = 0;
    char *text = dump_text(signal_file, &len);
    SPT_CHECK(lines_are_true(text, &lines, &busy));
    SPT_CHECK(lines > SIGNALS / 8);
    free(text);
    (void)close(signal_file);
    (void)signal(SIGUSR1, SIG_DFL);
    spool_sdk_free(sdk);
}

SPT_MAIN("live.dump", SPT_CASE(a_dump_beside_changes_is_true),
         SPT_CASE(a_dump_on_top_of_a_change_is_true))
