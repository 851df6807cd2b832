/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of OTLP fields (number << 3 | wire type), for the writer and the reader alike. */
#ifndef SPOOL_SDK_WIRE_KEYS_H
#define SPOOL_SDK_WIRE_KEYS_H

enum {
    /* AnyValue */
    SP_KEY_STRING = 1 << 3 | 2,
    SP_KEY_BOOL = 2 << 3 | 0,
    SP_KEY_INT = 3 << 3 | 0,
    SP_KEY_DOUBLE = 4 << 3 | 1,
    SP_KEY_ARRAY = 5 << 3 | 2,
    SP_KEY_MAP = 6 << 3 | 2,
    SP_KEY_BYTES = 7 << 3 | 2,
    SP_KEY_ITEM = 1 << 3 | 2, /* of ArrayValue and KeyValueList */
    /* KeyValue */
    SP_KEY_KEY = 1 << 3 | 2,
    SP_KEY_VALUE = 2 << 3 | 2,

    /* Span.Event */
    SP_KEY_EVENT_TIME = 1 << 3 | 1,
    SP_KEY_EVENT_NAME = 2 << 3 | 2,
    SP_KEY_EVENT_DROPPED = 4 << 3 | 0,

    /* Span.Link */
    SP_KEY_LINK_TRACE_ID = 1 << 3 | 2,
    SP_KEY_LINK_SPAN_ID = 2 << 3 | 2,
    SP_KEY_LINK_TRACE_STATE = 3 << 3 | 2,
    SP_KEY_LINK_DROPPED = 5 << 3 | 0,
    SP_KEY_LINK_FLAGS = 6 << 3 | 5,

    /* Span */
    SP_KEY_SPAN_TRACE_ID = 1 << 3 | 2,
    SP_KEY_SPAN_ID = 2 << 3 | 2,
    SP_KEY_SPAN_TRACE_STATE = 3 << 3 | 2,
    SP_KEY_SPAN_PARENT = 4 << 3 | 2,
    SP_KEY_SPAN_NAME = 5 << 3 | 2,
    SP_KEY_SPAN_KIND = 6 << 3 | 0,
    SP_KEY_SPAN_START = 7 << 3 | 1,
    SP_KEY_SPAN_END = 8 << 3 | 1,
    SP_KEY_SPAN_DROPPED_ATTRS = 10 << 3 | 0,
    SP_KEY_SPAN_DROPPED_EVENTS = 12 << 3 | 0,
    SP_KEY_SPAN_DROPPED_LINKS = 14 << 3 | 0,
    SP_KEY_SPAN_STATUS = 15 << 3 | 2,
    SP_KEY_SPAN_FLAGS = 16 << 3 | 5, /* the one key of two bytes */

    /* Status */
    SP_KEY_STATUS_MESSAGE = 2 << 3 | 2,
    SP_KEY_STATUS_CODE = 3 << 3 | 0,

    /* LogRecord */
    SP_KEY_LOG_TIME = 1 << 3 | 1,
    SP_KEY_LOG_SEVERITY = 2 << 3 | 0,
    SP_KEY_LOG_SEVERITY_TEXT = 3 << 3 | 2,
    SP_KEY_LOG_BODY = 5 << 3 | 2,
    SP_KEY_LOG_DROPPED_ATTRS = 7 << 3 | 0,
    SP_KEY_LOG_FLAGS = 8 << 3 | 5,
    SP_KEY_LOG_TRACE_ID = 9 << 3 | 2,
    SP_KEY_LOG_SPAN_ID = 10 << 3 | 2,
    SP_KEY_LOG_OBSERVED = 11 << 3 | 1,
    SP_KEY_LOG_EVENT_NAME = 12 << 3 | 2,

    /* Resource, and the field that holds it */
    SP_KEY_RESOURCE = 1 << 3 | 2,
    SP_KEY_RESOURCE_ATTRS = 1 << 3 | 2,
    SP_KEY_RESOURCE_DROPPED = 2 << 3 | 0,

    /* InstrumentationScope, and the field that holds it */
    SP_KEY_SCOPE = 1 << 3 | 2,
    SP_KEY_SCOPE_NAME = 1 << 3 | 2,
    SP_KEY_SCOPE_VERSION = 2 << 3 | 2,
    SP_KEY_SCOPE_ATTRS = 3 << 3 | 2,
    SP_KEY_SCOPE_DROPPED = 4 << 3 | 0
};

#endif /* SPOOL_SDK_WIRE_KEYS_H */
