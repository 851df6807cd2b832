/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of request headers that a user configures: "key=value,key=value" (specification:
 * protocol/exporter "Specifying headers via environment variables"). Values are percent-decoded; the
 * first "=" parts key and value, so that base64 padding survives; ";" has no meaning; of a name given
 * twice, in whatever case, the last value counts.
 *
 * A pair is left out if its key is no header name, if its decoded value holds a control character (line
 * breaks above all), if it is longer than 16 KiB, if it is past the 128th, or if the header is one that
 * the exporter sets itself: Content-Type, Content-Length, Content-Encoding, Transfer-Encoding,
 * Accept-Encoding, Connection, Expect, TE, Trailer, Upgrade.
 */
#ifndef SPOOL_EXPORTERS_OTLP_HEADERS_H
#define SPOOL_EXPORTERS_OTLP_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sp_headers {
    char **lines; /* "Name: value", NULL at the end */
    size_t count;
    size_t skipped;       /* pairs left out */
    size_t first_skipped; /* number of the first of them, from 1 */
    const char
        *first_reason; /* in words, without its text, which may be a secret; static storage */
} sp_headers;

/* False: no memory, *out is empty. NULL or empty text: no headers. */
bool sp_headers_parse(const char *text, sp_headers *out);
/* Adds one line, unless a header of that name is there: false only without memory. */
bool sp_headers_default(sp_headers *headers, const char *line);
void sp_headers_fini(sp_headers *headers);

#endif /* SPOOL_EXPORTERS_OTLP_HEADERS_H */
