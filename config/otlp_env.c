/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_EXPORTER_OTLP_* and their per-signal forms (specification: protocol/exporter). */
#include "config/otlp_env.h"

#include "config/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const signal_paths[SPOOL_SIGNALS] = {"v1/traces", "v1/logs"};

/* The names of one setting, the signal's own first; static, since warnings are kept by name. */
#define SETTING(word)                                                                              \
    {                                                                                              \
        "OTEL_EXPORTER_OTLP_TRACES_" word, "OTEL_EXPORTER_OTLP_LOGS_" word,                        \
            "OTEL_EXPORTER_OTLP_" word                                                             \
    }
typedef const char *setting_names[3];

/* The setting's value and the name it came from; NULL when neither is set. */
static const char *setting(const setting_names names, uint32_t signal, const char **out_name) {
    const char *value = sp_env_text(names[signal]);
    *out_name = names[signal];
    if (!value) {
        *out_name = names[2];
        value = sp_env_text(names[2]);
    }
    return value;
}

/*
 * base + one slash + path (OX-06); a query of the base stays behind the path. A base without a host is
 * kept as it is, so that the path cannot be taken for one: it is refused later, by its own text.
 */
static char *url_join(const char *base, const char *path) {
    const char *host = strstr(base, "://");
    if (host && (host[3] == '\0' || strchr("/?#", host[3]))) {
        return strdup(base);
    }
    size_t len = strcspn(base, "?#");
    size_t size = strlen(base) + strlen(path) + 2;
    char *url = malloc(size);
    if (url) {
        bool slash = len && base[len - 1] == '/';
        (void)snprintf(url, size, "%.*s%s%s%s", (int)len, base, slash ? "" : "/", path, base + len);
    }
    return url;
}

static void protocol_check(uint32_t signal) {
    static const setting_names names = SETTING("PROTOCOL");
    const char *name;
    const char *protocol = setting(names, signal, &name);
    if (protocol && !sp_env_is(spool_str_of(protocol), "http/protobuf")) {
        sp_env_warn(name, protocol, "this build speaks http/protobuf alone, and uses that");
    }
}

/* True: the variable names a compression. */
static bool compression_read(const char *name, uint32_t *out_compression) {
    const char *word = sp_env_text(name);
    spool_str item = spool_str_of(word);
    if (!word) {
        return false;
    }
    if (sp_env_is(item, "gzip")) {
        *out_compression = SPOOL_COMPRESSION_GZIP;
    } else if (sp_env_is(item, "none")) {
        *out_compression = SPOOL_COMPRESSION_NONE;
    } else {
        sp_env_warn(name, word, "neither gzip nor none; taken as unset");
        return false;
    }
    return true;
}

static void compression_set(spool_otlp_options *options, uint32_t signal) {
    static const setting_names names = SETTING("COMPRESSION");
    if (!compression_read(names[signal], &options->compression)) {
        (void)compression_read(names[2], &options->compression);
    }
}

static void numbers_and_files_set(spool_otlp_options *options, uint32_t signal) {
    static const setting_names timeout = SETTING("TIMEOUT");
    static const setting_names certificate = SETTING("CERTIFICATE");
    static const setting_names client_certificate = SETTING("CLIENT_CERTIFICATE");
    static const setting_names client_key = SETTING("CLIENT_KEY");
    const char *name;
    if (!sp_env_number(timeout[signal], 0, &options->timeout_ms)) {
        (void)sp_env_number(timeout[2], 0, &options->timeout_ms);
    }
    options->certificate = setting(certificate, signal, &name);
    options->client_certificate = setting(client_certificate, signal, &name);
    options->client_key = setting(client_key, signal, &name);
}

static void env_read(uint32_t signal, const sp_otlp_settings *code, spool_otlp_options *options) {
    static const setting_names headers = SETTING("HEADERS");
    const char *name;
    protocol_check(signal);
    compression_set(options, signal);
    numbers_and_files_set(options, signal);
    if (!code->headers) {
        options->headers = setting(headers, signal, &name);
    }
}

spool_status sp_otlp_options_make(uint32_t signal, const sp_otlp_settings *code, bool use_env,
                                  spool_otlp_options *out_options, char **out_url) {
    static const setting_names endpoint = SETTING("ENDPOINT");
    const char *base = code->endpoint;
    spool_otlp_options_init(out_options);
    *out_url = NULL;
    out_options->headers = code->headers;
    if (use_env) {
        env_read(signal, code, out_options);
        if (!base) {
            out_options->endpoint = sp_env_text(endpoint[signal]);
            base = out_options->endpoint ? NULL : sp_env_text(endpoint[2]);
        }
    }
    if (base) {
        *out_url = url_join(base, signal_paths[signal]);
        out_options->endpoint = *out_url;
    }
    return base && !*out_url ? SPOOL_ERR_NOMEM : SPOOL_OK;
}

spool_status sp_otlp_create(uint32_t signal, const sp_otlp_settings *code, bool use_env,
                            spool_exporter *out_exporter) {
    spool_otlp_options options;
    char *url;
    spool_status status = sp_otlp_options_make(signal, code, use_env, &options, &url);
    if (status == SPOOL_OK) {
        status = spool_otlp_create(signal, &options, out_exporter);
    }
    free(url);
    return status;
}

spool_status spool_otlp_create_from_env(uint32_t signal, spool_exporter *out_exporter) {
    static const sp_otlp_settings none = {NULL, NULL};
    if (signal >= SPOOL_SIGNALS || !out_exporter) {
        return SPOOL_ERR_INVALID;
    }
    return sp_otlp_create(signal, &none, true, out_exporter);
}
