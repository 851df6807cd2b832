/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter's URL. It is checked here, rule by rule, so that each mistake has words of its own. */
#include "exporters/otlp/endpoint.h"

#include "sdk/platform/percent.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_URL_BYTES = 4096, MAX_NAME_BYTES = 253, MAX_PORT = 65535, MAX_PORT_DIGITS = 5 };

/* A part of the text. */
typedef struct part {
    const char *at;
    size_t len;
} part;

typedef struct url_parts {
    bool secure;
    bool has_user;
    part user;
    part host;  /* with its brackets */
    part port;  /* empty: none */
    part path;  /* may be empty */
    part query; /* with its "?", or empty */
} url_parts;

/* --- parting --- */

static const char *characters_check(const char *text) {
    size_t len = strnlen(text, MAX_URL_BYTES + 1);
    if (len == 0) {
        return "it is empty";
    }
    if (len > MAX_URL_BYTES) {
        return "it is longer than 4096 characters";
    }
    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            return "it holds a blank, a control character or one that is not ASCII";
        }
    }
    return NULL;
}

static const char *scheme_part(const char **text, url_parts *out) {
    if (strncasecmp(*text, "http://", 7) == 0) {
        out->secure = false;
        *text += 7;
        return NULL;
    }
    if (strncasecmp(*text, "https://", 8) == 0) {
        out->secure = true;
        *text += 8;
        return NULL;
    }
    return strstr(*text, "://") ? "its scheme is neither http nor https"
                                : "it does not begin with http:// or https://";
}

