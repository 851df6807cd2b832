/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's thread: tasks, wakes, timers, its end, and what it promises to the host. */
#include "runtime/loop.h"
#include "runtime/loop_internal.h"

#include "sdk/memory/thread_block.h"
#include "sdk/platform/clock.h"
#include "tests/support/spt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, POSTS = 20000 };

typedef struct counted_task {
    sp_task task;
    atomic_uint_fast64_t runs;
    atomic_bool posted;
} counted_task;

static sp_runtime *runtime;

static bool start(void) {
    return sp_runtime_acquire(&runtime) == SPOOL_OK;
}

static bool stop(void) {
    return sp_runtime_release(runtime, spt_deadline_ns(5000));
}

static void run_counted(sp_task *task) {
    counted_task *counted = (counted_task *)(void *)task;
    atomic_store(&counted->posted, false);
    atomic_fetch_add(&counted->runs, 1);
}

/* ---- the thread ---- */

typedef struct thread_facts {
    sp_task task;
    atomic_bool done;
    char name[16];
    bool signals_blocked;
    bool on_loop, block_says_loop, suppressed;
} thread_facts;

static void learn(sp_task *task) {
    thread_facts *facts = (thread_facts *)(void *)task;
    (void)prctl(PR_GET_NAME, facts->name, 0, 0, 0);
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    facts->signals_blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGPIPE) == 1 &&
                             sigismember(&mask, SIGUSR1) == 1;
    facts->on_loop = sp_runtime_on_loop(runtime);
    facts->block_says_loop = sp_thread_get()->on_loop == 1;
    facts->suppressed = sp_thread_get()->suppressed != 0;
    atomic_store(&facts->done, true);
}

static void thread_is_named_and_takes_no_signal(void) {
    thread_facts facts = {.task = {NULL, learn}};
    SPT_REQUIRE(start());
    SPT_CHECK(!sp_runtime_on_loop(runtime));
    SPT_CHECK(sp_runtime_post(runtime, &facts.task));
    SPT_WAIT_UNTIL(5000, atomic_load(&facts.done));
    SPT_CHECK(stop());
    SPT_CHECK_STRING(facts.name, "spool");
    SPT_CHECK(facts.signals_blocked);
    SPT_CHECK(facts.on_loop);
    SPT_CHECK(facts.block_says_loop);
    SPT_CHECK(facts.suppressed);
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    SPT_CHECK(sigismember(&mask, SIGTERM) == 0);
}

static void one_thread_serves_all_uses(void) {
    sp_runtime *first, *second;
    SPT_REQUIRE(sp_runtime_acquire(&first) == SPOOL_OK);
    SPT_REQUIRE(sp_runtime_acquire(&second) == SPOOL_OK);
    SPT_CHECK(first == second);
    SPT_CHECK(sp_runtime_release(first, spt_deadline_ns(5000)));
    counted_task counted = {.task = {NULL, run_counted}};
    SPT_CHECK(sp_runtime_post(second, &counted.task));
    SPT_WAIT_UNTIL(5000, atomic_load(&counted.runs) == 1);
    SPT_CHECK_UINT(atomic_load(&counted.runs), 1);
    SPT_CHECK(sp_runtime_release(second, spt_deadline_ns(5000)));
}

static unsigned descriptors_without_cloexec(unsigned *out_all) {
    unsigned open_on_exec = 0, all = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int fd;
        if (sscanf(entry->d_name, "%d", &fd) == 1 && fd > 2 && fd != dirfd(folder)) {
            int flags = fcntl(fd, F_GETFD);
            open_on_exec += flags >= 0 && !(flags & FD_CLOEXEC);
            all++;
        }
    }
    (void)closedir(folder);
    *out_all = all;
    return open_on_exec;
}

static void descriptors_close_on_exec_and_at_the_end(void) {
    unsigned before, during, after;
    SPT_REQUIRE(start());
    SPT_CHECK(stop());
    /* libuv keeps some for the process from its first loop on. */
    unsigned exposed = descriptors_without_cloexec(&before);
    SPT_REQUIRE(start());
    SPT_CHECK_UINT(descriptors_without_cloexec(&during), exposed);
    SPT_CHECK(during > before);
    SPT_CHECK(stop());
    (void)descriptors_without_cloexec(&after);
    SPT_CHECK_UINT(after, before);
}

