/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baggage: one immutable, counted allocation; the entries first, their text behind them. Look-up is a
 * walk: what travels in a header has at most 64 entries.
 */
#include "sdk/context/baggage.h"

#include "sdk/context/header_text.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/wire/utf8.h"

#include <stdint.h>
#include <stdlib.h>

struct spool_baggage {
    _Atomic uint32_t references;
    size_t count;
    spool_baggage_entry entries[];
};

enum { NOWHERE = -1 };

/* Room for `count` entries and `text` bytes; without memory it is counted. */
static spool_baggage *baggage_alloc(size_t count, size_t text) {
    spool_baggage *made = NULL;
    size_t head = sizeof *made + count * sizeof made->entries[0];
    if (text <= SIZE_MAX - head) {
        made = malloc(head + text);
    }
    if (!made) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    atomic_init(&made->references, 1);
    made->count = 0;
    return made;
}

static size_t entry_bytes(const spool_baggage_entry *entry) {
    return entry->name.len + entry->value.len + entry->metadata.len;
}

static spool_str text_copy(char **at, spool_str text) {
    char *start = *at;
    *at = sp_text_put(start, text);
    return spool_str_n(start, text.len);
}

static void entry_add(spool_baggage *baggage, char **at, const spool_baggage_entry *entry) {
    spool_baggage_entry *copy = &baggage->entries[baggage->count++];
    copy->name = text_copy(at, entry->name);
    copy->value = text_copy(at, entry->value);
    copy->metadata = text_copy(at, entry->metadata);
}

spool_baggage *sp_baggage_make(const spool_baggage_entry *entries, size_t count) {
    size_t text = 0;
    for (size_t i = 0; i < count; i++) {
        text += entry_bytes(&entries[i]);
    }
    spool_baggage *made = count ? baggage_alloc(count, text) : NULL;
    if (made) {
        char *at = (char *)&made->entries[count];
        for (size_t i = 0; i < count; i++) {
            entry_add(made, &at, &entries[i]);
        }
    }
    return made;
}

/* Another reference through a pointer to const: the count is not part of the value. */
static spool_baggage *same_again(const spool_baggage *baggage) {
    union {
        const spool_baggage *in;
        spool_baggage *out;
    } pointer = {.in = baggage};
    if (baggage) {
        /* Relaxed: who calls holds a reference, the baggage is immutable. */
        sp_add_relaxed(&pointer.out->references, 1);
    }
    return pointer.out;
}

static ptrdiff_t baggage_find(const spool_baggage *baggage, spool_str name) {
    for (size_t i = 0; baggage && i < baggage->count; i++) {
        if (sp_text_equal(baggage->entries[i].name, name)) {
            return (ptrdiff_t)i;
        }
    }
    return NOWHERE;
}

/* A copy of `base` with `entry` in place `index` (NOWHERE: at the end), or without that one. */
static spool_baggage *baggage_changed(const spool_baggage *base, ptrdiff_t index,
                                      const spool_baggage_entry *entry) {
    size_t count = spool_baggage_count(base);
    size_t room = entry && index == NOWHERE ? count + 1 : count;
    size_t text = entry ? entry_bytes(entry) : 0;
    for (size_t i = 0; i < count; i++) {
        text += (ptrdiff_t)i == index ? 0 : entry_bytes(&base->entries[i]);
    }
    spool_baggage *made = baggage_alloc(room, text);
    if (!made) {
        return same_again(base);
    }
    char *at = (char *)&made->entries[room];
    for (size_t i = 0; i < count; i++) {
        if ((ptrdiff_t)i != index) {
            entry_add(made, &at, &base->entries[i]);
        } else if (entry) {
            entry_add(made, &at, entry);
        }
    }
    if (entry && index == NOWHERE) {
        entry_add(made, &at, entry);
    }
    return made;
}

/* ---- making ---- */

static bool text_is_usable(spool_str text) {
    return text.len == 0 || (text.ptr && sp_utf8_is_valid(text.ptr, text.len));
}

spool_baggage *spool_baggage_set_n(const spool_baggage *base, spool_str name, spool_str value,
                                   spool_str metadata) {
    if (!name.ptr || name.len == 0 || !text_is_usable(name) || !text_is_usable(value) ||
        !text_is_usable(metadata)) {
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, 1);
        return same_again(base);
    }
    const spool_baggage_entry entry = {name, value, metadata};
    return baggage_changed(base, baggage_find(base, name), &entry);
}

spool_baggage *spool_baggage_set(const spool_baggage *base, const char *name, const char *value) {
    return spool_baggage_set_n(base, spool_str_of(name), spool_str_of(value), SPOOL_STR(""));
}

spool_baggage *spool_baggage_remove_n(const spool_baggage *base, spool_str name) {
    ptrdiff_t index = name.ptr ? baggage_find(base, name) : NOWHERE;
    if (index == NOWHERE) {
        return same_again(base);
    }
    return base->count == 1 ? NULL : baggage_changed(base, index, NULL);
}

spool_baggage *spool_baggage_remove(const spool_baggage *base, const char *name) {
    return spool_baggage_remove_n(base, spool_str_of(name));
}

spool_baggage *spool_baggage_copy(const spool_baggage *baggage) {
    return same_again(baggage);
}

void spool_baggage_release(spool_baggage *baggage) {
    /* Acquire and release: the last holder frees after every other's reads. */
    if (baggage && sp_sub_acq_rel(&baggage->references, 1) == 1) {
        free(baggage);
    }
}

/* ---- reading ---- */

size_t spool_baggage_count(const spool_baggage *baggage) {
    return baggage ? baggage->count : 0;
}

bool spool_baggage_at(const spool_baggage *baggage, size_t index, spool_baggage_entry *out_entry) {
    if (!baggage || index >= baggage->count) {
        return false;
    }
    if (out_entry) {
        *out_entry = baggage->entries[index];
    }
    return true;
}

bool spool_baggage_get_n(const spool_baggage *baggage, spool_str name, spool_str *out_value) {
    ptrdiff_t index = name.ptr ? baggage_find(baggage, name) : NOWHERE;
    if (index == NOWHERE) {
        return false;
    }
    if (out_value) {
        *out_value = baggage->entries[index].value;
    }
    return true;
}

bool spool_baggage_get(const spool_baggage *baggage, const char *name, spool_str *out_value) {
    return spool_baggage_get_n(baggage, spool_str_of(name), out_value);
}
