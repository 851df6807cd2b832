/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extension boxes.
 *
 * Owners: the table of types belongs to whoever holds `lock` for writing; entries below
 * `type_count` and layouts are constant and read by anybody. A set belongs to the holder of its
 * slot (or thread); it has no lock.
 *
 * A value's life: made (zeroed, live) - reset at each span's end (dead, but held) - live again -
 * ... - destroyed once. A type without `reset` is destroyed at each end instead, and zeroed. The
 * live bit falls before either runs: whatever happens in there, it does not run twice.
 */
#include "sdk/memory/box_set.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/compiler.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/lock_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 65536, MAX_ALIGN = 4096 };

typedef struct box_type {
    char *name;
    size_t size;
    size_t align;
    void (*reset)(void *value);
    void (*destroy)(void *value);
} box_type;

static sp_mutex lock = SP_MUTEX_INIT(SP_RANK_BOX_TYPES, "box types");
static box_type types[SP_BOX_TYPES];
static _Atomic uint32_t type_count;
static sp_box_layout layouts[SP_BOX_TYPES + 1]; /* by number of types */

static void extend_layout(uint32_t count) {
    const box_type *type = &types[count];
    sp_box_layout *layout = &layouts[count + 1];
    *layout = layouts[count];
    layout->offsets[count] = SP_BOX_NOT_INLINE;
    size_t offset = (layout->end + type->align - 1) & ~(type->align - 1);
    if (type->size > SP_BOX_INLINE_BYTES || type->align > SP_BOX_INLINE_ALIGN ||
        offset + type->size > SP_BOX_INLINE_TOTAL_BYTES) {
        return;
    }
    layout->offsets[count] = (uint16_t)offset;
    layout->end = (uint32_t)(offset + type->size);
    layout->bytes = (layout->end + SP_BOX_INLINE_ALIGN - 1) & ~(uint32_t)(SP_BOX_INLINE_ALIGN - 1);
}

spool_ext_id spool_ext_register(const char *name, size_t size, size_t align,
                                void (*reset)(void *value), void (*destroy)(void *value)) {
    bool valid = name != NULL && size != 0 && size <= MAX_SIZE && align != 0 &&
                 align <= MAX_ALIGN && (align & (align - 1)) == 0;
    if (!valid) {
        return 0;
    }
    int saved_errno = errno;
    char *copy = strdup(name);
    errno = saved_errno;
    if (copy == NULL) {
        return 0;
    }
    sp_mutex_lock(&lock);
    /* Relaxed: written under the lock alone. */
    uint32_t count = sp_load_relaxed(&type_count);
    bool taken = count < SP_BOX_TYPES;
    if (taken) {
        types[count] = (box_type){copy, size, align, reset, destroy};
        extend_layout(count);
        /* Release: the type and its layout; partners: the acquires of type_count below. */
        sp_store_release(&type_count, count + 1);
    }
    sp_mutex_unlock(&lock);
    if (!taken) {
        free(copy);
        return 0;
    }
    return count + 1;
}

const sp_box_layout *sp_box_layout_now(void) {
    /* Acquire: the layout; partner: the release in spool_ext_register(). */
    return &layouts[sp_load_acquire(&type_count)];
}

void sp_box_set_place(sp_box_set *set, const sp_box_layout *layout, uint8_t *base) {
    memset(set, 0, sizeof *set);
    set->layout = layout;
    set->base = base;
}

/* The set is at the front of its own block, the boxes behind it. */
static sp_box_set *make_set(void) {
    const sp_box_layout *layout = sp_box_layout_now();
    size_t head =
        (sizeof(sp_box_set) + SP_BOX_INLINE_ALIGN - 1) & ~(size_t)(SP_BOX_INLINE_ALIGN - 1);
    sp_box_set *set = aligned_alloc(SP_BOX_INLINE_ALIGN, head + layout->bytes);
    if (set != NULL) {
        uint8_t *base = (uint8_t *)set + head;
        memset(base, 0, layout->bytes);
        sp_box_set_place(set, layout, base);
        set->on_heap = 1;
    }
    return set;
}

