/* SPDX-License-Identifier: Apache-2.0 */
/* From request bytes to protobuf-c messages, strictly and within a memory limit. */
#ifndef SPOOL_TOOLS_TAIL_DECODE_H
#define SPOOL_TOOLS_TAIL_DECODE_H

#include "tools/tail/arena.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sp_tail_decode_status {
    SP_TAIL_DECODE_OK = 0,
    SP_TAIL_DECODE_MALFORMED,
    SP_TAIL_DECODE_TOO_BIG /* the messages would pass the arena's limit */
} sp_tail_decode_status;

/*
 * Decodes `data` as a message of `type`.
 *
 * arena       holds the message; clear it to free the message
 * out_message set on success only
 * out_reason  set on failure: static text for people
 */
sp_tail_decode_status sp_tail_decode(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                                     size_t len, sp_tail_arena *arena,
                                     ProtobufCMessage **out_message, const char **out_reason);

#endif /* SPOOL_TOOLS_TAIL_DECODE_H */
