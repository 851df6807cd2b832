/* SPDX-License-Identifier: Apache-2.0 */
/* The OTLP exporter over HTTP with binary protobuf (specification: protocol/exporter, OTLP/HTTP). */
#ifndef SPOOL_SDK_OTLP_H
#define SPOOL_SDK_OTLP_H

#include <spool/ext/exporter.h>

SPOOL_BEGIN_DECLS

enum { SPOOL_COMPRESSION_NONE = 0, SPOOL_COMPRESSION_GZIP = 1 };

/*
 * `endpoint` is the whole URL that is posted to, except that an empty path becomes "/" (OX-06). User
 * information in it is sent as basic authorization and never printed.
 */
typedef struct spool_otlp_options {
    size_t struct_size;
    const char *endpoint;           /* default NULL: http://localhost:4318/v1/traces or /v1/logs */
    const char *headers;            /* "k1=v1,k2=v2", values percent-decoded; default NULL */
    uint32_t timeout_ms;            /* of one batch with all its tries; default 10000; 0: none */
    uint32_t compression;           /* SPOOL_COMPRESSION_*; default none */
    uint32_t max_in_flight;         /* requests at once; default 1 */
    uint32_t max_attempts;          /* of one batch; default 0: as many as the timeout allows */
    uint32_t retry_initial_ms;      /* first back-off; default 1000; each next is twice as long */
    uint32_t retry_max_ms;          /* longest back-off; default 30000; both with jitter of 20 % */
    uint64_t max_request_bytes;     /* default 64 MiB; larger is dropped as too_large */
    uint64_t max_response_bytes;    /* default 4 MiB */
    const char *certificate;        /* CA file; default NULL: the system's */
    const char *client_certificate; /* default NULL */
    const char *client_key;         /* default NULL */
} spool_otlp_options;

#define SPOOL_OTLP_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(spool_otlp_options), NULL, NULL, 10000, SPOOL_COMPRESSION_NONE, 1, 0, 1000, 30000,  \
            67108864, 4194304, NULL, NULL, NULL                                                    \
    }
SPOOL_API void spool_otlp_options_init(spool_otlp_options *options);

/*
 * Makes an exporter for one signal (SPOOL_SIGNAL_*). The texts are copied. SPOOL_ERR_INVALID names the
 * bad part in a diagnostic; SPOOL_ERR_UNSUPPORTED: built without libcurl. *out is set on success alone.
 * It runs on the runtime's loop: under a simple processor the caller waits for it.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_otlp_create(uint32_t signal,
                                                        const spool_otlp_options *options,
                                                        spool_exporter *out_exporter);

/*
 * The same from OTEL_EXPORTER_OTLP_* and the signal's own variables, which win: the general endpoint gets
 * v1/traces or v1/logs appended, the signal's own is used as it is. What is invalid is named in one
 * diagnostic; an endpoint that is: SPOOL_ERR_INVALID.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_otlp_create_from_env(uint32_t signal,
                                                                 spool_exporter *out_exporter);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_OTLP_H */
