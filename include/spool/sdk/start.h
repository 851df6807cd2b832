/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting from the environment (specification: configuration/sdk-environment-variables). The
 * environment is read inside spool_start() alone, on the calling thread. Which variables, and what each
 * means: docs/configuration.md.
 */
#ifndef SPOOL_SDK_START_H
#define SPOOL_SDK_START_H

#include <spool/sdk/otlp.h>
#include <spool/sdk/provider.h>

SPOOL_BEGIN_DECLS

/*
 * What code says beside the environment. A field that is not NULL or not its default wins over the
 * environment (specification: code over environment).
 */
typedef struct spool_options {
    size_t struct_size;
    const char *service_name;    /* default NULL: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES */
    const char *service_version; /* default NULL */
    const char *traces_exporter; /* "otlp", "console", "none"; default NULL: OTEL_TRACES_EXPORTER */
    const char *logs_exporter;   /* the same; default NULL: OTEL_LOGS_EXPORTER */
    const char *endpoint;        /* as OTEL_EXPORTER_OTLP_ENDPOINT; default NULL */
    const char *headers;         /* as OTEL_EXPORTER_OTLP_HEADERS; default NULL */
    const spool_resource *resource;    /* merged over the detected one; a reference is taken */
    const spool_processor *processors; /* run before the exporting ones; consumed on success */
    size_t processor_count;
    spool_sampler sampler;    /* consumed on success; default ops NULL: OTEL_TRACES_SAMPLER */
    uint32_t ignore_env;      /* 1: the environment is not read at all; default 0 */
    uint32_t no_exit_flush;   /* 1: nothing happens at exit; default 0 */
    uint32_t exit_timeout_ms; /* budget of the flush at exit; default 2000 (OTEL_C_EXIT_TIMEOUT) */
    uint32_t not_default;     /* 1: not the process's default SDK; default 0 */
    uint32_t source_location; /* 1: callsites add code.* attributes; default 0 */
    uint32_t reserved;
    const char *filter; /* as SPOOL_FILTER, see <spool/sdk/filter.h>; a bad part fails the start */
} spool_options;

#define SPOOL_OPTIONS_INIT                                                                         \
    {                                                                                              \
        sizeof(spool_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, {NULL, NULL}, 0, \
            0, 2000, 0, 0, 0, NULL                                                                 \
    }
SPOOL_API void spool_options_init(spool_options *options);

/*
 * Starts an SDK: batch processors for otlp, simple ones for console (EV-26). `options` NULL: the
 * environment alone. With OTEL_SDK_DISABLED=true: an SDK without processors, threads or sockets.
 * A value that is invalid is named in one diagnostic and its default is used; but with an endpoint or
 * a file that cannot be used nothing starts: SPOOL_ERR_INVALID.
 *
 * An SDK that is still running at exit() or return from main is flushed and shut down there, within
 * exit_timeout_ms. SPOOL_ERR_EXISTS: a default SDK runs already. SPOOL_ERR_SYSTEM: no thread or
 * descriptor could be had. Threads: any. Blocks: no.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_start(const spool_options *options,
                                                  spool_sdk **out_sdk);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_START_H */
