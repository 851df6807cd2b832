/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loggers, log records and the logging macros (specification: logs/api, logs/data-model).
 *
 * The record lives in the caller's frame and is passed by pointer; it is copied only by a processor
 * that needs to. Without a started SDK every call is a no-op.
 *
 * Unless a function says otherwise: Threads: any. Blocks: no (a simple processor with a network
 * exporter does, by choice). Signals: unsafe. Fork: child may call. Failure: counts.
 */
#ifndef SPOOL_LOG_H
#define SPOOL_LOG_H

#include <spool/context.h>
#include <spool/trace.h>
#include <spool/value.h>

#include <stdarg.h>

SPOOL_BEGIN_DECLS

typedef struct spool_logger spool_logger;

enum {
    SPOOL_SEVERITY_UNSPECIFIED = 0,
    SPOOL_SEVERITY_TRACE = 1,
    SPOOL_SEVERITY_TRACE2 = 2,
    SPOOL_SEVERITY_TRACE3 = 3,
    SPOOL_SEVERITY_TRACE4 = 4,
    SPOOL_SEVERITY_DEBUG = 5,
    SPOOL_SEVERITY_DEBUG2 = 6,
    SPOOL_SEVERITY_DEBUG3 = 7,
    SPOOL_SEVERITY_DEBUG4 = 8,
    SPOOL_SEVERITY_INFO = 9,
    SPOOL_SEVERITY_INFO2 = 10,
    SPOOL_SEVERITY_INFO3 = 11,
    SPOOL_SEVERITY_INFO4 = 12,
    SPOOL_SEVERITY_WARN = 13,
    SPOOL_SEVERITY_WARN2 = 14,
    SPOOL_SEVERITY_WARN3 = 15,
    SPOOL_SEVERITY_WARN4 = 16,
    SPOOL_SEVERITY_ERROR = 17,
    SPOOL_SEVERITY_ERROR2 = 18,
    SPOOL_SEVERITY_ERROR3 = 19,
    SPOOL_SEVERITY_ERROR4 = 20,
    SPOOL_SEVERITY_FATAL = 21,
    SPOOL_SEVERITY_FATAL2 = 22,
    SPOOL_SEVERITY_FATAL3 = 23,
    SPOOL_SEVERITY_FATAL4 = 24
};

/* "TRACE", "TRACE2", ... "FATAL4"; "" for 0 and for what is no severity. Signals: safe. */
SPOOL_API const char *spool_severity_name(int severity);

/*
 * The severity of a syslog priority (0 emergency .. 7 debug; facility bits are ignored): emergency
 * FATAL, alert ERROR3, critical ERROR2, error ERROR, warning WARN, notice INFO2, informational INFO,
 * debug DEBUG (logs/data-model, appendix B).
 */
SPOOL_API int spool_severity_from_syslog(int priority);

/* As spool_tracer_get() and its kin. An empty logger name is kept as it is (LS-02). */
SPOOL_API spool_logger *spool_logger_get(const char *name, const char *version);
SPOOL_API spool_logger *spool_logger_get_n(spool_str name, spool_str version);
SPOOL_API spool_logger *spool_logger_get_scope(const spool_scope *scope);
SPOOL_API spool_logger *spool_sdk_logger(spool_sdk *sdk, const spool_scope *scope);

/*
 * Whether a record with these properties would go anywhere (LA-05); `context` NULL: the current one;
 * `event_name` may be NULL. A call that this refuses counts nowhere. Emit filters again by itself.
 */
SPOOL_API bool spool_logger_enabled(spool_logger *logger, const spool_context *context,
                                    int severity, const char *event_name);
SPOOL_API bool spool_logger_enabled_n(spool_logger *logger, const spool_context *context,
                                      int severity, spool_str event_name);

/*
 * A log record as the caller makes it. Everything is borrowed for the call. An event is a record with
 * an event name.
 */
