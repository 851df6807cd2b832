/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics: one line at a time, to the user's callback or to standard error.
 *
 * Owners: `sink` is shared and read or changed under `sink.lock`, a spin lock held for a few stores, with
 * nothing foreign inside; `speaking` belongs to its thread. The lock word holds the fork generation of
 * its holder: in a child whose parent was forked while some thread held it, the word names a process
 * that is not this one and the lock is taken over. Closing: none.
 *
 * Standard error is somebody else's: we write to it only while it is the file it was when the library
 * was first used (a daemon may have given descriptor 2 to a socket), only when it takes a line without
 * waiting, and with SIGPIPE kept away from the host.
 */
#include "sdk/platform/diagnostics.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/fork.h"
#include "sdk/platform/line_limit.h"
#include "sdk/platform/sigpipe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES = 512, /* with the NUL */
    LOCK_SPINS_BEFORE_SLEEP = 64
};

typedef void (*diag_callback)(void *arg, const spool_diagnostic *line);

static struct {
    _Atomic uint32_t lock; /* 0, or the holder's fork generation */
    diag_callback callback;
    void *arg;
    sp_line_limit limit;
    bool stderr_known;
    bool stderr_present; /* descriptor 2 was open when it became known */
    dev_t stderr_device;
    ino_t stderr_inode;
} sink;

static _Atomic int level_shown = SPOOL_DIAG_INFO;
static _Thread_local bool speaking;

static void sink_hold(void) {
    uint32_t mine = sp_fork_generation();
    for (unsigned tries = 0;; tries++) {
        uint32_t holder = sp_load_relaxed(&sink.lock);
        /* Acquire: pairs with the release in sink_release. */
        if (holder != mine && sp_cas_acquire(&sink.lock, &holder, mine)) {
            return;
        }
        if (tries < LOCK_SPINS_BEFORE_SLEEP) {
            sched_yield();
        } else {
            const struct timespec nap = {0, 100 * 1000};
            (void)nanosleep(&nap, NULL);
        }
    }
}

static void sink_release(void) {
    /* Publishes the sink to the next holder. */
    sp_store_release(&sink.lock, 0);
}

static void stderr_learn(void) {
    struct stat now;
    if (sink.stderr_known) {
        return;
    }
    sink.stderr_known = true;
    if (fstat(STDERR_FILENO, &now) == 0) {
        sink.stderr_present = true;
        sink.stderr_device = now.st_dev;
        sink.stderr_inode = now.st_ino;
    }
}

void sp_diag_remember_stderr(void) {
    static _Atomic uint32_t done;
    if (sp_load_acquire(&done)) {
        return;
    }
    int saved = errno;
    sink_hold();
    stderr_learn();
    sink_release();
    sp_store_release(&done, 1);
    errno = saved;
}

/* True when descriptor 2 is still ours to write to and takes a line at once. */
static bool stderr_ready(void) {
    struct stat now;
    struct pollfd descriptor = {STDERR_FILENO, POLLOUT, 0};
    if (!sink.stderr_present || fstat(STDERR_FILENO, &now) != 0 ||
        now.st_dev != sink.stderr_device || now.st_ino != sink.stderr_inode) {
        return false;
    }
    return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLOUT);
}

static void stderr_write(const char *line, size_t len) {
    sp_sigpipe_guard guard;
    if (sp_sigpipe_hold(&guard)) {
        ssize_t written = write(STDERR_FILENO, line, len);
        sp_sigpipe_release(&guard, written < 0 && errno == EPIPE);
    }
}

static const char *level_name(int level) {
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    return names[level];
}

static void stderr_print(const spool_diagnostic *line) {
    char text[LINE_BYTES + 160];
    int len;
    if (line->held_back) {
        len = snprintf(text, sizeof text, "spool: %s: %.64s: %s (%llu lines held back before)\n",
                       level_name(line->level), line->component, line->text,
                       (unsigned long long)line->held_back);
    } else {
        len = snprintf(text, sizeof text, "spool: %s: %.64s: %s\n", level_name(line->level),
                       line->component, line->text);
    }
    if (len > 0 && stderr_ready()) {
        stderr_write(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
    }
}

/* Makes it one line of whole characters: no control bytes, no character cut at the end. */
static void text_clean(char *text, bool cut) {
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == 0x7f) {
            text[i] = ' ';
        }
    }
    if (cut) {
        size_t lead = len;
        while (lead > 0 && len - lead < 3 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80) {
            lead--;
        }
        if (lead > 0 && (unsigned char)text[lead - 1] >= 0xc0) {
            text[lead - 1] = '\0';
        }
    }
}

/* Who is to be told, and how much was held back before. */
typedef struct listener {
    diag_callback callback;
    void *arg;
    uint64_t held_back;
} listener;

/* Asks the limit, and copies who is to be told. */
static bool sink_admits(bool summary, listener *out) {
    uint64_t now = sp_clock_mono_ns(0);
    sink_hold();
    stderr_learn();
    bool admitted = summary ? sp_line_limit_pass_summary(&sink.limit, now, &out->held_back)
                            : sp_line_limit_pass(&sink.limit, now, &out->held_back);
    out->callback = sink.callback;
    out->arg = sink.arg;
    sink_release();
    return admitted;
}

static void line_tell(const listener *to, const spool_diagnostic *line) {
    if (to->callback) {
        to->callback(to->arg, line);
    } else {
        /* write() and poll() are cancellation points: the host's thread must not end here. */
        int before;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        stderr_print(line);
        pthread_setcancelstate(before, NULL);
    }
}

void sp_diag(int level, const char *component, const char *format, ...) {
    /* Relaxed: a line more or less while the level changes does no harm. */
    if (level < SPOOL_DIAG_ERROR || level > SPOOL_DIAG_DEBUG || speaking ||
        level > sp_load_relaxed(&level_shown)) {
        return;
    }
    int saved = errno;
    listener to;
    speaking = true;
    if (sink_admits(false, &to)) {
        char text[LINE_BYTES];
        va_list args;
        va_start(args, format);
        int len = vsnprintf(text, sizeof text, format, args);
        va_end(args);
        if (len >= 0) {
            text_clean(text, len >= LINE_BYTES);
            spool_diagnostic line = {level, component, text, to.held_back};
            line_tell(&to, &line);
        }
    }
    speaking = false;
    errno = saved;
}

void sp_diag_sum_up(void) {
    int saved = errno;
    listener to;
    if (speaking || sp_load_relaxed(&level_shown) < SPOOL_DIAG_WARN) {
        return;
    }
    speaking = true;
    if (sink_admits(true, &to)) {
        spool_diagnostic line = {SPOOL_DIAG_WARN, "diagnostics",
                                 "more was to be said than is shown", to.held_back};
        line_tell(&to, &line);
    }
    speaking = false;
    errno = saved;
}

void spool_diagnostics_set(void (*callback)(void *arg, const spool_diagnostic *line), void *arg) {
    int saved = errno;
    sink_hold();
    stderr_learn();
    sink.callback = callback;
    sink.arg = callback ? arg : NULL;
    sink_release();
    errno = saved;
}

void spool_diagnostics_set_level(int level) {
    if (level < SPOOL_DIAG_NONE) {
        level = SPOOL_DIAG_NONE;
    } else if (level > SPOOL_DIAG_DEBUG) {
        level = SPOOL_DIAG_DEBUG;
    }
    sp_store_relaxed(&level_shown, level);
    sp_diag_remember_stderr();
}
