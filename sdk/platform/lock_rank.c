/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that each thread holds, in a list of its own: at most one of each rank, so the list is
 * short. Built at level 2 alone. A forked child goes on with the list of the thread that forked.
 */
#include "sdk/platform/lock_rank.h"

#if SP_CHECKS >= 2

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_HELD = 16 };

static _Thread_local const sp_mutex *held[MAX_HELD];
static _Thread_local unsigned held_count;

static void say(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static _Noreturn void fail(const char *what, const char *name, const char *other) {
    say("spool: lock rank: ");
    say(what);
    say(name);
    say(other ? " while holding " : "");
    say(other ? other : "");
    say("\n");
    abort();
}

void sp_rank_taken(const sp_mutex *mutex) {
    for (unsigned i = 0; i < held_count; i++) {
        if (held[i]->rank >= mutex->rank) {
            fail("takes ", mutex->name, held[i]->name);
        }
    }
    if (held_count == MAX_HELD) {
        fail("too many locks with ", mutex->name, NULL);
    }
    held[held_count++] = mutex;
}

void sp_rank_dropped(const sp_mutex *mutex) {
    unsigned i = held_count;
    while (i > 0 && held[i - 1] != mutex) {
        i--;
    }
    if (i == 0) {
        fail("does not hold ", mutex->name, NULL);
    }
    for (; i < held_count; i++) {
        held[i - 1] = held[i];
    }
    held_count--;
}

#endif /* SP_CHECKS >= 2 */
