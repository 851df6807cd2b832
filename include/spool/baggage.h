/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baggage: names and values that travel with a context (specification: baggage/api).
 *
 * A spool_baggage is immutable and counted; NULL is the empty baggage everywhere. set and remove
 * return a new one. Names are non-empty UTF-8, values any UTF-8, both case-sensitive; a name has one
 * value. Works without a started SDK. Threads: any. Blocks: no. Signals: unsafe.
 */
#ifndef SPOOL_BAGGAGE_H
#define SPOOL_BAGGAGE_H

#include <spool/context.h>

SPOOL_BEGIN_DECLS

typedef struct spool_baggage spool_baggage;

typedef struct spool_baggage_entry {
    spool_str name;
    spool_str value;
    spool_str metadata; /* what stood after ';' in the header, verbatim; may be empty */
} spool_baggage_entry;

/*
 * A new baggage that has the entry; `base` stays the caller's. An empty name, text that is not UTF-8,
 * or no memory: a new reference to `base`, counted.
 */
SPOOL_API SPOOL_MUST_USE spool_baggage *spool_baggage_set(const spool_baggage *base,
                                                          const char *name, const char *value);
SPOOL_API SPOOL_MUST_USE spool_baggage *
spool_baggage_set_n(const spool_baggage *base, spool_str name, spool_str value, spool_str metadata);
SPOOL_API SPOOL_MUST_USE spool_baggage *spool_baggage_remove(const spool_baggage *base,
                                                             const char *name);
SPOOL_API SPOOL_MUST_USE spool_baggage *spool_baggage_remove_n(const spool_baggage *base,
                                                               spool_str name);

/* One more reference (NULL gives NULL), and the end of one. */
SPOOL_API SPOOL_MUST_USE spool_baggage *spool_baggage_copy(const spool_baggage *baggage);
SPOOL_API void spool_baggage_release(spool_baggage *baggage);

/* Reading; what is returned is borrowed from the baggage. */
SPOOL_API size_t spool_baggage_count(const spool_baggage *baggage);
SPOOL_API bool spool_baggage_at(const spool_baggage *baggage, size_t index,
                                spool_baggage_entry *out_entry);
SPOOL_API bool spool_baggage_get(const spool_baggage *baggage, const char *name,
                                 spool_str *out_value);
SPOOL_API bool spool_baggage_get_n(const spool_baggage *baggage, spool_str name,
                                   spool_str *out_value);

/* The context's baggage, borrowed (context NULL: the current one); NULL when it has none. */
SPOOL_API const spool_baggage *spool_context_baggage(const spool_context *context);
/* `baggage` NULL: a context without baggage. A reference is taken. */
SPOOL_API SPOOL_MUST_USE spool_context spool_context_with_baggage(const spool_context *base,
                                                                  const spool_baggage *baggage);

SPOOL_END_DECLS
#endif /* SPOOL_BAGGAGE_H */
