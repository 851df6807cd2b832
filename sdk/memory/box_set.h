/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a box set, for the registry, which lays sets out inline. Private to sdk/memory.
 *
 * The boxes of types that were registered before the set was made, and are small, are inline at
 * offsets that the layout fixes; all others are allocated once each and kept.
 */
#ifndef SPOOL_SDK_MEMORY_BOX_SET_H
#define SPOOL_SDK_MEMORY_BOX_SET_H

#include "sdk/memory/box.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SP_BOX_INLINE_BYTES = 256, /* larger types are not inline */
    SP_BOX_INLINE_TOTAL_BYTES = 1024,
    SP_BOX_INLINE_ALIGN = 64,
    SP_BOX_NOT_INLINE = UINT16_MAX
};

/* Constant once made: one for each number of types that there ever were. */
typedef struct sp_box_layout {
    uint32_t end;   /* of the last inline box */
    uint32_t bytes; /* the same, a multiple of SP_BOX_INLINE_ALIGN */
    uint16_t offsets[SP_BOX_TYPES];
} sp_box_layout;

/* Bit i of the masks stands for the type i + 1. */
struct sp_box_set {
    uint32_t live;  /* a value of the present span */
    uint32_t holds; /* a value, live or as `reset` left it: destroy is due one day */
    const sp_box_layout *layout;
    uint8_t *base;    /* inline boxes, aligned to SP_BOX_INLINE_ALIGN */
    void **retained;  /* the other boxes by type, or NULL */
    uint32_t closing; /* resets are running: no box is made */
    uint32_t reserved;
    uint64_t on_heap; /* 1: the set itself is to be freed */
};

/* The layout of the types that there are now. */
const sp_box_layout *sp_box_layout_now(void);
/* An empty set over zeroed inline memory. */
void sp_box_set_place(sp_box_set *set, const sp_box_layout *layout, uint8_t *base);

void sp_box_before_fork(void);
void sp_box_after_fork(void);

#endif /* SPOOL_SDK_MEMORY_BOX_SET_H */
