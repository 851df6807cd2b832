/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP client: one libcurl multi handle per client, driven by socket and timer events of the loop.
 *
 * Owner: the loop thread, for everything; only creation may happen elsewhere, before the client is used.
 *
 * States of a call: RESOLVING (waits for a query) -> RUNNING (its easy handle is in the multi handle) ->
 * finished: out of the list, out of the multi handle, `done` called, freed. A call without need of a
 * look-up starts RUNNING. The deadline's timer and a cancel end it from either state.
 *
 * libcurl calls back in the middle of its own work; no foreign code runs from there. `done` is called
 * from sp_http_reap, a timer or a query alone, where every call of this file is allowed.
 *
 * Closing. sp_http_destroy() ends the calls, then libcurl's handle, then the watches, whose memory is the
 * loop's until it says closed. Called from inside a `done` that sp_http_reap made, the client's own memory
 * waits for sp_http_reap to return.
 */
#include "runtime/http_internal.h"

#include "sdk/platform/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long addresses serve before they are asked for again; a failure makes them stale at once. */
#define ADDRESSES_FRESH_NS (60 * SP_NS_PER_S)
/* In flight at once; what feeds a client has far lower limits of its own. */
enum { MOST_CALLS = 65536 };

/* --- the end of a call --- */

/* The last reference is gone; the client may be, too. */
static void call_drop(void *node) {
    sp_http_call *call = node;
    if (call->easy) {
        curl_easy_cleanup(call->easy);
    }
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->resolve);
    sp_timer_destroy(call->deadline);
    free(call->body);
}

/* The client may be gone when this returns. */
static void call_finish(sp_http_call *call, sp_http_result *result) {
    sp_resolver_cancel(call->query);
    call->query = NULL;
    if (call->running) {
        curl_multi_remove_handle(call->client->multi, call->easy);
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &result->status);
        curl_off_t body = 0;
        curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &body);
        call->sent |= body > 0 && (uint64_t)body >= call->total;
    }
    result->sent = call->sent;
    result->retry_after_ms = call->retry_after_ms;
    if (result->kind != SP_HTTP_REPLY) {
        call->client->addresses_stale = true;
    }
    (void)sp_http_calls_remove(&call->client->calls, NULL, call);
    call->done(call->arg, result);
    sp_counted_unref(call);
}

static void call_fail(sp_http_call *call, int kind, const char *error) {
    sp_http_result result = {.kind = kind, .error = error};
    call_finish(call, &result);
}

/* Failures that are the same however often they are tried. */
static bool is_permanent(CURLcode code) {
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return true;
    default:
        return false;
    }
}

/* Anything on the wire, the request's head included. */
static bool began_to_leave(const sp_http_call *call) {
    long head = 0;
    curl_off_t body = 0;
    curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &head);
    curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &body);
    return call->sent || head > 0 || body > 0;
}

static void call_complete(sp_http_call *call, CURLcode code) {
    sp_http_result result = {.error = ""};
    if (code == CURLE_OK) {
        result.kind = SP_HTTP_REPLY;
        result.body = call->body;
        result.body_len = call->body_len;
    } else if (call->too_large || code == CURLE_FILESIZE_EXCEEDED) {
        result.kind = SP_HTTP_TOO_LARGE;
        result.error = "the reply is too large";
    } else {
        bool left = began_to_leave(call);
        result.kind = left ? SP_HTTP_NO_REPLY : SP_HTTP_NOT_SENT;
        result.permanent = !left && is_permanent(code);
        result.error = call->no_memory  ? "out of memory"
                       : call->error[0] ? call->error
                                        : curl_easy_strerror(code);
    }
    call_finish(call, &result);
}

static void client_free(sp_http *client) {
    sp_http_target_fini(&client->target);
    free(client->certificate);
    free(client->client_certificate);
    free(client->client_key);
    curl_slist_free_all(client->headers);
    free(client->addresses);
    sp_counted_pool_close(client->pool);
    free(client);
}

static bool multi_create(sp_http *client) {
    uint32_t max_connections = client->max_connections;
    client->multi = curl_multi_init();
    if (!client->multi) {
        return false;
    }
    sp_http_wake_pair_mark(client->multi);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, sp_http_socket_changed);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, (void *)client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, sp_http_timer_changed);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, (void *)client);
    if (max_connections > 0) {
        curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)max_connections);
        curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)max_connections);
    }
    return true;
}

