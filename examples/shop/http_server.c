/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See http_server.h. The span of a request is started in one callback of libmicrohttpd and ended in
 * another, so it is a plain handle in the request's state rather than a SPOOL_SPAN of some block; it is
 * made current only for the time that the handler runs.
 */
#define SPOOL_SCOPE "shop.http.server"

#include "examples/shop/http_server.h"

#include <spool/semconv/http.h>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEADERS_READ = 64,
    IDLE_TIMEOUT_S = 30,
    FIRST_ERROR_STATUS = 500,
    FIRST_REFUSAL_STATUS = 400
};

struct http_server {
    const http_route *routes;
    void *service;
    struct MHD_Daemon *daemon;
    uint16_t port;
};

/* ---- requests ---- */

const char *http_request_argument(const http_request *request, const char *name,
                                  const char *absent) {
    const char *value =
        MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
    return value ? value : absent;
}

const char *http_request_header(const http_request *request, const char *name, const char *absent) {
    const char *value = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
    return value ? value : absent;
}

void http_response_error(http_response *response, unsigned status, const char *text) {
    response->status = status;
    (void)snprintf(response->body, sizeof response->body, "{\"error\": \"%s\"}\n", text);
}

/* Whether the path fits the pattern; what stands for "{id}" goes to `parameter`. */
static bool route_matches(const char *pattern, const char *path, char *parameter) {
    const char *hole = strstr(pattern, "{id}");
    if (!hole) {
        return strcmp(pattern, path) == 0;
    }
    size_t before = (size_t)(hole - pattern);
    const char *after = hole + strlen("{id}");
    if (strncmp(pattern, path, before) != 0) {
        return false;
    }
    size_t len = strcspn(path + before, "/");
    if (len == 0 || len >= HTTP_PARAMETER_SIZE || strcmp(path + before + len, after) != 0) {
        return false;
    }
    memcpy(parameter, path + before, len);
    parameter[len] = '\0';
    return true;
}

static const http_route *route_find(const http_server *server, http_request *request) {
    for (const http_route *route = server->routes; route->method; route++) {
        if (strcmp(route->method, request->method) == 0 &&
            route_matches(route->pattern, request->path, request->parameter)) {
            return route;
        }
    }
    return NULL;
}

/* ---- the server span ---- */

static bool method_is_known(const char *method) {
    static const char *const known[] = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                        "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(method, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The header lines of a request; their text is libmicrohttpd's, and stays as long as the request. */
typedef struct header_lines {
    spool_header items[HEADERS_READ];
    size_t count;
} header_lines;

static enum MHD_Result header_add(void *cls, enum MHD_ValueKind kind, const char *name,
                                  size_t name_len, const char *value, size_t value_len) {
    header_lines *lines = cls;
    (void)kind;
    if (lines->count == HEADERS_READ) {
        return MHD_NO;
    }
    lines->items[lines->count].name = spool_str_n(name, name_len);
    lines->items[lines->count].value = spool_str_n(value, value_len);
    lines->count++;
    return MHD_YES;
}

/* The caller's context, from all header lines. Not our thread's: that one belongs to nobody. */
static spool_context caller_context(struct MHD_Connection *connection) {
    static const spool_context nothing = SPOOL_CONTEXT_INIT;
    header_lines lines;
    lines.count = 0;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, header_add, &lines);
    spool_header_list list = {lines.items, lines.count};
    return spool_extract(&nothing, &spool_header_getter, &list);
}

static size_t peer_attributes(struct MHD_Connection *connection, char text[INET_ADDRSTRLEN],
                              spool_attr *attrs) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || info->client_addr->sa_family != AF_INET) {
        return 0;
    }
    struct sockaddr_in peer;
    memcpy(&peer, info->client_addr, sizeof peer);
    if (!inet_ntop(AF_INET, &peer.sin_addr, text, INET_ADDRSTRLEN)) {
        return 0;
    }
    attrs[0] = spool_string(SPOOL_SEMCONV_CLIENT_ADDRESS, text);
    attrs[1] = spool_string(SPOOL_SEMCONV_NETWORK_PEER_ADDRESS, text);
    attrs[2] = spool_int(SPOOL_SEMCONV_NETWORK_PEER_PORT, ntohs(peer.sin_port));
    return 3;
}

