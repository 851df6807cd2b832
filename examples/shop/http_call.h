/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of another service over libcurl, each try a client span whose context goes along in the headers.
 * A call that the other side cannot take just now (503, or nobody listens) is sent again a few times.
 */
#ifndef SPOOL_EXAMPLES_SHOP_HTTP_CALL_H
#define SPOOL_EXAMPLES_SHOP_HTTP_CALL_H

#include <spool/spool.h>

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_URL_SIZE = 512, HTTP_REPLY_SIZE = 2048 };

/* A service that is called; made once from its URL, read from any thread. */
typedef struct http_peer {
    char *url; /* without a slash at the end */
    char *host;
    int port;
} http_peer;

/* False when the URL is not one of http. */
bool http_peer_init(http_peer *peer, const char *url);
void http_peer_fini(http_peer *peer);

typedef struct http_call {
    const http_peer *peer;
    const char *method;
    const char *url_template; /* "/articles/{id}": names the span */
    char target[HTTP_URL_SIZE];
} http_call;

typedef struct http_reply {
    long status; /* 0: there was no answer */
    char body[HTTP_REPLY_SIZE];
    size_t body_len;
} http_reply;

/* Makes the call from the current context. False when there was no answer at all. */
bool http_call_perform(const http_call *call, http_reply *out_reply);

#endif /* SPOOL_EXAMPLES_SHOP_HTTP_CALL_H */
