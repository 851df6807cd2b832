/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: callback, level, limit, re-entry, and what the default does with descriptor 2. */
#include "sdk/platform/diagnostics.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int lines;
static spool_diagnostic last;
static char last_text[600];

static void keep_line(void *arg, const spool_diagnostic *line) {
    cr_assert_eq(arg, &lines);
    lines++;
    last = *line;
    snprintf(last_text, sizeof last_text, "%s", line->text);
    errno = 1;
}

static void keep_and_speak(void *arg, const spool_diagnostic *line) {
    keep_line(arg, line);
    sp_diag(SPOOL_DIAG_ERROR, "again", "from inside");
}

Test(diagnostics, the_callback_gets_the_line_and_errno_stays) {
    spool_diagnostics_set(keep_line, &lines);
    errno = 4711;
    sp_diag(SPOOL_DIAG_WARN, "otlp", "%d of %s", 3, "five");
    cr_assert_eq(errno, 4711);
    cr_assert_eq(lines, 1);
    cr_assert_eq(last.level, SPOOL_DIAG_WARN);
    cr_assert_str_eq(last.component, "otlp");
    cr_assert_str_eq(last_text, "3 of five");
    cr_assert_eq(last.held_back, 0);
    SPT_TEST_END;
}

Test(diagnostics, lines_above_the_level_are_not_made) {
    spool_diagnostics_set(keep_line, &lines);
    sp_diag(SPOOL_DIAG_DEBUG, "test", "x");
    cr_assert_eq(lines, 0);
    spool_diagnostics_set_level(SPOOL_DIAG_ERROR);
    sp_diag(SPOOL_DIAG_WARN, "test", "x");
    cr_assert_eq(lines, 0);
    sp_diag(SPOOL_DIAG_ERROR, "test", "x");
    cr_assert_eq(lines, 1);
    spool_diagnostics_set_level(99);
    sp_diag(SPOOL_DIAG_DEBUG, "test", "x");
    cr_assert_eq(lines, 2);
    spool_diagnostics_set_level(-1);
    sp_diag(SPOOL_DIAG_ERROR, "test", "x");
    sp_diag(SPOOL_DIAG_NONE, "test", "x");
    sp_diag(SPOOL_DIAG_DEBUG + 1, "test", "x");
    cr_assert_eq(lines, 2);
    SPT_TEST_END;
}

Test(diagnostics, nine_lines_pass_and_the_tenth_tells_how_many_were_held_back) {
    spool_diagnostics_set(keep_line, &lines);
    for (int i = 0; i < 500; i++) {
        sp_diag(SPOOL_DIAG_WARN, "test", "%d", i);
    }
    cr_assert_eq(lines, 9);
    cr_assert_str_eq(last_text, "8");
    sp_diag_sum_up();
    sp_diag_sum_up();
    cr_assert_eq(lines, 10);
    SPT_TEST_END;
}

Test(diagnostics, a_callback_is_not_entered_again_on_its_thread) {
    spool_diagnostics_set(keep_and_speak, &lines);
    sp_diag(SPOOL_DIAG_ERROR, "test", "once");
    cr_assert_eq(lines, 1);
    sp_diag(SPOOL_DIAG_ERROR, "test", "twice");
    cr_assert_eq(lines, 2);
    cr_assert_str_eq(last_text, "twice");
    SPT_TEST_END;
}

Test(diagnostics, a_line_is_one_line_and_ends_in_a_whole_character) {
    char longer[700];
    spool_diagnostics_set(keep_line, &lines);
    sp_diag(SPOOL_DIAG_WARN, "test", "a\nb\rc\x1b[31md\x7f");
    cr_assert_str_eq(last_text, "a b c [31md ");
    for (size_t shift = 0; shift < 4; shift++) {
        memset(longer, 'x', sizeof longer);
        for (size_t i = shift; i + 3 < sizeof longer; i += 3) {
            memcpy(longer + i, "\xe2\x82\xac", 3);
        }
        longer[sizeof longer - 1] = '\0';
        sp_diag(SPOOL_DIAG_WARN, "test", "%s", longer);
        size_t len = strlen(last_text);
        cr_assert(len <= 511 && len >= 508);
        cr_assert((len - shift) % 3 == 0, "%zu bytes with shift %zu", len, shift);
    }
    SPT_TEST_END;
}

