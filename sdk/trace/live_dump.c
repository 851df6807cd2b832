/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump of live spans for signal handlers: no lock, no allocation, no waiting.
 *
 * Why reading is safe. Slot headers are never unmapped. Bodies of free chunks go back to the kernel,
 * but their addresses stay and read as zeros. Pooled spill blocks stay mapped too, and an address
 * tells whether it is one's (see registry.h); blocks from the heap are not followed. In all of this
 * memory a field of a body or a block's head stands at a place where nothing but this field was ever
 * written, so a pointer that is read is NULL or was a block's, and a block's `size` is always that of
 * its class. Everything else, lengths, offsets, OTLP bytes, is clamped to where it was read from.
 *
 * Why what is printed is true. The word is asked before and after: the same word without a lock means
 * that nobody changed the body in between (generation and state stood still, `turn` counts unlocks),
 * and only then does the line go out. A writer that is itself below the handler will not go on: after
 * some tries the line says <busy>.
 */
#include "sdk/platform/clock.h"
#include "sdk/trace/body.h"
#include "sdk/trace/live.h"
#include "sdk/trace/span.h"

#include <spool/sdk/live.h>
#include <spool/sdk/provider.h>

#include <errno.h>
#include <unistd.h>

#define RACY __attribute__((no_sanitize("thread")))
/* One load, never repeated by the compiler. */
#define READ(field) (*(const volatile __typeof__(field) *)&(field))

enum { TRIES = 4, FIELD_ATTRIBUTE = 9, WIRE_LEN = 2, MAX_BLOCKS = 1024 };
enum { STABLE, CHANGED, GONE };

/* ---- bytes that may change ---- */

/* What is used of a block, or nothing where it must not be followed. */
RACY static sp_racy_bytes block_bytes(const sp_spill *block) {
    sp_racy_bytes none = {NULL, 0, 0};
    if (!sp_spill_is_pooled(block)) {
        return none;
    }
    uint32_t size = READ(block->size);
    if (size != SP_SPILL_SMALL_BYTES && size != SP_SPILL_LARGE_BYTES) {
        return none;
    }
    uint32_t room = size - (uint32_t)sizeof *block;
    uint32_t used = READ(block->used);
    return (sp_racy_bytes){block->bytes, used < room ? used : room, 0};
}

RACY static sp_racy_bytes inline_bytes(const sp_body *body, size_t from) {
    size_t used = READ(body->used);
    used = used < SP_BODY_INLINE_BYTES ? used : SP_BODY_INLINE_BYTES;
    from = from < used ? from : used;
    return (sp_racy_bytes){body->bytes + from, used - from, 0};
}

RACY static sp_racy_bytes text_bytes(const sp_body *body, const sp_text_place *place) {
    const sp_spill *block = READ(place->block);
    sp_racy_bytes text = block ? block_bytes(block) : inline_bytes(body, 0);
    size_t at = READ(place->at);
    size_t len = READ(place->len);
    at = at < text.len ? at : text.len;
    len = len < text.len - at ? len : text.len - at;
    return (sp_racy_bytes){text.bytes + at, len, 0};
}

/* ---- one span ---- */

static uint32_t attrs_put(sp_live_line *line, sp_racy_bytes content) {
    uint32_t shown = 0;
    sp_racy_field field;
    while (sp_racy_next(&content, &field)) {
        if (field.number == FIELD_ATTRIBUTE && field.type == WIRE_LEN) {
            shown += sp_live_put_attr(line, field.bytes);
        }
    }
    return shown;
}

