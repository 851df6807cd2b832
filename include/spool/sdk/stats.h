/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics and reports. Two balances hold at every quiet point (no call in progress):
 *
 *   per signal     created = not_recorded + filtered + live + finished
 *   per processor  offered = delivered + rejected + unknown + dropped[all] + queued + in_flight + stored
 */
#ifndef SPOOL_SDK_STATS_H
#define SPOOL_SDK_STATS_H

#include <spool/export.h>

#include <stddef.h>
#include <stdint.h>

SPOOL_BEGIN_DECLS

/* Why a record was dropped: X(NAME, index, "text"). */
#define SPOOL_DROP_MAP(X)                                                                          \
    X(QUEUE_FULL, 0, "queue_full")                                                                 \
    X(TOO_LARGE, 1, "too_large")                                                                   \
    X(TIMEOUT, 2, "timeout")                                                                       \
    X(SHUTDOWN, 3, "shutdown")                                                                     \
    X(SDK_RELEASED, 4, "sdk_released")                                                             \
    X(LIMIT, 5, "limit")                                                                           \
    X(MEMORY, 6, "memory")                                                                         \
    X(FORK, 7, "fork")

#define SPOOL_DROP_ENUM(name, index, text) SPOOL_DROP_##name = index,
enum { SPOOL_DROP_MAP(SPOOL_DROP_ENUM) SPOOL_DROP_CAUSES };
#undef SPOOL_DROP_ENUM

/* "queue_full", ...; "unknown" for what is no cause. Static storage. Signals: safe. */
SPOOL_API const char *spool_drop_cause_name(uint32_t cause);

/*
 * Records of one signal in one SDK. `created` counts what passed the callsite's cached verdict: a
 * statement that is off, and spool_logger_enabled(), create nothing.
 */
typedef struct spool_signal_stats {
    uint64_t created;
    uint64_t not_recorded; /* sampled out, or over a cap, or without memory */
    uint64_t filtered;     /* refused by a filter, or by every processor */
    uint64_t live;         /* spans started and not ended */
    uint64_t finished;     /* handed to the processors */
} spool_signal_stats;

/* One processor, one signal. `offered` counts what it was asked to deliver: sampled, not filtered. */
typedef struct spool_processor_stats {
    const char *name;
    uint64_t offered;
    uint64_t delivered;
    uint64_t rejected;
    uint64_t unknown;
    uint64_t dropped[SPOOL_DROP_CAUSES];
    uint64_t queued;
    uint64_t in_flight;
    uint64_t stored;
} spool_processor_stats;

enum { SPOOL_STATS_MAX_PROCESSORS = 16 };

/* As with `struct stat`, the tag shares its name with the function that fills it. */
struct spool_stats {
    size_t struct_size;            /* sizeof(struct spool_stats), set by the caller */
    spool_signal_stats signals[2]; /* by SPOOL_SIGNAL_* */
    size_t processor_count;        /* in the order of registration */
    spool_processor_stats processors[SPOOL_STATS_MAX_PROCESSORS][2];
    /* Misuse and damage, of the whole process: */
    uint64_t stale_handles;  /* calls with a handle that was ended, foreign or of another process */
    uint64_t stale_parents;  /* spans that became roots because of one */
    uint64_t wrong_detaches; /* contexts detached out of order, twice, or on the wrong thread */
    uint64_t dropped_attributes; /* over a limit, or with an invalid key */
    uint64_t repaired_text;      /* texts that were not UTF-8 */
    uint64_t truncated_text;     /* printf bodies that were cut */
    uint64_t no_memory;          /* calls that did less for want of memory */
    uint64_t scope_overflow;     /* scopes past the limit */
    uint64_t after_shutdown;     /* spans and records begun after the shutdown of their SDK */
    uint64_t released_spans;     /* spans that ended after their SDK was freed */
    uint64_t hook_recursion;     /* hooks skipped because processors called each other too deeply */
    uint64_t invalid_calls;      /* records and answers that could not be meant */
};

/*
 * What a flush or shutdown did. The numbers are of the records that were pending when it was called, or
 * had an outcome since the last report of this kind for the same SDK.
 */
typedef struct spool_report {
    size_t struct_size; /* sizeof(spool_report), set by the caller or SPOOL_REPORT_INIT */
    uint64_t delivered;
    uint64_t rejected;
    uint64_t unknown;
    uint64_t dropped;
    uint64_t timed_out; /* not delivered when the deadline passed; a shutdown drops them too */
    uint64_t queued;    /* of them, still kept for a later try */
} spool_report;

#define SPOOL_REPORT_INIT                                                                          \
    { sizeof(spool_report), 0, 0, 0, 0, 0, 0 }

SPOOL_END_DECLS
#endif /* SPOOL_SDK_STATS_H */
