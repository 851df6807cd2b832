/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracers and spans (specification: trace/api).
 *
 * Without a started SDK every call is a no-op that passes the parent's context through. With one,
 * after a thread's first span, nothing here allocates for spans of up to 512 bytes of content.
 *
 * Unless a function says otherwise: Threads: any. Blocks: no; span calls on one span from several
 * threads wait for each other for the time of a copy. Progress: locks, one per span. Signals: unsafe.
 * Fork: start the SDK after forking; see docs/threading.md. Failure: counts.
 */
#ifndef SPOOL_TRACE_H
#define SPOOL_TRACE_H

#include <spool/context.h>
#include <spool/value.h>

SPOOL_BEGIN_DECLS

/* ---- tracers ---- */

typedef struct spool_tracer spool_tracer;
typedef struct spool_sdk spool_sdk;

/* Who makes the records (specification: common, "Instrumentation Scope"). Identity: all four parts. */
typedef struct spool_scope {
    spool_str name;
    spool_str version;
    spool_str schema_url;
    const spool_attr *attrs;
    size_t attr_count;
} spool_scope;

/*
 * The tracer of a scope: never NULL, valid for the life of the process, the same for equal scopes. It
 * follows the default SDK as that starts and stops, so it may be fetched before the SDK exists and
 * kept in a static. NULL or empty name: a working tracer with the empty name, and one diagnostic
 * (TA-04). Past 4,096 scopes: one shared overflow scope, counted.
 * Blocks: a short lock; keep the result rather than calling it in a loop.
 */
SPOOL_API spool_tracer *spool_tracer_get(const char *name, const char *version);
SPOOL_API spool_tracer *spool_tracer_get_n(spool_str name, spool_str version);
SPOOL_API spool_tracer *spool_tracer_get_scope(const spool_scope *scope);
/* The same, tied to one SDK (NULL: the default one); after that SDK's end it is a no-op for ever. */
SPOOL_API spool_tracer *spool_sdk_tracer(spool_sdk *sdk, const spool_scope *scope);

/*
 * Whether a span started now could be recorded (specification: trace/api "Enabled"). It changes as
 * the SDK starts and stops: ask before each span that is costly to prepare.
 */
SPOOL_API bool spool_tracer_enabled(spool_tracer *tracer);

/* ---- starting ---- */

enum {
    SPOOL_KIND_INTERNAL = 0,
    SPOOL_KIND_SERVER = 1,
    SPOOL_KIND_CLIENT = 2,
    SPOOL_KIND_PRODUCER = 3,
    SPOOL_KIND_CONSUMER = 4
};

/* A link to another span. One with all-zero ids is kept if it has attributes or a trace state. */
typedef struct spool_link {
    struct spool_span_context context;
    spool_str trace_state;
    const spool_attr *attrs;
    size_t attr_count;
} spool_link;

/*
 * How a span starts. The parent is, in this order: none if `root`; `parent_span` if not zero; `parent`
 * if not NULL; else the current context. Attributes and links given here are seen by the sampler:
 * prefer them to later calls (TA-20).
 */
typedef struct spool_span_options {
    size_t struct_size; /* set by SPOOL_SPAN_OPTIONS_INIT */
    uint32_t kind;      /* SPOOL_KIND_*; default internal */
    uint32_t root;      /* 1: a new trace; default 0 */
    const spool_context *parent;
    spool_span parent_span; /* a stale handle gives a root, counted */
    const spool_attr *attrs;
    size_t attr_count;
    const spool_link *links;
    size_t link_count;
    uint64_t start_time_ns; /* since the epoch; default 0: now */
} spool_span_options;

#define SPOOL_SPAN_OPTIONS_INIT                                                                    \
    { sizeof(spool_span_options), SPOOL_KIND_INTERNAL, 0, NULL, {0}, NULL, 0, NULL, 0, 0 }
SPOOL_API void spool_span_options_init(spool_span_options *options);

/*
 * Starts a span; it does not become current (see spool_span_enter). End it once, from any thread.
 * `options` NULL: all defaults. What it points to is read during the call.
 *
 * The handle is never an error. A span that is not recorded (sampled out, over a limit, no SDK) still
 * answers with the context it passes on: its own, or, without an SDK or when a filter refuses it, its
 * parent's. Without a parent too the handle is then zero.
 */
