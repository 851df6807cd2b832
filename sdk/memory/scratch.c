/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch memory. Chunks form a chain from the oldest to the newest; `chunk` is where the bump
 * pointer is. Chunks above it are empty and kept for the next need, up to KEPT_BYTES in all.
 */
#include "sdk/memory/scratch.h"

#include <errno.h>
#include <stdlib.h>

enum { ALIGN_BYTES = 16, FIRST_BYTES = 4096, KEPT_BYTES = 65536 };

struct sp_scratch_chunk {
    sp_scratch_chunk *older;
    sp_scratch_chunk *newer;
    size_t bytes; /* of memory */
    size_t reserved;
    uint8_t memory[];
};

_Static_assert(sizeof(sp_scratch_chunk) % ALIGN_BYTES == 0, "chunk memory is aligned");

static void enter_chunk(sp_scratch *scratch, sp_scratch_chunk *chunk, uint8_t *at) {
    scratch->chunk = chunk;
    scratch->at = at;
    scratch->end = chunk->memory + chunk->bytes;
}

static void free_newer(sp_scratch_chunk *chunk) {
    sp_scratch_chunk *newer = chunk->newer;
    chunk->newer = NULL;
    while (newer != NULL) {
        sp_scratch_chunk *next = newer->newer;
        free(newer);
        newer = next;
    }
}

static sp_scratch_chunk *make_chunk(sp_scratch_chunk *older, size_t size) {
    size_t bytes = older == NULL ? FIRST_BYTES - sizeof *older : older->bytes * 2;
    if (bytes > KEPT_BYTES - sizeof *older) {
        bytes = KEPT_BYTES - sizeof *older;
    }
    if (bytes < size) {
        bytes = size;
    }
    int saved_errno = errno;
    sp_scratch_chunk *chunk = malloc(sizeof *chunk + bytes);
    errno = saved_errno;
    if (chunk != NULL) {
        chunk->older = older;
        chunk->newer = NULL;
        chunk->bytes = bytes;
    }
    return chunk;
}

static void *alloc_in_next(sp_scratch *scratch, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    sp_scratch_chunk *chunk = scratch->chunk;
    sp_scratch_chunk *next = chunk != NULL ? chunk->newer : NULL;
    if (next == NULL || next->bytes < size) {
        next = make_chunk(chunk, size);
        if (next == NULL) {
            return NULL;
        }
        if (chunk != NULL) {
            free_newer(chunk);
            chunk->newer = next;
        }
    }
    enter_chunk(scratch, next, next->memory + size);
    return next->memory;
}

void *sp_scratch_alloc(sp_scratch *scratch, size_t size) {
    size_t rounded = (size + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (rounded < size) {
        return NULL;
    }
    if (scratch->chunk == NULL || rounded > (size_t)(scratch->end - scratch->at)) {
        return alloc_in_next(scratch, rounded);
    }
    void *memory = scratch->at;
    scratch->at += rounded;
    return memory;
}

sp_scratch_mark sp_scratch_hold(const sp_scratch *scratch) {
    return (sp_scratch_mark){scratch->chunk, scratch->at};
}

void sp_scratch_release(sp_scratch *scratch, sp_scratch_mark mark) {
    if (scratch->chunk == mark.chunk) {
        scratch->at = mark.at;
        return;
    }
    sp_scratch_chunk *chunk = mark.chunk;
    if (chunk != NULL) {
        enter_chunk(scratch, chunk, mark.at);
    } else {
        /* The mark is older than the first chunk, which stays. */
        for (chunk = scratch->chunk; chunk->older != NULL; chunk = chunk->older) {
        }
        enter_chunk(scratch, chunk, chunk->memory);
    }
    size_t kept = 0;
    for (; chunk->newer != NULL; chunk = chunk->newer) {
        kept += chunk->newer->bytes + sizeof *chunk;
        if (kept > KEPT_BYTES) {
            free_newer(chunk);
            return;
        }
    }
}

void sp_scratch_fini(sp_scratch *scratch) {
    sp_scratch_chunk *chunk = scratch->chunk;
    if (chunk != NULL) {
        while (chunk->older != NULL) {
            chunk = chunk->older;
        }
        free_newer(chunk);
        free(chunk);
    }
    *scratch = (sp_scratch){NULL, NULL, NULL};
}
