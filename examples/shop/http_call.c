/* SPDX-License-Identifier: Apache-2.0 */
/* See http_call.h. Each thread keeps one libcurl handle, and with it its connection. */
#define SPOOL_SCOPE "shop.http.client"

#include "examples/shop/http_call.h"

#include "examples/shop/pause.h"

#include <spool/carrier/curl.h>
#include <spool/semconv/http.h>

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 2,
    PAUSE_MS = 100, /* before the second try; doubled for each next */
    TIMEOUT_MS = 10000,
    CONNECT_TIMEOUT_MS = 1000,
    FIRST_REFUSAL_STATUS = 400,
    UNAVAILABLE_STATUS = 503
};

/* ---- peers ---- */

bool http_peer_init(http_peer *peer, const char *url) {
    char *port = NULL;
    CURLU *parsed = curl_url();
    memset(peer, 0, sizeof *peer);
    bool good = parsed && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                curl_url_get(parsed, CURLUPART_HOST, &peer->host, 0) == CURLUE_OK &&
                curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(parsed, CURLUPART_URL, &peer->url, 0) == CURLUE_OK;
    if (good) {
        peer->port = (int)strtol(port, NULL, 10); /* libcurl has checked it */
        size_t len = strlen(peer->url);
        if (len && peer->url[len - 1] == '/') {
            peer->url[len - 1] = '\0';
        }
    }
    curl_free(port);
    curl_url_cleanup(parsed);
    if (!good) {
        http_peer_fini(peer);
    }
    return good;
}

void http_peer_fini(http_peer *peer) {
    curl_free(peer->url);
    curl_free(peer->host);
    memset(peer, 0, sizeof *peer);
}

/* ---- the thread's handle ---- */

static pthread_key_t handle_key;
static pthread_once_t handle_once = PTHREAD_ONCE_INIT;

static void handle_destroy(void *handle) {
    curl_easy_cleanup(handle);
}

static void handle_key_create(void) {
    (void)pthread_key_create(&handle_key, handle_destroy);
}

static CURL *handle_of_thread(void) {
    (void)pthread_once(&handle_once, handle_key_create);
    CURL *handle = pthread_getspecific(handle_key);
    if (handle) {
        curl_easy_reset(handle); /* options alone: the connection stays */
        return handle;
    }
    handle = curl_easy_init();
    (void)pthread_setspecific(handle_key, handle);
    return handle;
}

/* ---- one try ---- */

static size_t body_take(char *bytes, size_t size, size_t count, void *arg) {
    http_reply *reply = arg;
    size_t len = size * count;
    size_t room = sizeof reply->body - 1 - reply->body_len;
    size_t kept = len < room ? len : room;
    memcpy(reply->body + reply->body_len, bytes, kept);
    reply->body_len += kept;
    reply->body[reply->body_len] = '\0';
    return len;
}

/* error.type when there was no answer: the code's name where it is a usual one. */
static const char *error_type(CURLcode code) {
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "CURLE_COULDNT_RESOLVE_HOST";
    case CURLE_COULDNT_CONNECT:
        return "CURLE_COULDNT_CONNECT";
    case CURLE_OPERATION_TIMEDOUT:
        return "CURLE_OPERATION_TIMEDOUT";
    case CURLE_GOT_NOTHING:
        return "CURLE_GOT_NOTHING";
    case CURLE_SEND_ERROR:
        return "CURLE_SEND_ERROR";
    case CURLE_RECV_ERROR:
        return "CURLE_RECV_ERROR";
    default:
        return SPOOL_SEMCONV_ERROR_TYPE_OTHER;
    }
}

