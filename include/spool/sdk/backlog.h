/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backlog: details of what went wrong, without the details of all that went well. It stands in
 * front of another processor and keeps a span's low-severity log records back, until it is known
 * whether they are of use:
 *
 *   - the span ends with an error status, or a record of ERROR or above is emitted in it: its records go
 *     on, in their order, with their own times and ids; later ones go on at once
 *   - the same happens to its local root (its outermost ancestor in this process): all records that are
 *     kept in the tree go on; those of a descendant that is still live with its next record, or its end
 *   - neither: they vanish, when the local root ends
 *
 * Records that belong to no live recorded span, records without a severity, and those of middle severity
 * go on at once, and so may be delivered before earlier ones that were kept; times tell. Spans go
 * straight through.
 */
#ifndef SPOOL_SDK_BACKLOG_H
#define SPOOL_SDK_BACKLOG_H

#include <spool/ext/processor.h>

SPOOL_BEGIN_DECLS

typedef struct spool_backlog_options {
    size_t struct_size;
    int32_t keep_below; /* default 9 (INFO): trace and debug records are kept back */
    int32_t release_at; /* default 17 (ERROR): a record of this or more lets them go */
    uint32_t
        max_span_records; /* kept for one span; default 256; the oldest go first, counted as LIMIT */
    uint32_t reserved;
    uint64_t
        max_span_bytes; /* the same in bytes; default 65,536; larger single records: TOO_LARGE */
    uint64_t max_bytes; /* all memory of this backlog; default 16 MiB; then the newest: LIMIT */
} spool_backlog_options;
#define SPOOL_BACKLOG_OPTIONS_INIT                                                                 \
    { sizeof(spool_backlog_options), 9, 17, 256, 0, 65536, 16777216 }
SPOOL_API void spool_backlog_options_init(spool_backlog_options *options);

/*
 * Makes a backlog in front of `downstream`, which must have a log_emit hook. `downstream` is consumed on
 * success and the caller's on failure; so is the result, until an SDK is made with it.
 * In the statistics the two are one processor, "backlog": what is kept is `queued`, what vanished is
 * dropped[SPOOL_DROP_VANISHED], what is still kept when a span ends after the shutdown is
 * dropped[SPOOL_DROP_SHUTDOWN]. Spans of another SDK have no backlog here. A flush lets nothing go.
 * After warm-up nothing is allocated for records of up to 16 KiB.
 * SPOOL_ERR_INVALID; SPOOL_ERR_LIMIT: 4 backlogs are alive in the process, or no extension type is
 * left; SPOOL_ERR_NOMEM. Threads: any. Blocks: no. Starts no thread.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_backlog_create(spool_processor downstream,
                                                           const spool_backlog_options *options,
                                                           spool_processor *out_processor);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_BACKLOG_H */
