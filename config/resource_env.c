/* SPDX-License-Identifier: Apache-2.0 */
/* See resource_env.h. */
#include "config/resource_env.h"

#include "config/environment.h"
#include "sdk/platform/percent.h"

#include <stdlib.h>
#include <string.h>

static spool_str trimmed(char *begin, char *end) {
    while (begin < end && (*begin == ' ' || *begin == '\t')) {
        begin++;
    }
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    return spool_str_n(begin, (size_t)(end - begin));
}

/* In place, in the text that pairs_read() was given to change. */
static bool decode(spool_str *text) {
    return sp_percent_decode(text->ptr, text->len, (char *)(uintptr_t)text->ptr, &text->len);
}

/* One `key=value`, decoded in place; false when it is not well formed. */
static bool pair_read(char *begin, char *end, spool_attr *out) {
    char *equals = memchr(begin, '=', (size_t)(end - begin));
    if (!equals) {
        return false;
    }
    spool_str key = trimmed(begin, equals);
    spool_str value = trimmed(equals + 1, end);
    if (!decode(&key) || !decode(&value) || key.len == 0) {
        return false;
    }
    *out = spool_string_n(key, value);
    return true;
}

/* Reads all pairs of `text` (changed in place) into `out`; false at the first bad one. */
static bool pairs_read(char *text, spool_attr *out, size_t *out_count) {
    char *at = text;
    while (*at) {
        char *comma = strchr(at, ',');
        char *end = comma ? comma : at + strlen(at);
        if (trimmed(at, end).len && !pair_read(at, end, &out[(*out_count)++])) {
            return false;
        }
        at = comma ? comma + 1 : end;
    }
    return true;
}

spool_status sp_resource_from_env(bool use_env, spool_resource **out_resource) {
    static const char name[] = "OTEL_RESOURCE_ATTRIBUTES";
    const char *list = use_env ? sp_env_text(name) : NULL;
    const char *service = use_env ? sp_env_text("OTEL_SERVICE_NAME") : NULL;
    size_t room = 2;
    for (const char *at = list; at && *at; at++) {
        room += *at == ',';
    }
    char *text = strdup(list ? list : "");
    spool_attr *attrs = calloc(room + 1, sizeof *attrs);
    size_t count = 0;
    spool_status status = SPOOL_ERR_NOMEM;
    if (text && attrs) {
        if (!pairs_read(text, attrs, &count)) {
            sp_env_warn(name, list, "not a list of key=value; all of it is left out");
            count = 0;
        }
        if (service) {
            attrs[count++] = spool_string("service.name", service);
        }
        status = spool_resource_create(attrs, count, spool_str_n(NULL, 0), out_resource);
    }
    free(attrs);
    free(text);
    return status;
}