typedef struct spool_log_record {
    size_t struct_size;             /* set by SPOOL_LOG_RECORD_INIT */
    uint64_t timestamp_ns;          /* when it happened, since the epoch; 0: unknown, stays 0 */
    uint64_t observed_timestamp_ns; /* when it was seen; 0: now */
    const spool_context *context;   /* NULL: the current one */
    int32_t severity;               /* SPOOL_SEVERITY_* */
    uint32_t reserved;
    spool_str severity_text; /* the source's own name of the severity; may be empty */
    spool_str event_name;
    spool_value body;
    const spool_attr *attrs;
    size_t attr_count;
} spool_log_record;

#define SPOOL_LOG_RECORD_INIT                                                                      \
    {                                                                                              \
        sizeof(spool_log_record), 0, 0, NULL, 0, 0, {NULL, 0}, {NULL, 0},                          \
            {SPOOL_VALUE_EMPTY, {false}}, NULL, 0                                                  \
    }
SPOOL_API void spool_log_record_init(spool_log_record *record);

/* Emits the record (LA-02). A NULL record or one with struct_size 0 is a counted no-op. */
SPOOL_API void spool_log_emit(spool_logger *logger, const spool_log_record *record);

/*
 * The calls and macros below make a record of what happens now: both its times are the time of the call.
 * The printf forms build the body on the stack, at most 1,023 bytes; what was cut is counted and ends
 * in "...".
 */
SPOOL_API void spool_logf(spool_logger *logger, int severity, const char *format, ...)
    SPOOL_PRINTF(3, 4);
SPOOL_API void spool_vlogf(spool_logger *logger, int severity, const char *format, va_list args)
    SPOOL_PRINTF(3, 0);

/* A body and an array of attributes. */
SPOOL_API void spool_log_n(spool_logger *logger, int severity, spool_str body,
                           const spool_attr *attrs, size_t count);

/* spool_log(logger, severity, "body", attrs...) with 0 to 32 attributes. */
#define spool_log(logger, severity, ...)                                                           \
    SPOOL_LOG_LIST_(logger, severity, __VA_ARGS__, spool_attr_end())
#define SPOOL_LOG_LIST_(logger, severity, body, ...)                                               \
    do {                                                                                           \
        const spool_attr spool_attrs_[] = {__VA_ARGS__};                                           \
        spool_log_n(logger, severity, spool_str_of(body), spool_attrs_,                            \
                    sizeof spool_attrs_ / sizeof spool_attrs_[0] - 1);                             \
    } while (0)

/* ---- callsites ---- */

/*
 * One logging statement. `verdict` caches {epoch, mask of processors}: the statement is off while the
 * epoch is current and the mask is 0. Statements are never registered anywhere.
 */
typedef struct spool_callsite {
    uint64_t verdict; /* atomic; private */
    spool_logger **logger;
    const char *scope;
    const char *scope_version;
    const char *file;
    const char *function;
    int32_t line;
    int32_t severity;
    uint64_t count; /* atomic; how often an _EVERY or _ONCE statement was reached */
} spool_callsite;

/* The epoch of all verdicts; private. It changes when an SDK starts or stops or a filter changes. */
SPOOL_API extern uint32_t spool_callsite_epoch;

/* The slow path of the check: renews the verdict. Private. */
SPOOL_API bool spool_callsite_renew(spool_callsite *site);

static inline SPOOL_UNUSED bool spool_callsite_enabled(spool_callsite *site) {
    uint64_t verdict = __atomic_load_n(&site->verdict, __ATOMIC_RELAXED);
    uint32_t epoch = __atomic_load_n(&spool_callsite_epoch, __ATOMIC_RELAXED);
    if (__builtin_expect((uint32_t)(verdict >> 32) != epoch, 0)) {
        return spool_callsite_renew(site);
    }
    return (uint32_t)verdict != 0;
}

/* Emit for macros; `context` NULL: the current one. Private. */
SPOOL_API void spool_callsite_emit(spool_callsite *site, const spool_context *context,
                                   spool_str body, const spool_attr *attrs, size_t count);
SPOOL_API void spool_callsite_emitf(spool_callsite *site, const spool_context *context,
                                    const char *format, ...) SPOOL_PRINTF(3, 4);

