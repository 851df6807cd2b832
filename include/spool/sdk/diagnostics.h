/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Spool has to say about itself (specification: error-handling "Self-diagnostics").
 *
 * One callback for the process, at most 10 lines a minute; lines held back are counted and summed up in
 * the next one. The default prints "spool: warning: otlp: text" to standard error, and is silent once
 * descriptor 2 is no longer what it was when the library was first used.
 */
#ifndef SPOOL_SDK_DIAGNOSTICS_H
#define SPOOL_SDK_DIAGNOSTICS_H

#include <spool/export.h>

#include <stdint.h>

SPOOL_BEGIN_DECLS

enum {
    SPOOL_DIAG_NONE = 0, /* as a level: nothing */
    SPOOL_DIAG_ERROR = 1,
    SPOOL_DIAG_WARN = 2,
    SPOOL_DIAG_INFO = 3,
    SPOOL_DIAG_DEBUG = 4
};

typedef struct spool_diagnostic {
    int level;             /* SPOOL_DIAG_* */
    const char *component; /* static storage */
    const char *text;      /* one line, no control characters; valid during the call */
    uint64_t held_back;    /* lines not shown since the last one */
} spool_diagnostic;

/*
 * Runs on the thread that has something to say, with no lock held, never re-entered on a thread: what
 * it causes itself is dropped. `callback` NULL: back to the default. Threads: any.
 */
SPOOL_API void spool_diagnostics_set(void (*callback)(void *arg, const spool_diagnostic *line),
                                     void *arg);
/* Lines above the level are not made. Default SPOOL_DIAG_INFO, or OTEL_LOG_LEVEL at spool_start(). */
SPOOL_API void spool_diagnostics_set_level(int level);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_DIAGNOSTICS_H */
