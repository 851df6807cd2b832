/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP client on the runtime's loop, driven from the thread of a test. */
#ifndef SPT_HTTP_CALLS_H
#define SPT_HTTP_CALLS_H

#include "runtime/http.h"

#include <stdatomic.h>

/* What `done` got, copied. */
typedef struct http_reply {
    int kind;
    bool sent;
    bool permanent;
    long status;
    int64_t retry_after_ms;
    size_t body_len;
    char body[512]; /* its beginning */
    char error[256];
    unsigned done_calls;
} http_reply;

typedef struct http_fixture {
    sp_runtime *runtime;
    sp_http *client;
} http_fixture;

/* Runs a function on the loop and waits for it to return. */
void on_loop(sp_runtime *runtime, void (*run)(void *arg), void *arg);

bool http_open(http_fixture *fixture, const sp_http_options *options);
/* To http://127.0.0.1:<port>/v1/traces, with replies of at most 64 KiB. */
bool http_open_port(http_fixture *fixture, unsigned port);
void http_close(http_fixture *fixture);

/* Posts the pieces and waits for the end, at most 20 s; false: no call was made, or no end came. */
bool http_post_pieces(http_fixture *fixture, const spool_batch_piece *pieces, size_t count,
                      const char *const *headers, uint32_t timeout_ms, http_reply *out);
bool http_post_text(http_fixture *fixture, const char *body, uint32_t timeout_ms, http_reply *out);

/* In two steps: what is begun may be cancelled, or destroyed with its client. */
typedef struct http_pending {
    http_fixture *fixture;
    const spool_batch_piece *pieces;
    size_t count;
    const char *const *headers;
    uint64_t deadline_ns;
    sp_http_call *call;
    bool destroy_client; /* from inside `done` */
    http_reply reply;
    atomic_bool over;
} http_pending;
bool http_begin(http_pending *pending);
bool http_wait(http_pending *pending);
void http_cancel(http_pending *pending);

#endif /* SPT_HTTP_CALLS_H */
