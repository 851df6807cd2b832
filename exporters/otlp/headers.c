/* SPDX-License-Identifier: Apache-2.0 */
/* The configured request headers. Nothing here prints: a pair, even a broken one, may be a secret. */
#include "exporters/otlp/headers.h"

#include "sdk/platform/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_PAIR_BYTES = 16384, MAX_HEADERS = 128 };

static const char *const OWN[] = {
    "content-type",    "content-length", "content-encoding", "transfer-encoding",
    "accept-encoding", "connection",     "expect",           "te",
    "trailer",         "upgrade"};

typedef struct text_view {
    const char *at;
    size_t len;
} text_view;

static text_view trimmed(text_view text) {
    while (text.len > 0 && (*text.at == ' ' || *text.at == '\t')) {
        text.at++;
        text.len--;
    }
    while (text.len > 0 && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

/* A "token" of RFC 9110. */
static bool is_name(text_view name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c))) {
            return false;
        }
    }
    return name.len > 0;
}

static bool is_own(text_view name) {
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) {
        if (strlen(OWN[i]) == name.len && strncasecmp(OWN[i], name.at, name.len) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_value(const char *value, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static size_t name_len(const char *line) {
    return strcspn(line, ":");
}

static size_t header_find(const sp_headers *headers, const char *name, size_t len) {
    for (size_t i = 0; i < headers->count; i++) {
        if (name_len(headers->lines[i]) == len && strncasecmp(headers->lines[i], name, len) == 0) {
            return i;
        }
    }
    return headers->count;
}

static bool room_make(sp_headers *headers) {
    char **grown = realloc(headers->lines, (headers->count + 2) * sizeof *grown);
    if (!grown) {
        return false;
    }
    headers->lines = grown;
    grown[headers->count] = NULL;
    return true;
}

/* Consumes the line, also on failure. */
static bool line_put(sp_headers *headers, char *line) {
    size_t index = header_find(headers, line, name_len(line));
    if (index < headers->count) {
        free(headers->lines[index]);
    } else {
        if (!room_make(headers)) {
            free(line);
            return false;
        }
        headers->count++;
        headers->lines[headers->count] = NULL;
    }
    headers->lines[index] = line;
    return true;
}

static bool pair_skip(sp_headers *headers, size_t number, const char *reason) {
    if (headers->skipped++ == 0) {
        headers->first_skipped = number;
        headers->first_reason = reason;
    }
    return true;
}

static char *line_make(text_view name, text_view value, const char **out_reason) {
    size_t size = name.len + sizeof ": " + value.len;
    char *line = malloc(size);
    if (!line) {
        return NULL;
    }
    char *decoded = line + snprintf(line, size, "%.*s: ", (int)name.len, name.at);
    size_t len;
    (void)sp_percent_decode(value.at, value.len, decoded, &len);
    decoded[len] = '\0';
    if (!is_value(decoded, len)) {
        free(line);
        *out_reason = "its value holds a control character";
        return NULL;
    }
    return line;
}

/* False: no memory. */
static bool pair_add(sp_headers *headers, text_view pair, size_t number) {
    pair = trimmed(pair);
    if (pair.len == 0) {
        return true; /* as in "a=1,,b=2,": no harm, no warning */
    }
    const char *equals = memchr(pair.at, '=', pair.len);
    if (!equals) {
        return pair_skip(headers, number, "it has no '='");
    }
    if (pair.len > MAX_PAIR_BYTES) {
        return pair_skip(headers, number, "it is longer than 16 KiB");
    }
    text_view name = trimmed((text_view){pair.at, (size_t)(equals - pair.at)});
    text_view value = trimmed((text_view){equals + 1, pair.len - (size_t)(equals - pair.at) - 1});
    if (!is_name(name)) {
        return pair_skip(headers, number, "its key is not a header name");
    }
    if (is_own(name)) {
        return pair_skip(headers, number, "the exporter sets that header itself");
    }
    if (headers->count >= MAX_HEADERS) {
        return pair_skip(headers, number, "there are more than 128 headers");
    }
    const char *reason = NULL;
    char *line = line_make(name, value, &reason);
    if (reason) {
        return pair_skip(headers, number, reason);
    }
    return line && line_put(headers, line);
}

bool sp_headers_parse(const char *text, sp_headers *out) {
    memset(out, 0, sizeof *out);
    bool made = room_make(out);
    size_t number = 1;
    for (const char *at = text ? text : ""; made && *at; number++) {
        size_t len = strcspn(at, ",");
        made = pair_add(out, (text_view){at, len}, number);
        at += len + (at[len] == ',');
    }
    if (!made) {
        sp_headers_fini(out);
    }
    return made;
}

bool sp_headers_default(sp_headers *headers, const char *line) {
    if (header_find(headers, line, name_len(line)) < headers->count) {
        return true;
    }
    char *copy = strdup(line);
    return copy && line_put(headers, copy);
}

void sp_headers_fini(sp_headers *headers) {
    for (size_t i = 0; i < headers->count; i++) {
        free(headers->lines[i]);
    }
    free(headers->lines);
    memset(headers, 0, sizeof *headers);
}
