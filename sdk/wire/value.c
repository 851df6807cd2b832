/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder: values and lists of attributes that the simple path refuses. Measuring gives a
 * bound that is exact but for headers (6 bytes each are allowed for), repeated keys and what
 * the count limit drops; text is checked while measuring, and a single flag remembers whether
 * any of it needs repair.
 */
#include "sdk/wire/value.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/check.h"
#include "sdk/platform/diagnostics.h"

#include <string.h>

enum {
    HEADER_BYTES = 6,  /* key of one byte, length below 2^31 */
    NUMBER_BYTES = 11, /* key, varint of 64 bits */
    UINT_DIGITS = 20,
    WALK_KEYS = 8,   /* up to so many, repeated keys are found by walking what is written */
    SHOWN_CHARS = 32 /* of a name in a diagnostic */
};

/* ---- measuring ---- */

void sp_builder_init(sp_wire_builder *builder, sp_scratch *scratch, const sp_wire_limits *limits) {
    memset(builder, 0, sizeof *builder);
    builder->scratch = scratch;
    builder->text_length = limits->text_length;
    builder->depth = limits->depth < SP_WIRE_DEPTH_MAX ? limits->depth : SP_WIRE_DEPTH_MAX;
}

void sp_builder_measure_bytes(sp_wire_builder *builder, size_t size) {
    if (size > SP_WIRE_SIZE_MAX || builder->measured + size > SP_WIRE_SIZE_MAX) {
        builder->failed = true;
        return;
    }
    builder->measured += size;
}

static void measure_text(sp_wire_builder *builder, spool_str text, uint32_t max_chars) {
    if (!text.ptr) {
        text.len = 0;
    }
    if (text.len > SP_WIRE_SIZE_MAX && max_chars == UINT32_MAX) {
        builder->failed = true;
        return;
    }
    sp_utf8_extent extent = sp_utf8_measure(text.ptr, text.len, max_chars);
    if (extent.replaced && !builder->dirty) {
        builder->dirty = true;
        builder->culprit = builder->current;
    }
    sp_builder_measure_bytes(builder, HEADER_BYTES);
    sp_builder_measure_bytes(builder, extent.size);
}

static void measure_value(sp_wire_builder *builder, const spool_value *value, uint32_t depth);

static void measure_entry(sp_wire_builder *builder, const spool_attr *attr, uint32_t depth) {
    if (!sp_attr_has_key(attr)) {
        return;
    }
    sp_builder_measure_bytes(builder, 2 * HEADER_BYTES);
    measure_text(builder, attr->key, UINT32_MAX);
    measure_value(builder, &attr->value, depth);
}

static size_t bytes_length(const sp_wire_builder *builder, const spool_value *value) {
    size_t len = value->as.bytes.ptr ? value->as.bytes.len : 0;
    bool cut = builder->text_length != UINT32_MAX && len > builder->text_length;
    return cut ? builder->text_length : len;
}

static void measure_value(sp_wire_builder *builder, const spool_value *value, uint32_t depth) {
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        measure_text(builder, value->as.string, builder->text_length);
        break;
    case SPOOL_VALUE_BYTES:
        sp_builder_measure_bytes(builder, HEADER_BYTES);
        sp_builder_measure_bytes(builder, bytes_length(builder, value));
        break;
    case SPOOL_VALUE_UINT:
        sp_builder_measure_bytes(builder, HEADER_BYTES + UINT_DIGITS);
        break;
    case SPOOL_VALUE_ARRAY:
        sp_builder_measure_bytes(builder, HEADER_BYTES);
        if (depth > builder->depth || !value->as.array.items) {
            break;
        }
        /* A failure ends every loop, so that a structure that contains itself ends too. */
        for (size_t i = 0; i < value->as.array.count && !builder->failed; i++) {
            sp_builder_measure_bytes(builder, HEADER_BYTES);
            measure_value(builder, &value->as.array.items[i], depth + 1);
        }
        break;
    case SPOOL_VALUE_MAP:
        sp_builder_measure_bytes(builder, HEADER_BYTES);
        if (depth > builder->depth || !value->as.map.items) {
            break;
        }
        for (size_t i = 0; i < value->as.map.count && !builder->failed; i++) {
            measure_entry(builder, &value->as.map.items[i], depth + 1);
        }
        break;
    default:
        sp_builder_measure_bytes(builder, NUMBER_BYTES);
        break;
    }
}