SPOOL_API spool_span spool_span_start_n(spool_tracer *tracer, spool_str name,
                                        const spool_span_options *options);
static inline spool_span spool_span_start(spool_tracer *tracer, const char *name,
                                          const spool_span_options *options) {
    return spool_span_start_n(tracer, spool_str_of(name), options);
}

/* ---- a live span ---- */

enum { SPOOL_STATUS_UNSET = 0, SPOOL_STATUS_OK = 1, SPOOL_STATUS_ERROR = 2 };

/* Ends the span. Later calls with the handle are no-ops, counted. The _at form takes the end time. */
SPOOL_API void spool_span_end(spool_span span);
SPOOL_API void spool_span_end_at(spool_span span, uint64_t end_time_ns);

/* Sets attributes: a key that is there already is replaced, which takes no room in the limit. */
SPOOL_API void spool_span_set(spool_span span, spool_attr attr);
SPOOL_API void spool_span_set_all(spool_span span, const spool_attr *attrs, size_t count);

/* Adds an event; the _at forms take its time, which is not clamped to the span's (TA-24). */
SPOOL_API void spool_span_event_at_n(spool_span span, spool_str name, uint64_t time_ns,
                                     const spool_attr *attrs, size_t count);
static inline void spool_span_event_at(spool_span span, const char *name, uint64_t time_ns,
                                       const spool_attr *attrs, size_t count) {
    spool_span_event_at_n(span, spool_str_of(name), time_ns, attrs, count);
}
static inline void spool_span_event_n(spool_span span, spool_str name, const spool_attr *attrs,
                                      size_t count) {
    spool_span_event_at_n(span, name, 0, attrs, count);
}
static inline void spool_span_event(spool_span span, const char *name, const spool_attr *attrs,
                                    size_t count) {
    spool_span_event_at_n(span, spool_str_of(name), 0, attrs, count);
}

/* Adds a link after the start (TA-25). */
SPOOL_API void spool_span_link(spool_span span, const spool_link *link);

/*
 * Sets the status (TA-27): Ok wins over Error, which wins over Unset; after Ok everything is ignored;
 * setting Unset is ignored; the description is kept for Error alone.
 */
SPOOL_API void spool_span_status_n(spool_span span, int code, spool_str description);
static inline void spool_span_status(spool_span span, int code, const char *description) {
    spool_span_status_n(span, code, spool_str_of(description));
}

SPOOL_API void spool_span_rename_n(spool_span span, spool_str name);
static inline void spool_span_rename(spool_span span, const char *name) {
    spool_span_rename_n(span, spool_str_of(name));
}

/*
 * Adds the event "exception" with exception.type, exception.message and exception.stacktrace, each left
 * out when NULL (TA-30). It does not set the status.
 */
SPOOL_API void spool_span_record_error_n(spool_span span, spool_str type, spool_str message,
                                         spool_str stack);
static inline void spool_span_record_error(spool_span span, const char *type, const char *message,
                                           const char *stack) {
    spool_span_record_error_n(span, spool_str_of(type), spool_str_of(message), spool_str_of(stack));
}

/* True while the span is recorded and not ended (TA-22). */
SPOOL_API bool spool_span_is_recording(spool_span span);

/*
 * The span's ids and flags, all zero for zero or a stale handle: take them before the end (TA-21).
 * For late children use a context: spool_context_with_span(), or spool_context_capture() inside.
 */
SPOOL_API struct spool_span_context spool_span_context(spool_span span);

/* ---- the current span ---- */

/*
 * Makes the span current on this thread until spool_span_exit. Entering twice nests. Exit takes a
 * token out of order too; wrong thread or twice is a counted no-op.
 */
SPOOL_API spool_token spool_span_enter(spool_span span);
SPOOL_API void spool_span_exit(spool_token token);

/* The current span of this thread; zero when there is none or it is remote. */
SPOOL_API spool_span spool_span_current(void);

/* ---- the file's own tracer ---- */

/*
 * SPOOL_TRACER() is the tracer of the scope that the file names:
 *     #define SPOOL_SCOPE "shop.http"
 *     #define SPOOL_SCOPE_VERSION "1.2.0"
 * It is looked up once a file.
 */
#ifndef SPOOL_SCOPE_VERSION
#define SPOOL_SCOPE_VERSION ""
#endif

