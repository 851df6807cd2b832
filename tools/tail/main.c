/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool-tail: receives OTLP/HTTP on loopback and prints what came. One thread waits
 * for sockets, signals and the quiet time of traces in one poll.
 */
#include "tools/tail/json.h"
#include "tools/tail/options.h"
#include "tools/tail/print.h"
#include "tools/tail/receiver.h"
#include "tools/tail/store.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

typedef Opentelemetry__Proto__Trace__V1__ResourceSpans resource_spans;
typedef Opentelemetry__Proto__Logs__V1__ResourceLogs resource_logs;

typedef struct program_state {
    sp_tail_options options;
    sp_tail_printer printer;
    sp_tail_store *store;
    sp_tail_receiver *receiver;
    uint64_t last_request_ns; /* monotonic; 0: none yet */
    uint64_t spans;
    uint64_t logs;
    uint64_t requests;
    uint64_t refused; /* records with invalid ids */
} program_state;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void request_count(program_state *program) {
    program->requests++;
    program->last_request_ns = now_ns();
}

static int64_t spans_take(program_state *program, const resource_spans *group) {
    int64_t refused = 0;
    sp_tail_text service = sp_tail_service_of(group->resource);
    for (size_t i = 0; i < group->n_scope_spans; i++) {
        const Opentelemetry__Proto__Trace__V1__ScopeSpans *scope = group->scope_spans[i];
        for (size_t j = 0; j < scope->n_spans; j++) {
            if (!sp_tail_span_is_valid(scope->spans[j])) {
                refused++;
                continue;
            }
            program->spans++;
            if (!program->options.json) {
                sp_tail_store_add_span(program->store, scope->spans[j], service,
                                       program->last_request_ns);
            } else if (!sp_tail_json_span(stdout, group, scope, scope->spans[j])) {
                fputs("spool-tail: a span could not be printed: out of memory\n", stderr);
            }
        }
    }
    return refused;
}

static int64_t logs_take(program_state *program, const resource_logs *group) {
    int64_t refused = 0;
    sp_tail_text service = sp_tail_service_of(group->resource);
    for (size_t i = 0; i < group->n_scope_logs; i++) {
        const Opentelemetry__Proto__Logs__V1__ScopeLogs *scope = group->scope_logs[i];
        for (size_t j = 0; j < scope->n_log_records; j++) {
            if (!sp_tail_log_is_valid(scope->log_records[j])) {
                refused++;
                continue;
            }
            program->logs++;
            if (!program->options.json) {
                sp_tail_store_add_log(program->store, scope->log_records[j], service,
                                      program->last_request_ns);
            } else if (!sp_tail_json_log(stdout, group, scope, scope->log_records[j])) {
                fputs("spool-tail: a log could not be printed: out of memory\n", stderr);
            }
        }
    }
    return refused;
}

static int64_t
on_traces(void *self,
          const Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest *request) {
    program_state *program = self;
    int64_t refused = 0;
    request_count(program);
    for (size_t i = 0; i < request->n_resource_spans; i++) {
        refused += spans_take(program, request->resource_spans[i]);
    }
    program->refused += (uint64_t)refused;
    return refused;
}

static int64_t
on_logs(void *self,
        const Opentelemetry__Proto__Collector__Logs__V1__ExportLogsServiceRequest *request) {
    program_state *program = self;
    int64_t refused = 0;
    request_count(program);
    for (size_t i = 0; i < request->n_resource_logs; i++) {
        refused += logs_take(program, request->resource_logs[i]);
    }
    program->refused += (uint64_t)refused;
    return refused;
}

static void on_trace_print(void *self, const sp_tail_trace *trace, sp_tail_reason reason) {
    program_state *program = self;
    sp_tail_print_trace(&program->printer, trace, reason);
}

static void on_log_print(void *self, const sp_tail_note *log) {
    program_state *program = self;
    sp_tail_print_log(&program->printer, log);
}

