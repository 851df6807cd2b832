/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semantic conventions of the event that spool_span_record_error() adds, and of log records about an
 * error.
 */
#ifndef SPOOL_SEMCONV_EXCEPTION_H
#define SPOOL_SEMCONV_EXCEPTION_H

#define SPOOL_SEMCONV_EVENT_EXCEPTION "exception"
#define SPOOL_SEMCONV_EXCEPTION_TYPE "exception.type"
#define SPOOL_SEMCONV_EXCEPTION_MESSAGE "exception.message"
#define SPOOL_SEMCONV_EXCEPTION_STACKTRACE "exception.stacktrace"

#endif /* SPOOL_SEMCONV_EXCEPTION_H */
