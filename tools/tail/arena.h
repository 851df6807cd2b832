/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once: the records of one trace, the messages of one request. */
#ifndef SPOOL_TOOLS_TAIL_ARENA_H
#define SPOOL_TOOLS_TAIL_ARENA_H

#include <stddef.h>

typedef struct sp_tail_chunk sp_tail_chunk;

typedef struct sp_tail_arena {
    sp_tail_chunk *chunks; /* newest first */
    size_t chunk_bytes;    /* of an ordinary chunk; larger requests get their own */
    size_t bytes;          /* taken from the heap */
    size_t limit;          /* `bytes` never passes it */
} sp_tail_arena;

void sp_tail_arena_init(sp_tail_arena *arena, size_t chunk_bytes, size_t limit);

/* Aligned for any type, not zeroed; NULL past the limit or without memory. */
void *sp_tail_arena_take(sp_tail_arena *arena, size_t size);

/* Gives everything back; the arena is empty and usable again. */
void sp_tail_arena_clear(sp_tail_arena *arena);

#endif /* SPOOL_TOOLS_TAIL_ARENA_H */
