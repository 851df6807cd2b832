/* SPDX-License-Identifier: Apache-2.0 */
/* Making a baggage of entries that are known all at once, as the header reader does. */
#ifndef SPOOL_SDK_CONTEXT_BAGGAGE_H
#define SPOOL_SDK_CONTEXT_BAGGAGE_H

#include <spool/baggage.h>

#include <stdbool.h>

/* Names are distinct, all text is valid; it is copied. NULL for no entries, or without memory (counted). */
spool_baggage *sp_baggage_make(const spool_baggage_entry *entries, size_t count);

#endif /* SPOOL_SDK_CONTEXT_BAGGAGE_H */
