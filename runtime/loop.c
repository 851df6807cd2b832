/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's thread and its libuv loop.
 *
 * Owners. `uv` and everything on it, `draining` and `stopping` belong to the loop thread. `tasks` and
 * `awake` are shared. The count of uses and the pointer to the present runtime are guarded by
 * `present.lock`, which is never held while the thread is waited for.
 *
 * Tasks. A stack that posters push to and the loop takes whole, by one exchange; reversed it gives the
 * order of posting. Its head is CLOSED once the loop will run nothing more.
 *
 * Wake. Posters: push, fence, read `awake`; only who turns it from 0 to 1 writes the eventfd. The loop:
 * read the eventfd, `awake` = 0, fence, take tasks until a take finds none. Either the poster reads 0 and
 * writes, or the loop's take comes after the poster's push. What is posted on the loop thread itself needs
 * no write: a prepare handle takes tasks before each poll.
 *
 * States: RUNNING, STOPPING (the last use was given back, new acquires make another runtime), ENDED.
 *
 * Closing. The last release posts `stop`. The loop closes its handles and those it finds, runs until they
 * are gone, closes the task stack, and says ENDED under `end_lock`. The releaser then joins the thread and
 * closes the eventfd; past its deadline it detaches the thread and leaves memory and descriptors to it for
 * ever. Only holders of a use post, so nobody writes to the eventfd after it is closed.
 */
#include "runtime/loop.h"
#include "runtime/loop_internal.h"

#include "sdk/memory/thread_block.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Rounds of tasks before the loop looks at its descriptors and timers again. */
    MAX_TASK_ROUNDS = 64,
    /* Turns of the loop that a stop gives to handles which are being closed. */
    MAX_CLOSING_TURNS = 1000
};

struct sp_runtime {
    uv_loop_t uv;
    uv_poll_t waker;
    uv_prepare_t prepare;
    bool draining;
    bool stopping;
    sp_task stop;
    pthread_t thread;
    int wake_fd;
    uint32_t uses;           /* present.lock */
    sp_runtime *left_behind; /* present.lock: the next of them */

    SP_CACHE_ALIGNED _Atomic(sp_task *) tasks; /* posters and the loop */
    _Atomic uint32_t awake;                    /* posters and the loop, see above */
    _Atomic uint64_t wakes;                    /* writes to the eventfd */

    pthread_mutex_t end_lock;
    pthread_cond_t end_changed;
    bool ended; /* end_lock */
};

static struct {
    pthread_mutex_t lock;
    sp_runtime *runtime;
    sp_runtime
        *left_behind; /* those that did not end in time, or whose thread is in a parent process */
    uint32_t fork_generation;
} present = {PTHREAD_MUTEX_INITIALIZER, NULL, NULL, 0};

/* The runtime that the calling thread runs, or NULL. */
static _Thread_local const sp_runtime *loop_of_thread;

static sp_task closed_mark;
#define CLOSED (&closed_mark)

uv_loop_t *sp_runtime_uv(sp_runtime *runtime) {
    return &runtime->uv;
}

uint64_t sp_runtime_wakes(const sp_runtime *runtime) {
    return sp_load_relaxed(&((sp_runtime *)(uintptr_t)runtime)->wakes);
}

bool sp_runtime_on_loop(const sp_runtime *runtime) {
    return loop_of_thread == runtime;
}

/* ---- tasks and the wake ---- */

