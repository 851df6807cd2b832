/* SPDX-License-Identifier: Apache-2.0 */
/* See body.h. A chunk's number is its place in the chain: 0 is the body itself, 1 the first spill. */
#include "sdk/trace/body.h"

#include "sdk/platform/check.h"
#include "sdk/platform/diagnostics.h"

#include <string.h>

enum {
    PLACE_OFFSET_BITS = 12,
    SMALL_ROOM = SP_SPILL_SMALL_BYTES - (int)sizeof(sp_spill),
    LARGE_ROOM = SP_SPILL_LARGE_BYTES - (int)sizeof(sp_spill)
};
_Static_assert(LARGE_ROOM < 1 << PLACE_OFFSET_BITS, "an offset in a pooled chunk fits its place");

void sp_body_init(sp_body *body) {
    memset(body, 0, offsetof(sp_body, index_inline));
    body->index_capacity = SP_BODY_INDEX_INLINE;
    body->name = body->bytes;
    body->description = body->bytes;
}

static void chain_release(sp_thread_block *thread, sp_spill *at) {
    while (at) {
        sp_spill *next = at->next;
        sp_spill_release(thread, at, at->size);
        at = next;
    }
}

void sp_body_fini(sp_thread_block *thread, sp_body *body) {
    chain_release(thread, body->spill);
    chain_release(thread, body->texts);
    chain_release(thread, body->index_spill);
    body->spill = NULL;
    body->texts = NULL;
    body->index_spill = NULL;
}

/* A block with room for `len` bytes: the small class first, the large one for what comes later. */
static sp_spill *spill_make(sp_thread_block *thread, size_t len, bool first) {
    size_t size = sizeof(sp_spill) + len;
    if (size < SP_SPILL_LARGE_BYTES) {
        size = first && size <= SP_SPILL_SMALL_BYTES ? SP_SPILL_SMALL_BYTES : SP_SPILL_LARGE_BYTES;
    }
    sp_spill *made = size <= UINT32_MAX ? sp_spill_acquire(thread, size) : NULL;
    if (!made) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    made->next = NULL;
    made->size = (uint32_t)size;
    made->used = 0;
    return made;
}

static uint32_t spill_room(const sp_spill *spill) {
    return spill->size - (uint32_t)sizeof *spill - spill->used;
}

/* ---- texts ---- */

static const uint8_t *text_keep(sp_thread_block *thread, sp_body *body, spool_str text) {
    sp_spill *spill = body->texts;
    if (!spill || spill_room(spill) < text.len) {
        spill = spill_make(thread, text.len, spill == NULL);
        if (!spill) {
            return NULL;
        }
        spill->next = body->texts;
        body->texts = spill;
    }
    uint8_t *at = spill->bytes + spill->used;
    memcpy(at, text.ptr, text.len);
    spill->used += (uint32_t)text.len;
    return at;
}

bool sp_body_set_name(sp_thread_block *thread, sp_body *body, spool_str name) {
    const uint8_t *at = body->bytes;
    if (name.len > UINT32_MAX) {
        return false;
    }
    if (body->used == 0 && name.len <= SP_BODY_INLINE_BYTES / 2) {
        /* The first name, before any content: it stands at the start of the body. */
        if (name.len) {
            memcpy(body->bytes, name.ptr, name.len);
        }
        body->text_used = (uint16_t)name.len;
        body->used = (uint16_t)name.len;
    } else if (name.len) {
        at = text_keep(thread, body, name);
        if (!at) {
            return false;
        }
    }
    body->name = at;
    body->name_len = (uint32_t)name.len;
    return true;
}

bool sp_body_set_description(sp_thread_block *thread, sp_body *body, spool_str text) {
    const uint8_t *at = body->bytes;
    if (text.len > UINT32_MAX) {
        return false;
    }
    if (text.len) {
        at = text_keep(thread, body, text);
        if (!at) {
            return false;
        }
    }
    body->description = at;
    body->description_len = (uint32_t)text.len;
    return true;
}

/* ---- content ---- */