static SPOOL_UNUSED spool_logger *spool_logger_of_file;
static inline SPOOL_UNUSED spool_logger *spool_logger_cached(spool_logger **cache, const char *name,
                                                             const char *version) {
    spool_logger *logger = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (!logger) {
        logger = spool_logger_get(name, version);
        __atomic_store_n(cache, logger, __ATOMIC_RELEASE);
    }
    return logger;
}
/* The file's own logger, from SPOOL_SCOPE, as SPOOL_TRACER(). */
#define SPOOL_LOGGER()                                                                             \
    spool_logger_cached(&spool_logger_of_file, "" SPOOL_SCOPE, "" SPOOL_SCOPE_VERSION)

/* Statements below this severity are compiled away; their arguments are still type-checked. */
#ifndef SPOOL_MIN_SEVERITY
#define SPOOL_MIN_SEVERITY 0
#endif

#define SPOOL_CALLSITE_(severity)                                                                  \
    {                                                                                              \
        0, &spool_logger_of_file, "" SPOOL_SCOPE, "" SPOOL_SCOPE_VERSION, __FILE__, __func__,      \
            __LINE__, severity, 0                                                                  \
    }

/* `when` decides, after the severity, whether this pass of the statement emits. */
#define SPOOL_STATEMENT_(sev, when, context, ...)                                                  \
    SPOOL_STATEMENT_LIST_(sev, when, context, __VA_ARGS__, spool_attr_end())
#define SPOOL_STATEMENT_LIST_(sev, when, context, body, ...)                                       \
    do {                                                                                           \
        static spool_callsite spool_site_ = SPOOL_CALLSITE_(sev);                                  \
        if ((sev) >= SPOOL_MIN_SEVERITY && spool_callsite_enabled(&spool_site_) && (when)) {       \
            const spool_attr spool_attrs_[] = {__VA_ARGS__};                                       \
            spool_callsite_emit(&spool_site_, context, spool_str_of(body), spool_attrs_,           \
                                sizeof spool_attrs_ / sizeof spool_attrs_[0] - 1);                 \
        }                                                                                          \
    } while (0)
#define SPOOL_STATEMENT_F_(sev, context, ...)                                                      \
    do {                                                                                           \
        static spool_callsite spool_site_ = SPOOL_CALLSITE_(sev);                                  \
        if ((sev) >= SPOOL_MIN_SEVERITY && spool_callsite_enabled(&spool_site_)) {                 \
            spool_callsite_emitf(&spool_site_, context, __VA_ARGS__);                              \
        }                                                                                          \
    } while (0)
#define SPOOL_NTH_(n)                                                                              \
    (__atomic_fetch_add(&spool_site_.count, 1, __ATOMIC_RELAXED) % (uint64_t)(n) == 0)
#define SPOOL_FIRST_()                                                                             \
    (__atomic_load_n(&spool_site_.count, __ATOMIC_RELAXED) == 0 &&                                 \
     __atomic_fetch_add(&spool_site_.count, 1, __ATOMIC_RELAXED) == 0)

/*
 * SPOOL_INFO("body", attrs...)               0 to 32 attributes
 * SPOOL_INFO_F("format", ...)                printf form
 * SPOOL_INFO_IN(&context, "body", attrs...)  with an explicit context
 * SPOOL_INFO_EVERY(n, "body", attrs...)      the first and then each n-th time it is reached
 * SPOOL_INFO_ONCE("body", attrs...)          the first time
 * and the same for TRACE, DEBUG, WARN, ERROR and FATAL. Arguments are evaluated only when the statement
 * is on. The file must define SPOOL_SCOPE.
 */
#define SPOOL_TRACE(...) SPOOL_STATEMENT_(SPOOL_SEVERITY_TRACE, true, NULL, __VA_ARGS__)
#define SPOOL_DEBUG(...) SPOOL_STATEMENT_(SPOOL_SEVERITY_DEBUG, true, NULL, __VA_ARGS__)
#define SPOOL_INFO(...) SPOOL_STATEMENT_(SPOOL_SEVERITY_INFO, true, NULL, __VA_ARGS__)
#define SPOOL_WARN(...) SPOOL_STATEMENT_(SPOOL_SEVERITY_WARN, true, NULL, __VA_ARGS__)
#define SPOOL_ERROR(...) SPOOL_STATEMENT_(SPOOL_SEVERITY_ERROR, true, NULL, __VA_ARGS__)
#define SPOOL_FATAL(...) SPOOL_STATEMENT_(SPOOL_SEVERITY_FATAL, true, NULL, __VA_ARGS__)

