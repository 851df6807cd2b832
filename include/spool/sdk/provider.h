/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SDK object: made in code, flushed, shut down, freed (specification: trace/sdk and logs/sdk
 * "Provider"). It is part of libspool and needs no background thread; processors may.
 * spool_start() in <spool/sdk/start.h> makes one from the environment.
 */
#ifndef SPOOL_SDK_PROVIDER_H
#define SPOOL_SDK_PROVIDER_H

#include <spool/ext/processor.h>
#include <spool/ext/sampler.h>
#include <spool/sdk/filter.h>
#include <spool/sdk/resource.h>
#include <spool/sdk/stats.h>
#include <spool/status.h>
#include <spool/trace.h>

SPOOL_BEGIN_DECLS

/* Limits of one record (specification: common "Attribute Limits", trace/sdk "Span Limits"). */
typedef struct spool_limits {
    size_t struct_size;
    uint32_t span_attr_count;  /* default 128 */
    uint32_t span_event_count; /* default 128 */
    uint32_t span_link_count;  /* default 128 */
    uint32_t event_attr_count; /* default 128 */
    uint32_t link_attr_count;  /* default 128 */
    uint32_t log_attr_count;   /* default 128 */
    uint32_t span_attr_length; /* characters of text, bytes of bytes; default SPOOL_NO_LIMIT */
    uint32_t log_attr_length;  /* the same; the body is never cut */
    uint32_t value_depth;      /* default 64; at least 1 */
    uint32_t reserved;
} spool_limits;
#define SPOOL_NO_LIMIT UINT32_MAX
#define SPOOL_LIMITS_INIT                                                                          \
    { sizeof(spool_limits), 128, 128, 128, 128, 128, 128, SPOOL_NO_LIMIT, SPOOL_NO_LIMIT, 64, 0 }
SPOOL_API void spool_limits_init(spool_limits *limits);

enum {
    SPOOL_CLOCK_PRECISE = 0, /* clock_gettime: about 25 ns a call */
    SPOOL_CLOCK_COARSE = 1   /* the kernel's tick, 1 to 4 ms: about 5 ns a call */
};

typedef struct spool_sdk_options {
    size_t struct_size;
    const spool_processor *processors; /* consumed on success; called in this order; at most 16 */
    size_t processor_count;
    spool_sampler sampler; /* consumed on success; default ops NULL: parent-based, always on */
    const spool_resource *resource;  /* a reference is taken; default NULL: the default resource */
    spool_id_generator id_generator; /* consumed on success; default ops NULL: random */
    spool_limits limits;
    uint32_t clock;           /* SPOOL_CLOCK_*; default precise */
    uint32_t not_default;     /* 1: never the process's default SDK; default 0 */
    uint32_t source_location; /* 1: callsites add code.* attributes; default 0 */
    int32_t minimum_severity; /* default 0: none; records below are filtered, not 0 (LS-07) */
    uint64_t max_live_spans;  /* of the process; default 1,000,000; more are not recorded */
    uint64_t max_live_bytes;  /* of their memory; default 256 MiB; likewise */
    /* What the SDK sees at all, and what each processor sees of that (by its place; an entry may be
     * NULL). References are taken. Default NULL: everything. */
    const spool_filter *filter;
    const spool_filter *const *processor_filters;
} spool_sdk_options;

#define SPOOL_SDK_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(spool_sdk_options), NULL, 0, {NULL, NULL}, NULL, {NULL, NULL}, SPOOL_LIMITS_INIT,   \
            SPOOL_CLOCK_PRECISE, 0, 0, 0, 1000000, 268435456, NULL, NULL                           \
    }
SPOOL_API void spool_sdk_options_init(spool_sdk_options *options);

/*
 * Makes an SDK. It becomes the default one, which tracers and loggers follow, unless it says no.
 *
 * On success what is consumed is the SDK's; on failure all of it is still the caller's.
 * SPOOL_ERR_EXISTS: there is a default SDK already. SPOOL_ERR_INVALID: struct_size 0, a table without a
 * size, more than 16 processors. SPOOL_ERR_LIMIT: 64 SDKs are alive. SPOOL_ERR_NOMEM.
 * Threads: any. Blocks: no. Fork: child may call.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_sdk_create(const spool_sdk_options *options,
                                                       spool_sdk **out_sdk);

/*
 * Delivers what was recorded before the call, in at most `timeout_ms` (0: only looks), and says what
 * became of it; `report` may be NULL. `sdk` NULL: the default one; none: SPOOL_OK.
 * SPOOL_OK: all delivered. SPOOL_ERR_EXPORT: something was rejected, dropped or unknown since the last
 * report. SPOOL_ERR_TIMEOUT. SPOOL_ERR_WOULD_BLOCK: called on the runtime's thread or inside a hook.
 * SPOOL_ERR_SHUTDOWN: after the shutdown. SPOOL_ERR_INVALID: a report without its struct_size.
 * Threads: any. Blocks: bounded (timeout_ms).
 */
SPOOL_API spool_status spool_flush(spool_sdk *sdk, uint32_t timeout_ms, spool_report *report);

/*
 * Ends the SDK: no new records, a flush, then each processor and exporter is shut down once, all in
 * `timeout_ms`. Any number of times, from any threads: the first does the work, the others wait for it
 * within their own timeout and get SPOOL_ERR_SHUTDOWN. Spans still live are counted as they end. All
 * API objects stay valid and become no-ops. Statistics stay readable until the free.
 */
SPOOL_API spool_status spool_shutdown(spool_sdk *sdk, uint32_t timeout_ms, spool_report *report);

/*
 * Frees the SDK; shuts it down first, without waiting, if that was not done. NULL is a no-op. Spans that
 * are still live stay harmless: their end is counted as sdk_released. Not from inside a hook of it.
 */
SPOOL_API void spool_sdk_free(spool_sdk *sdk);

/* The default SDK, borrowed, or NULL. */
SPOOL_API spool_sdk *spool_sdk_default(void);

/*
 * Exact at every quiet point; `out->struct_size` must be set. `sdk` NULL: the default one.
 * SPOOL_ERR_INVALID without one. Threads: any. Blocks: a short lock.
 */
SPOOL_API spool_status spool_stats(spool_sdk *sdk, struct spool_stats *out);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_PROVIDER_H */