/* Everything that is known before the handler runs is given at the start, where samplers see it. */
static void span_start(http_request *request, const char *version) {
    char name[128];
    char peer[INET_ADDRSTRLEN];
    spool_attr attrs[16];
    size_t count = 0;
    bool known = method_is_known(request->method);
    const char *method = known ? request->method : SPOOL_SEMCONV_HTTP_REQUEST_METHOD_OTHER;
    const char *agent = http_request_header(request, MHD_HTTP_HEADER_USER_AGENT, NULL);

    attrs[count++] = spool_string(SPOOL_SEMCONV_HTTP_REQUEST_METHOD, method);
    attrs[count++] = spool_string(SPOOL_SEMCONV_URL_PATH, request->path);
    attrs[count++] = spool_string(SPOOL_SEMCONV_URL_SCHEME, "http");
    attrs[count++] = spool_string(SPOOL_SEMCONV_SERVER_ADDRESS, "127.0.0.1");
    attrs[count++] = spool_int(SPOOL_SEMCONV_SERVER_PORT, request->server->port);
    if (strncmp(version, "HTTP/", 5) == 0) {
        attrs[count++] = spool_string(SPOOL_SEMCONV_NETWORK_PROTOCOL_VERSION, version + 5);
    }
    if (!known) {
        attrs[count++] = spool_string(SPOOL_SEMCONV_HTTP_REQUEST_METHOD_ORIGINAL, request->method);
    }
    if (request->route) {
        attrs[count++] = spool_string(SPOOL_SEMCONV_HTTP_ROUTE, request->route->pattern);
    }
    if (request->query) {
        attrs[count++] = spool_string(SPOOL_SEMCONV_URL_QUERY, request->query);
    }
    if (agent) {
        attrs[count++] = spool_string(SPOOL_SEMCONV_USER_AGENT_ORIGINAL, agent);
    }
    count += peer_attributes(request->connection, peer, attrs + count);

    spool_context caller = caller_context(request->connection);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_SERVER;
    options.parent = &caller;
    options.attrs = attrs;
    options.attr_count = count;
    (void)snprintf(name, sizeof name, "%s%s%s", known ? method : "HTTP", request->route ? " " : "",
                   request->route ? request->route->pattern : "");
    request->span = spool_span_start(SPOOL_TRACER(), name, &options);
    request->context = spool_context_with_span(&caller, request->span);
    spool_context_release(&caller);
}

/* The status of a server span is an error from 500 on: below, the client is to blame. */
static void span_set_status(http_request *request) {
    spool_span_set(request->span,
                   spool_int(SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE, request->status));
    if (request->status >= FIRST_ERROR_STATUS) {
        char type[16];
        (void)snprintf(type, sizeof type, "%u", request->status);
        spool_span_set(request->span, spool_string(SPOOL_SEMCONV_ERROR_TYPE, type));
        spool_span_status(request->span, SPOOL_STATUS_ERROR, NULL);
    }
}

static void answer_log(const http_request *request) {
    const char *route = request->route ? request->route->pattern : NULL;
    if (request->status >= FIRST_ERROR_STATUS) {
        SPOOL_ERROR("request failed",
                    spool_string(SPOOL_SEMCONV_HTTP_REQUEST_METHOD, request->method),
                    spool_string(SPOOL_SEMCONV_HTTP_ROUTE, route),
                    spool_int(SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE, request->status));
    } else if (request->status >= FIRST_REFUSAL_STATUS) {
        SPOOL_WARN("request refused",
                   spool_string(SPOOL_SEMCONV_HTTP_REQUEST_METHOD, request->method),
                   spool_string(SPOOL_SEMCONV_URL_PATH, request->path),
                   spool_int(SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE, request->status));
    } else {
        SPOOL_INFO("request served",
                   spool_string(SPOOL_SEMCONV_HTTP_REQUEST_METHOD, request->method),
                   spool_string(SPOOL_SEMCONV_HTTP_ROUTE, route),
                   spool_int(SPOOL_SEMCONV_HTTP_RESPONSE_STATUS_CODE, request->status));
    }
}

