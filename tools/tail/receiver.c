/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd in its external-poll form. A request's body is collected, then
 * judged as a whole: path, method, type, encoding, size, message. Bodies of refused
 * requests are read and dropped, so that the client gets to read the answer, save
 * those announced as too big, which are refused at once.
 */
#include "tools/tail/receiver.h"

#include "tools/tail/decode.h"
#include "tools/tail/gzip.h"

#include "google/rpc/status.pb-c.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECTIONS_MAX = 128,
    CONNECTION_TIMEOUT_S = 60,
    HELD_MAX = 4 * SP_TAIL_BODY_MAX,     /* bytes of all bodies being received */
    MESSAGES_MAX = 8 * SP_TAIL_BODY_MAX, /* bytes of one request's decoded messages */
    MESSAGES_CHUNK = 256 * 1024
};

static const char protobuf_type[] = "application/x-protobuf";

struct sp_tail_receiver {
    struct MHD_Daemon *daemon;
    sp_tail_handlers handlers;
    size_t held;
};

typedef struct http_request {
    sp_tail_receiver *receiver;
    uint8_t *body;
    size_t len;
    size_t size;
    unsigned refusal; /* HTTP status; 0: fine so far */
    const char *reason;
    bool gzip;
} http_request;

typedef struct http_answer {
    unsigned status;
    uint8_t *body; /* from malloc; libmicrohttpd frees it */
    size_t len;
} http_answer;

static void refuse(http_request *request, unsigned status, const char *reason) {
    if (request->refusal == 0) {
        request->refusal = status;
        request->reason = reason;
    }
}

static http_answer message_answer(unsigned status, const ProtobufCMessage *message) {
    size_t len = protobuf_c_message_get_packed_size(message);
    http_answer answer = {status, malloc(len + 1), len};
    if (answer.body != NULL) {
        protobuf_c_message_pack(message, answer.body);
    }
    return answer;
}

/* The gRPC code that belongs to the HTTP status. */
static int32_t grpc_code(unsigned status) {
    switch (status) {
    case MHD_HTTP_NOT_FOUND:
    case MHD_HTTP_METHOD_NOT_ALLOWED:
        return 12; /* UNIMPLEMENTED */
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return 8; /* RESOURCE_EXHAUSTED */
    case MHD_HTTP_SERVICE_UNAVAILABLE:
        return 14; /* UNAVAILABLE */
    default:
        return 3; /* INVALID_ARGUMENT */
    }
}

