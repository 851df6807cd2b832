/* SPDX-License-Identifier: Apache-2.0 */
/* The console exporter behind a real SDK: what it prints, and what it does when nothing takes it. */
#define SPOOL_SCOPE "console.test"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 1 << 16 };

static spool_sdk *sdk;
static int ends[2];
static char output[OUTPUT_BYTES];

static void open_console(int descriptor, uint32_t color) {
    spool_console_options options = SPOOL_CONSOLE_OPTIONS_INIT;
    spool_exporter exporter;
    spool_processor processor;
    options.descriptor = descriptor;
    options.color = color;
    cr_assert_eq(spool_console_create(&options, &exporter), SPOOL_OK);
    cr_assert_eq(spool_simple_create(exporter, NULL, &processor), SPOOL_OK);
    spool_sdk_options sdk_options = SPOOL_SDK_OPTIONS_INIT;
    sdk_options.processors = &processor;
    sdk_options.processor_count = 1;
    cr_assert_eq(spool_sdk_create(&sdk_options, &sdk), SPOOL_OK);
}

static spool_processor_stats counts(uint32_t signal) {
    cr_expect(spt_balanced(sdk));
    return spt_stats(sdk).processors[0][signal];
}

static void close_console(void) {
    (void)spool_shutdown(sdk, 1000, NULL);
    spool_sdk_free(sdk);
    sdk = NULL;
}

/* What one read gives: a record, when each is one write into this socket of messages. */
static const char *next_record(void) {
    ssize_t len = recv(ends[0], output, sizeof output - 1, MSG_DONTWAIT);
    output[len > 0 ? len : 0] = '\0';
    return output;
}

static void open_messages(uint32_t color) {
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    open_console(ends[1], color);
}

static void close_messages(void) {
    close_console();
    close(ends[0]);
    close(ends[1]);
}

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

