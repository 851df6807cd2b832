/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extension boxes: storage of a processor's own on each span and log record, pooled with the slot.
 *
 * A type is registered once a process and gets a small integer. The box of a type is made on first
 * use in a slot and kept when the span ends: `reset` runs once for each span that used it, `destroy`
 * once when the memory is given back. After warm-up nothing is allocated.
 */
#ifndef SPOOL_EXT_BOX_H
#define SPOOL_EXT_BOX_H

#include <spool/context.h>
#include <spool/export.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

SPOOL_BEGIN_DECLS

typedef struct spool_span_record spool_span_record;
typedef struct spool_log_data spool_log_data;

/* A registered type; 0 is none. At most 32 in a process. */
typedef uint32_t spool_ext_id;

/*
 * Registers a type of `size` bytes (at most 65,536) at `align` (a power of two, at most 4,096). `name`
 * is copied. `reset` leaves the value ready for the next span, and may keep its inner memory; NULL:
 * `destroy` is called at each span's end instead, and the value is zeroed. `destroy` may be NULL.
 * Both run on the thread that ends the span, with no lock held; they may use the API.
 * Returns 0 when an argument is invalid or all 32 are taken. Threads: any.
 */
SPOOL_API spool_ext_id spool_ext_register(const char *name, size_t size, size_t align,
                                          void (*reset)(void *value), void (*destroy)(void *value));

/*
 * The span's box, inside a hook. get: NULL when this span has none yet. get_or_init: makes it if
 * needed, zeroed the first time and as `reset` left it later; *out_fresh (may be NULL) tells whether
 * this span had none; NULL without memory, counted. take: moves the value to `out_value` and keeps the
 * empty box; false when there was none.
 * Threads: a box has no lock of its own; hooks of one span may run on several threads.
 */
SPOOL_API void *spool_ext_get(spool_span_record *span, spool_ext_id type);
SPOOL_API void *spool_ext_get_or_init(spool_span_record *span, spool_ext_id type, bool *out_fresh);
SPOOL_API bool spool_ext_take(spool_span_record *span, spool_ext_id type, void *out_value);

/*
 * Outside the span's own hooks: pins the span, so that its slot and boxes stay until the unpin, even
 * past the end. NULL for zero, a stale handle, or one that is not recorded.
 */
SPOOL_API spool_span_record *spool_ext_pin(spool_span span);
SPOOL_API void spool_ext_unpin(spool_span_record *span);
/*
 * The live parent, pinned, or NULL (no parent, remote, or ended). Asked from a hook, about the hook's span
 * or what this function returned: the nearest ancestor that the hook's processor admitted (docs/filters.md).
 */
SPOOL_API spool_span_record *spool_ext_pin_parent(spool_span_record *span);

/* The box of a log record: lives until the emit is over. */
SPOOL_API void *spool_ext_log_get(spool_log_data *log, spool_ext_id type);
SPOOL_API void *spool_ext_log_get_or_init(spool_log_data *log, spool_ext_id type, bool *out_fresh);
/* The pinned span that the record belongs to, or its nearest ancestor that this processor admitted. */
SPOOL_API spool_span_record *spool_ext_log_pin_span(spool_log_data *log);

SPOOL_END_DECLS
#endif /* SPOOL_EXT_BOX_H */
