/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server over libmicrohttpd with tracing built in: each request is a server span, from its
 * headers to the last byte of the answer, and the parent comes from those headers. While a handler runs
 * the request's context is current, so what the handler starts or logs belongs to the request.
 */
#ifndef SPOOL_EXAMPLES_SHOP_HTTP_SERVER_H
#define SPOOL_EXAMPLES_SHOP_HTTP_SERVER_H

#include <spool/spool.h>

#include <stdbool.h>
#include <stdint.h>

enum { HTTP_PARAMETER_SIZE = 64, HTTP_BODY_SIZE = 2048 };

struct MHD_Connection;
typedef struct http_server http_server;
typedef struct http_route http_route;

/* One request; it lives until its answer was sent. Path and query are as they came, not decoded. */
typedef struct http_request {
    const char *method;
    char *path;
    const char *query;                   /* without '?'; NULL when there is none */
    char parameter[HTTP_PARAMETER_SIZE]; /* what stood in the place of {id} in the route */
    spool_context context;               /* the request's span, and its baggage */

    /* The server's own. */
    http_server *server;
    const http_route *route;
    struct MHD_Connection *connection;
    spool_span span;
    unsigned status;
    bool begun;
} http_request;

/* What a handler answers; it starts as 200 with an empty body. The body is JSON. */
typedef struct http_response {
    unsigned status;
    unsigned retry_after_s; /* 0: no such header */
    char body[HTTP_BODY_SIZE];
} http_response;

/* `pattern` is a path in which one part may be "{id}". A table of routes ends with method NULL. */
struct http_route {
    const char *method;
    const char *pattern;
    void (*handle)(void *owner, http_request *request, http_response *response);
};

/* An argument of the query or a header, or `absent`. Valid until the request ends. */
const char *http_request_argument(const http_request *request, const char *name,
                                  const char *absent);
const char *http_request_header(const http_request *request, const char *name, const char *absent);

/* Answers with a status and {"error": text}; `text` must need no escapes. */
void http_response_error(http_response *response, unsigned status, const char *text);

/*
 * Listens on 127.0.0.1; port 0 lets the kernel choose. Each connection, of at most `connections`, has a
 * thread of its own. NULL when it cannot listen. stop() waits for the requests that are being answered.
 */
http_server *http_server_start(const http_route *routes, void *service, uint16_t port,
                               unsigned connections);
uint16_t http_server_port(const http_server *server);
void http_server_stop(http_server *server);

#endif /* SPOOL_EXAMPLES_SHOP_HTTP_SERVER_H */
