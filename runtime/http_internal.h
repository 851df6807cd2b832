/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client's own: what its files share. Owner of all fields: the loop thread. */
#ifndef SPOOL_RUNTIME_HTTP_INTERNAL_H
#define SPOOL_RUNTIME_HTTP_INTERNAL_H

#include "runtime/http.h"
#include "runtime/http_target.h"
#include "runtime/resolver.h"

#include "sdk/memory/counted.h"
#include "sdk/memory/list.h"

#include <curl/curl.h>

/* One socket of libcurl's; see http_socket.c. */
typedef struct sp_http_socket sp_http_socket;

struct sp_http_call {
    sp_http *client;
    SP_LIST_LINK(struct sp_http_call) link;
    void (*done)(void *arg, const sp_http_result *result);
    void *arg;
    sp_timer *deadline;
    sp_query *query; /* while RESOLVING */
    CURL *easy;
    bool running;
    bool given_up; /* its multi handle was */
    struct curl_slist *headers;
    struct curl_slist *resolve;
    char error[CURL_ERROR_SIZE];

    /* the request: the place that is sent next */
    const spool_batch_piece *pieces;
    size_t piece_count;
    size_t piece;
    size_t offset; /* in the piece */
    uint64_t total;
    bool sent;

    /* the reply */
    uint8_t *body;
    size_t body_len;
    size_t body_capacity;
    size_t header_bytes;
    int64_t retry_after_ms;
    bool too_large;
    bool no_memory;
};

SP_LIST_POINTERS(sp_http_calls, struct sp_http_call, link);

/*
 * A socket that the loop cannot watch would leave libcurl waiting for ever, and after an error of its own
 * its multi handle must not be used again: either way the handle is replaced and its calls fail.
 */
enum { SP_HTTP_SOUND, SP_HTTP_UNWATCHED, SP_HTTP_LOST };

typedef struct sp_http_watch sp_http_watch;

struct sp_http {
    sp_runtime *runtime;
    sp_http_target target;
    char *certificate;
    char *client_certificate;
    char *client_key;
    struct curl_slist *headers;
    size_t max_response_bytes;
    CURLM *multi;
    sp_timer *timer;     /* libcurl's; made by the first call */
    sp_http_calls calls; /* in flight; counted nodes of `pool` */
    sp_counted_pool *pool;
    sp_http_socket *sockets;
    sp_http_watch *watches;
    uint32_t max_connections;
    int broken;       /* SP_HTTP_SOUND, or why the multi handle is given up with the next reap */
    unsigned reaping; /* depth of sp_http_reap */
    bool closing;
    char *addresses; /* NULL before the first look-up */
    uint64_t addresses_at_ns;
    bool addresses_stale;
};

/* http.c: ends the calls that libcurl says are over. Foreign code runs; the client may be gone after. */
void sp_http_reap(sp_http *client);

/* http_request.c: the easy handle with all its options; false without memory. */
bool sp_http_request_init(sp_http_call *call, const char *const *headers);
bool sp_http_headers_add(struct curl_slist **list, const char *const *lines);

/* http_reply.c: the callbacks of the reply; `arg` is the call. */
size_t sp_http_body_write(char *bytes, size_t size, size_t count, void *arg);
size_t sp_http_header_seen(char *line, size_t size, size_t count, void *arg);

/* http_socket.c: libcurl's callbacks of the multi handle and of sockets; `arg` is the client. */
int sp_http_socket_changed(CURL *easy, curl_socket_t socket, int what, void *arg, void *socket_arg);
int sp_http_timer_changed(CURLM *multi, long timeout_ms, void *arg);
curl_socket_t sp_http_socket_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address);
int sp_http_socket_close(void *arg, curl_socket_t descriptor);
/* The timer's function. */
void sp_http_timer_fired(void *arg);
/*
 * Looks at the idle connections. True: one of them has bytes, or its end, to be read, though nobody
 * asked anything; it has been shut down and must not be used again.
 */
bool sp_http_idle_connections_spoke(sp_http *client);
/* After libcurl's handle is gone. */
void sp_http_sockets_forget(sp_http *client);
/* Ends the watches that are left: those of a handle that was given up. */
void sp_http_watches_close(sp_http *client);

#endif /* SPOOL_RUNTIME_HTTP_INTERNAL_H */
