/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP client: libcurl's multi interface on the runtime's loop. It sends one request and tells how it
 * ended; retries, back-off and meaning are the exporter's. All calls and callbacks: loop thread.
 *
 * Connections are kept alive per client. Names are resolved by a short-lived thread of our own, never by
 * libcurl. No signal is raised, no redirect followed, no proxy but the one given; descriptors are
 * close-on-exec.
 */
#ifndef SPOOL_RUNTIME_HTTP_H
#define SPOOL_RUNTIME_HTTP_H

#include "runtime/loop.h"

#include <spool/ext/exporter.h>
#include <spool/value.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sp_http sp_http;
typedef struct sp_http_call sp_http_call;

typedef struct sp_http_options {
    const char *url;            /* http or https; without user information */
    const char *const *headers; /* "Name: value" lines, NULL at the end; copied */
    const char *certificate;    /* CA file, NULL: the system's */
    const char *client_certificate;
    const char *client_key;
    const char *proxy;           /* http or https URL; NULL: none */
    uint64_t max_response_bytes; /* as received, and again after decompression */
    uint32_t max_connections;    /* 0: no limit */
} sp_http_options;

/*
 * Looks at the options as sp_http_create() would, and makes libcurl and its TLS library ready (once for
 * the process), but opens nothing. SPOOL_ERR_INVALID: the URL or a file, SPOOL_ERR_UNSUPPORTED: libcurl
 * is too old or without TLS; a diagnostic says which. Any thread.
 */
spool_status sp_http_check(const sp_http_options *options);
/* As sp_http_check(); also SPOOL_ERR_NOMEM, SPOOL_ERR_SYSTEM. The options are copied. Any thread. */
spool_status sp_http_create(sp_runtime *runtime, const sp_http_options *options,
                            sp_http **out_client);
/* Calls in flight are cancelled, their done functions run first. Loop thread. */
void sp_http_destroy(sp_http *client);

enum {
    SP_HTTP_REPLY,    /* a complete reply: status, headers, body */
    SP_HTTP_NOT_SENT, /* no byte of the request can have been acted on: refused, no name, TLS */
    SP_HTTP_NO_REPLY, /* the request began to leave, no complete reply came: reset, closed */
    SP_HTTP_DEADLINE, /* the deadline passed; `sent` tells whether the request had left */
    SP_HTTP_CANCELLED,
    SP_HTTP_TOO_LARGE /* the reply is over max_response_bytes, or its headers over 300 KiB */
};

typedef struct sp_http_result {
    int kind;            /* SP_HTTP_* */
    bool sent;           /* the whole request was written to a socket, at least once */
    long status;         /* HTTP status, 0 if none; may be known without a complete reply */
    const uint8_t *body; /* of SP_HTTP_REPLY; borrowed during the callback */
    size_t body_len;
    int64_t retry_after_ms; /* from Retry-After (seconds or date), -1 if absent or not valid */
    const char *error;      /* in words, for diagnostics; never NULL */
    bool permanent;         /* NOT_SENT for a reason that trying again cannot mend (certificate) */
} sp_http_result;

/*
 * Posts the pieces as one body. They must stay valid until `done`, which is called exactly once, never
 * from inside this function. `headers`: further lines of this request, NULL at the end, or NULL.
 * NULL without memory (done is not called then).
 */
sp_http_call *sp_http_post(sp_http *client, const char *const *headers,
                           const spool_batch_piece *pieces, size_t count, uint64_t deadline_ns,
                           void (*done)(void *arg, const sp_http_result *result), void *arg);
/* `done` follows with SP_HTTP_CANCELLED, from inside this call. */
void sp_http_cancel(sp_http_call *call);

#endif /* SPOOL_RUNTIME_HTTP_H */