static void wake(sp_runtime *runtime) {
    sp_fence_seq_cst(); /* pairs with the one in drain() */
    if (sp_load_relaxed(&runtime->awake) || sp_exchange_acq_rel(&runtime->awake, 1)) {
        return;
    }
    sp_add_relaxed(&runtime->wakes, 1);
    uint64_t one = 1;
    while (write(runtime->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

bool sp_runtime_post(sp_runtime *runtime, sp_task *task) {
    int saved_errno = errno;
    sp_task *head = sp_load_relaxed(&runtime->tasks);
    do {
        if (head == CLOSED) {
            return false;
        }
        task->next = head;
        /* Release: the node and what it is about; pairs with the exchange in run_tasks(). */
    } while (!atomic_compare_exchange_weak_explicit(&runtime->tasks, &head, task,
                                                    memory_order_release, memory_order_relaxed));
    if (!sp_runtime_on_loop(runtime)) {
        wake(runtime);
    }
    errno = saved_errno;
    return true;
}

/* Runs what was posted, and leaves `left` as the new head; false when there was nothing. */
static bool run_tasks(sp_runtime *runtime, sp_task *left) {
    sp_task *stack = sp_exchange_acquire(&runtime->tasks, left);
    sp_task *first = NULL;
    while (stack && stack != CLOSED) {
        sp_task *next = stack->next;
        stack->next = first;
        first = stack;
        stack = next;
    }
    bool found = first != NULL;
    while (first) {
        sp_task *task = first;
        first = task->next; /* before it runs: the node may be posted again from inside */
        task->run(task);
    }
    return found;
}

static void drain(sp_runtime *runtime) {
    if (runtime->draining) {
        return;
    }
    runtime->draining = true;
    int round = 0;
    while (round < MAX_TASK_ROUNDS && run_tasks(runtime, NULL)) {
        round++;
    }
    runtime->draining = false;
    if (round == MAX_TASK_ROUNDS) {
        wake(runtime);
    }
}

static void woken(uv_poll_t *handle, int status, int events) {
    (void)status;
    (void)events;
    sp_runtime *runtime = handle->data;
    uint64_t count;
    while (read(runtime->wake_fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
    /* After the read: a poster that still sees 1 has its task taken below. */
    sp_store_relaxed(&runtime->awake, 0);
    sp_fence_seq_cst(); /* pairs with the one in wake() */
    drain(runtime);
}

static void before_poll(uv_prepare_t *handle) {
    drain(handle->data);
}

/* ---- timers ---- */

struct sp_timer {
    uv_timer_t uv;
    void (*fire)(void *arg);
    void *arg;
};

static void timer_fired(uv_timer_t *handle) {
    sp_timer *timer = handle->data;
    timer->fire(timer->arg);
}

static void timer_closed(uv_handle_t *handle) {
    free(handle->data);
}

sp_timer *sp_timer_create(sp_runtime *runtime, void (*fire)(void *arg), void *arg) {
    sp_timer *timer = calloc(1, sizeof *timer);
    if (!timer) {
        return NULL;
    }
    uv_timer_init(&runtime->uv, &timer->uv);
    timer->uv.data = timer;
    timer->fire = fire;
    timer->arg = arg;
    return timer;
}

void sp_timer_set(sp_timer *timer, uint64_t at_ns) {
    if (at_ns == SP_NO_DEADLINE) {
        sp_timer_clear(timer);
        return;
    }
    uv_update_time(timer->uv.loop);
    /* libuv counts whole milliseconds of the same clock, rounded down: the point rounded up is reached by
     * its count never before it is reached by the clock. */
    uint64_t at_ms = at_ns / SP_NS_PER_MS + (at_ns % SP_NS_PER_MS != 0);
    uint64_t now_ms = uv_now(timer->uv.loop);
    (void)uv_timer_start(&timer->uv, timer_fired, at_ms > now_ms ? at_ms - now_ms : 0, 0);
}

void sp_timer_clear(sp_timer *timer) {
    (void)uv_timer_stop(&timer->uv);
}

void sp_timer_destroy(sp_timer *timer) {
    if (timer && !uv_is_closing((uv_handle_t *)&timer->uv)) {
        uv_close((uv_handle_t *)&timer->uv, timer_closed);
    }
}

/* ---- the thread ---- */

static void close_left_over(uv_handle_t *handle, void *arg) {
    (void)arg;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void stop_loop(sp_task *task) {
    sp_runtime *runtime = (sp_runtime *)(void *)((char *)task - offsetof(sp_runtime, stop));
    runtime->stopping = true;
    uv_stop(&runtime->uv);
}

static void close_loop(sp_runtime *runtime) {
    (void)run_tasks(runtime, NULL);
    uv_walk(&runtime->uv, close_left_over, NULL);
    for (int turn = 0; turn < MAX_CLOSING_TURNS && uv_run(&runtime->uv, UV_RUN_NOWAIT); turn++) {
    }
    while (run_tasks(runtime, CLOSED)) {
    }
    (void)uv_loop_close(&runtime->uv);
}

static void *run_loop(void *arg) {
    sp_runtime *runtime = arg;
    (void)prctl(PR_SET_NAME, "spool", 0, 0, 0);
    loop_of_thread = runtime;
    sp_thread_block *block = sp_thread_get();
    if (block) {
        block->on_loop = 1;
        block->suppressed = 1; /* whatever is recorded here is our own, or an exporter's */
    }
    while (!runtime->stopping) {
        (void)uv_run(&runtime->uv, UV_RUN_DEFAULT);
    }
    close_loop(runtime);
    pthread_mutex_lock(&runtime->end_lock);
    runtime->ended = true;
    pthread_cond_broadcast(&runtime->end_changed);
    pthread_mutex_unlock(&runtime->end_lock);
    return NULL;
}

static bool start_thread(sp_runtime *runtime) {
    /* Blocked here, inherited there: no signal can reach the thread before its first instruction. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&runtime->thread, NULL, run_loop, runtime);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

static void init_end(sp_runtime *runtime) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&runtime->end_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&runtime->end_lock, NULL);
}

/*
 * libuv makes a pipe of its own with the first loop of a process, and aborts the process where there is no
 * descriptor for it: so we look first. Another thread may still take them in between.
 */
static bool descriptors_are_there(void) {
    enum { NEEDED = 8 };
    int taken[NEEDED];
    int count = 0;
    while (count < NEEDED && (taken[count] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        count++;
    }
    bool all = count == NEEDED;
    while (count > 0) {
        (void)close(taken[--count]);
    }
    return all;
}

static void free_runtime(sp_runtime *runtime) {
    /* Here and not on the loop: who posted `stop` may still be about to write. */
    if (runtime->wake_fd >= 0) {
        (void)close(runtime->wake_fd);
    }
    pthread_mutex_destroy(&runtime->end_lock);
    pthread_cond_destroy(&runtime->end_changed);
    free(runtime);
}

static spool_status create_runtime(sp_runtime **out_runtime) {
    sp_runtime *runtime = aligned_alloc(SP_CACHE_LINE_BYTES, sizeof *runtime);
    if (!runtime) {
        return SPOOL_ERR_NOMEM;
    }
    memset(runtime, 0, sizeof *runtime);
    atomic_init(&runtime->tasks, NULL);
    runtime->stop.run = stop_loop;
    runtime->uses = 1;
    init_end(runtime);
    runtime->wake_fd = descriptors_are_there() ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (runtime->wake_fd < 0) {
        free_runtime(runtime);
        return SPOOL_ERR_SYSTEM;
    }
    if (uv_loop_init(&runtime->uv) != 0) {
        free_runtime(runtime);
        return SPOOL_ERR_SYSTEM;
    }
    runtime->waker.data = runtime->prepare.data = runtime;
    if (uv_poll_init(&runtime->uv, &runtime->waker, runtime->wake_fd) != 0 ||
        uv_poll_start(&runtime->waker, UV_READABLE, woken) != 0 ||
        uv_prepare_init(&runtime->uv, &runtime->prepare) != 0 ||
        uv_prepare_start(&runtime->prepare, before_poll) != 0 || !start_thread(runtime)) {
        close_loop(runtime);
        free_runtime(runtime);
        return SPOOL_ERR_SYSTEM;
    }
    *out_runtime = runtime;
    return SPOOL_OK;
}

/* ---- uses ---- */

/* present.lock is held. */
static void leave_behind(sp_runtime *runtime) {
    runtime->left_behind = present.left_behind;
    present.left_behind = runtime;
}

spool_status sp_runtime_acquire(sp_runtime **out_runtime) {
    spool_status status = SPOOL_OK;
    pthread_mutex_lock(&present.lock);
    if (present.runtime && present.fork_generation != sp_fork_generation()) {
        leave_behind(present.runtime);
        present.runtime = NULL;
    }
    present.fork_generation = sp_fork_generation();
    if (present.runtime) {
        present.runtime->uses++;
    } else {
        status = create_runtime(&present.runtime);
    }
    if (status == SPOOL_OK) {
        *out_runtime = present.runtime;
    }
    pthread_mutex_unlock(&present.lock);
    return status;
}

static bool wait_for_end(sp_runtime *runtime, uint64_t deadline_ns) {
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / SP_NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % SP_NS_PER_S)};
    int failed = 0;
    pthread_mutex_lock(&runtime->end_lock);
    while (!runtime->ended && failed == 0) {
        failed = deadline_ns == SP_NO_DEADLINE
                     ? pthread_cond_wait(&runtime->end_changed, &runtime->end_lock)
                     : pthread_cond_timedwait(&runtime->end_changed, &runtime->end_lock, &until);
    }
    bool ended = runtime->ended;
    pthread_mutex_unlock(&runtime->end_lock);
    return ended;
}

bool sp_runtime_release(sp_runtime *runtime, uint64_t deadline_ns) {
    pthread_mutex_lock(&present.lock);
    bool last = --runtime->uses == 0;
    if (last && present.runtime == runtime) {
        present.runtime = NULL;
    }
    pthread_mutex_unlock(&present.lock);
    if (!last) {
        return true;
    }
    (void)sp_runtime_post(runtime, &runtime->stop);
    if (!sp_runtime_on_loop(runtime) && wait_for_end(runtime, deadline_ns)) {
        pthread_join(runtime->thread, NULL);
        free_runtime(runtime);
        return true;
    }
    pthread_detach(runtime->thread);
    pthread_mutex_lock(&present.lock);
    leave_behind(runtime);
    pthread_mutex_unlock(&present.lock);
    sp_diag(SPOOL_DIAG_WARN, "runtime",
            "the background thread did not end in time, it is left behind");
    return false;
}
