/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies, decoded by protobuf-c. A few bytes of input can ask it for many times their size (repeated
 * and unknown fields), so it allocates from one arena: twice the reply's size and some, at most half a
 * mebibyte. What does not fit is not decoded.
 */
#include "exporters/otlp/reply.h"

#include <spool/ext/data.h>

#include <google/rpc/status.pb-c.h>
#include <opentelemetry/proto/collector/logs/v1/logs_service.pb-c.h>
#include <opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h>

#include <stdlib.h>
#include <string.h>

enum { ARENA_LEAST_BYTES = 16 * 1024, ARENA_MOST_BYTES = 512 * 1024, ALIGNMENT = 16 };

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

typedef struct reply_arena {
    uint8_t *memory;
    size_t size;
    size_t used;
} reply_arena;

static void *arena_take(void *arg, size_t size) {
    reply_arena *arena = arg;
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size > arena->size || rounded > arena->size - arena->used) {
        return NULL;
    }
    void *taken = arena->memory + arena->used;
    arena->used += rounded;
    return taken;
}

static void arena_give(void *arg, void *taken) {
    (void)arg;
    (void)taken;
}

/* --- text --- */

/* Bytes of the UTF-8 character at the start; 0: there is none. */
static size_t character_len(const uint8_t *text, size_t len) {
    uint8_t first = text[0];
    size_t size = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
    if (size == 0 || size > len) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    bool beyond = (first == 0xed && text[1] > 0x9f) || (first == 0xf4 && text[1] > 0x8f);
    return overlong || beyond ? 0 : size;
}

/* C0, DEL, C1. */
static bool is_control(const uint8_t *character, size_t size) {
    return (size == 1 && (character[0] < 0x20 || character[0] == 0x7f)) ||
           (size == 2 && character[0] == 0xc2 && character[1] < 0xa0);
}

void sp_reply_clean(const uint8_t *text, size_t len, char *out, size_t size) {
    static const char CUT[] = "...";
    size_t room = size - sizeof CUT;
    size_t made = 0;
    for (size_t i = 0; i < len;) {
        size_t taken = character_len(text + i, len - i);
        const char *from = (const char *)text + i;
        size_t step = taken;
        if (taken == 0) {
            from = REPLACEMENT;
            step = sizeof REPLACEMENT - 1;
            taken = 1;
        } else if (is_control(text + i, taken)) {
            from = " ";
            step = 1;
        }
        if (step > room - made) {
            memcpy(out + made, CUT, sizeof CUT);
            return;
        }
        memcpy(out + made, from, step);
        made += step;
        i += taken;
    }
    out[made] = '\0';
}

/* A web page or a line of text, rather than bytes of some other format. */
static bool is_text(const uint8_t *body, size_t len) {
    size_t looked_at = len < SP_REPLY_TEXT_BYTES ? len : SP_REPLY_TEXT_BYTES;
    for (size_t i = 0; i < looked_at; i++) {
        if (body[i] == 0x7f || (body[i] < 0x20 && !(body[i] >= '\t' && body[i] <= '\r'))) {
            return false;
        }
    }
    return len > 0;
}

/* --- messages --- */

static void text_take(const ProtobufCBinaryData *text, sp_reply *out) {
    sp_reply_clean(text->data, text->len, out->message, sizeof out->message);
}

static void spans_read(ProtobufCAllocator *allocator, const uint8_t *body, size_t len,
                       sp_reply *out) {
    Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceResponse *reply =
        opentelemetry__proto__collector__trace__v1__export_trace_service_response__unpack(
            allocator, len, body);
    out->decoded = reply != NULL;
    if (reply && reply->partial_success) {
        out->rejected = reply->partial_success->rejected_spans;
        text_take(&reply->partial_success->error_message, out);
    }
}

static void logs_read(ProtobufCAllocator *allocator, const uint8_t *body, size_t len,
                      sp_reply *out) {
    Opentelemetry__Proto__Collector__Logs__V1__ExportLogsServiceResponse *reply =
        opentelemetry__proto__collector__logs__v1__export_logs_service_response__unpack(allocator,
                                                                                        len, body);
    out->decoded = reply != NULL;
    if (reply && reply->partial_success) {
        out->rejected = reply->partial_success->rejected_log_records;
        text_take(&reply->partial_success->error_message, out);
    }
}

static void status_read(ProtobufCAllocator *allocator, const uint8_t *body, size_t len,
                        sp_reply *out) {
    Google__Rpc__Status *status = google__rpc__status__unpack(allocator, len, body);
    out->decoded = status != NULL;
    if (status) {
        text_take(&status->message, out);
    }
}

/* The arena is given back as one; nothing is freed inside it. */
static bool arena_open(reply_arena *arena, ProtobufCAllocator *allocator, size_t len) {
    arena->used = 0;
    arena->size = len < (ARENA_MOST_BYTES - ARENA_LEAST_BYTES) / 2 ? 2 * len + ARENA_LEAST_BYTES
                                                                   : ARENA_MOST_BYTES;
    arena->memory = malloc(arena->size);
    *allocator = (ProtobufCAllocator){arena_take, arena_give, arena};
    return arena->memory != NULL;
}

void sp_reply_read_success(uint32_t signal, const uint8_t *body, size_t len, sp_reply *out) {
    memset(out, 0, sizeof *out);
    out->decoded = len == 0;
    reply_arena arena;
    ProtobufCAllocator allocator;
    if (len == 0 || !arena_open(&arena, &allocator, len)) {
        return;
    }
    if (signal == SPOOL_SIGNAL_LOGS) {
        logs_read(&allocator, body, len, out);
    } else {
        spans_read(&allocator, body, len, out);
    }
    free(arena.memory);
}

void sp_reply_read_failure(const uint8_t *body, size_t len, sp_reply *out) {
    memset(out, 0, sizeof *out);
    out->decoded = len == 0;
    if (len == 0) {
        return;
    }
    reply_arena arena;
    ProtobufCAllocator allocator;
    if (arena_open(&arena, &allocator, len)) {
        status_read(&allocator, body, len, out);
        free(arena.memory);
    }
    if (!out->decoded && is_text(body, len)) {
        sp_reply_clean(body, len, out->message, sizeof out->message);
    }
}
