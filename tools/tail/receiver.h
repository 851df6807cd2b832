/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP/HTTP side: POST /v1/traces and /v1/logs on 127.0.0.1, protobuf bodies,
 * plain or gzip. No thread of its own: the caller waits on sp_tail_receiver_fd() and
 * calls sp_tail_receiver_run(), inside which the handlers are called.
 */
#ifndef SPOOL_TOOLS_TAIL_RECEIVER_H
#define SPOOL_TOOLS_TAIL_RECEIVER_H

#include "opentelemetry/proto/collector/logs/v1/logs_service.pb-c.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SP_TAIL_BODY_MAX = 64 * 1024 * 1024 /* bytes, before and after unpacking */
};

/* Each gets a sound request, borrowed for the call, and returns how many records it
 * refused. */
typedef struct sp_tail_handlers {
    int64_t (*traces)(
        void *self,
        const Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest *request);
    int64_t (*logs)(
        void *self,
        const Opentelemetry__Proto__Collector__Logs__V1__ExportLogsServiceRequest *request);
    void *self;
} sp_tail_handlers;

typedef struct sp_tail_receiver sp_tail_receiver;

/* port 0: the kernel chooses. NULL and errno on failure. */
sp_tail_receiver *sp_tail_receiver_create(uint16_t port, const sp_tail_handlers *handlers);

uint16_t sp_tail_receiver_port(const sp_tail_receiver *receiver);

/* Readable when there is work. */
int sp_tail_receiver_fd(const sp_tail_receiver *receiver);

/* Milliseconds until sp_tail_receiver_run() has work without that; -1: never. */
int sp_tail_receiver_timeout_ms(const sp_tail_receiver *receiver);

void sp_tail_receiver_run(sp_tail_receiver *receiver);

void sp_tail_receiver_destroy(sp_tail_receiver *receiver);

#endif /* SPOOL_TOOLS_TAIL_RECEIVER_H */
