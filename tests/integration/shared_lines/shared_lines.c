/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event inside a span that another thread started writes no line that threads share, and entering and
 * leaving such a span does not either: counted, not timed. Two ways: all instructions are stepped through
 * and none may be an atomic read-modify-write; and with the program's globals and the span's memory made
 * read-only the same code runs to its end.
 */
#define SPOOL_SCOPE "shared.lines"
#include "bench/rows/format_processor.h"
#include "sdk/memory/registry.h"
#include "tests/integration/shared_lines/stepper.h"
#include "tests/support/spt.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM = 100, COUNTED = 50 };

/* ---- the work ---- */

static spool_span shared;
static spool_token entered;

static void ignore_log(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
}
static void ignore_self(void *self) {
    (void)self;
}
static const spool_processor_ops plain = {
    .struct_size = sizeof plain, .name = "plain", .log_emit = ignore_log, .destroy = ignore_self};

static void *start_shared(void *arg) {
    (void)arg;
    const spool_attr attr = spool_bool("foo", false);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attrs = &attr;
    options.attr_count = 1;
    shared = spool_span_start(SPOOL_TRACER(), "shared_parent", &options);
    return NULL;
}

static void emit(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        SPOOL_INFO("", spool_int("n", i));
    }
}

static void enter_exit(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        spool_span_exit(spool_span_enter(shared));
    }
}

/* An SDK; this thread has its own shard, the span is another thread's. */
static void prepare(spool_processor processor) {
    spool_sdk *sdk;
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    if (spool_sdk_create(&options, &sdk) != SPOOL_OK) {
        abort();
    }
    spool_span_end(spool_span_start(SPOOL_TRACER(), "own", NULL));
    pthread_t thread;
    if (pthread_create(&thread, NULL, start_shared, NULL) != 0 || pthread_join(thread, NULL) != 0 ||
        !spool_span_is_recording(shared)) {
        abort();
    }
}

static void prepare_events(void *arg) {
    (void)arg;
    prepare(bench_format_processor());
    entered = spool_span_enter(shared);
    emit(WARM);
}

static void events(void *arg) {
    (void)arg;
    emit(COUNTED);
}

static void prepare_entering(void *arg) {
    (void)arg;
    prepare((spool_processor){&plain, NULL});
    enter_exit(WARM);
}

static void entering(void *arg) {
    (void)arg;
    enter_exit(COUNTED);
}

/* What proves that the counting counts: one read-modify-write each. */
static void prepare_nothing(void *arg) {
    (void)arg;
}

static void additions(void *arg) {
    _Atomic uint64_t *number = arg;
    for (unsigned i = 0; i < COUNTED; i++) {
        (void)atomic_fetch_add_explicit(number, 1, memory_order_relaxed);
        (void)atomic_exchange_explicit(number, 1, memory_order_relaxed);
    }
}

/* ---- instructions ---- */

static void check_steps(const char *name, void (*before)(void *), void (*work)(void *)) {
    stepper_counts counts;
    SPT_REQUIRE(stepper_count(before, work, NULL, &counts));
    (void)printf("%s: %llu instructions, %llu read-modify-writes each\n", name,
                 (unsigned long long)counts.instructions / COUNTED,
                 (unsigned long long)counts.read_modify_writes / COUNTED);
    (void)SPT_CHECK_UINT(counts.read_modify_writes, 0);
    (void)SPT_CHECK(counts.instructions > (uint64_t)COUNTED * 10);
}

static void the_stepper_sees_them(void) {
    stepper_counts counts;
    _Atomic uint64_t number = 0;
    if (!stepper_works()) {
        return;
    }
    SPT_REQUIRE(stepper_count(prepare_nothing, additions, &number, &counts));
    (void)SPT_CHECK_UINT(counts.read_modify_writes, 2 * COUNTED);
}

static void events_do_no_read_modify_write(void) {
    if (stepper_works()) {
        check_steps("event in a shared span", prepare_events, events);
    }
}

static void entering_does_no_read_modify_write(void) {
    if (stepper_works()) {
        check_steps("enter and exit", prepare_entering, entering);
    }
}

/* ---- writes ---- */

extern char __data_start[];
extern char _end[];

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    static const char text[] = "shared_lines: a write to a line that threads share\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit((char *)info->si_addr >= __data_start && (char *)info->si_addr < _end ? 2 : 3);
}

static bool protect(const void *from, size_t len, int protection) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)from & ~(page - 1);
    uintptr_t last = ((uintptr_t)from + len + page - 1) & ~(page - 1);
    return mprotect((void *)first, last - first, protection) == 0;
}

static bool protect_all(const sp_slot *slot, int protection) {
    return protect(slot, sizeof *slot, protection) &&
           protect(slot->body, SP_BODY_BYTES, protection) &&
           protect(__data_start, (size_t)(_end - __data_start), protection);
}

/* In a child: its exit status, 0 when nothing was written. */
static int run_protected(void (*before)(void *), void (*work)(void *), bool write_too) {
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
        (void)sigaction(SIGSEGV, &action, NULL);
        before(NULL);
        sp_slot *slot = sp_registry_slot(shared);
        if (!protect_all(slot, PROT_READ)) {
            _exit(4);
        }
        work(NULL);
        if (write_too) {
            spool_span_set(shared, spool_int("written", 1));
        }
        (void)protect_all(slot, PROT_READ | PROT_WRITE);
        _exit(0);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

#if SPT_ASAN || SPT_TSAN
/* Their runtimes keep state in the program's data. */
enum { CAN_PROTECT = 0 };
#else
enum { CAN_PROTECT = 1 };
#endif

static void the_protection_catches_a_write(void) {
    if (CAN_PROTECT) {
        (void)SPT_CHECK_UINT((unsigned)run_protected(prepare_entering, entering, true), 3);
    }
}

static void events_write_nothing_shared(void) {
    if (CAN_PROTECT) {
        (void)SPT_CHECK_UINT((unsigned)run_protected(prepare_events, events, false), 0);
    }
}

static void entering_writes_nothing_shared(void) {
    if (CAN_PROTECT) {
        (void)SPT_CHECK_UINT((unsigned)run_protected(prepare_entering, entering, false), 0);
    }
}

SPT_MAIN("shared_lines", SPT_CASE(the_stepper_sees_them), SPT_CASE(events_do_no_read_modify_write),
         SPT_CASE(entering_does_no_read_modify_write), SPT_CASE(the_protection_catches_a_write),
         SPT_CASE(events_write_nothing_shared), SPT_CASE(entering_writes_nothing_shared))
