/* SPDX-License-Identifier: Apache-2.0 */
/* The slow side of pins: the barrier, and the wait for pins to go. See subscriber.h for the protocol. */
#include "sdk/platform/clock.h"
#include "sdk/subscriber/subscriber.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
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
    for (unsigned i = 0; i < SP_PIN_PLACES; i++) {
        /* Acquire pairs with the release in sp_unpin(): the thread's use is over. */
        if (sp_load_acquire(&thread->pins[i]) == (const void *)search->subscriber) {
            search->found = true;
        }
    }
}

static void barrier(void) {
    if (sp_pin_needs_fence) {
        sp_fence_seq_cst();
    } else {
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    }
}

bool sp_unpinned_wait(const sp_subscriber *subscriber, uint64_t deadline_ns) {
    barrier();
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

/* ---- every pin once ---- */

typedef struct pin_wait {
    const sp_subscriber *subscriber;
    sp_thread_block **threads; /* NULL: only counting */
    size_t count;
    size_t capacity;
} pin_wait;

static bool has_pinned(sp_thread_block *thread, const sp_subscriber *subscriber) {
    pin_search search = {subscriber, false};
    look(thread, &search);
    return search.found;
}

static void collect(sp_thread_block *thread, void *arg) {
    pin_wait *wait = arg;
    if (!wait->threads) {
        wait->count++;
    } else if (has_pinned(thread, wait->subscriber)) {
        if (wait->count < wait->capacity) {
            wait->threads[wait->count] = thread;
        }
        wait->count++;
    }
}

bool sp_pins_passed_wait(const sp_subscriber *subscriber, uint64_t deadline_ns) {
    enum { NEW_THREADS = 64 }; /* room for those that are made in between */
    pin_wait wait = {subscriber, NULL, 0, 0};
    barrier();
    sp_thread_each(collect, &wait);
    wait.capacity = wait.count + NEW_THREADS;
    wait.threads = malloc(wait.capacity * sizeof(sp_thread_block *));
    if (!wait.threads) {
        return false;
    }
    wait.count = 0;
    sp_thread_each(collect, &wait);
    bool passed = wait.count <= wait.capacity;
    struct timespec pause = {0, 20000};
    while (passed && wait.count) {
        /* Blocks are never unmapped; one that has another thread by now is no worse to wait for. */
        size_t left = 0;
        for (size_t i = 0; i < wait.count; i++) {
            if (has_pinned(wait.threads[i], subscriber)) {
                wait.threads[left++] = wait.threads[i];
            }
        }
        wait.count = left;
        passed = left == 0 || sp_clock_mono_ns(SPOOL_CLOCK_PRECISE) < deadline_ns;
        if (left && passed) {
            (void)nanosleep(&pause, NULL);
        }
    }
    free(wait.threads);
    return passed;
}
