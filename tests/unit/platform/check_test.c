/* SPDX-License-Identifier: Apache-2.0 */
/* What a failed internal check prints, and that it ends the process. */
#include "sdk/platform/check.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(check, a_failed_one_names_the_place_and_aborts) {
    int ends[2];
    char text[256] = "";
    int status;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        sp_check_failed("a == b", "sdk/thing.c", 217);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    cr_assert(got > 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    cr_assert_str_eq(text, "spool: check failed: a == b at sdk/thing.c:217\n");
    SPT_TEST_END;
}

Test(check, holds_without_a_word_and_is_not_evaluated_when_off) {
    int evaluated = 0;
    SP_CHECK(++evaluated > 0);
    cr_assert_eq(evaluated, SP_CHECK_LEVEL >= 1);
    SP_CHECK_SLOW(++evaluated > 0);
    cr_assert_eq(evaluated, SP_CHECK_LEVEL);
    SPT_TEST_END;
}