static size_t lines_of(const char *text) {
    size_t lines = 0;
    for (; *text; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* ---- what is printed ---- */

Test(console, a_log_record_is_one_line_in_one_write) {
    open_messages(SPOOL_COLOR_AUTO);
    SPOOL_INFO("first line\nsecond \033[2J", spool_string("k \"", "v\n\xc2\x9b"), spool_int("n", 7),
               spool_double("d", 0.5), spool_bytes("b", "f", 1));
    const char *text = next_record();
    cr_expect_eq(lines_of(text), 1, "%s", text);
    cr_expect(has(text, "Z INFO unknown_service:"));
    cr_expect(has(text, " first line\\x0asecond \\x1b[2J "));
    cr_expect(has(text, " k \"=\"v\\n\\u009b\" n=7 d=0.5 b=Zg=="), "%s", text);
    cr_expect(has(text, " otel.scope.name=\"console.test\""));
    cr_expect_not(has(text, "\033"));
    cr_expect_not(has(text, "trace="));
    cr_expect_str_eq(next_record(), "", "nothing more was written");
    close_messages();
    SPT_TEST_END;
}

Test(console, a_log_record_of_a_span_shows_its_ids_and_all_its_fields) {
    open_messages(SPOOL_COLOR_AUTO);
    SPOOL_SPAN(span, SPOOL_TRACER(), "outer");
    char id[33];
    (void)spool_trace_id_hex(id);
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = SPOOL_SEVERITY_ERROR;
    record.severity_text = SPOOL_STR("panic\n");
    record.event_name = SPOOL_STR("disk.full");
    record.body = spool_value_int(3);
    record.timestamp_ns = UINT64_C(1796085843000000000);
    spool_log_emit(SPOOL_LOGGER(), &record);
    const char *text = next_record();
    cr_expect(has(text, "2026-12-01T00:44:03.000000Z ERROR severity_text=\"panic\\n\" "), "%s",
              text);
    cr_expect(has(text, " disk.full 3"));
    cr_expect(has(text, id));
    record.severity = 0;
    record.severity_text = SPOOL_STR("");
    spool_log_emit(SPOOL_LOGGER(), &record);
    cr_expect(has(next_record(), "Z LOG "));
    spool_span_end(span);
    close_messages();
    SPT_TEST_END;
}

Test(console, a_span_shows_status_attributes_events_and_links) {
    open_messages(SPOOL_COLOR_AUTO);
    struct spool_span_context other = {{0xaa}, {0xbb}, SPOOL_FLAG_SAMPLED, 1, {0}};
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_CLIENT;
    spool_span span = spool_span_start(SPOOL_TRACER(), "name\nwith", &options);
    spool_attr attr = spool_string("ek", "ev");
    spool_span_set(span, spool_bool("ok", true));
    spool_span_event(span, "hap\tpened", &attr, 1);
    spool_link link = {
        .context = other, .trace_state = SPOOL_STR_INIT("v=1"), .attrs = &attr, .attr_count = 1};
    spool_span_link(span, &link);
    spool_span_status(span, SPOOL_STATUS_ERROR, "bad");
    spool_span_end(span);
    const char *text = next_record();
    cr_expect_eq(lines_of(text), 4, "%s", text);
    cr_expect(has(text, " name\\x0awith "));
    cr_expect(has(text, " client trace="));
    cr_expect(has(text, "us") || has(text, "ms"));
    cr_expect(has(text, " otel.status_code=\"ERROR\" otel.status_description=\"bad\""));
    cr_expect(has(text, " ok=true\n"));
    cr_expect(has(text, "Z hap\\x09pened ek=\"ev\"\n"));
    cr_expect(has(text, "  link trace=aa000000000000000000000000000000 span=bb00000000000000 "
                        "tracestate=\"v=1\" ek=\"ev\"\n"),
              "%s", text);
    cr_expect_str_eq(next_record(), "");
    close_messages();
    SPT_TEST_END;
}

Test(console, colours_when_asked_and_on_a_terminal_alone) {
    open_messages(SPOOL_COLOR_ALWAYS);
    SPOOL_ERROR("x");
    cr_expect(has(next_record(), "\033[31mERROR\033[0m"));
    close_messages();
    int terminal[2];
    cr_assert_eq(openpty(&terminal[0], &terminal[1], NULL, NULL, NULL), 0);
    static const struct {
        uint32_t color;
        bool colored;
    } cases[] = {{SPOOL_COLOR_AUTO, true}, {SPOOL_COLOR_NEVER, false}};
    for (size_t i = 0; i < 2; i++) {
        open_console(terminal[1], cases[i].color);
        SPOOL_ERROR("x");
        ssize_t len = read(terminal[0], output, sizeof output - 1);
        cr_assert_gt(len, 0);
        output[len] = '\0';
        cr_expect_eq(has(output, "\033["), cases[i].colored, "%s", output);
        close_console();
    }
    close(terminal[0]);
    close(terminal[1]);
    SPT_TEST_END;
}

/* ---- descriptors that do not take it ---- */

static volatile sig_atomic_t pipe_signals;

static void count_signal(int number) {
    (void)number;
    pipe_signals++;
}

static void expect_rejected(uint64_t rejected) {
    cr_expect_eq(counts(SPOOL_SIGNAL_LOGS).rejected, rejected);
    cr_expect_eq(counts(SPOOL_SIGNAL_LOGS).delivered, 0);
}

Test(console, a_closed_pipe_raises_no_signal) {
    struct sigaction action = {.sa_handler = count_signal};
    cr_assert_eq(sigaction(SIGPIPE, &action, NULL), 0);
    cr_assert_eq(pipe(ends), 0);
    close(ends[0]);
    open_console(ends[1], SPOOL_COLOR_AUTO);
    errno = 77;
    SPOOL_INFO("nobody reads");
    SPOOL_INFO("nobody reads");
    cr_expect_eq(errno, 77);
    cr_expect_eq(pipe_signals, 0);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    cr_expect_not(sigismember(&mask, SIGPIPE), "the mask is as it was");
    expect_rejected(2);
    /* The host's own is delivered as ever. */
    cr_expect_eq(write(ends[1], "x", 1), -1);
    cr_expect_eq(pipe_signals, 1);
    close_console();
    close(ends[1]);
    SPT_TEST_END;
}

Test(console, a_signal_that_the_host_holds_back_stays) {
    sigset_t pipe_only;
    sigset_t pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    raise(SIGPIPE);
    cr_assert_eq(pipe(ends), 0);
    close(ends[0]);
    open_console(ends[1], SPOOL_COLOR_AUTO);
    SPOOL_INFO("nobody reads");
    sigpending(&pending);
    cr_expect(sigismember(&pending, SIGPIPE));
    close_console();
    close(ends[1]);
    SPT_TEST_END;
}

Test(console, a_full_disk_counts_as_rejected) {
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) {
        cr_skip_test("there is no /dev/full");
    }
    open_console(full, SPOOL_COLOR_AUTO);
    SPOOL_INFO("a");
    spool_span_end(spool_span_start(SPOOL_TRACER(), "s", NULL));
    expect_rejected(1);
    cr_expect_eq(counts(SPOOL_SIGNAL_SPANS).rejected, 1);
    cr_expect_eq(spool_flush(sdk, 1000, NULL), SPOOL_ERR_EXPORT);
    close_console();
    close(full);
    SPT_TEST_END;
}

Test(console, a_descriptor_that_was_closed_counts_as_rejected) {
    int gone = open("/dev/null", O_WRONLY);
    open_console(gone, SPOOL_COLOR_AUTO);
    close(gone);
    SPOOL_INFO("a");
    expect_rejected(1);
    close_console();
    SPT_TEST_END;
}

/* Nobody reads: only the first record that finds no room waits for some, and not long. */
Test(console, a_non_blocking_pipe_that_is_full_costs_a_second_once) {
    enum { RECORDS = 200 };
    char *body = malloc(4096);
    cr_assert_not_null(body);
    memset(body, 'x', 4095);
    body[4095] = '\0';
    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    open_console(ends[1], SPOOL_COLOR_AUTO);
    uint64_t begin_ns = spt_now_ns();
    for (int i = 0; i < RECORDS; i++) {
        spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, body);
    }
    cr_expect_lt(spt_now_ns() - begin_ns, UINT64_C(10000000000));
    spool_processor_stats before = counts(SPOOL_SIGNAL_LOGS);
    cr_expect_gt(before.delivered, 0);
    cr_expect_gt(before.rejected, 0);
    cr_expect_eq(before.delivered + before.rejected, RECORDS);
    /* With room again it goes on, on a line of its own after the one that was cut. */
    ssize_t len;
    char last = '\0';
    while ((len = read(ends[0], output, sizeof output)) > 0) {
        last = output[len - 1];
    }
    SPOOL_INFO("again");
    cr_expect_eq(counts(SPOOL_SIGNAL_LOGS).delivered, before.delivered + 1);
    len = read(ends[0], output, sizeof output - 1);
    cr_assert_gt(len, 0);
    output[len] = '\0';
    cr_expect_eq(output[0] == '\n', last != '\n', "%s", output);
    close_console();
    close(ends[0]);
    close(ends[1]);
    free(body);
    SPT_TEST_END;
}

Test(console, T39_null_and_invalid_options) {
    spool_exporter exporter;
    cr_expect_eq(spool_console_create(NULL, NULL), SPOOL_ERR_INVALID);
    spool_console_options options;
    memset(&options, 0, sizeof options);
    cr_expect_eq(spool_console_create(&options, &exporter), SPOOL_ERR_INVALID);
    spool_console_options_init(NULL);
    spool_console_options_init(&options);
    cr_expect_eq(options.descriptor, 1);
    options.descriptor = -1;
    cr_expect_eq(spool_console_create(&options, &exporter), SPOOL_ERR_INVALID);
    cr_assert_eq(spool_console_create(NULL, &exporter), SPOOL_OK);
    exporter.ops->destroy(exporter.self);
    SPT_TEST_END;
}
