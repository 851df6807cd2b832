/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters: which spans and log records an SDK, or one of its processors, gets to see. docs/filters.md
 * explains the language by examples. A filter is immutable and counted: it may stand in several SDKs and
 * in several combinations at once.
 */
#ifndef SPOOL_SDK_FILTER_H
#define SPOOL_SDK_FILTER_H

#include <spool/status.h>
#include <spool/trace.h>

SPOOL_BEGIN_DECLS

typedef struct spool_filter spool_filter;

/*
 * Parses a comma list of directives, each
 *
 *     [scope][[span-name][{key[=value],...}]][=level]
 *
 * in which the outer brackets of `[span-name{...}]` are written: info,shop.db=debug,shop[pay{user=7}]=trace
 *
 * level   trace, trace2 .. fatal4, or off, in any case: records below it are refused. A bare level is
 *         the directive for every scope; a scope without a level lets everything through.
 * scope   a prefix of the record's scope name, to the byte: shop.db is also a prefix of shop.dbx.
 * [...]   the directive holds inside a live span of this name that carries these attributes (a value
 *         stands for a text, a number or true and false; without a value the key is enough). Names and
 *         values may be quoted with "", in which \ escapes.
 *
 * The most specific directive that matches decides: one with a span before one without, then the longer
 * scope, then the larger number of attributes; of two equal ones the later replaces the earlier.
 *
 * A log record that no directive matches is refused, one of severity 0 passes every level but off. A span
 * is refused when the directive that decides says off; directives with a span part never refuse spans,
 * they let them through where a less specific one says off.
 *
 * SPOOL_ERR_INVALID: a part that is none, or an empty list; one diagnostic names it. SPOOL_ERR_LIMIT:
 * more than 1,024 directives, 32 with a span part, or 32 names and attributes in span parts.
 * SPOOL_ERR_NOMEM. On failure *out_filter is untouched. Threads: any. Blocks: no.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_filter_create(const char *directives,
                                                          spool_filter **out_filter);

/* What a filter function is asked about a span that starts. Borrowed for the call. */
typedef struct spool_span_query {
    size_t struct_size;
    spool_str name;
    const spool_scope *scope;
    const spool_attr *attrs; /* those that it starts with */
    size_t attr_count;
    uint32_t kind; /* SPOOL_KIND_* */
    uint32_t reserved;
} spool_span_query;

/* And about a log record. */
typedef struct spool_log_query {
    size_t struct_size;
    int32_t severity;
    uint32_t reserved;
    spool_str event_name;
    const spool_scope *scope;
    const struct spool_span_context *span; /* of its context; never NULL, may be all zero */
} spool_log_query;

/*
 * A filter in code. True admits; an absent function admits everything of its signal. The functions run on
 * the thread that makes the span or record, concurrently, with no lock held; they may use the API, also
 * to make telemetry, which is filtered in its turn: at depth 8 the answer is taken to be no, counted.
 *
 * log_by_severity_and_scope 1: `log` looks at these two alone, and always answers the same: statements
 * keep the answer (they then ask with an empty event name and context) instead of asking each time.
 * destroy: once, when the last reference is gone; may be absent.
 */
typedef struct spool_filter_ops {
    size_t struct_size;
    bool (*span)(void *self, const spool_span_query *query);
    bool (*log)(void *self, const spool_log_query *query);
    void (*destroy)(void *self);
    uint32_t log_by_severity_and_scope;
} spool_filter_ops;

/* `ops` has static storage. `self` is consumed on success. SPOOL_ERR_INVALID: struct_size 0. */
SPOOL_API SPOOL_MUST_USE spool_status spool_filter_create_custom(const spool_filter_ops *ops,
                                                                 void *self,
                                                                 spool_filter **out_filter);

/*
 * Combinations; references to the parts are taken. The second part is asked only when the first leaves
 * the answer open. SPOOL_ERR_INVALID: a part is NULL. SPOOL_ERR_LIMIT: more than 256 parts in all, 32
 * levels, or the sums of the limits of spool_filter_create().
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_filter_and(const spool_filter *a, const spool_filter *b,
                                                       spool_filter **out_filter);
SPOOL_API SPOOL_MUST_USE spool_status spool_filter_or(const spool_filter *a, const spool_filter *b,
                                                      spool_filter **out_filter);
SPOOL_API SPOOL_MUST_USE spool_status spool_filter_not(const spool_filter *a,
                                                       spool_filter **out_filter);

/* One more reference; NULL gives NULL. Each is released once; NULL is a no-op. Threads: any. */
SPOOL_API spool_filter *spool_filter_copy(const spool_filter *filter);
SPOOL_API void spool_filter_release(spool_filter *filter);

/*
 * Exchanges a running SDK's filter for all processors, or that of one (by its place in the options);
 * `filter` NULL: none. A reference is taken. Later records and spans are judged by the new one; live
 * spans stay with the processors that they started with, and are not recognised by the span parts of
 * the new one. What the old one holds is freed once no call uses it any more.
 *
 * SPOOL_ERR_INVALID: no SDK, no such processor. SPOOL_ERR_SHUTDOWN. SPOOL_ERR_LIMIT: as above, over all
 * filters of the SDK. SPOOL_ERR_NOMEM. On failure nothing changes.
 * Threads: any. Blocks: bounded (1 s, for calls that are in progress; not inside a hook).
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_sdk_set_filter(spool_sdk *sdk,
                                                           const spool_filter *filter);
SPOOL_API SPOOL_MUST_USE spool_status spool_sdk_set_processor_filter(spool_sdk *sdk,
                                                                     size_t processor,
                                                                     const spool_filter *filter);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_FILTER_H */