/* One chunk, the body's own or a spill, with its number. */
typedef struct chunk_view {
    uint8_t *bytes;
    uint32_t used;
    sp_spill *spill; /* NULL: the body itself */
} chunk_view;

static chunk_view chunk_at(sp_body *body, uint32_t number) {
    chunk_view view = {body->bytes, body->used, NULL};
    if (number) {
        sp_spill *spill = body->spill;
        while (--number) {
            spill = spill->next;
        }
        view = (chunk_view){spill->bytes, spill->used, spill};
    }
    return view;
}

static uint32_t chunk_count(const sp_body *body) {
    uint32_t count = 0;
    for (const sp_spill *at = body->spill; at; at = at->next) {
        count++;
    }
    return count;
}

/* Appends to the last chunk, or a new one; the place where it stands, UINT32_MAX without memory. */
static uint32_t content_append(sp_thread_block *thread, sp_body *body, const uint8_t *bytes,
                               size_t len) {
    sp_spill *last = body->spill_last;
    if (!last && len <= (size_t)(SP_BODY_INLINE_BYTES - body->used)) {
        uint32_t offset = body->used;
        memcpy(body->bytes + offset, bytes, len);
        body->used = (uint16_t)(offset + len);
        return offset;
    }
    /* A place holds small offsets only: a large chunk that was emptied is not filled a second time. */
    if (!last || spill_room(last) < len || last->used >> PLACE_OFFSET_BITS) {
        sp_spill *made = spill_make(thread, len, last == NULL);
        if (!made) {
            return UINT32_MAX;
        }
        if (last) {
            last->next = made;
        } else {
            body->spill = made;
        }
        body->spill_last = made;
        last = made;
    }
    uint32_t offset = last->used;
    memcpy(last->bytes + offset, bytes, len);
    last->used += (uint32_t)len;
    uint32_t number = chunk_count(body);
    return number << PLACE_OFFSET_BITS | offset;
}

/* ---- the attribute index ---- */

static sp_attr_place *index_of(sp_body *body) {
    return body->index_spill ? (sp_attr_place *)(void *)body->index_spill->bytes
                             : body->index_inline;
}

static uint32_t key_hash(const uint8_t *key, size_t len) {
    uint64_t hash = len * UINT64_C(0x9e3779b97f4a7c15);
    while (len >= 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
        key += 8;
        len -= 8;
    }
    uint64_t tail = 0;
    if (len) {
        memcpy(&tail, key, len);
    }
    hash = (hash ^ tail) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (uint32_t)(hash >> 32);
}

static size_t varint_skip(const uint8_t *bytes, size_t at, size_t *out_value) {
    size_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = bytes[at++];
        value |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return at;
        }
    }
}

/* The stored field at `entry`: its length, and its key, which our own writer put first. */
static size_t entry_read(const uint8_t *entry, const uint8_t **out_key, size_t *out_key_len) {
    size_t message_len;
    size_t at = varint_skip(entry, 1, &message_len);
    size_t end = at + message_len;
    SP_CHECK(entry[at] == 0x0a);
    at = varint_skip(entry, at + 1, out_key_len);
    *out_key = entry + at;
    return end;
}

static uint8_t *entry_at(sp_body *body, uint32_t place) {
    return chunk_at(body, place >> PLACE_OFFSET_BITS).bytes +
           (place & ((1U << PLACE_OFFSET_BITS) - 1));
}

static sp_attr_place *index_find(sp_body *body, const sp_wire_field *field, uint32_t hash) {
    sp_attr_place *index = index_of(body);
    for (uint32_t i = 0; i < body->attr_count; i++) {
        if (SP_LIKELY(index[i].hash != hash)) {
            continue;
        }
        const uint8_t *key;
        size_t key_len;
        (void)entry_read(entry_at(body, index[i].place), &key, &key_len);
        if (key_len == field->key_len && memcmp(key, field->key, key_len) == 0) {
            return &index[i];
        }
    }
    return NULL;
}

