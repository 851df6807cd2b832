/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an HTTP client needs to know before it has a connection: whether its options are sound, whom to
 * connect to, and libcurl made ready. Private to the HTTP client.
 */
#ifndef SPOOL_RUNTIME_HTTP_TARGET_H
#define SPOOL_RUNTIME_HTTP_TARGET_H

#include "runtime/http.h"

#include <curl/curl.h>

typedef struct sp_http_target {
    char *url;   /* as libcurl writes it */
    char *proxy; /* with its port; "" for none, which also keeps libcurl from the environment */
    char *host;  /* whom to connect to, the proxy if there is one; IPv6 without brackets */
    unsigned port;
    bool numeric; /* `host` is an address: nothing to look up */
} sp_http_target;

/* Diagnoses what it refuses. *out owns its texts; release with _fini, also after a failure. */
spool_status sp_http_target_init(const sp_http_options *options, sp_http_target *out);
void sp_http_target_fini(sp_http_target *target);

/* Sets close-on-exec on the descriptors by which other threads could wake this handle. */
void sp_http_wake_pair_mark(CURLM *multi);

#endif /* SPOOL_RUNTIME_HTTP_TARGET_H */