void sp_builder_measure_value(sp_wire_builder *builder, const spool_value *value) {
    measure_value(builder, value, 1);
}

void sp_builder_measure_text(sp_wire_builder *builder, const char *what, spool_str text) {
    builder->current = spool_str_of(what);
    measure_text(builder, text, UINT32_MAX);
}

void sp_builder_measure_attrs(sp_wire_builder *builder, const spool_attr *attrs, size_t count) {
    for (size_t i = 0; i < count && !builder->failed; i++) {
        builder->current = attrs[i].key;
        measure_entry(builder, &attrs[i], 1);
    }
}

bool sp_builder_open(sp_wire_builder *builder) {
    if (!builder->failed) {
        builder->begin = sp_scratch_alloc(builder->scratch, builder->measured + 1);
        builder->failed = !builder->begin;
    }
    if (builder->failed) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return false;
    }
    builder->end = builder->begin + builder->measured;
    builder->at = builder->end;
    return true;
}

/* ---- putting, from the last to the first ---- */

static inline void put_varint(sp_wire_builder *builder, uint64_t value) {
    builder->at -= sp_varint_size(value);
    sp_varint_put(builder->at, value);
}

void sp_builder_put_header(sp_wire_builder *builder, uint8_t key, const uint8_t *end) {
    put_varint(builder, (uint64_t)(end - builder->at));
    *--builder->at = key;
}

void sp_builder_put_varint(sp_wire_builder *builder, uint8_t key, uint64_t value) {
    put_varint(builder, value);
    *--builder->at = key;
}

void sp_builder_put_fixed64(sp_wire_builder *builder, uint8_t key, uint64_t value) {
    builder->at -= 1 + sizeof value;
    sp_fixed64_put(builder->at, key, value);
}

void sp_builder_put_fixed32(sp_wire_builder *builder, uint8_t key, uint32_t value) {
    builder->at -= 1 + sizeof value;
    sp_fixed32_put(builder->at, key, value);
}

void sp_builder_put_bytes(sp_wire_builder *builder, uint8_t key, const void *bytes, size_t len) {
    const uint8_t *end = builder->at;
    builder->at -= len;
    if (len) {
        memcpy(builder->at, bytes, len);
    }
    sp_builder_put_header(builder, key, end);
}

static void put_text(sp_wire_builder *builder, uint8_t key, spool_str text, uint32_t max_chars) {
    sp_utf8_extent extent = {text.len, text.len, 0};
    if (!text.ptr) {
        extent.taken = extent.size = 0;
    } else if (SP_UNLIKELY(builder->dirty || text.len > max_chars)) {
        extent = sp_utf8_measure(text.ptr, text.len, max_chars);
        builder->repaired += extent.replaced != 0;
    }
    const uint8_t *end = builder->at;
    builder->at -= extent.size;
    sp_utf8_write(builder->at, text.ptr, &extent);
    sp_builder_put_header(builder, key, end);
}

void sp_builder_put_text(sp_wire_builder *builder, uint8_t key, spool_str text) {
    put_text(builder, key, text, UINT32_MAX);
}

static void put_digits(sp_wire_builder *builder, uint64_t number) {
    const uint8_t *end = builder->at;
    do {
        *--builder->at = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number);
    sp_builder_put_header(builder, SP_KEY_STRING, end);
}

/* ---- keys that come again ---- */

/*
 * Keys of one list. What is written lies behind `at`, so that the bytes themselves hold the
 * keys.
 */
typedef struct key_set {
    const uint8_t *list_end;
    uint32_t *table; /* distance of an entry from builder->end, 0: free; NULL: few keys, walk */
    size_t mask;
} key_set;

static inline uint64_t trusted_varint(const uint8_t **at) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

/* The key inside a KeyValue field; *out_end is the end of the field. */
static spool_str entry_key(const uint8_t *entry, const uint8_t **out_end) {
    const uint8_t *at = entry + 1;
    size_t len = (size_t)trusted_varint(&at);
    *out_end = at + len;
    at++; /* SP_KEY_KEY */
    len = (size_t)trusted_varint(&at);
    return spool_str_n((const char *)at, len);
}

