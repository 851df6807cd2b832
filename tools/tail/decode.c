/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes. The first walks the wire form by the message descriptors and refuses
 * what protobuf-c lets through or falls over: nesting without limit (protobuf-c
 * recurses once per level), wrong wire types of known fields, text that is not
 * UTF-8. The second is protobuf-c itself, on an arena.
 */
#include "tools/tail/decode.h"

#include "tools/tail/utf8.h"

#include <stdbool.h>
#include <string.h>

enum {
    NESTING_MAX = 100 /* the limit of other protobuf implementations */
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LEN = 2, WIRE_FIXED32 = 5 };

typedef struct cursor {
    const uint8_t *at;
    const uint8_t *end;
} cursor;

static bool varint_read(cursor *in, uint64_t *out_value) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (in->at == in->end) {
            return false;
        }
        uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

/* Steps over a field's value; for WIRE_LEN *out_body is what is inside. */
static bool value_skip(cursor *in, unsigned wire, cursor *out_body) {
    uint64_t size = 0;
    switch (wire) {
    case WIRE_VARINT:
        return varint_read(in, &size);
    case WIRE_FIXED64:
        size = 8;
        break;
    case WIRE_FIXED32:
        size = 4;
        break;
    case WIRE_LEN:
        if (!varint_read(in, &size)) {
            return false;
        }
        break;
    default:
        return false;
    }
    if (size > (uint64_t)(in->end - in->at)) {
        return false;
    }
    *out_body = (cursor){in->at, in->at + size};
    in->at += size;
    return true;
}

static unsigned wire_of(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_FIXED32;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_LEN;
    default:
        return WIRE_VARINT;
    }
}

/* The generated code has every proto string as bytes; these are the true bytes. */
static bool is_text(const ProtobufCFieldDescriptor *field) {
    static const char *const binary[] = {"trace_id", "span_id", "parent_span_id", "bytes_value"};
    if (field->type != PROTOBUF_C_TYPE_BYTES) {
        return false;
    }
    for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++) {
        if (strcmp(field->name, binary[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* NULL if the message is sound, else what is wrong with it. */
static const char *message_check(const ProtobufCMessageDescriptor *type, cursor in,
                                 unsigned depth) {
    if (depth > NESTING_MAX) {
        return "messages are nested too deeply";
    }
    while (in.at != in.end) {
        uint64_t tag;
        cursor body = {NULL, NULL};
        if (!varint_read(&in, &tag) || tag > UINT32_MAX || tag >> 3 == 0) {
            return "bad field tag";
        }
        unsigned wire = (unsigned)(tag & 7);
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        if (field != NULL && wire != wire_of(field->type)) {
            return "a field has the wrong wire type";
        }
        if (!value_skip(&in, wire, &body)) {
            return "cut short, or an unknown wire type";
        }
        if (field == NULL) {
            continue;
        }
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            const char *reason = message_check(field->descriptor, body, depth + 1);
            if (reason != NULL) {
                return reason;
            }
        } else if (is_text(field) && !sp_tail_utf8_valid(body.at, (size_t)(body.end - body.at))) {
            return "a text field is not UTF-8";
        }
    }
    return NULL;
}

typedef struct message_memory {
    sp_tail_arena *arena;
    bool refused;
} message_memory;

static void *memory_take(void *data, size_t size) {
    message_memory *memory = data;
    void *taken = sp_tail_arena_take(memory->arena, size);
    memory->refused = memory->refused || taken == NULL;
    return taken;
}

static void memory_release(void *data, void *pointer) {
    (void)data;
    (void)pointer;
}

sp_tail_decode_status sp_tail_decode(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                                     size_t len, sp_tail_arena *arena,
                                     ProtobufCMessage **out_message, const char **out_reason) {
    static const uint8_t nothing[1] = {0};
    const uint8_t *start = data != NULL ? data : nothing;
    const char *reason = message_check(type, (cursor){start, start + len}, 0);
    if (reason != NULL) {
        *out_reason = reason;
        return SP_TAIL_DECODE_MALFORMED;
    }
    message_memory memory = {arena, false};
    ProtobufCAllocator allocator = {memory_take, memory_release, &memory};
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, len, start);
    if (message == NULL) {
        *out_reason = memory.refused ? "the request holds too many small messages"
                                     : "the message cannot be decoded";
        return memory.refused ? SP_TAIL_DECODE_TOO_BIG : SP_TAIL_DECODE_MALFORMED;
    }
    *out_message = message;
    return SP_TAIL_DECODE_OK;
}