/*
 * Gives the multi handle up and makes another one, then fails the calls that were on it. A handle that is
 * merely without a watch is cleaned up; one that libcurl itself has failed in is left behind, with its
 * transfers: nothing may be called for it any more.
 */
static void multi_replace(sp_http *client) {
    bool lost = client->broken == SP_HTTP_LOST;
    for (sp_http_call *call = client->calls.head; call; call = call->link.next) {
        if (!call->running) {
            continue;
        }
        call->sent |= began_to_leave(call);
        if (lost) {
            call->easy = NULL;
        } else {
            curl_multi_remove_handle(client->multi, call->easy);
        }
        call->running = false;
        call->given_up = true;
    }
    if (!lost) {
        curl_multi_cleanup(client->multi);
        sp_http_sockets_forget(client);
    }
    sp_http_watches_close(client);
    client->broken = multi_create(client) ? SP_HTTP_SOUND : SP_HTTP_UNWATCHED;
    sp_http_call *call = client->calls.head;
    while (call && !client->closing) {
        if (call->given_up) {
            call_fail(call, call->sent ? SP_HTTP_NO_REPLY : SP_HTTP_NOT_SENT,
                      lost ? "libcurl ran into an error" : "a socket cannot be watched");
            /* `done` is foreign: the list may be another now. */
            call = client->calls.head;
        } else {
            call = call->link.next;
        }
    }
}

void sp_http_reap(sp_http *client) {
    client->reaping++;
    while (!client->closing && client->broken != SP_HTTP_LOST) {
        int left = 0;
        CURLMsg *message = curl_multi_info_read(client->multi, &left);
        if (!message) {
            break;
        }
        if (message->msg == CURLMSG_DONE) {
            CURLcode code = message->data.result; /* gone once the handle is removed */
            char *private = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
            call_complete((sp_http_call *)(void *)private, code);
        }
    }
    if (client->broken != SP_HTTP_SOUND && client->multi && !client->closing &&
        client->reaping == 1) {
        multi_replace(client);
    }
    client->reaping--;
    if (client->closing && client->reaping == 0) {
        client_free(client);
    }
}

static void deadline_passed(void *arg) {
    sp_http_call *call = arg;
    call_fail(call, SP_HTTP_DEADLINE,
              call->query  ? "the deadline passed while the name was looked up"
              : call->sent ? "the deadline passed before the reply was complete"
                           : "the deadline passed before the request was sent");
}

/* --- the beginning of a call --- */

/* Tells libcurl where the host is, in the form "host:port:address,address". */
static bool call_addresses(sp_http_call *call) {
    const sp_http *client = call->client;
    if (client->target.numeric) {
        return true;
    }
    size_t size = strlen(client->target.host) + strlen(client->addresses) + sizeof "::65535";
    char *entry = malloc(size);
    if (!entry) {
        return false;
    }
    snprintf(entry, size, "%s:%u:%s", client->target.host, client->target.port, client->addresses);
    call->resolve = curl_slist_append(NULL, entry);
    free(entry);
    return call->resolve &&
           curl_easy_setopt(call->easy, CURLOPT_RESOLVE, call->resolve) == CURLE_OK;
}

/* RUNNING from here on; nothing is sent before the loop's next turn. */
static bool call_launch(sp_http_call *call) {
    if (sp_http_idle_connections_spoke(call->client) &&
        curl_easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L) != CURLE_OK) {
        return false;
    }
    if (!call_addresses(call) ||
        curl_multi_add_handle(call->client->multi, call->easy) != CURLM_OK) {
        return false;
    }
    call->running = true;
    return true;
}

static void name_found(void *arg, const sp_query_result *found) {
    sp_http_call *call = arg;
    sp_http *client = call->client;
    call->query = NULL;
    char *copy = found->addresses ? strdup(found->addresses) : NULL;
    if (copy) {
        free(client->addresses);
        client->addresses = copy;
        client->addresses_at_ns = sp_deadline_after_ms(0);
        client->addresses_stale = false;
    }
    /* Where the name service fails, the addresses of before are better than none. */
    if (!client->addresses) {
        snprintf(call->error, sizeof call->error, "the name %.200s was not found: %s",
                 client->target.host, found->addresses ? "out of memory" : found->error);
        call_fail(call, SP_HTTP_NOT_SENT, call->error);
    } else if (!call_launch(call)) {
        call_fail(call, SP_HTTP_NOT_SENT, "out of memory");
    }
}

