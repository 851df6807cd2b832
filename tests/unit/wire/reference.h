/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the wire folder compare with: messages decoded by protobuf-c, and a slow, plain
 * model of what a caller's record has to become (repair, cutting, depth, last of equal keys).
 */
#ifndef SPT_WIRE_REFERENCE_H
#define SPT_WIRE_REFERENCE_H

#include "opentelemetry/proto/logs/v1/logs.pb-c.h"
#include "opentelemetry/proto/trace/v1/trace.pb-c.h"
#include "sdk/wire/wire.h"

#include <spool/ext/data.h>

typedef Opentelemetry__Proto__Common__V1__AnyValue spt_any;
typedef Opentelemetry__Proto__Common__V1__KeyValue spt_key_value;
typedef Opentelemetry__Proto__Trace__V1__Span spt_pb_span;
typedef Opentelemetry__Proto__Trace__V1__Span__Event spt_pb_event;
typedef Opentelemetry__Proto__Trace__V1__Span__Link spt_pb_link;
typedef Opentelemetry__Proto__Logs__V1__LogRecord spt_pb_log;

#define SPT_NO_LIMITS ((sp_wire_limits){UINT32_MAX, 64, UINT32_MAX})

/* The text as the model repairs and cuts it, from malloc. */
spool_str spt_model_text(spool_str text, uint32_t max_chars);

/*
 * The message inside one field that was written: checks the key and that the length fits
 * exactly.
 */
bool spt_unwrap(const uint8_t *bytes, size_t len, uint32_t key, sp_wire_piece *out_message);

/* ---- the caller's side against what protobuf-c decoded ---- */

bool spt_value_matches(const spool_value *want, const spt_any *got, const sp_wire_limits *limits);
bool spt_attr_matches(const spool_attr *want, const spt_key_value *got,
                      const sp_wire_limits *limits);
/* As a set, unique and limited; also compares the dropped count. */
bool spt_attrs_match(const spool_attr *want, size_t want_count, spt_key_value **got,
                     size_t got_count, uint32_t got_dropped, const sp_wire_limits *limits);
bool spt_text_matches(spool_str want, ProtobufCBinaryData got);
bool spt_log_matches(const spool_log_data *want, const spt_pb_log *got,
                     const sp_wire_limits *limits);

/* ---- our reader's views against what protobuf-c decoded: exactly the same ---- */

bool spt_span_view_equals(const spool_span_data *view, const spt_pb_span *got);
bool spt_log_view_equals(const spool_log_data *view, const spt_pb_log *got);

#endif /* SPT_WIRE_REFERENCE_H */
