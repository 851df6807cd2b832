/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime: one libuv loop on a thread of its own, named "spool", with all signals blocked. It is
 * shared by everything in the process that works in the background, started by the first acquire and
 * stopped by the last release.
 *
 * Owner: the loop thread, for all that runs in tasks and timers. Other threads post tasks. Nothing that
 * runs on the loop may block.
 */
#ifndef SPOOL_RUNTIME_LOOP_H
#define SPOOL_RUNTIME_LOOP_H

#include <spool/status.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct sp_runtime sp_runtime;

/* Starts the thread if need be. SPOOL_ERR_SYSTEM: no thread or descriptor; SPOOL_ERR_NOMEM. */
spool_status sp_runtime_acquire(sp_runtime **out_runtime);
/*
 * Gives one use back. The last one stops the loop and waits for its thread until the deadline (absolute,
 * monotonic); false: it did not end in time and is left behind, said in a diagnostic. On the loop thread
 * only a use that is not the last may be given back.
 */
bool sp_runtime_release(sp_runtime *runtime, uint64_t deadline_ns);
/* True on the loop's own thread. */
bool sp_runtime_on_loop(const sp_runtime *runtime);
/* How often the thread was woken by a system call: what tests and benches count. */
uint64_t sp_runtime_wakes(const sp_runtime *runtime);

/*
 * A task: a node of the caller's, run once on the loop for each post. A node may be posted again once
 * its function has begun. Posting is lock-free, wakes the loop, allocates nothing. Tasks posted by one
 * thread run in order. After the loop has stopped, posting returns false and runs nothing.
 */
typedef struct sp_task {
    struct sp_task *next; /* private */
    void (*run)(struct sp_task *task);
} sp_task;
bool sp_runtime_post(sp_runtime *runtime, sp_task *task);

/* A timer; all calls from the loop thread. One shot: set it again in its function. */
typedef struct sp_timer sp_timer;
sp_timer *sp_timer_create(sp_runtime *runtime, void (*fire)(void *arg), void *arg);
/* Fires once at `at_ns` (monotonic) or soon after; replaces an earlier setting. */
void sp_timer_set(sp_timer *timer, uint64_t at_ns);
void sp_timer_clear(sp_timer *timer);
void sp_timer_destroy(sp_timer *timer);

#endif /* SPOOL_RUNTIME_LOOP_H */