/* What the default writes to a pipe in place of descriptor 2, which was put there before first use. */
static void read_default(void (*speak)(void), char *text, size_t size) {
    int ends[2];
    int status;
    size_t used = 0;
    ssize_t got;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        speak();
        _exit(0);
    }
    close(ends[1]);
    while (used + 1 < size && (got = read(ends[0], text + used, size - used - 1)) > 0) {
        used += (size_t)got;
    }
    text[used] = '\0';
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void speak_once(void) {
    sp_diag(SPOOL_DIAG_WARN, "otlp", "collector %s", "gone");
}

static void speak_after_change(void) {
    int other[2];
    int kept = dup(STDERR_FILENO);
    sp_diag_remember_stderr();
    if (pipe(other) != 0) {
        _exit(1);
    }
    dup2(other[1], STDERR_FILENO);
    sp_diag(SPOOL_DIAG_ERROR, "test", "into a stranger");
    char byte;
    fcntl(other[0], F_SETFL, O_NONBLOCK);
    if (read(other[0], &byte, 1) != -1) {
        _exit(2);
    }
    dup2(kept, STDERR_FILENO);
    sp_diag(SPOOL_DIAG_ERROR, "test", "back home");
}

static void speak_to_nobody(void) {
    int ends[2];
    signal(SIGPIPE, SIG_DFL);
    if (pipe(ends) != 0) {
        _exit(1);
    }
    dup2(ends[1], STDERR_FILENO);
    sp_diag_remember_stderr();
    close(ends[0]);
    errno = 4711;
    sp_diag(SPOOL_DIAG_ERROR, "test", "nobody reads");
    sigset_t pending;
    sigpending(&pending);
    if (errno != 4711 || sigismember(&pending, SIGPIPE)) {
        _exit(2);
    }
}

static void speak_to_a_full_pipe(void) {
    static char filling[4096];
    int ends[2];
    if (pipe(ends) != 0) {
        _exit(1);
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], filling, sizeof filling) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    sp_diag_remember_stderr();
    alarm(30);
    sp_diag(SPOOL_DIAG_ERROR, "test", "no room");
}

static void speak_too_much(void) {
    for (int i = 0; i < 30; i++) {
        sp_diag(SPOOL_DIAG_ERROR, "test", "%d", i);
    }
}

Test(diagnostics, the_default_writes_one_line_to_standard_error) {
    char text[512];
    read_default(speak_once, text, sizeof text);
    cr_assert_str_eq(text, "spool: warning: otlp: collector gone\n");
    SPT_TEST_END;
}

Test(diagnostics, the_default_is_silent_while_descriptor_2_is_something_else) {
    char text[512];
    read_default(speak_after_change, text, sizeof text);
    cr_assert_str_eq(text, "spool: error: test: back home\n");
    SPT_TEST_END;
}

Test(diagnostics, a_closed_pipe_or_a_full_one_does_not_hurt_the_host) {
    char text[512];
    read_default(speak_to_nobody, text, sizeof text);
    cr_assert_str_eq(text, "");
    read_default(speak_to_a_full_pipe, text, sizeof text);
    cr_assert_str_eq(text, "");
    SPT_TEST_END;
}

Test(diagnostics, the_default_keeps_to_the_limit) {
    char text[2048];
    read_default(speak_too_much, text, sizeof text);
    unsigned newlines = 0;
    for (const char *at = text; *at; at++) {
        newlines += *at == '\n';
    }
    cr_assert_eq(newlines, 9);
    SPT_TEST_END;
}
