/* SPDX-License-Identifier: Apache-2.0 */
/* The slow side of pins: the barrier, and the wait for pins to go. See subscriber.h for the protocol. */
#include "sdk/platform/clock.h"
#include "sdk/subscriber/subscriber.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int sp_pin_needs_fence = 1;

static void barrier_register(void) {
    /* Registered before the first subscriber is published, so no pin without a fence is ever missed. */
    sp_pin_needs_fence =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

void sp_pins_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, barrier_register);
}

typedef struct pin_search {
    const sp_subscriber *subscriber;
    bool found;
} pin_search;

static void look(sp_thread_block *thread, void *arg) {
    pin_search *search = arg;
    for (unsigned i = 0; i < SP_MAX_PINS; i++) {
        /* Acquire pairs with the release in sp_unpin(): the thread's use is over. */
        if (sp_load_acquire(&thread->pins[i]) == (const void *)search->subscriber) {
            search->found = true;
        }
    }
}

bool sp_unpinned_wait(const sp_subscriber *subscriber, uint64_t deadline_ns) {
    if (sp_pin_needs_fence) {
        sp_fence_seq_cst();
    } else {
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    }
    struct timespec pause = {0, 50000};
    for (;;) {
        pin_search search = {subscriber, false};
        sp_thread_each(look, &search);
        if (!search.found) {
            return true;
        }
        if (sp_clock_mono_ns(SPOOL_CLOCK_PRECISE) >= deadline_ns) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000) {
            pause.tv_nsec *= 2;
        }
    }
}
