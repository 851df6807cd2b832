/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-only views of finished data, for processors and exporters (specification: "Readable span",
 * "ReadableLogRecord"). All that a view points to is borrowed: valid until the hook, or the step of
 * the batch iterator, that gave it is over. In a hook, `scope` and `resource` are valid for longer:
 * the scope for ever, the resource until the processor's destroy.
 */
#ifndef SPOOL_EXT_DATA_H
#define SPOOL_EXT_DATA_H

#include <spool/context.h>
#include <spool/trace.h>
#include <spool/value.h>

SPOOL_BEGIN_DECLS

enum { SPOOL_SIGNAL_SPANS = 0, SPOOL_SIGNAL_LOGS = 1, SPOOL_SIGNALS = 2 };

typedef struct spool_resource_data {
    const spool_attr *attrs;
    size_t attr_count;
    spool_str schema_url;
} spool_resource_data;

typedef struct spool_event_data {
    spool_str name;
    uint64_t time_ns;
    const spool_attr *attrs;
    size_t attr_count;
    uint32_t dropped_attr_count;
} spool_event_data;

typedef struct spool_link_data {
    struct spool_span_context context;
    spool_str trace_state;
    const spool_attr *attrs;
    size_t attr_count;
    uint32_t dropped_attr_count;
} spool_link_data;

typedef struct spool_span_data {
    size_t struct_size;
    struct spool_span_context context; /* remote is 0 */
    uint8_t parent_span_id[8];         /* all zero: a root */
    uint32_t parent_remote;            /* 1: the parent is of another process */
    uint32_t kind;                     /* SPOOL_KIND_* */
    spool_str trace_state;
    spool_str name;
    uint64_t start_time_ns;
    uint64_t end_time_ns; /* 0: not ended */
    uint32_t status;      /* SPOOL_STATUS_* */
    uint32_t dropped_attr_count;
    uint32_t dropped_event_count;
    uint32_t dropped_link_count;
    spool_str status_description;
    const spool_attr *attrs;
    size_t attr_count;
    const spool_event_data *events;
    size_t event_count;
    const spool_link_data *links;
    size_t link_count;
    const spool_scope *scope;
    const spool_resource_data *resource;
} spool_span_data;

/*
 * A log record on its way through the processors. In a log_emit hook the fields up to `attrs` may be
 * changed, and attributes by spool_log_data_set() and _remove(); later processors see the change
 * (LS-17). Exporters read it.
 */
typedef struct spool_log_data {
    size_t struct_size;
    uint64_t timestamp_ns;
    uint64_t observed_timestamp_ns;
    struct spool_span_context context; /* all zero: none */
    int32_t severity;
    uint32_t dropped_attr_count;
    spool_str severity_text;
    spool_str event_name;
    spool_value body;
    const spool_attr *attrs; /* replaced by _set and _remove; never written through */
    size_t attr_count;
    const spool_scope *scope;
    const spool_resource_data *resource;
} spool_log_data;

/*
 * In a log_emit hook: sets or replaces an attribute of the record (the value is borrowed until the
 * emit is over; it may live in the processor or in the log's box), or removes one. No allocation for
 * up to 8 additions. False without room, counted.
 */
SPOOL_API bool spool_log_data_set(spool_log_data *log, spool_attr attr);
SPOOL_API bool spool_log_data_remove(spool_log_data *log, spool_str key);

SPOOL_END_DECLS
#endif /* SPOOL_EXT_DATA_H */
