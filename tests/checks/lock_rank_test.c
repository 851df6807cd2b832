/* SPDX-License-Identifier: Apache-2.0 */
/* Lock ranks, compiled at level 2 whatever the level of the libraries is. */
#include "sdk/platform/lock_rank.h"
#include "tests/support/spt.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static sp_mutex low = SP_MUTEX_INIT(10, "low");
static sp_mutex middle = SP_MUTEX_INIT(20, "middle");
static sp_mutex high = SP_MUTEX_INIT(30, "high");

/* What a child that runs `wrong` says before it aborts; "" if it does not. */
static const char *said_by(void (*wrong)(void)) {
    static char said[256];
    int pipe_ends[2];
    said[0] = '\0';
    if (pipe(pipe_ends) != 0) {
        return said;
    }
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)dup2(pipe_ends[1], STDERR_FILENO);
        wrong();
        _exit(0);
    }
    (void)close(pipe_ends[1]);
    int status = 0;
    size_t len = 0;
    ssize_t got;
    while (len < sizeof said - 1 &&
           (got = read(pipe_ends[0], said + len, sizeof said - 1 - len)) > 0) {
        len += (size_t)got;
    }
    said[len] = '\0';
    (void)close(pipe_ends[0]);
    (void)waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        said[0] = '\0';
    }
    return said;
}

static void rising_order_is_right(void) {
    for (int i = 0; i < 3; i++) {
        sp_mutex_lock(&low);
        sp_mutex_lock(&middle);
        sp_mutex_lock(&high);
        /* Given back in any order. */
        sp_mutex_unlock(&middle);
        sp_mutex_unlock(&low);
        sp_mutex_unlock(&high);
    }
    sp_mutex_lock(&low);
    sp_mutex_lock(&high);
    sp_mutex_unlock(&high);
    sp_mutex_lock(&middle);
    sp_mutex_unlock(&middle);
    sp_mutex_unlock(&low);
    SPT_CHECK(SP_CHECK_LEVEL == 2);
}

static void falling(void) {
    sp_mutex_lock(&high);
    sp_mutex_lock(&low);
}
static void falling_behind_others(void) {
    sp_mutex_lock(&low);
    sp_mutex_lock(&high);
    sp_mutex_lock(&middle);
}
static void twice(void) {
    sp_mutex_lock(&middle);
    sp_mutex_lock(&middle);
}
static void not_held(void) {
    sp_rank_dropped(&low);
}

static void a_lower_rank_aborts_with_both_names(void) {
    SPT_CHECK_STRING(said_by(falling), "spool: lock rank: takes low while holding high\n");
    SPT_CHECK_STRING(said_by(falling_behind_others),
                     "spool: lock rank: takes middle while holding high\n");
}

static void the_same_lock_twice_aborts(void) {
    SPT_CHECK_STRING(said_by(twice), "spool: lock rank: takes middle while holding middle\n");
}

static void giving_back_what_is_not_held_aborts(void) {
    SPT_CHECK_STRING(said_by(not_held), "spool: lock rank: does not hold low\n");
}

SPT_MAIN("checks.lock_rank", SPT_CASE(rising_order_is_right),
         SPT_CASE(a_lower_rank_aborts_with_both_names), SPT_CASE(the_same_lock_twice_aborts),
         SPT_CASE(giving_back_what_is_not_held_aborts))