static SPOOL_UNUSED spool_tracer *spool_tracer_of_file;
static inline SPOOL_UNUSED spool_tracer *spool_tracer_cached(spool_tracer **cache, const char *name,
                                                             const char *version) {
    spool_tracer *tracer = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (!tracer) {
        tracer = spool_tracer_get(name, version);
        __atomic_store_n(cache, tracer, __ATOMIC_RELEASE);
    }
    return tracer;
}
#define SPOOL_TRACER()                                                                             \
    spool_tracer_cached(&spool_tracer_of_file, "" SPOOL_SCOPE, "" SPOOL_SCOPE_VERSION)

/* ---- a span for a block of code ---- */

/* What SPOOL_SPAN keeps in the block: private but for spool_span_keep(). */
typedef struct spool_span_guard {
    spool_token token;
    spool_span span;
} spool_span_guard;

static inline SPOOL_UNUSED void spool_span_guard_close(spool_span_guard *guard) {
    spool_span_exit(guard->token);
    spool_span_end(guard->span);
}

/*
 * SPOOL_SPAN(var, tracer, "name", attrs...) starts a span with 0 to 32 attributes, makes it current, and
 * ends it when the enclosing block is left by any way but longjmp. `var` is a spool_span.
 * SPOOL_SPAN_WITH(var, tracer, "name", &options, attrs...) takes options too; attributes are set after
 * the start.
 * SPOOL_SPAN_KEEP(var) disarms the end: the span leaves the block alive (and not current) and is ended
 * elsewhere. spool_span_keep(&guard) is what it calls; the guard is named var with the suffix _guard.
 */
#define SPOOL_SPAN(var, tracer, ...) SPOOL_SPAN_LIST_(var, tracer, __VA_ARGS__, spool_attr_end())
#define SPOOL_SPAN_LIST_(var, tracer, name, ...)                                                   \
    const spool_attr var##_attrs[] = {__VA_ARGS__};                                                \
    spool_span_guard var##_guard SPOOL_CLEANUP(spool_span_guard_close) = spool_span_guard_open(    \
        tracer, name, var##_attrs, sizeof var##_attrs / sizeof var##_attrs[0] - 1);                \
    const spool_span var SPOOL_UNUSED = var##_guard.span

#define SPOOL_SPAN_WITH(var, tracer, name, ...)                                                    \
    SPOOL_SPAN_WITH_LIST_(var, tracer, name, __VA_ARGS__, spool_attr_end())
#define SPOOL_SPAN_WITH_LIST_(var, tracer, name, options, ...)                                     \
    const spool_attr var##_attrs[] = {__VA_ARGS__};                                                \
    spool_span_guard var##_guard SPOOL_CLEANUP(spool_span_guard_close) =                           \
        spool_span_guard_open_with(tracer, name, options, var##_attrs,                             \
                                   sizeof var##_attrs / sizeof var##_attrs[0] - 1);                \
    const spool_span var SPOOL_UNUSED = var##_guard.span

static inline SPOOL_UNUSED spool_span_guard spool_span_guard_open_with(
    spool_tracer *tracer, const char *name, const spool_span_options *options,
    const spool_attr *attrs, size_t count) {
    spool_span_guard guard;
    guard.span = spool_span_start(tracer, name, options);
    if (count) {
        spool_span_set_all(guard.span, attrs, count);
    }
    guard.token = spool_span_enter(guard.span);
    return guard;
}

static inline SPOOL_UNUSED spool_span_guard spool_span_guard_open(spool_tracer *tracer,
                                                                  const char *name,
                                                                  const spool_attr *attrs,
                                                                  size_t count) {
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attrs = attrs;
    options.attr_count = count;
    return spool_span_guard_open_with(tracer, name, &options, NULL, 0);
}

/* Disarms the guard: the span stops being current and is returned, still live. */
static inline SPOOL_UNUSED spool_span spool_span_keep(spool_span_guard *guard) {
    spool_span span = guard->span;
    spool_span_exit(guard->token);
    guard->token.bits = 0;
    guard->span.bits = 0;
    return span;
}
#define SPOOL_SPAN_KEEP(var) spool_span_keep(&var##_guard)

SPOOL_END_DECLS
#endif /* SPOOL_TRACE_H */