/* ---- tasks ---- */

typedef struct ordered_task {
    sp_task task;
    unsigned thread, index;
} ordered_task;

static ordered_task ordered[THREADS][POSTS];
static unsigned next_index[THREADS]; /* the loop's */
static unsigned out_of_order;        /* the loop's */
static atomic_uint ordered_runs;

static void run_ordered(sp_task *task) {
    ordered_task *mine = (ordered_task *)(void *)task;
    out_of_order += mine->index != next_index[mine->thread];
    next_index[mine->thread] = mine->index + 1;
    atomic_fetch_add(&ordered_runs, 1);
}

static void *post_ordered(void *arg) {
    ordered_task *mine = arg;
    for (unsigned i = 0; i < POSTS; i++) {
        if (!sp_runtime_post(runtime, &mine[i].task)) {
            return arg;
        }
    }
    return NULL;
}

static void tasks_of_one_thread_run_in_order(void) {
    pthread_t threads[THREADS];
    SPT_REQUIRE(start());
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < POSTS; i++) {
            ordered[t][i] = (ordered_task){.task = {NULL, run_ordered}, .thread = t, .index = i};
        }
        SPT_REQUIRE(pthread_create(&threads[t], NULL, post_ordered, ordered[t]) == 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        void *failed;
        (void)pthread_join(threads[t], &failed);
        SPT_CHECK(!failed);
    }
    SPT_WAIT_UNTIL(10000, atomic_load(&ordered_runs) == THREADS * POSTS);
    SPT_CHECK_UINT(atomic_load(&ordered_runs), THREADS * POSTS);
    SPT_CHECK(stop());
    SPT_CHECK_UINT(out_of_order, 0);
}

static void no_wake_is_lost(void) {
    /* Each round waits for its task, so that the loop is on its way to sleep when the next is posted. */
    counted_task counted = {.task = {NULL, run_counted}};
    SPT_REQUIRE(start());
    for (uint64_t round = 1; round <= POSTS; round++) {
        SPT_REQUIRE(sp_runtime_post(runtime, &counted.task));
        uint64_t deadline = spt_deadline_ns(5000);
        while (atomic_load(&counted.runs) != round && spt_now_ns() < deadline) {
        }
        SPT_REQUIRE(atomic_load(&counted.runs) == round);
    }
    SPT_CHECK(sp_runtime_wakes(runtime) <= POSTS);
    SPT_CHECK(stop());
}

static void posts_while_a_wake_is_pending_write_nothing(void) {
    counted_task first = {.task = {NULL, run_counted}}, others[8];
    SPT_REQUIRE(start());
    uint64_t before = sp_runtime_wakes(runtime);
    SPT_CHECK(sp_runtime_post(runtime, &first.task));
    SPT_WAIT_UNTIL(5000, atomic_load(&first.runs) == 1);
    SPT_CHECK_UINT(sp_runtime_wakes(runtime) - before, 1);
    memset(others, 0, sizeof others);
    for (unsigned i = 0; i < 8; i++) {
        others[i].task.run = run_counted;
        SPT_CHECK(sp_runtime_post(runtime, &others[i].task));
    }
    SPT_WAIT_UNTIL(5000, atomic_load(&others[7].runs) == 1);
    SPT_CHECK(sp_runtime_wakes(runtime) - before <= 9);
    SPT_CHECK(stop());
}

typedef struct chain_task {
    sp_task task;
    atomic_uint left;
    atomic_ullong wakes;
} chain_task;

static void run_chain(sp_task *task) {
    chain_task *chain = (chain_task *)(void *)task;
    atomic_store(&chain->wakes, sp_runtime_wakes(runtime));
    if (atomic_load(&chain->left) > 1) {
        (void)sp_runtime_post(runtime, task);
    }
    atomic_fetch_sub(&chain->left, 1);
}