RACY static void body_put(sp_live_line *line, const sp_body *body) {
    sp_live_times times = {sp_load_relaxed(&body->anchor_wall_ns),
                           sp_load_relaxed(&body->anchor_mono_ns), READ(body->start_time_ns)};
    if (READ(body->has_parent)) {
        sp_live_put(line, " parent=");
        sp_live_put_hex(line, body->parent_span_id, sizeof body->parent_span_id);
    }
    sp_live_put(line, " age=");
    sp_live_put_seconds(line, sp_live_age_ns(&times, sp_clock_mono_ns(SPOOL_CLOCK_PRECISE)));
    sp_live_put(line, " thread=");
    sp_live_put_uint(line, READ(body->thread));
    sp_live_put(line, " name=");
    sp_live_put_quoted(line, text_bytes(body, &body->name));
    line->full = false;
    uint32_t shown = attrs_put(line, inline_bytes(body, READ(body->text_used)));
    const sp_spill *block = READ(body->spill);
    /* The limit ends a walk over blocks that are being linked anew meanwhile. */
    for (unsigned i = 0; sp_spill_is_pooled(block) && i < MAX_BLOCKS; i++) {
        shown += attrs_put(line, block_bytes(block));
        block = READ(block->next);
    }
    uint32_t count = READ(body->attr_count);
    if (shown < count) {
        char digits[10];
        size_t at = sizeof digits;
        for (uint32_t left = count - shown; left; left /= 10) {
            digits[--at] = (char)('0' + left % 10);
        }
        line->text[line->len++] = ' ';
        line->text[line->len++] = '+';
        while (at < sizeof digits) {
            line->text[line->len++] = digits[at++];
        }
    }
}

RACY static void ids_put(sp_live_line *line, const sp_slot *slot) {
    sp_live_put(line, "span ");
    sp_live_put_hex(line, slot->trace_id, sizeof slot->trace_id);
    sp_live_put(line, " ");
    sp_live_put_hex(line, slot->span_id, sizeof slot->span_id);
}

static bool is_live(uint64_t word) {
    uint64_t state = (word & SP_WORD_STATE) >> SP_WORD_STATE_SHIFT;
    return state == SP_SLOT_LIVE || state == SP_SLOT_ENDING;
}

static int same_word(const sp_slot *slot, uint64_t word) {
    /* Pairs with the release fences of sp_slot_lock() and acquire_from(): what comes after them
     * comes with a later word. */
    sp_fence_acquire();
    uint64_t again = sp_load_relaxed(&slot->word);
    if (again == word) {
        return STABLE;
    }
    return is_live(again) && again >> 32 == word >> 32 ? CHANGED : GONE;
}

/* One try: STABLE when the line may go out. */
static int span_put(sp_live_line *line, const sp_slot *slot) {
    /* Acquire: header and body; partners: the releases in registry.h. */
    uint64_t word = sp_load_acquire(&slot->word);
    line->len = 0;
    line->full = false;
    if (!is_live(word)) {
        return GONE;
    }
    ids_put(line, slot);
    if ((word & SP_WORD_LOCK) != 0 || !slot->body) {
        int same = same_word(slot, word);
        return same == STABLE ? CHANGED : same;
    }
    body_put(line, sp_slot_body(slot));
    return same_word(slot, word);
}

/* The ids alone, which stand still as long as the generation does. */
static int busy_put(sp_live_line *line, const sp_slot *slot) {
    uint64_t word = sp_load_acquire(&slot->word);
    line->len = 0;
    line->full = false;
    if (!is_live(word)) {
        return GONE;
    }
    ids_put(line, slot);
    sp_live_put(line, " <busy>");
    return same_word(slot, word) == GONE ? GONE : STABLE;
}

/* ---- all spans ---- */

static bool line_write(int descriptor, sp_live_line *line) {
    line->text[line->len++] = '\n';
    size_t done = 0;
    while (done < line->len) {
        ssize_t wrote = write(descriptor, line->text + done, line->len - done);
        if (wrote > 0) {
            done += (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

size_t spool_dump_live_spans(int descriptor) {
    int saved_errno = errno;
    size_t count = 0;
    sp_live_line line;
    sp_slot_walk walk = {0, 0, 0};
    for (sp_slot *at = sp_registry_next(&walk); at; at = sp_registry_next(&walk)) {
        int result = CHANGED;
        for (unsigned i = 0; i < TRIES && result == CHANGED; i++) {
            result = span_put(&line, at);
        }
        if (result == CHANGED) {
            result = busy_put(&line, at);
        }
        if (result == GONE) {
            continue;
        }
        if (!line_write(descriptor, &line)) {
            break;
        }
        count++;
    }
    errno = saved_errno;
    return count;
}
