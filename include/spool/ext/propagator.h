/* SPDX-License-Identifier: Apache-2.0 */
/* The propagator interface (specification: context/api-propagators). */
#ifndef SPOOL_EXT_PROPAGATOR_H
#define SPOOL_EXT_PROPAGATOR_H

#include <spool/propagation.h>

SPOOL_BEGIN_DECLS

/*
 * A propagator: a table in static storage. `extract` returns a context with a reference of its own,
 * made from `base`, or a copy of `base` when the carrier holds nothing valid (PR-03). `fields` stores
 * at most `capacity` header names and returns how many there are.
 */
typedef struct spool_propagator {
    size_t struct_size;
    const char *name;
    void (*inject)(const spool_context *context, const spool_setter *setter, void *carrier);
    spool_context (*extract)(const spool_context *base, const spool_getter *getter,
                             const void *carrier);
    size_t (*fields)(spool_str *out_names, size_t capacity);
} spool_propagator;

SPOOL_API extern const spool_propagator spool_propagator_tracecontext;
SPOOL_API extern const spool_propagator spool_propagator_baggage;

/*
 * Replaces the process's propagators, called in this order; 0 of them: no propagation. At most 8. The
 * tables must stay valid for ever. Threads: any. SPOOL_ERR_INVALID, SPOOL_ERR_LIMIT.
 */
SPOOL_API spool_status spool_propagators_set(const spool_propagator *const *propagators,
                                             size_t count);

SPOOL_END_DECLS
#endif /* SPOOL_EXT_PROPAGATOR_H */