static void a_task_may_post_itself_without_a_wake(void) {
    chain_task chain = {.task = {NULL, run_chain}, .left = 32};
    SPT_REQUIRE(start());
    SPT_CHECK(sp_runtime_post(runtime, &chain.task));
    SPT_WAIT_UNTIL(5000, atomic_load(&chain.left) == 0);
    SPT_CHECK_UINT(atomic_load(&chain.left), 0);
    SPT_CHECK_UINT(atomic_load(&chain.wakes), 1);
    SPT_CHECK(stop());
}

/* Far more rounds than the loop grants at once: timers must still get their turn. */
static void endless_posts_do_not_starve_the_loop(void) {
    chain_task chain = {.task = {NULL, run_chain}, .left = 100000};
    thread_facts facts = {.task = {NULL, learn}};
    SPT_REQUIRE(start());
    SPT_CHECK(sp_runtime_post(runtime, &chain.task));
    SPT_CHECK(sp_runtime_post(runtime, &facts.task));
    SPT_WAIT_UNTIL(10000, atomic_load(&chain.left) == 0 && atomic_load(&facts.done));
    SPT_CHECK_UINT(atomic_load(&chain.left), 0);
    SPT_CHECK(stop());
}

static void posted_before_the_end_still_runs(void) {
    static counted_task tasks[64];
    SPT_REQUIRE(start());
    memset(tasks, 0, sizeof tasks);
    for (unsigned i = 0; i < 64; i++) {
        tasks[i].task.run = run_counted;
        SPT_CHECK(sp_runtime_post(runtime, &tasks[i].task));
    }
    SPT_CHECK(stop());
    for (unsigned i = 0; i < 64; i++) {
        SPT_CHECK_UINT(atomic_load(&tasks[i].runs), 1);
    }
}

/* ---- timers ---- */

typedef struct timing {
    sp_task task;
    sp_timer *timer;
    uint64_t set_ns, at_ns;
    atomic_ullong fired_ns;
    atomic_uint fires;
    unsigned rounds;
} timing;

static void fire(void *arg) {
    timing *mine = arg;
    atomic_store(&mine->fired_ns, spt_now_ns());
    if (atomic_fetch_add(&mine->fires, 1) + 1 < mine->rounds) {
        sp_timer_set(mine->timer, spt_now_ns() + SP_NS_PER_MS);
    } else {
        sp_timer_destroy(mine->timer);
    }
}

static void set_timer(sp_task *task) {
    timing *mine = (timing *)(void *)task;
    mine->timer = sp_timer_create(runtime, fire, mine);
    sp_timer_set(mine->timer, mine->at_ns + 60 * SP_NS_PER_S);
    sp_timer_set(mine->timer, mine->at_ns);
}

static void timer_fires_once_not_early_and_again_when_set(void) {
    timing once = {.task = {NULL, set_timer}, .rounds = 1};
    timing thrice = {.task = {NULL, set_timer}, .rounds = 3};
    SPT_REQUIRE(start());
    once.at_ns = thrice.at_ns = spt_now_ns() + 20 * SP_NS_PER_MS;
    SPT_CHECK(sp_runtime_post(runtime, &once.task));
    SPT_CHECK(sp_runtime_post(runtime, &thrice.task));
    SPT_WAIT_UNTIL(5000, atomic_load(&once.fires) == 1 && atomic_load(&thrice.fires) == 3);
    SPT_CHECK(atomic_load(&once.fired_ns) >= once.at_ns);
    SPT_CHECK(stop());
    SPT_CHECK_UINT(atomic_load(&once.fires), 1);
    SPT_CHECK_UINT(atomic_load(&thrice.fires), 3);
}

static void clear_now(sp_task *task) {
    timing *mine = (timing *)(void *)task;
    mine->timer = sp_timer_create(runtime, fire, mine);
    sp_timer_set(mine->timer, mine->at_ns);
    sp_timer_clear(mine->timer);
    sp_timer_destroy(mine->timer);
}

