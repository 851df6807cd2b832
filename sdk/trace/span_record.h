/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a span hook of a processor is handed, from the inside: borrowed parts of one span. Processors of
 * this library use it to write the span as OTLP bytes without a detour through views.
 */
#ifndef SPOOL_SDK_TRACE_SPAN_RECORD_H
#define SPOOL_SDK_TRACE_SPAN_RECORD_H

#include "sdk/memory/arena.h"
#include "sdk/platform/compiler.h"
#include "sdk/resource/scope.h"
#include "sdk/wire/wire.h"

#include <spool/ext/processor.h>

/*
 * The span as the wire writer wants it: fills *out and up to `capacity` pieces of content (*out points to
 * them). Returns the number of pieces needed: when it is more than `capacity`, *out has no content; call
 * again with room. Only from a span_end hook, where the span is fixed.
 */
size_t sp_span_record_wire(spool_span_record *span, sp_wire_span *out, sp_wire_piece *pieces,
                           size_t capacity) SP_SHARED("span_record_wire");

/*
 * Copies all that the span says into the arena and fills *data, but for scope and resource: the span
 * may be changed or ended while it is read. The caller holds the slot. False without memory.
 */
bool sp_span_record_copy(spool_span_record *span, sp_arena *arena, spool_span_data *data);

/* The scope of the span or record, interned: the same pointer for equal scopes, valid for ever. */
const sp_scope *sp_span_record_scope(const spool_span_record *span) SP_SHARED("span_record_scope");
/* True when the span carries the sampled flag: only those are for exporters (SE-06). */
bool sp_span_record_sampled(const spool_span_record *span) SP_SHARED("span_record_sampled");

#endif /* SPOOL_SDK_TRACE_SPAN_RECORD_H */
