/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names to addresses, without the loop ever waiting: each look-up is one short-lived detached
 * thread with all signals blocked. One look-up is in flight per host name; whoever asks meanwhile gets
 * its result. The runtime's thread pool (libuv's, which the host may use too) is not touched.
 */
#ifndef SPOOL_RUNTIME_RESOLVER_H
#define SPOOL_RUNTIME_RESOLVER_H

#include "runtime/loop.h"

typedef struct sp_query sp_query;

typedef struct sp_query_result {
    const char *addresses; /* "127.0.0.1,::1", numeric; NULL: none. Borrowed during the callback */
    const char *error;     /* in words when `addresses` is NULL */
} sp_query_result;

/*
 * Asks for the addresses of `host`. `done` runs on the loop, once, never from inside this call, unless
 * the query is cancelled first. The caller holds a use of the runtime until then. NULL: no memory or no
 * thread, `done` is not called. Loop thread.
 */
sp_query *sp_resolver_ask(sp_runtime *runtime, const char *host,
                          void (*done)(void *arg, const sp_query_result *result), void *arg);
/* `done` will not be called. The look-up itself goes on, for those who ask next. Loop thread. */
void sp_resolver_cancel(sp_query *query);

#endif /* SPOOL_RUNTIME_RESOLVER_H */