static bool addresses_are_fresh(const sp_http *client) {
    return client->addresses && !client->addresses_stale &&
           sp_deadline_after_ms(0) - client->addresses_at_ns < ADDRESSES_FRESH_NS;
}

static bool call_start(sp_http_call *call) {
    sp_http *client = call->client;
    if (client->target.numeric || addresses_are_fresh(client)) {
        return call_launch(call);
    }
    call->query = sp_resolver_ask(client->runtime, client->target.host, name_found, call);
    return call->query != NULL;
}

static sp_http_call *call_create(sp_http *client, const char *const *headers,
                                 const spool_batch_piece *pieces, size_t count) {
    sp_http_call *call = sp_counted_take(client->pool);
    if (!call) {
        return NULL;
    }
    call->client = client;
    call->pieces = pieces;
    call->piece_count = count;
    call->retry_after_ms = -1;
    for (size_t i = 0; i < count; i++) {
        call->total += pieces[i].len;
    }
    call->deadline = sp_timer_create(client->runtime, deadline_passed, call);
    if (!call->deadline || !sp_http_request_init(call, headers)) {
        sp_counted_unref(call);
        return NULL;
    }
    return call;
}

sp_http_call *sp_http_post(sp_http *client, const char *const *headers,
                           const spool_batch_piece *pieces, size_t count, uint64_t deadline_ns,
                           void (*done)(void *arg, const sp_http_result *result), void *arg) {
    if (client->closing || !client->multi) {
        return NULL;
    }
    if (!client->timer) {
        client->timer = sp_timer_create(client->runtime, sp_http_timer_fired, client);
        if (!client->timer) {
            return NULL;
        }
    }
    sp_http_call *call = call_create(client, headers, pieces, count);
    if (!call) {
        return NULL;
    }
    call->done = done;
    call->arg = arg;
    if (!call_start(call)) {
        sp_counted_unref(call);
        return NULL;
    }
    sp_timer_set(call->deadline, deadline_ns);
    sp_http_calls_push_front(&client->calls, NULL, call);
    return call;
}

void sp_http_cancel(sp_http_call *call) {
    if (call) {
        call_fail(call, SP_HTTP_CANCELLED, "cancelled");
    }
}

/* --- the client --- */

static bool text_copy(const char *text, char **out) {
    *out = text ? strdup(text) : NULL;
    return *out || !text;
}

static bool options_copy(sp_http *client, const sp_http_options *options) {
    uint64_t most = options->max_response_bytes;
    client->max_response_bytes = most > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)most;
    return text_copy(options->certificate, &client->certificate) &&
           text_copy(options->client_certificate, &client->client_certificate) &&
           text_copy(options->client_key, &client->client_key) &&
           sp_http_headers_add(&client->headers, options->headers);
}

spool_status sp_http_create(sp_runtime *runtime, const sp_http_options *options,
                            sp_http **out_client) {
    sp_http *client = calloc(1, sizeof *client);
    if (!client) {
        return SPOOL_ERR_NOMEM;
    }
    client->runtime = runtime;
    client->max_connections = options->max_connections;
    client->pool = sp_counted_pool_create(sizeof(sp_http_call), MOST_CALLS, call_drop);
    spool_status status = sp_http_target_init(options, &client->target);
    if (status == SPOOL_OK &&
        (!client->pool || !options_copy(client, options) || !multi_create(client))) {
        status = SPOOL_ERR_NOMEM;
    }
    if (status != SPOOL_OK) {
        client_free(client);
        return status;
    }
    *out_client = client;
    return SPOOL_OK;
}

void sp_http_destroy(sp_http *client) {
    if (!client || client->closing) {
        return;
    }
    client->closing = true;
    for (sp_http_call *call; (call = sp_http_calls_pop_front(&client->calls, NULL)) != NULL;) {
        call_fail(call, SP_HTTP_CANCELLED, "cancelled");
    }
    curl_multi_cleanup(client->multi);
    sp_http_sockets_forget(client);
    sp_http_watches_close(client);
    sp_timer_destroy(client->timer);
    if (client->reaping == 0) {
        client_free(client);
    }
}
