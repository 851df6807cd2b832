/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extension boxes of one slot (or of a thread, for log records): the types are process-wide, see
 * <spool/ext/box.h> for what a user is promised. A box set keeps each box that was ever made in it;
 * `live` says which hold a value now.
 */
#ifndef SPOOL_SDK_MEMORY_BOX_H
#define SPOOL_SDK_MEMORY_BOX_H

#include <spool/ext/box.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_BOX_TYPES = 32 };

typedef struct sp_box_set sp_box_set;
struct sp_slot;

/* The box's value, or NULL when it is not live. */
void *sp_box_get(sp_box_set *set, spool_ext_id type);
/* *set is made on first use. NULL without memory or for an unknown type. */
void *sp_box_get_or_init(sp_box_set **set, spool_ext_id type, bool *out_fresh);
bool sp_box_take(sp_box_set *set, spool_ext_id type, void *out_value);
/* The end of the span or record: each live bit is cleared, then reset (or destroy) of that type
 * runs. */
void sp_box_reset_all(sp_box_set *set);
/* Gives the memory back: destroy of each box that was ever made. */
void sp_box_set_destroy(sp_box_set *set);

/* The box set of a slot; stays with the slot's body for its next tenant. NULL for a slot without
 * one. */
sp_box_set **sp_slot_boxes(struct sp_slot *slot);

#endif /* SPOOL_SDK_MEMORY_BOX_H */