static bool program_start(program_state *program) {
    sp_tail_store_options store = {
        .quiet_ns = program->options.quiet_ms * 1000000u,
        .max_traces = program->options.max_traces,
        .max_bytes = program->options.max_bytes,
        .print_trace = on_trace_print,
        .print_log = on_log_print,
        .self = program,
    };
    sp_tail_handlers handlers = {on_traces, on_logs, program};
    program->printer = (sp_tail_printer){
        .out = stdout, .style = program->options.style, .attributes = program->options.attributes};
    program->store = sp_tail_store_create(&store);
    if (program->store == NULL) {
        fputs("spool-tail: out of memory\n", stderr);
        return false;
    }
    program->receiver = sp_tail_receiver_create(program->options.port, &handlers);
    if (program->receiver == NULL) {
        fprintf(stderr, "spool-tail: cannot listen on 127.0.0.1:%u: %s\n",
                (unsigned)program->options.port, strerror(errno));
        return false;
    }
    printf("spool-tail listening on http://127.0.0.1:%u\n",
           (unsigned)sp_tail_receiver_port(program->receiver));
    return fflush(stdout) == 0;
}

/* Nanoseconds on the monotonic clock at which to end by ourselves; UINT64_MAX: never. */
static uint64_t end_ns(const program_state *program) {
    if (program->options.idle_exit_ms == 0 || program->last_request_ns == 0) {
        return UINT64_MAX;
    }
    return program->last_request_ns + program->options.idle_exit_ms * 1000000u;
}

static int wait_ms(const program_state *program, uint64_t now) {
    uint64_t due = sp_tail_store_due_ns(program->store);
    uint64_t end = end_ns(program);
    uint64_t next = due < end ? due : end;
    int timeout = sp_tail_receiver_timeout_ms(program->receiver);
    if (next == UINT64_MAX) {
        return timeout;
    }
    uint64_t left = next > now ? (next - now + 999999) / 1000000 : 0;
    return timeout >= 0 && (uint64_t)timeout < left ? timeout : left < 60000 ? (int)left : 60000;
}

/* Runs until a signal or the idle time ends it, or standard output is gone. */
static bool program_run(program_state *program, int signals) {
    struct pollfd fds[2] = {
        {.fd = sp_tail_receiver_fd(program->receiver), .events = POLLIN},
        {.fd = signals, .events = POLLIN},
    };
    while (now_ns() < end_ns(program) && fds[1].revents == 0) {
        if (poll(fds, 2, wait_ms(program, now_ns())) < 0 && errno != EINTR) {
            perror("spool-tail: poll");
            return false;
        }
        sp_tail_receiver_run(program->receiver);
        sp_tail_store_print_due(program->store, now_ns());
        if (fflush(stdout) != 0 || ferror(stdout)) {
            return false;
        }
    }
    sp_tail_store_print_rest(program->store, now_ns());
    return fflush(stdout) == 0;
}

static int signals_open(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) {
        return -1;
    }
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void summary_print(const program_state *program) {
    fprintf(stderr, "received %" PRIu64 " spans, %" PRIu64 " logs in %" PRIu64 " requests",
            program->spans, program->logs, program->requests);
    if (program->refused > 0) {
        fprintf(stderr, ", refused %" PRIu64 " with invalid ids", program->refused);
    }
    putc('\n', stderr);
}

int main(int argc, char **argv) {
    program_state program = {0};
    setlocale(LC_CTYPE, "");
    if (!sp_tail_options_parse(argc, argv, &program.options)) {
        return 2;
    }
    if (program.options.help) {
        fputs(sp_tail_usage, stdout);
        return 0;
    }
    int signals = signals_open();
    if (signals < 0) {
        perror("spool-tail: signals");
        return 1;
    }
    bool ok = program_start(&program) && program_run(&program, signals);
    if (program.receiver != NULL) {
        summary_print(&program);
    }
    sp_tail_receiver_destroy(program.receiver);
    sp_tail_store_destroy(program.store);
    close(signals);
    return ok ? 0 : 1;
}