#define SPOOL_TRACE_F(...) SPOOL_STATEMENT_F_(SPOOL_SEVERITY_TRACE, NULL, __VA_ARGS__)
#define SPOOL_DEBUG_F(...) SPOOL_STATEMENT_F_(SPOOL_SEVERITY_DEBUG, NULL, __VA_ARGS__)
#define SPOOL_INFO_F(...) SPOOL_STATEMENT_F_(SPOOL_SEVERITY_INFO, NULL, __VA_ARGS__)
#define SPOOL_WARN_F(...) SPOOL_STATEMENT_F_(SPOOL_SEVERITY_WARN, NULL, __VA_ARGS__)
#define SPOOL_ERROR_F(...) SPOOL_STATEMENT_F_(SPOOL_SEVERITY_ERROR, NULL, __VA_ARGS__)
#define SPOOL_FATAL_F(...) SPOOL_STATEMENT_F_(SPOOL_SEVERITY_FATAL, NULL, __VA_ARGS__)

#define SPOOL_TRACE_IN(context, ...)                                                               \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_TRACE, true, context, __VA_ARGS__)
#define SPOOL_DEBUG_IN(context, ...)                                                               \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_DEBUG, true, context, __VA_ARGS__)
#define SPOOL_INFO_IN(context, ...)                                                                \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_INFO, true, context, __VA_ARGS__)
#define SPOOL_WARN_IN(context, ...)                                                                \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_WARN, true, context, __VA_ARGS__)
#define SPOOL_ERROR_IN(context, ...)                                                               \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_ERROR, true, context, __VA_ARGS__)
#define SPOOL_FATAL_IN(context, ...)                                                               \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_FATAL, true, context, __VA_ARGS__)

#define SPOOL_TRACE_EVERY(n, ...)                                                                  \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_TRACE, SPOOL_NTH_(n), NULL, __VA_ARGS__)
#define SPOOL_DEBUG_EVERY(n, ...)                                                                  \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_DEBUG, SPOOL_NTH_(n), NULL, __VA_ARGS__)
#define SPOOL_INFO_EVERY(n, ...)                                                                   \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_INFO, SPOOL_NTH_(n), NULL, __VA_ARGS__)
#define SPOOL_WARN_EVERY(n, ...)                                                                   \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_WARN, SPOOL_NTH_(n), NULL, __VA_ARGS__)
#define SPOOL_ERROR_EVERY(n, ...)                                                                  \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_ERROR, SPOOL_NTH_(n), NULL, __VA_ARGS__)
#define SPOOL_FATAL_EVERY(n, ...)                                                                  \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_FATAL, SPOOL_NTH_(n), NULL, __VA_ARGS__)

#define SPOOL_TRACE_ONCE(...)                                                                      \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_TRACE, SPOOL_FIRST_(), NULL, __VA_ARGS__)
#define SPOOL_DEBUG_ONCE(...)                                                                      \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_DEBUG, SPOOL_FIRST_(), NULL, __VA_ARGS__)
#define SPOOL_INFO_ONCE(...)                                                                       \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_INFO, SPOOL_FIRST_(), NULL, __VA_ARGS__)
#define SPOOL_WARN_ONCE(...)                                                                       \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_WARN, SPOOL_FIRST_(), NULL, __VA_ARGS__)
#define SPOOL_ERROR_ONCE(...)                                                                      \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_ERROR, SPOOL_FIRST_(), NULL, __VA_ARGS__)
#define SPOOL_FATAL_ONCE(...)                                                                      \
    SPOOL_STATEMENT_(SPOOL_SEVERITY_FATAL, SPOOL_FIRST_(), NULL, __VA_ARGS__)

SPOOL_END_DECLS
#endif /* SPOOL_LOG_H */
