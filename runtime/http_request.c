/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client's requests: every option of an easy handle, and the body that is read from pieces. */
#include "runtime/http_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names are ours to look up; libcurl comes here for numeric addresses too. */
static int resolver_refused(void *state, void *reserved, void *arg) {
    (void)state;
    (void)reserved;
    const sp_http_call *call = arg;
    return call->client->target.numeric ? 0 : 1;
}

/* --- the request --- */

static size_t request_read(char *to, size_t size, size_t count, void *arg) {
    sp_http_call *call = arg;
    size_t room = size * count;
    size_t copied = 0;
    while (room > 0 && call->piece < call->piece_count) {
        const spool_batch_piece *piece = &call->pieces[call->piece];
        size_t step = piece->len - call->offset;
        if (step > room) {
            step = room;
        }
        if (step > 0) {
            memcpy(to + copied, (const char *)piece->bytes + call->offset, step);
        }
        copied += step;
        room -= step;
        call->offset += step;
        if (call->offset == piece->len) {
            call->piece++;
            call->offset = 0;
        }
    }
    return copied;
}

/* libcurl sends the whole body again when a kept connection turned out to be dead. */
static int request_seek(void *arg, curl_off_t offset, int origin) {
    sp_http_call *call = arg;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > call->total) {
        return CURL_SEEKFUNC_FAIL;
    }
    uint64_t left = (uint64_t)offset;
    call->piece = 0;
    while (call->piece < call->piece_count && left >= call->pieces[call->piece].len) {
        left -= call->pieces[call->piece].len;
        call->piece++;
    }
    call->offset = (size_t)left;
    return CURL_SEEKFUNC_OK;
}

/*
 * Sees how far the bytes on the wire have come: uploads, to know whether a request was sent, across
 * libcurl's own second attempts; downloads, since what is compressed can be endless and yield nothing.
 */
static int transfer_moved(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                          curl_off_t up) {
    (void)down_total;
    (void)up_total;
    sp_http_call *call = arg;
    if (up > 0 && (uint64_t)up >= call->total) {
        call->sent = true;
    }
    if (down > 0 && (uint64_t)down > call->client->max_response_bytes) {
        call->too_large = true;
        return 1;
    }
    return 0;
}

/* --- options --- */

static bool header_add(struct curl_slist **list, const char *line) {
    struct curl_slist *grown = NULL;
    const char *colon = strchr(line, ':');
    if (colon && colon[1 + strspn(colon + 1, " \t")] == '\0') {
        /* Nothing after the colon would take the header out; this form sends an empty one. */
        char *name = strndup(line, (size_t)(colon - line) + 1);
        if (name) {
            name[colon - line] = ';';
            grown = curl_slist_append(*list, name);
            free(name);
        }
    } else {
        grown = curl_slist_append(*list, line);
    }
    if (grown) {
        *list = grown;
    }
    return grown != NULL;
}

bool sp_http_headers_add(struct curl_slist **list, const char *const *lines) {
    for (size_t i = 0; lines && lines[i]; i++) {
        if (!header_add(list, lines[i])) {
            return false;
        }
    }
    return true;
}

static bool call_headers(sp_http_call *call, const char *const *lines) {
    for (const struct curl_slist *line = call->client->headers; line; line = line->next) {
        struct curl_slist *grown = curl_slist_append(call->headers, line->data);
        if (!grown) {
            return false;
        }
        call->headers = grown;
    }
    if (!sp_http_headers_add(&call->headers, lines)) {
        return false;
    }
    /* Taken out, so that the body goes out at once, whatever its size. */
    struct curl_slist *grown = curl_slist_append(call->headers, "Expect:");
    if (grown) {
        call->headers = grown;
    }
    return grown != NULL;
}

/* Remembers the first failure, so that a list of options needs one check. */
#define OPTION(easy, code, option, value)                                                          \
    ((code) = (code) == CURLE_OK ? curl_easy_setopt((easy), (option), (value)) : (code))