static ProtobufCBinaryData text_bytes(const char *text) {
    /* protobuf-c only reads what it packs. */
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static http_answer refusal_answer(unsigned status, const char *reason) {
    Google__Rpc__Status message = GOOGLE__RPC__STATUS__INIT;
    message.code = grpc_code(status);
    message.message = text_bytes(reason);
    return message_answer(status, &message.base);
}

static const char ids_reason[] = "records with invalid ids were not taken";

static http_answer traces_answer(int64_t rejected) {
    Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceResponse response =
        OPENTELEMETRY__PROTO__COLLECTOR__TRACE__V1__EXPORT_TRACE_SERVICE_RESPONSE__INIT;
    Opentelemetry__Proto__Collector__Trace__V1__ExportTracePartialSuccess partial =
        OPENTELEMETRY__PROTO__COLLECTOR__TRACE__V1__EXPORT_TRACE_PARTIAL_SUCCESS__INIT;
    partial.rejected_spans = rejected;
    partial.error_message = text_bytes(ids_reason);
    response.partial_success = rejected > 0 ? &partial : NULL;
    return message_answer(MHD_HTTP_OK, &response.base);
}

static http_answer logs_answer(int64_t rejected) {
    Opentelemetry__Proto__Collector__Logs__V1__ExportLogsServiceResponse response =
        OPENTELEMETRY__PROTO__COLLECTOR__LOGS__V1__EXPORT_LOGS_SERVICE_RESPONSE__INIT;
    Opentelemetry__Proto__Collector__Logs__V1__ExportLogsPartialSuccess partial =
        OPENTELEMETRY__PROTO__COLLECTOR__LOGS__V1__EXPORT_LOGS_PARTIAL_SUCCESS__INIT;
    partial.rejected_log_records = rejected;
    partial.error_message = text_bytes(ids_reason);
    response.partial_success = rejected > 0 ? &partial : NULL;
    return message_answer(MHD_HTTP_OK, &response.base);
}

static http_answer message_take(const sp_tail_receiver *receiver, bool traces, const uint8_t *data,
                                size_t len) {
    const ProtobufCMessageDescriptor *type =
        traces
            ? &opentelemetry__proto__collector__trace__v1__export_trace_service_request__descriptor
            : &opentelemetry__proto__collector__logs__v1__export_logs_service_request__descriptor;
    sp_tail_arena arena;
    ProtobufCMessage *message;
    const char *reason;
    sp_tail_arena_init(&arena, MESSAGES_CHUNK, MESSAGES_MAX);
    sp_tail_decode_status status = sp_tail_decode(type, data, len, &arena, &message, &reason);
    http_answer answer;
    if (status != SP_TAIL_DECODE_OK) {
        answer = refusal_answer(status == SP_TAIL_DECODE_TOO_BIG ? MHD_HTTP_CONTENT_TOO_LARGE
                                                                 : MHD_HTTP_BAD_REQUEST,
                                reason);
    } else if (traces) {
        answer = traces_answer(receiver->handlers.traces(receiver->handlers.self, (void *)message));
    } else {
        answer = logs_answer(receiver->handlers.logs(receiver->handlers.self, (void *)message));
    }
    sp_tail_arena_clear(&arena);
    return answer;
}

static http_answer gzip_take(const http_request *request, bool traces) {
    uint8_t *data;
    size_t len;
    switch (sp_tail_gunzip(request->body, request->len, SP_TAIL_BODY_MAX, &data, &len)) {
    case SP_TAIL_GZIP_OK:
        break;
    case SP_TAIL_GZIP_TOO_BIG:
        return refusal_answer(MHD_HTTP_CONTENT_TOO_LARGE, "the unpacked body is too big");
    case SP_TAIL_GZIP_NO_MEMORY:
        return refusal_answer(MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    case SP_TAIL_GZIP_MALFORMED:
        return refusal_answer(MHD_HTTP_BAD_REQUEST, "the body is not gzip data");
    }
    http_answer answer = message_take(request->receiver, traces, data, len);
    free(data);
    return answer;
}

static enum MHD_Result answer_queue(struct MHD_Connection *connection, http_answer answer) {
    if (answer.body == NULL) {
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer.len, answer.body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(answer.body);
        return MHD_NO;
    }
    enum MHD_Result result =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, protobuf_type);
    if (result == MHD_YES && answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        result = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_POST);
    }
    if (result == MHD_YES) {
        result = MHD_queue_response(connection, answer.status, response);
    }
    MHD_destroy_response(response);
    return result;
}

