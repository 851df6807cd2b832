/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semantic conventions of HTTP spans. A server span is named "{method} {route}", a client span
 * "{method} {url.template}", and either "{method}" alone where there is no such second part. The status
 * of a server span is an error from 500 on, that of a client span from 400 on.
 */
#ifndef SPOOL_SEMCONV_HTTP_H
#define SPOOL_SEMCONV_HTTP_H

#include <spool/semconv/general.h>

/* A known method in upper case, else "_OTHER" with the original beside it. */
#define SPOOL_SEMCONV_HTTP_REQUEST_METHOD "http.request.method"
#define SPOOL_SEMCONV_HTTP_REQUEST_METHOD_OTHER "_OTHER"
#define SPOOL_SEMCONV_HTTP_REQUEST_METHOD_ORIGINAL "http.request.method_original"
/* How often this request was sent before (int); left out for the first time. */
#define SPOOL_SEMCONV_HTTP_REQUEST_RESEND_COUNT "http.request.resend_count"
/* To be followed by the header's name in lower case; an array of strings. */
#define SPOOL_SEMCONV_HTTP_REQUEST_HEADER_PREFIX "http.request.header."
#define SPOOL_SEMCONV_HTTP_RESPONSE_HEADER_PREFIX "http.response.header."
#define SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE "http.response.status_code"
/* The server's own template of the path; never the path itself. */
#define SPOOL_SEMCONV_HTTP_ROUTE "http.route"

#endif /* SPOOL_SEMCONV_HTTP_H */
