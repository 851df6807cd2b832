/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exit hook.
 *
 * Owners: the list is under `lock`; an entry names an SDK by pointer and epoch, so one that was freed
 * meanwhile is told from its successor and left alone. The lock is a word that holds the fork generation
 * of its holder, held for a look at the list with nothing foreign inside: in a child whose parent was forked
 * while some thread held it the word names a process that is not this one, and the lock is taken over.
 *
 * In a child of fork the parent's list is the parent's business: the handler looks at `owner` first, and
 * returns without touching a lock or an SDK. A child that starts an SDK of its own begins an empty list.
 *
 * Order: exit handlers run last registered first, and TLS libraries clean up in one of their own. Ours is
 * registered by the first start, and once more by the first start that uses the network, which comes after
 * that registration of theirs. The first run does all the work; a second finds the SDKs shut down.
 *
 * Closing: none; the handler stays for the life of the process.
 */
#include "config/exit.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/fork.h"
#include "sdk/subscriber/life.h"

#include <sched.h>
#include <stdlib.h>

enum { MOST = 64 };

typedef struct entry {
    spool_sdk *sdk;
    uint32_t epoch;
} entry;

static _Atomic uint32_t lock;  /* 0, or the holder's fork generation */
static _Atomic uint32_t owner; /* fork generation of the process whose list this is; relaxed */
static entry entries[MOST];
static size_t count;
static uint32_t budget_ms_largest;
static bool registered[2]; /* by whether the network was in use; the child inherits the handlers */

static void hold(void) {
    uint32_t mine = sp_fork_generation();
    for (;;) {
        uint32_t holder = sp_load_relaxed(&lock);
        /* Acquire: pairs with the release in let_go(). */
        if (holder != mine && sp_cas_acquire(&lock, &holder, mine)) {
            return;
        }
        sched_yield();
    }
}

static void let_go(void) {
    /* Publishes the list to the next holder. */
    sp_store_release(&lock, 0);
}

static void at_exit(void) {
    entry mine[MOST];
    if (sp_load_relaxed(&owner) != sp_fork_generation()) {
        return;
    }
    hold();
    size_t number = count;
    for (size_t i = 0; i < number; i++) {
        mine[i] = entries[i];
    }
    uint64_t deadline_ns = sp_deadline_after_ms(budget_ms_largest);
    let_go();
    for (size_t i = 0; i < number; i++) {
        uint64_t now_ns = sp_clock_mono_ns(SPOOL_CLOCK_PRECISE);
        uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns) / SP_NS_PER_MS : 0;
        if (sp_sdk_is_alive(mine[i].sdk, mine[i].epoch)) {
            (void)spool_shutdown(mine[i].sdk, (uint32_t)left_ms, NULL);
        }
    }
}

/* Takes over a list that came with a fork. Under the lock. */
static void list_own(void) {
    uint32_t mine = sp_fork_generation();
    if (sp_load_relaxed(&owner) != mine) {
        sp_store_relaxed(&owner, mine);
        count = 0;
        budget_ms_largest = 0;
    }
}

/* The places of SDKs that are gone are used again. Under the lock. */
static size_t place_find(void) {
    size_t place = 0;
    while (place < count && sp_sdk_is_alive(entries[place].sdk, entries[place].epoch)) {
        place++;
    }
    return place;
}

bool sp_exit_add(spool_sdk *sdk, uint32_t budget_ms, bool network) {
    hold();
    list_own();
    /* Of the network's own kind, or the later one, which serves both. */
    if (!registered[network] && !registered[1]) {
        registered[network] = atexit(at_exit) == 0;
    }
    size_t place = place_find();
    bool added = (registered[network] || registered[1]) && place < MOST;
    if (added) {
        entries[place].sdk = sdk;
        entries[place].epoch = sp_sdk_epoch(sdk);
        count += place == count;
        budget_ms_largest = budget_ms > budget_ms_largest ? budget_ms : budget_ms_largest;
    }
    let_go();
    return added;
}
