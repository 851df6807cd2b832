/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text for one record, with the escapes that keep hostile data from moving a terminal. */
#ifndef SPOOL_EXPORTERS_CONSOLE_TEXT_H
#define SPOOL_EXPORTERS_CONSOLE_TEXT_H

#include "sdk/platform/compiler.h"

#include <spool/value.h>

#include <stdbool.h>

typedef struct sp_text {
    char *bytes;
    size_t len;
    size_t room;
    bool failed; /* without memory: the text is not complete */
} sp_text;

void sp_text_raw(sp_text *text, const char *bytes, size_t len);
void sp_text_format(sp_text *text, const char *format, ...) SP_PRINTF(2, 3);
void sp_text_fini(sp_text *text); /* leaves it empty, to be used again */
/* As it is, but control characters and bytes that are not UTF-8 as \xNN. */
void sp_text_clean(sp_text *text, spool_str from);
/*
 * The specification's text form of a value outside OTLP (CM-12). `nested`: inside an array or map, where
 * it is JSON: text in quotes, control characters as \uNNNN, bytes that are not UTF-8 as \ufffd.
 */
void sp_text_value(sp_text *text, const spool_value *value, bool nested);
/* "2026-11-30T21:44:03.123456Z", or "-" for 0. */
void sp_text_time(sp_text *text, uint64_t time_ns);
void sp_text_hex(sp_text *text, const uint8_t *id, size_t len);

#endif /* SPOOL_EXPORTERS_CONSOLE_TEXT_H */
