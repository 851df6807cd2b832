/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver says in the body of its reply. Any bytes are survived: decoding has a bounded
 * amount of memory, whatever is asked of it.
 */
#ifndef SPOOL_EXPORTERS_OTLP_REPLY_H
#define SPOOL_EXPORTERS_OTLP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_REPLY_TEXT_BYTES = 256 };

typedef struct sp_reply {
    bool decoded;                      /* the body is what it should be; an empty one is */
    int64_t rejected;                  /* records; may be anything the receiver likes */
    char message[SP_REPLY_TEXT_BYTES]; /* cut, valid UTF-8, no control characters; "" if none */
} sp_reply;

/* The body of a 2xx: an Export...ServiceResponse of the signal (SPOOL_SIGNAL_*). */
void sp_reply_read_success(uint32_t signal, const uint8_t *body, size_t len, sp_reply *out);
/* The body of any other reply: a google.rpc.Status, else whatever text there is. */
void sp_reply_read_failure(const uint8_t *body, size_t len, sp_reply *out);
/* Cuts and cleans; `size` is at least 8. */
void sp_reply_clean(const uint8_t *text, size_t len, char *out, size_t size);

#endif /* SPOOL_EXPORTERS_OTLP_REPLY_H */
