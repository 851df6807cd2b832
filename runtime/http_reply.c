/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client's replies: body and headers within their bounds, Retry-After in its two forms. */
#include "runtime/http_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    MAX_HEADER_BYTES = 300 * 1024, /* of one reply, all its header lines with interim replies */
    FIRST_BODY_BYTES = 1024,
    RETRY_AFTER_DIGITS = 9, /* 30 years; more is as good as never */
    MS_PER_S = 1000
};

static bool body_reserve(sp_http_call *call, size_t needed) {
    if (needed <= call->body_capacity) {
        return true;
    }
    size_t capacity = call->body_capacity ? call->body_capacity : FIRST_BODY_BYTES;
    while (capacity < needed) {
        capacity *= 2;
    }
    uint8_t *grown = realloc(call->body, capacity);
    if (!grown) {
        call->no_memory = true;
        return false;
    }
    call->body = grown;
    call->body_capacity = capacity;
    return true;
}

size_t sp_http_body_write(char *bytes, size_t size, size_t count, void *arg) {
    sp_http_call *call = arg;
    size_t len = size * count;
    if (len > call->client->max_response_bytes - call->body_len) {
        call->too_large = true;
        return 0;
    }
    if (!body_reserve(call, call->body_len + len)) {
        return 0;
    }
    if (len > 0) {
        memcpy(call->body + call->body_len, bytes, len);
    }
    call->body_len += len;
    return len;
}

/* Seconds or a date (RFC 9110, 10.2.3); the time between now and a date is by the wall clock. */
static int64_t retry_after_parse(const char *text, size_t len) {
    char value[64];
    while (len > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        len--;
    }
    while (len > 0 && strchr(" \t\r\n", text[len - 1])) {
        len--;
    }
    if (len == 0 || len >= sizeof value || memchr(text, '\0', len)) {
        return -1;
    }
    memcpy(value, text, len);
    value[len] = '\0';
    if (strspn(value, "0123456789") == len) {
        return len > RETRY_AFTER_DIGITS ? INT64_MAX : (int64_t)strtoll(value, NULL, 10) * MS_PER_S;
    }
    if (value[0] < 'A') {
        return -1; /* a date begins with the day's name; curl_getdate() takes much more */
    }
    time_t date = curl_getdate(value, NULL);
    if (date < 0) {
        return -1;
    }
    time_t now = time(NULL);
    return date > now ? (int64_t)(date - now) * MS_PER_S : 0;
}

size_t sp_http_header_seen(char *line, size_t size, size_t count, void *arg) {
    static const char RETRY_AFTER[] = "retry-after:";
    sp_http_call *call = arg;
    size_t len = size * count;
    if (len > MAX_HEADER_BYTES - call->header_bytes) {
        call->too_large = true;
        return 0;
    }
    call->header_bytes += len;
    if (len > 5 && memcmp(line, "HTTP/", 5) == 0) {
        call->retry_after_ms = -1; /* of an interim reply */
    } else if (len >= sizeof RETRY_AFTER - 1 &&
               strncasecmp(line, RETRY_AFTER, sizeof RETRY_AFTER - 1) == 0) {
        call->retry_after_ms =
            retry_after_parse(line + sizeof RETRY_AFTER - 1, len - (sizeof RETRY_AFTER - 1));
    }
    return len;
}