static inline bool same_key(spool_str a, spool_str b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static uint64_t key_hash(spool_str key, uint64_t seed) {
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t hash = (seed ^ key.len) * factor;
    const char *at = key.ptr;
    size_t left = key.len;
    while (left > 0) {
        uint64_t word = 0;
        size_t step = left < sizeof word ? left : sizeof word;
        memcpy(&word, at, step);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 29;
        at += step;
        left -= step;
    }
    return hash ^ hash >> 32;
}

/* A table of zeros with room for twice `count`; the seed of its hashes is its own address. */
static uint32_t *key_table(sp_scratch *scratch, size_t count, size_t *out_mask) {
    size_t slots = 2 * WALK_KEYS;
    while (slots < 2 * count) {
        slots *= 2;
    }
    uint32_t *table = sp_scratch_alloc(scratch, slots * sizeof *table);
    if (table) {
        memset(table, 0, slots * sizeof *table);
        *out_mask = slots - 1;
    }
    return table;
}

/* True when the entry at builder->at has a key that a later entry has; else it is remembered. */
static bool key_comes_again(sp_wire_builder *builder, key_set *set) {
    const uint8_t *next;
    spool_str key = entry_key(builder->at, &next);
    if (!set->table) {
        while (next < set->list_end) {
            if (same_key(key, entry_key(next, &next))) {
                return true;
            }
        }
        return false;
    }
    size_t slot = (size_t)key_hash(key, (uintptr_t)set->table) & set->mask;
    for (; set->table[slot]; slot = (slot + 1) & set->mask) {
        if (same_key(key, entry_key(builder->end - set->table[slot], &next))) {
            return true;
        }
    }
    set->table[slot] = (uint32_t)(builder->end - builder->at);
    return false;
}

/* ---- values and lists ---- */

static void put_value(sp_wire_builder *builder, const spool_value *value, uint32_t depth);

static void put_entry(sp_wire_builder *builder, uint8_t key, const spool_attr *attr,
                      uint32_t depth) {
    const uint8_t *end = builder->at;
    put_value(builder, &attr->value, depth);
    sp_builder_put_header(builder, SP_KEY_VALUE, end);
    put_text(builder, SP_KEY_KEY, attr->key, UINT32_MAX);
    sp_builder_put_header(builder, key, end);
}

/* The list is `attrs`, or, when that is not NULL, what `chosen` points to. Returns the keyless. */
static size_t put_list(sp_wire_builder *builder, uint8_t key, const spool_attr *attrs,
                       const spool_attr *const *chosen, size_t count, uint32_t depth) {
    key_set set = {builder->at, NULL, 0};
    size_t keyless = 0;
    if (count > WALK_KEYS) {
        set.table = key_table(builder->scratch, count, &set.mask);
        builder->failed |= !set.table;
    }
    for (size_t i = count; i-- > 0 && !builder->failed;) {
        const spool_attr *attr = chosen ? chosen[i] : &attrs[i];
        if (!sp_attr_has_key(attr)) {
            keyless++;
            continue;
        }
        uint8_t *before = builder->at;
        uint32_t repaired = builder->repaired;
        put_entry(builder, key, attr, depth);
        if (key_comes_again(builder, &set)) {
            builder->at = before;
            builder->repaired = repaired;
        }
    }
    builder->keyless += (uint32_t)keyless;
    return keyless;
}

static void put_value(sp_wire_builder *builder, const spool_value *value, uint32_t depth) {
    const uint8_t *end = builder->at;
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        if (value->as.string.ptr) {
            put_text(builder, SP_KEY_STRING, value->as.string, builder->text_length);
        }
        break;
    case SPOOL_VALUE_BYTES:
        sp_builder_put_bytes(builder, SP_KEY_BYTES, value->as.bytes.ptr,
                             bytes_length(builder, value));
        break;
    case SPOOL_VALUE_UINT:
        put_digits(builder, value->as.unsigned_integer);
        break;
    case SPOOL_VALUE_ARRAY:
        if (depth > builder->depth) {
            break;
        }
        for (size_t i = value->as.array.items ? value->as.array.count : 0; i-- > 0;) {
            const uint8_t *item_end = builder->at;
            put_value(builder, &value->as.array.items[i], depth + 1);
            sp_builder_put_header(builder, SP_KEY_ITEM, item_end);
        }
        sp_builder_put_header(builder, SP_KEY_ARRAY, end);
        break;
    case SPOOL_VALUE_MAP:
        if (depth > builder->depth) {
            break;
        }
        put_list(builder, SP_KEY_ITEM, value->as.map.items, NULL,
                 value->as.map.items ? value->as.map.count : 0, depth + 1);
        sp_builder_put_header(builder, SP_KEY_MAP, end);
        break;
    default:
        builder->at -= sp_simple_value_size(value, UINT32_MAX);
        sp_simple_value_put(builder->at, value);
        break;
    }
}