/* Twice the room; the index moves from the body to spill memory, then to larger spill memory. */
static SP_COLD bool index_grow(sp_thread_block *thread, sp_body *body) {
    size_t wanted = (size_t)body->index_capacity * 2 * sizeof(sp_attr_place);
    sp_spill *made = spill_make(thread, wanted, true);
    if (!made) {
        return false;
    }
    memcpy(made->bytes, index_of(body), body->attr_count * sizeof(sp_attr_place));
    chain_release(thread, body->index_spill);
    body->index_spill = made;
    body->index_capacity = (uint32_t)(spill_room(made) / sizeof(sp_attr_place));
    return true;
}

/* Takes the entry out of its chunk; what stood behind it moves down. */
static void entry_remove(sp_body *body, uint32_t place) {
    uint32_t number = place >> PLACE_OFFSET_BITS;
    uint32_t offset = place & ((1U << PLACE_OFFSET_BITS) - 1);
    chunk_view chunk = chunk_at(body, number);
    const uint8_t *key;
    size_t key_len;
    size_t len = entry_read(chunk.bytes + offset, &key, &key_len);
    memmove(chunk.bytes + offset, chunk.bytes + offset + len, chunk.used - offset - len);
    if (chunk.spill) {
        chunk.spill->used -= (uint32_t)len;
    } else {
        body->used = (uint16_t)(body->used - len);
    }
    sp_attr_place *index = index_of(body);
    for (uint32_t i = 0; i < body->attr_count; i++) {
        if (index[i].place >> PLACE_OFFSET_BITS == number && index[i].place > place) {
            index[i].place -= (uint32_t)len;
        }
    }
}

static void attr_replace(sp_thread_block *thread, sp_body *body, sp_attr_place *old,
                         const sp_wire_field *field) {
    const uint8_t *key;
    size_t key_len;
    uint8_t *entry = entry_at(body, old->place);
    if (entry_read(entry, &key, &key_len) == field->len) {
        memcpy(entry, field->bytes, field->len);
        return;
    }
    /* Appended first, so that without memory the old value is still there. */
    uint32_t place = content_append(thread, body, field->bytes, field->len);
    if (place == UINT32_MAX) {
        return;
    }
    uint32_t stale = old->place;
    old->place = place;
    entry_remove(body, stale);
}

void sp_body_set_attr(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                      uint32_t limit) {
    uint32_t hash = key_hash(field->key, field->key_len);
    sp_attr_place *old = index_find(body, field, hash);
    if (old) {
        attr_replace(thread, body, old, field);
        return;
    }
    if (body->attr_count >= limit ||
        (SP_UNLIKELY(body->attr_count == body->index_capacity) && !index_grow(thread, body))) {
        body->dropped_attrs++;
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, 1);
        return;
    }
    uint32_t place = content_append(thread, body, field->bytes, field->len);
    if (place == UINT32_MAX) {
        body->dropped_attrs++;
        return;
    }
    sp_attr_place *index = index_of(body);
    index[body->attr_count].hash = hash;
    index[body->attr_count].place = place;
    body->attr_count++;
}

static void list_add(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                     uint32_t limit, uint32_t *count, uint32_t *dropped) {
    if (*count >= limit || content_append(thread, body, field->bytes, field->len) == UINT32_MAX) {
        ++*dropped;
        return;
    }
    ++*count;
}

void sp_body_add_event(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                       uint32_t limit) {
    list_add(thread, body, field, limit, &body->event_count, &body->dropped_events);
}

void sp_body_add_link(sp_thread_block *thread, sp_body *body, const sp_wire_field *field,
                      uint32_t limit) {
    list_add(thread, body, field, limit, &body->link_count, &body->dropped_links);
}

size_t sp_body_pieces(const sp_body *body, sp_wire_piece *out_pieces, size_t capacity) {
    size_t count = 0;
    if (body->used > body->text_used) {
        if (count < capacity) {
            out_pieces[count].bytes = body->bytes + body->text_used;
            out_pieces[count].len = (size_t)(body->used - body->text_used);
        }
        count++;
    }
    for (const sp_spill *at = body->spill; at; at = at->next) {
        if (at->used == 0) {
            continue;
        }
        if (count < capacity) {
            out_pieces[count].bytes = at->bytes;
            out_pieces[count].len = at->used;
        }
        count++;
    }
    return count;
}