static void result_record(spool_span span, CURL *handle, CURLcode code, const http_reply *reply) {
    const char *address = NULL;
    long port = 0;
    if (curl_easy_getinfo(handle, CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address &&
        address[0]) {
        (void)curl_easy_getinfo(handle, CURLINFO_PRIMARY_PORT, &port);
        spool_span_set(span, spool_string(SPOOL_SEMCONV_NETWORK_PEER_ADDRESS, address));
        spool_span_set(span, spool_int(SPOOL_SEMCONV_NETWORK_PEER_PORT, port));
    }
    if (code != CURLE_OK) {
        const char *type = error_type(code);
        spool_span_set(span, spool_string(SPOOL_SEMCONV_ERROR_TYPE, type));
        spool_span_record_error(span, type, curl_easy_strerror(code), NULL);
        spool_span_status(span, SPOOL_STATUS_ERROR, curl_easy_strerror(code));
        return;
    }
    spool_span_set(span, spool_string(SPOOL_SEMCONV_NETWORK_PROTOCOL_VERSION, "1.1"));
    spool_span_set(span, spool_int(SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE, reply->status));
    if (reply->status >= FIRST_REFUSAL_STATUS) {
        char type[24];
        (void)snprintf(type, sizeof type, "%ld", reply->status);
        spool_span_set(span, spool_string(SPOOL_SEMCONV_ERROR_TYPE, type));
        spool_span_status(span, SPOOL_STATUS_ERROR, NULL);
    }
}

static CURLcode transfer(CURL *handle, const http_call *call, const char *url, http_reply *reply) {
    struct curl_slist *headers = NULL;
    /* The client span is current here: it is what the other side will have as its parent. */
    spool_inject(NULL, &spool_curl_setter, &headers);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body_take);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, reply);
    if (strcmp(call->method, "GET") != 0) {
        curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, "");
    }
    CURLcode code = curl_easy_perform(handle);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply->status);
    curl_slist_free_all(headers);
    return code;
}

/* `resent`: how many tries there were before this one. */
static bool call_try(const http_call *call, int64_t resent, http_reply *reply) {
    char name[128];
    char url[HTTP_URL_SIZE * 2];
    CURL *handle = handle_of_thread();
    memset(reply, 0, sizeof *reply);
    if (!handle) {
        SPOOL_ERROR("no memory for a call");
        return false;
    }
    (void)snprintf(name, sizeof name, "%s %s", call->method, call->url_template);
    (void)snprintf(url, sizeof url, "%s%s", call->peer->url, call->target);
    const spool_attr attrs[] = {
        spool_string(SPOOL_SEMCONV_HTTP_REQUEST_METHOD, call->method),
        spool_string(SPOOL_SEMCONV_SERVER_ADDRESS, call->peer->host),
        spool_int(SPOOL_SEMCONV_SERVER_PORT, call->peer->port),
        spool_string(SPOOL_SEMCONV_URL_FULL, url),
        spool_string(SPOOL_SEMCONV_URL_TEMPLATE, call->url_template),
        spool_int(SPOOL_SEMCONV_HTTP_REQUEST_RESEND_COUNT, resent),
    };
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_CLIENT;
    options.attrs = attrs;
    options.attr_count = sizeof attrs / sizeof attrs[0] - (resent ? 0 : 1);
    SPOOL_SPAN_WITH(span, SPOOL_TRACER(), name, &options);
    CURLcode code = transfer(handle, call, url, reply);
    result_record(span, handle, code, reply);
    return code == CURLE_OK;
}

bool http_call_perform(const http_call *call, http_reply *out_reply) {
    for (int sent = 0;; sent++) {
        bool answered = call_try(call, sent, out_reply);
        if (answered && out_reply->status != UNAVAILABLE_STATUS) {
            return true;
        }
        if (sent + 1 == TRIES) {
            return answered;
        }
        long wait_ms = (long)PAUSE_MS << sent;
        SPOOL_WARN("the other service cannot answer now; trying again",
                   spool_string(SPOOL_SEMCONV_SERVER_ADDRESS, call->peer->host),
                   spool_int(SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE, out_reply->status),
                   spool_int("shop.retry.pause_ms", wait_ms));
        pause_ms(wait_ms);
    }
}
