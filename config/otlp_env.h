/* SPDX-License-Identifier: Apache-2.0 */
/* An OTLP exporter from what code says and the environment. */
#ifndef SPOOL_CONFIG_OTLP_ENV_H
#define SPOOL_CONFIG_OTLP_ENV_H

#include <spool/sdk/otlp.h>

/* What code says for both signals; NULL: the environment, then the default. */
typedef struct sp_otlp_settings {
    const char *endpoint; /* the base: v1/traces or v1/logs is appended */
    const char *headers;
} sp_otlp_settings;

/*
 * The options that come of it; texts are borrowed from `code` and the environment, but for the endpoint,
 * which may be *out_url: free it. A setting that is invalid counts as unset (its general form is next).
 */
spool_status sp_otlp_options_make(uint32_t signal, const sp_otlp_settings *code, bool use_env,
                                  spool_otlp_options *out_options, char **out_url);
spool_status sp_otlp_create(uint32_t signal, const sp_otlp_settings *code, bool use_env,
                            spool_exporter *out_exporter);

#endif /* SPOOL_CONFIG_OTLP_ENV_H */