static bool request_options(sp_http_call *call) {
    CURL *easy = call->easy;
    CURLcode code = CURLE_OK;
    OPTION(easy, code, CURLOPT_POST, 1L);
    OPTION(easy, code, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->total);
    OPTION(easy, code, CURLOPT_READFUNCTION, request_read);
    OPTION(easy, code, CURLOPT_READDATA, (void *)call);
    OPTION(easy, code, CURLOPT_SEEKFUNCTION, request_seek);
    OPTION(easy, code, CURLOPT_SEEKDATA, (void *)call);
    OPTION(easy, code, CURLOPT_XFERINFOFUNCTION, transfer_moved);
    OPTION(easy, code, CURLOPT_XFERINFODATA, (void *)call);
    OPTION(easy, code, CURLOPT_NOPROGRESS, 0L);
    OPTION(easy, code, CURLOPT_HTTPHEADER, call->headers);
    OPTION(easy, code, CURLOPT_PRIVATE, (void *)call);
    OPTION(easy, code, CURLOPT_ERRORBUFFER, call->error);
    return code == CURLE_OK;
}

static bool reply_options(sp_http_call *call) {
    CURL *easy = call->easy;
    CURLcode code = CURLE_OK;
    OPTION(easy, code, CURLOPT_WRITEFUNCTION, sp_http_body_write);
    OPTION(easy, code, CURLOPT_WRITEDATA, (void *)call);
    OPTION(easy, code, CURLOPT_HEADERFUNCTION, sp_http_header_seen);
    OPTION(easy, code, CURLOPT_HEADERDATA, (void *)call);
    OPTION(easy, code, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    OPTION(easy, code, CURLOPT_ACCEPT_ENCODING, "gzip");
    OPTION(easy, code, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)call->client->max_response_bytes);
    OPTION(easy, code, CURLOPT_FOLLOWLOCATION, 0L);
    return code == CURLE_OK;
}

static bool connection_options(sp_http_call *call) {
    const sp_http *client = call->client;
    CURL *easy = call->easy;
    CURLcode code = CURLE_OK;
    OPTION(easy, code, CURLOPT_URL, client->target.url);
    OPTION(easy, code, CURLOPT_PATH_AS_IS, 1L);
    OPTION(easy, code, CURLOPT_PROTOCOLS_STR, "http,https");
    OPTION(easy, code, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    OPTION(easy, code, CURLOPT_PROXY, client->target.proxy);
    OPTION(easy, code, CURLOPT_NOPROXY, ""); /* not the environment's either */
    OPTION(easy, code, CURLOPT_NOSIGNAL, 1L);
    OPTION(easy, code, CURLOPT_OPENSOCKETFUNCTION, sp_http_socket_open);
    OPTION(easy, code, CURLOPT_OPENSOCKETDATA, (void *)call->client);
    OPTION(easy, code, CURLOPT_CLOSESOCKETFUNCTION, sp_http_socket_close);
    OPTION(easy, code, CURLOPT_CLOSESOCKETDATA, (void *)call->client);
    OPTION(easy, code, CURLOPT_RESOLVER_START_FUNCTION, resolver_refused);
    OPTION(easy, code, CURLOPT_RESOLVER_START_DATA, (void *)call);
    if (client->certificate) {
        OPTION(easy, code, CURLOPT_CAINFO, client->certificate);
        OPTION(easy, code, CURLOPT_CAPATH, NULL);
    }
    if (client->client_certificate) {
        OPTION(easy, code, CURLOPT_SSLCERT, client->client_certificate);
    }
    if (client->client_key) {
        OPTION(easy, code, CURLOPT_SSLKEY, client->client_key);
    }
    return code == CURLE_OK;
}

bool sp_http_request_init(sp_http_call *call, const char *const *headers) {
    call->easy = curl_easy_init();
    return call->easy && call_headers(call, headers) && request_options(call) &&
           reply_options(call) && connection_options(call);
}