/* Where the box of a type is; NULL when it was never made. `number` is below SP_BOX_TYPES. */
static void *box_at(const sp_box_set *set, uint32_t number) {
    /* A layout says 0 for types that came after it, which is also the first box's offset: ask its
     * number of types, which its place in the table tells. */
    if (number < (uint32_t)(set->layout - layouts) &&
        set->layout->offsets[number] != SP_BOX_NOT_INLINE) {
        return set->base + set->layout->offsets[number];
    }
    return set->retained != NULL ? set->retained[number] : NULL;
}

static void *make_retained(sp_box_set *set, uint32_t number) {
    if (set->retained == NULL) {
        set->retained = calloc(SP_BOX_TYPES, sizeof *set->retained);
        if (set->retained == NULL) {
            return NULL;
        }
    }
    size_t align = types[number].align < sizeof(void *) ? sizeof(void *) : types[number].align;
    size_t bytes = (types[number].size + align - 1) & ~(align - 1);
    void *box = aligned_alloc(align, bytes);
    if (box != NULL) {
        memset(box, 0, bytes);
        set->retained[number] = box;
    }
    return box;
}

void *sp_box_get(sp_box_set *set, spool_ext_id type) {
    uint32_t number = type - 1;
    if (set == NULL || number >= SP_BOX_TYPES || (set->live >> number & 1) == 0) {
        return NULL;
    }
    return box_at(set, number);
}

static void *box_or_new(sp_box_set **set, uint32_t number) {
    if (*set == NULL) {
        *set = make_set();
        if (*set == NULL) {
            return NULL;
        }
    }
    void *box = box_at(*set, number);
    return box != NULL ? box : make_retained(*set, number);
}

void *sp_box_get_or_init(sp_box_set **set, spool_ext_id type, bool *out_fresh) {
    uint32_t number = type - 1;
    if (out_fresh != NULL) {
        *out_fresh = false;
    }
    /* Acquire: the type's entry; partner: the release in spool_ext_register(). */
    if (set == NULL || number >= sp_load_acquire(&type_count) ||
        (*set != NULL && (*set)->closing != 0)) {
        return NULL;
    }
    int saved_errno = errno;
    void *box = box_or_new(set, number);
    errno = saved_errno;
    if (box == NULL) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    uint32_t bit = UINT32_C(1) << number;
    if (out_fresh != NULL) {
        *out_fresh = ((*set)->live & bit) == 0;
    }
    (*set)->live |= bit;
    (*set)->holds |= bit;
    return box;
}

bool sp_box_take(sp_box_set *set, spool_ext_id type, void *out_value) {
    void *box = sp_box_get(set, type);
    if (box == NULL || out_value == NULL) {
        return false;
    }
    uint32_t bit = UINT32_C(1) << (type - 1);
    set->live &= ~bit;
    set->holds &= ~bit;
    memcpy(out_value, box, types[type - 1].size);
    memset(box, 0, types[type - 1].size);
    return true;
}

static void destroy_box(sp_box_set *set, uint32_t number, void *box) {
    set->holds &= ~(UINT32_C(1) << number);
    if (types[number].destroy != NULL) {
        types[number].destroy(box);
    }
    memset(box, 0, types[number].size);
}

void sp_box_reset_all(sp_box_set *set) {
    if (set == NULL || set->live == 0) {
        return;
    }
    set->closing = 1;
    while (set->live != 0) {
        uint32_t number = (uint32_t)__builtin_ctz(set->live);
        void *box = box_at(set, number);
        set->live &= set->live - 1;
        if (types[number].reset != NULL) {
            types[number].reset(box);
        } else {
            destroy_box(set, number, box);
        }
    }
    set->closing = 0;
}

void sp_box_set_destroy(sp_box_set *set) {
    if (set == NULL) {
        return;
    }
    set->closing = 1;
    set->live = 0;
    while (set->holds != 0) {
        uint32_t number = (uint32_t)__builtin_ctz(set->holds);
        destroy_box(set, number, box_at(set, number));
    }
    for (uint32_t i = 0; set->retained != NULL && i < SP_BOX_TYPES; i++) {
        free(set->retained[i]);
    }
    free(set->retained);
    set->retained = NULL;
    set->closing = 0;
    if (set->on_heap != 0) {
        free(set);
    }
}

void sp_box_before_fork(void) {
    sp_mutex_lock(&lock);
}

void sp_box_after_fork(void) {
    sp_mutex_unlock(&lock);
}