static const char *name_check(part host) {
    if (host.len == 0) {
        return "it has no host";
    }
    if (host.len > MAX_NAME_BYTES) {
        return "its host is longer than 253 characters";
    }
    for (size_t i = 0; i < host.len; i++) {
        char c = host.at[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '.' || c == '_';
        if (!fits) {
            return "its host holds a character that no host name has";
        }
    }
    return NULL;
}

/* Splits a zone ("%25eth0") off; what it may be is the system's to judge. */
static const char *ipv6_check(part host) {
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    size_t len = host.len - 2;
    const char *zone = memchr(host.at, '%', host.len);
    if (zone) {
        len = (size_t)(zone - host.at) - 1;
        if (strncmp(zone, "%25", 3) != 0 || zone[3] == ']') {
            return "the zone of its IPv6 address is not written as %25 and a name";
        }
    }
    if (len >= sizeof address) {
        return "its IPv6 address is not valid";
    }
    memcpy(address, host.at + 1, len);
    address[len] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1 ? NULL : "its IPv6 address is not valid";
}

static const char *port_check(part port) {
    if (port.len == 0) {
        return "there is no port after its colon";
    }
    unsigned long number = 0;
    for (size_t i = 0; i < port.len; i++) {
        if (port.at[i] < '0' || port.at[i] > '9') {
            return "its port is not a number";
        }
        if (i < MAX_PORT_DIGITS) {
            number = number * 10 + (unsigned long)(port.at[i] - '0');
        }
    }
    return port.len <= MAX_PORT_DIGITS && number >= 1 && number <= MAX_PORT
               ? NULL
               : "its port is not between 1 and 65535";
}

/* "user@host:port"; the last "@" counts, since people forget to encode the one in a password. */
static const char *authority_part(part authority, url_parts *out) {
    for (size_t i = authority.len; i > 0; i--) {
        if (authority.at[i - 1] == '@') {
            out->has_user = true;
            out->user = (part){authority.at, i - 1};
            authority = (part){authority.at + i, authority.len - i};
            break;
        }
    }
    bool brackets = authority.len > 0 && authority.at[0] == '[';
    const char *host_end = authority.at + authority.len;
    if (brackets) {
        const char *closing = memchr(authority.at, ']', authority.len);
        if (!closing) {
            return "the bracket of its IPv6 address is not closed";
        }
        host_end = closing + 1;
    } else {
        const char *colon = memchr(authority.at, ':', authority.len);
        host_end = colon ? colon : host_end;
    }
    out->host = (part){authority.at, (size_t)(host_end - authority.at)};
    const char *reason = brackets ? ipv6_check(out->host) : name_check(out->host);
    size_t rest = authority.len - out->host.len;
    if (reason || rest == 0) {
        return reason;
    }
    if (*host_end != ':') {
        return "there is something other than a port after its host";
    }
    out->port = (part){host_end + 1, rest - 1};
    return port_check(out->port);
}

static const char *url_part(const char *text, url_parts *out) {
    const char *reason = characters_check(text);
    if (!reason) {
        reason = scheme_part(&text, out);
    }
    if (reason) {
        return reason;
    }
    if (strchr(text, '#')) {
        return "it has a fragment (#...), which is never sent";
    }
    part authority = {text, strcspn(text, "/?")};
    out->path.at = text + authority.len;
    out->path.len = strcspn(out->path.at, "?");
    out->query.at = out->path.at + out->path.len;
    out->query.len = strlen(out->query.at);
    return authority_part(authority, out);
}

/* --- putting together --- */

static char *url_text(const url_parts *parts, part query) {
    size_t size =
        sizeof "https://:/" + parts->host.len + parts->port.len + parts->path.len + query.len;
    char *text = malloc(size);
    if (text) {
        snprintf(text, size, "%s://%.*s%s%.*s%.*s%.*s", parts->secure ? "https" : "http",
                 (int)parts->host.len, parts->host.at, parts->port.len ? ":" : "",
                 (int)parts->port.len, parts->port.at, parts->path.len ? (int)parts->path.len : 1,
                 parts->path.len ? parts->path.at : "/", (int)query.len, query.at);
    }
    return text;
}

static void base64_write(const uint8_t *bytes, size_t len, char *to) {
    static const char ALPHABET[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= i + 2 < len ? bytes[i + 2] : 0;
        *to++ = ALPHABET[group >> 18];
        *to++ = ALPHABET[group >> 12 & 63];
        *to++ = i + 1 < len ? ALPHABET[group >> 6 & 63] : '=';
        *to++ = i + 2 < len ? ALPHABET[group & 63] : '=';
    }
    *to = '\0';
}

/* RFC 7617: the user's name ends at the first colon, so its own must stay encoded until here. */
static char *authorization_text(part user) {
    static const char PREFIX[] = "Authorization: Basic ";
    char *plain = malloc(user.len + 2);
    if (!plain) {
        return NULL;
    }
    size_t len;
    (void)sp_percent_decode(user.at, user.len, plain, &len);
    if (!memchr(user.at, ':', user.len)) {
        plain[len++] = ':'; /* an empty password */
    }
    char *line = malloc(sizeof PREFIX + (len + 2) / 3 * 4);
    if (line) {
        memcpy(line, PREFIX, sizeof PREFIX);
        base64_write((const uint8_t *)plain, len, line + sizeof PREFIX - 1);
    }
    free(plain);
    return line;
}

bool sp_endpoint_parse(const char *text, sp_endpoint *out, const char **out_reason) {
    url_parts parts;
    memset(&parts, 0, sizeof parts);
    parts.port.at = "";
    *out_reason = url_part(text, &parts);
    if (*out_reason) {
        return false;
    }
    sp_endpoint made = {.url = url_text(&parts, parts.query),
                        .printable = url_text(&parts, (part){"", 0}),
                        .authorization = parts.has_user ? authorization_text(parts.user) : NULL};
    if (!made.url || !made.printable || (parts.has_user && !made.authorization)) {
        sp_endpoint_fini(&made);
        return false;
    }
    *out = made;
    return true;
}

void sp_endpoint_fini(sp_endpoint *endpoint) {
    free(endpoint->url);
    free(endpoint->printable);
    free(endpoint->authorization);
    memset(endpoint, 0, sizeof *endpoint);
}

void sp_endpoint_hide_secrets(const char *text, char *out, unsigned size) {
    const char *scheme_end = strstr(text, "://");
    const char *start = scheme_end ? scheme_end + 3 : text;
    size_t query = strcspn(start, "?#");
    const char *user_end = NULL;
    for (const char *at = start; *at; at++) {
        if (*at == '@') { /* wherever it is: a password may hold anything */
            user_end = at;
        }
    }
    const char *shown = user_end ? user_end + 1 : start;
    size_t shown_len = user_end ? strcspn(shown, "?#") : query;
    bool hidden = shown[shown_len] != '\0';
    unsigned most = size / 2;
    bool cut = shown_len > most;
    snprintf(out, size, "%.*s%s%.*s%s", (int)(start - text < 16 ? start - text : 0), text,
             user_end ? "***@" : "", (int)(cut ? most : shown_len), shown,
             cut      ? "..."
             : hidden ? "?..."
                      : "");
}