/* ---- libmicrohttpd's callbacks ---- */

/* The first that is heard of a request: its target, before any decoding. */
static void *on_target(void *server, const char *target, struct MHD_Connection *connection) {
    http_request *request = calloc(1, sizeof *request);
    char *path = strdup(target);
    if (!request || !path) {
        free(request);
        free(path);
        return NULL;
    }
    char *mark = strchr(path, '?');
    if (mark) {
        *mark = '\0';
        request->query = mark + 1;
    }
    request->path = path;
    request->server = server;
    request->connection = connection;
    return request;
}

static enum MHD_Result answer_send(const http_request *request, http_response *response) {
    struct MHD_Response *answer = MHD_create_response_from_buffer(
        strlen(response->body), response->body, MHD_RESPMEM_MUST_COPY);
    if (!answer) {
        return MHD_NO;
    }
    MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    if (response->retry_after_s) {
        char seconds[16];
        (void)snprintf(seconds, sizeof seconds, "%u", response->retry_after_s);
        MHD_add_response_header(answer, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    enum MHD_Result result = MHD_queue_response(request->connection, response->status, answer);
    MHD_destroy_response(answer);
    return result;
}

/* Called with the headers, for each part of a body (which we do not want), and at the end. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **state) {
    http_server *server = cls;
    http_request *request = *state;
    (void)connection;
    (void)url;
    (void)upload;
    if (!request) {
        return MHD_NO;
    }
    if (!request->begun) {
        request->begun = true;
        request->method = method;
        request->route = route_find(server, request);
        span_start(request, version);
        return MHD_YES;
    }
    if (*upload_len) {
        *upload_len = 0;
        return MHD_YES;
    }
    http_response response = {.status = MHD_HTTP_OK};
    spool_token token = spool_context_attach(&request->context);
    if (request->route) {
        request->route->handle(server->service, request, &response);
    } else {
        http_response_error(&response, MHD_HTTP_NOT_FOUND, "there is no such page");
    }
    request->status = response.status;
    span_set_status(request);
    answer_log(request);
    (void)spool_context_detach(token);
    return answer_send(request, &response);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why) {
    http_request *request = *state;
    (void)cls;
    (void)connection;
    if (!request) {
        return;
    }
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        spool_span_event(request->span, "shop.answer_not_sent", NULL, 0);
    }
    spool_span_end(request->span);
    spool_context_release(&request->context);
    free(request->path);
    free(request);
    *state = NULL;
}

/* ---- the server ---- */

/* A socket that listens, and its port; -1 when it cannot be had. */
static int socket_listen(uint16_t port, uint16_t *out_port) {
    struct sockaddr_in address = {0};
    socklen_t len = sizeof address;
    const int yes = 1;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        return -1;
    }
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(descriptor, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(descriptor, SOMAXCONN) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &len) != 0) {
        (void)close(descriptor);
        return -1;
    }
    *out_port = ntohs(address.sin_port);
    return descriptor;
}

http_server *http_server_start(const http_route *routes, void *service, uint16_t port,
                               unsigned connections) {
    http_server *server = calloc(1, sizeof *server);
    if (!server) {
        return NULL;
    }
    server->routes = routes;
    server->service = service;
    /* Our own socket: the port must be known before the first request can come. */
    int descriptor = socket_listen(port, &server->port);
    if (descriptor >= 0) {
        server->daemon = MHD_start_daemon(
            MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL,
            NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, descriptor,
            MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_URI_LOG_CALLBACK, on_target,
            server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_END);
    }
    if (!server->daemon) {
        /* The socket stays: libmicrohttpd does not say whether it closed it when it fails. */
        free(server);
        return NULL;
    }
    return server;
}

uint16_t http_server_port(const http_server *server) {
    return server->port;
}

void http_server_stop(http_server *server) {
    if (server) {
        MHD_stop_daemon(server->daemon); /* closes the socket as well */
        free(server);
    }
}