static const char *header_get(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool is_protobuf(const char *type) {
    size_t len = sizeof protobuf_type - 1;
    return type != NULL && strncasecmp(type, protobuf_type, len) == 0 &&
           (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

static void head_judge(http_request *request, struct MHD_Connection *connection, const char *url,
                       const char *method) {
    const char *encoding = header_get(connection, MHD_HTTP_HEADER_CONTENT_ENCODING);
    const char *length = header_get(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (strcmp(url, "/v1/traces") != 0 && strcmp(url, "/v1/logs") != 0) {
        refuse(request, MHD_HTTP_NOT_FOUND, "only /v1/traces and /v1/logs are here");
    } else if (strcmp(method, MHD_HTTP_METHOD_POST) != 0) {
        refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only POST is understood");
    } else if (!is_protobuf(header_get(connection, MHD_HTTP_HEADER_CONTENT_TYPE))) {
        refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
               "the content type must be application/x-protobuf");
    }
    if (encoding != NULL && strcasecmp(encoding, "gzip") == 0) {
        request->gzip = true;
    } else if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "the content encoding must be gzip");
    }
    if (length != NULL && strtoull(length, NULL, 10) > SP_TAIL_BODY_MAX) {
        request->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        request->reason = "the body is too big";
    }
}

static void body_drop(http_request *request) {
    request->receiver->held -= request->size;
    free(request->body);
    request->body = NULL;
    request->len = request->size = 0;
}

static void body_add(http_request *request, const char *data, size_t len) {
    if (request->refusal == 0 && len > SP_TAIL_BODY_MAX - request->len) {
        refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too big");
    }
    if (request->refusal == 0 && request->size - request->len < len) {
        size_t size =
            request->size * 2 < request->len + len ? request->len + len : request->size * 2;
        size_t more = size - request->size;
        uint8_t *body =
            more <= HELD_MAX - request->receiver->held ? realloc(request->body, size) : NULL;
        if (body == NULL) {
            refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "too much is being received at once");
        } else {
            request->body = body;
            request->size = size;
            request->receiver->held += more;
        }
    }
    if (request->refusal != 0) {
        body_drop(request);
        return;
    }
    memcpy(request->body + request->len, data, len);
    request->len += len;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **state) {
    (void)version;
    http_request *request = *state;
    if (request == NULL) {
        request = calloc(1, sizeof *request);
        if (request == NULL) {
            return MHD_NO;
        }
        request->receiver = self;
        *state = request;
        head_judge(request, connection, url, method);
        if (request->refusal == MHD_HTTP_CONTENT_TOO_LARGE) {
            return answer_queue(connection, refusal_answer(request->refusal, request->reason));
        }
        return MHD_YES;
    }
    if (*data_len > 0) {
        body_add(request, data, *data_len);
        *data_len = 0;
        return MHD_YES;
    }
    http_answer answer;
    bool traces = strcmp(url, "/v1/traces") == 0;
    if (request->refusal != 0) {
        answer = refusal_answer(request->refusal, request->reason);
    } else if (request->gzip) {
        answer = gzip_take(request, traces);
    } else {
        answer = message_take(request->receiver, traces, request->body, request->len);
    }
    body_drop(request);
    return answer_queue(connection, answer);
}

static void on_request_end(void *self, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code) {
    (void)self;
    (void)connection;
    (void)code;
    if (*state != NULL) {
        body_drop(*state);
        free(*state);
        *state = NULL;
    }
}

sp_tail_receiver *sp_tail_receiver_create(uint16_t port, const sp_tail_handlers *handlers) {
    sp_tail_receiver *receiver = calloc(1, sizeof *receiver);
    if (receiver == NULL) {
        return NULL;
    }
    receiver->handlers = *handlers;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    errno = 0;
    receiver->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, port, NULL, NULL, on_request, receiver, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)&address, MHD_OPTION_NOTIFY_COMPLETED, on_request_end, receiver,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_END);
    if (receiver->daemon == NULL) {
        int error = errno != 0 ? errno : EADDRINUSE;
        free(receiver);
        errno = error;
        return NULL;
    }
    return receiver;
}

uint16_t sp_tail_receiver_port(const sp_tail_receiver *receiver) {
    return MHD_get_daemon_info(receiver->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

int sp_tail_receiver_fd(const sp_tail_receiver *receiver) {
    return MHD_get_daemon_info(receiver->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int sp_tail_receiver_timeout_ms(const sp_tail_receiver *receiver) {
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (MHD_get_timeout(receiver->daemon, &timeout_ms) != MHD_YES) {
        return -1;
    }
    return timeout_ms < 60000 ? (int)timeout_ms : 60000;
}

void sp_tail_receiver_run(sp_tail_receiver *receiver) {
    MHD_run(receiver->daemon);
}

void sp_tail_receiver_destroy(sp_tail_receiver *receiver) {
    if (receiver != NULL) {
        MHD_stop_daemon(receiver->daemon);
        free(receiver);
    }
}
