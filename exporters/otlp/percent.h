/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding of configuration texts. */
#ifndef SPOOL_EXPORTERS_OTLP_PERCENT_H
#define SPOOL_EXPORTERS_OTLP_PERCENT_H

#include <stddef.h>

/*
 * Decodes "%41" to "A"; what is no escape stays as it is, "+" too. `to` has room for `len` bytes and may
 * be `text`. Returns the length.
 */
size_t sp_percent_decode(const char *text, size_t len, char *to);

#endif /* SPOOL_EXPORTERS_OTLP_PERCENT_H */