static void cleared_timer_does_not_fire(void) {
    timing cleared = {.task = {NULL, clear_now}, .rounds = 1};
    timing marker = {.task = {NULL, set_timer}, .rounds = 1};
    SPT_REQUIRE(start());
    cleared.at_ns = spt_now_ns() + SP_NS_PER_MS;
    marker.at_ns = spt_now_ns() + 20 * SP_NS_PER_MS;
    SPT_CHECK(sp_runtime_post(runtime, &cleared.task));
    SPT_CHECK(sp_runtime_post(runtime, &marker.task));
    SPT_WAIT_UNTIL(5000, atomic_load(&marker.fires) == 1);
    SPT_CHECK(stop());
    SPT_CHECK_UINT(atomic_load(&cleared.fires), 0);
}

/* ---- the end ---- */

static atomic_bool may_go_on, is_stuck;

static void block_loop(sp_task *task) {
    (void)task;
    atomic_store(&is_stuck, true);
    while (!atomic_load(&may_go_on)) {
        (void)spt_pause_until(spt_deadline_ns(10));
    }
}

static void release_does_not_wait_for_a_stuck_loop(void) {
    static sp_task stuck = {NULL, block_loop};
    SPT_REQUIRE(start());
    SPT_CHECK(sp_runtime_post(runtime, &stuck));
    SPT_WAIT_UNTIL(5000, atomic_load(&is_stuck));
    uint64_t before = spt_now_ns();
    SPT_CHECK(!sp_runtime_release(runtime, before + 50 * SP_NS_PER_MS));
    SPT_CHECK(spt_now_ns() - before < 5 * SP_NS_PER_S);
    /* The next use gets a loop of its own. */
    sp_runtime *left_behind = runtime;
    SPT_REQUIRE(start());
    SPT_CHECK(runtime != left_behind);
    SPT_CHECK(stop());
    atomic_store(&may_go_on, true);
}

/* The thread stays in the parent: a child gets one of its own. */
static void child_process_gets_its_own_thread(void) {
    if (SPT_TSAN) {
        spt_skip("ThreadSanitizer ends a child of several threads that starts one");
        return;
    }
    SPT_REQUIRE(start());
    sp_runtime *of_parent = runtime;
    pid_t child = fork();
    if (child == 0) {
        counted_task counted = {.task = {NULL, run_counted}};
        bool ran = start() && runtime != of_parent && sp_runtime_post(runtime, &counted.task) &&
                   stop() && atomic_load(&counted.runs) == 1;
        _exit(ran ? 0 : 1);
    }
    int status = -1;
    SPT_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    SPT_CHECK_UINT(status, 0);
    runtime = of_parent;
    SPT_CHECK(stop());
}

static void starts_and_stops_many_times(void) {
    for (unsigned round = 0; round < 200; round++) {
        counted_task counted = {.task = {NULL, run_counted}};
        SPT_REQUIRE(start());
        SPT_REQUIRE(sp_runtime_post(runtime, &counted.task));
        SPT_REQUIRE(stop());
        SPT_REQUIRE(atomic_load(&counted.runs) == 1);
    }
}

SPT_MAIN("runtime.loop", SPT_CASE(thread_is_named_and_takes_no_signal),
         SPT_CASE(one_thread_serves_all_uses), SPT_CASE(descriptors_close_on_exec_and_at_the_end),
         SPT_CASE(tasks_of_one_thread_run_in_order), SPT_CASE(no_wake_is_lost),
         SPT_CASE(posts_while_a_wake_is_pending_write_nothing),
         SPT_CASE(a_task_may_post_itself_without_a_wake),
         SPT_CASE(endless_posts_do_not_starve_the_loop), SPT_CASE(posted_before_the_end_still_runs),
         SPT_CASE(timer_fires_once_not_early_and_again_when_set),
         SPT_CASE(cleared_timer_does_not_fire), SPT_CASE(child_process_gets_its_own_thread),
         SPT_CASE(starts_and_stops_many_times), SPT_CASE(release_does_not_wait_for_a_stuck_loop))