void sp_builder_put_value(sp_wire_builder *builder, const spool_value *value) {
    put_value(builder, value, 1);
}

/*
 * The first `limit` distinct keys of the list, each with its last value, in *out. Returns how many
 * attributes were dropped. Keys that only repair makes equal are told apart here and joined later.
 */
static size_t choose_first(sp_wire_builder *builder, const spool_attr *attrs, size_t count,
                           uint32_t limit, const spool_attr ***out, size_t *out_count) {
    size_t mask = 0, chosen_count = 0, dropped = 0;
    const spool_attr **chosen =
        sp_scratch_alloc(builder->scratch, ((size_t)limit + 1) * sizeof *chosen);
    uint32_t *table = key_table(builder->scratch, limit, &mask);
    if (!chosen || !table) {
        builder->failed = true;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!sp_attr_has_key(&attrs[i])) {
            builder->keyless++;
            dropped++;
            continue;
        }
        size_t slot = (size_t)key_hash(attrs[i].key, (uintptr_t)table) & mask;
        while (table[slot] && !same_key(chosen[table[slot] - 1]->key, attrs[i].key)) {
            slot = (slot + 1) & mask;
        }
        if (table[slot]) {
            chosen[table[slot] - 1] = &attrs[i];
        } else if (chosen_count < limit) {
            chosen[chosen_count++] = &attrs[i];
            table[slot] = (uint32_t)chosen_count;
        } else {
            dropped++;
        }
    }
    *out = chosen;
    *out_count = chosen_count;
    return dropped;
}

size_t sp_builder_put_attrs(sp_wire_builder *builder, uint8_t key, const spool_attr *attrs,
                            size_t count, uint32_t limit) {
    if (limit == UINT32_MAX || count <= limit) {
        return put_list(builder, key, attrs, NULL, count, 1);
    }
    const spool_attr **chosen = NULL;
    size_t chosen_count = 0;
    size_t dropped = choose_first(builder, attrs, count, limit, &chosen, &chosen_count);
    if (chosen) {
        put_list(builder, key, NULL, chosen, chosen_count, 1);
    }
    return dropped;
}

/* ---- closing, and what is told about repairs ---- */

sp_wire_piece sp_builder_close(sp_wire_builder *builder) {
    sp_wire_piece piece = {NULL, 0};
    SP_CHECK(builder->at >= builder->begin);
    if (SP_UNLIKELY(builder->keyless)) {
        sp_misuse_count(SP_MISUSE_DROPPED_ATTRIBUTE, builder->keyless);
    }
    if (SP_UNLIKELY(builder->repaired)) {
        sp_wire_report_repair(builder->culprit, builder->repaired);
    }
    if (builder->failed) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return piece;
    }
    piece.bytes = builder->at;
    piece.len = (size_t)(builder->end - builder->at);
    return piece;
}

void sp_wire_report_repair(spool_str culprit, uint64_t texts) {
    /* Relaxed: the flag publishes nothing; it only keeps the second diagnostic away. */
    static _Atomic uint32_t told;
    sp_misuse_count(SP_MISUSE_REPAIRED_TEXT, texts);
    if (sp_load_relaxed(&told) || sp_add_relaxed(&told, 1) != 0) {
        return;
    }
    uint8_t shown[SHOWN_CHARS * 4];
    sp_utf8_extent extent = sp_utf8_measure(culprit.ptr, culprit.len, SHOWN_CHARS);
    sp_utf8_write(shown, culprit.ptr, &extent);
    sp_diag(
        SPOOL_DIAG_WARN, "wire",
        "text of \"%.*s\" is not valid UTF-8: what is wrong was replaced by U+FFFD; this is said "
        "once, the statistics count on",
        (int)extent.size, (const char *)shown);
}
