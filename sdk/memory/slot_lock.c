/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to a live slot: locking, ending, pinning, reading. All of it starts from a handle
 * that may be stale, and hangs on the slot word (see registry.h).
 *
 * Locking is one compare-and-swap that checks generation, state and lock at once. In LIVE anybody
 * may try; ENDING and ENDED words are changed by the ender alone, with plain stores.
 *
 * Pinning: count first (refused once the count is closed at zero), then look at the word. A word of
 * the right generation that says `pinned` means that the release will look at the count, or has
 * looked while this pin was in it. Otherwise the bit must be set, which is possible in LIVE and
 * LIGHT by compare-and-swap - it fails if the slot was taken meanwhile - and for the holder of the
 * word. Whatever is found wrong, the count is taken back, which may make this the last unpin of
 * another's slot. A count that a stale handle left in passing does no harm to a later tenant: it
 * keeps the slot a moment longer at most.
 */
#include "sdk/memory/registry.h"

#include "sdk/memory/shard.h"
#include "sdk/platform/clock.h"

#include <spool/sdk/provider.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum { PAUSE_ROUNDS = 100, YIELD_ROUNDS = 20, SLEEP_NS = 50000 };
#define LAST_RESORT_NS (2 * SP_NS_PER_S)

static unsigned state_of(uint64_t word) {
    return (unsigned)((word & SP_WORD_STATE) >> SP_WORD_STATE_SHIFT);
}

static uint32_t locker_of(uint64_t word) {
    return (uint32_t)((word & SP_WORD_LOCKER) >> SP_WORD_LOCKER_SHIFT);
}

static uint64_t with_state(uint64_t word, unsigned state) {
    return (word & ~SP_WORD_STATE) | (uint64_t)state << SP_WORD_STATE_SHIFT;
}

static bool same_generation(uint64_t word, spool_span handle) {
    return ((word ^ handle.bits) & SP_WORD_GENERATION) == 0;
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- waiting ---- */

typedef struct wait_state {
    uint32_t rounds;
    uint64_t deadline_ns;
} wait_state;

static void sleep_briefly(void) {
    int saved_errno = errno;
    struct timespec time = {0, SLEEP_NS};
    (void)nanosleep(&time, NULL);
    errno = saved_errno;
}

/* One round behind a locker; false, counted, when there is no point in another. */
static SP_COLD bool wait_for(uint32_t locker, wait_state *wait) {
    wait->rounds++;
    if (wait->rounds <= PAUSE_ROUNDS) {
        pause_briefly();
        return true;
    }
    if (wait->rounds <= PAUSE_ROUNDS + YIELD_ROUNDS) {
        (void)sched_yield();
        return true;
    }
    uint64_t now = sp_clock_mono_ns(SPOOL_CLOCK_PRECISE);
    if (wait->deadline_ns == 0) {
        wait->deadline_ns = now + LAST_RESORT_NS;
    }
    if (now >= wait->deadline_ns || !sp_thread_lives(locker)) {
        (void)sp_add_relaxed(&sp_totals.lock_refusals, 1);
        return false;
    }
    sleep_briefly();
    return true;
}

/* ---- locking and ending ---- */

/*
 * Makes a LIVE word with no locker into `state` with the caller as locker and the given lock bit.
 * *out_word is the last word seen.
 */
static inline bool claim(sp_slot *slot, spool_span handle, uint32_t me, unsigned state,
                         uint64_t lock_bit, uint64_t *out_word) {
    wait_state wait = {0, 0};
    /* Relaxed: what counts is the swap below. */
    uint64_t word = sp_load_relaxed(&slot->word);
    for (;;) {
        *out_word = word;
        if (!same_generation(word, handle) || state_of(word) != SP_SLOT_LIVE) {
            return false;
        }
        if (SP_UNLIKELY((word & SP_WORD_LOCK) != 0)) {
            if (locker_of(word) == me || !wait_for(locker_of(word), &wait)) {
                return false;
            }
            word = sp_load_relaxed(&slot->word);
            continue;
        }
        uint64_t taken = with_state(word, state) | lock_bit | (uint64_t)me << SP_WORD_LOCKER_SHIFT;
        /* Acquire: what the last holder changed; partners: the releases in sp_slot_publish() and
         * sp_slot_unlock(). */
        if (SP_LIKELY(sp_cas_weak_acquire(&slot->word, &word, taken))) {
            return true;
        }
    }
}

sp_slot *sp_slot_lock(sp_thread_block *thread, spool_span handle) {
    sp_slot *slot = sp_handle_slot(handle);
    if (SP_UNLIKELY(slot == NULL || thread == NULL)) {
        return NULL;
    }
    uint64_t word;
    if (SP_LIKELY(claim(slot, handle, thread->number, SP_SLOT_LIVE, SP_WORD_LOCK, &word))) {
        /* Release: the lock is seen before what is changed under it; partner: the fence of the
         * dump of live spans. */
        sp_fence_release();
        return slot;
    }
    if (same_generation(word, handle) && state_of(word) == SP_SLOT_ENDING &&
        locker_of(word) == thread->number && (word & SP_WORD_LOCK) == 0) {
        /* Relaxed: the ender alone changes the word, and sees its own changes. */
        sp_store_relaxed(&slot->word, word | SP_WORD_LOCK);
        sp_fence_release(); /* as above */
        return slot;
    }
    return NULL;
}

sp_slot *sp_slot_begin_end(sp_thread_block *thread, spool_span handle) {
    sp_slot *slot = sp_handle_slot(handle);
    if (SP_UNLIKELY(slot == NULL || thread == NULL)) {
        return NULL;
    }
    uint64_t word;
    return SP_LIKELY(claim(slot, handle, thread->number, SP_SLOT_ENDING, 0, &word)) ? slot : NULL;
}

void sp_slot_adopt(sp_thread_block *thread, sp_slot *slot) {
    /* Acquire: what the ender did; partner: the exchange by which it left the slot behind. */
    uint64_t word = sp_load_acquire(&slot->word);
    sp_store_relaxed(&slot->word,
                     (word & ~SP_WORD_LOCKER) | (uint64_t)thread->number << SP_WORD_LOCKER_SHIFT);
}

sp_slot *sp_slot_take_light(sp_thread_block *thread, spool_span handle) {
    sp_slot *slot = sp_handle_slot(handle);
    if (SP_UNLIKELY(slot == NULL || thread == NULL)) {
        return NULL;
    }
    uint64_t word = sp_load_relaxed(&slot->word);
    while (same_generation(word, handle) && state_of(word) == SP_SLOT_LIGHT) {
        /* Acquire: the header; partner: the release in sp_slot_publish(). */
        if (sp_cas_weak_acquire(&slot->word, &word, with_state(word, SP_SLOT_STARTING))) {
            return slot;
        }
    }
    return NULL;
}

/* ---- pinning ---- */

/* False once the count is closed at zero: the slot is being freed. */
static bool add_pin(sp_slot *slot) {
    uint32_t pins = sp_load_relaxed(&slot->pins);
    while (pins != SP_PINS_CLOSED) {
        /* Acquire: the word of a slot that was freed and reset its count; partner: the store of
         * zero in give_up(). */
        if (sp_cas_weak_acquire(&slot->pins, &pins, pins + 1)) {
            return true;
        }
    }
    return false;
}

/* Makes sure, with the count raised, that the word says `pinned` for the handle's span. */
static bool mark_pinned(sp_slot *slot, spool_span handle, uint32_t me) {
    wait_state wait = {0, 0};
    /* Acquire: header and body; partners: publish, unlock, freeze and release. */
    uint64_t word = sp_load_acquire(&slot->word);
    while (same_generation(word, handle)) {
        unsigned state = state_of(word);
        bool mine = locker_of(word) == me;
        if (state < SP_SLOT_LIGHT || state > SP_SLOT_ENDED) {
            return false;
        }
        if ((word & SP_WORD_PINNED) != 0) {
            return true;
        }
        if (mine) {
            /* Relaxed: the holder alone changes the word. */
            sp_store_relaxed(&slot->word, word | SP_WORD_PINNED);
            return true;
        }
        if (state == SP_SLOT_ENDING || state == SP_SLOT_ENDED) {
            return false;
        }
        if ((word & SP_WORD_LOCK) != 0) {
            if (!wait_for(locker_of(word), &wait)) {
                return false;
            }
            word = sp_load_acquire(&slot->word);
        } else if (sp_cas_acq_rel(&slot->word, &word, word | SP_WORD_PINNED)) {
            /* Release: the count; partner: the acquire in claim(), before the release that asks. */
            return true;
        }
    }
    return false;
}

sp_slot *sp_slot_pin(spool_span handle) {
    sp_thread_block *thread = sp_thread();
    sp_slot *slot = sp_handle_slot(handle);
    if (thread == NULL || slot == NULL || !same_generation(sp_load_relaxed(&slot->word), handle) ||
        !add_pin(slot)) {
        return NULL;
    }
    if (!mark_pinned(slot, handle, thread->number)) {
        sp_slot_unpin(thread, slot);
        return NULL;
    }
    return slot;
}

/* ---- reading and describing ---- */

/*
 * The fields as 8-byte words. A reader with a stale handle may overlap with the next tenant's
 * writes: both are relaxed atomic accesses, and the reader throws away what it copied.
 */
typedef uint64_t __attribute__((may_alias)) field_word;

_Static_assert(offsetof(sp_slot, trace_id) == 8 && offsetof(sp_slot, span_id) == 24 &&
                   offsetof(sp_slot, flags) == 32 && offsetof(sp_slot, remote_parent) == 33 &&
                   offsetof(sp_slot, sdk) == 34 && offsetof(sp_slot, sdk_epoch) == 36,
               "four words from trace_id on");

enum { FIELD_WORDS = 4 };

/* The last of them. */
typedef struct field_tail {
    uint8_t flags;
    uint8_t remote_parent;
    uint16_t sdk;
    uint32_t sdk_epoch;
} field_tail;

typedef struct field_copy {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    field_tail tail;
} field_copy;

_Static_assert(sizeof(field_copy) == FIELD_WORDS * sizeof(uint64_t), "a copy of the four words");

void sp_slot_describe(sp_slot *slot, const struct spool_span_context *context, uint16_t sdk,
                      uint32_t sdk_epoch, struct sp_trace_state *trace_state) {
    field_copy copy = {.tail = {.flags = context->flags,
                                .remote_parent = context->remote,
                                .sdk = sdk,
                                .sdk_epoch = sdk_epoch}};
    memcpy(copy.trace_id, context->trace_id, sizeof copy.trace_id);
    memcpy(copy.span_id, context->span_id, sizeof copy.span_id);
    uint64_t words[FIELD_WORDS];
    memcpy(words, &copy, sizeof words);
    field_word *fields = (field_word *)(void *)slot->trace_id;
    for (int i = 0; i < FIELD_WORDS; i++) {
        __atomic_store_n(&fields[i], words[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&slot->trace_state, trace_state, __ATOMIC_RELAXED);
}

/* What a look at a header found, word for word. */
typedef struct fields_seen {
    uint64_t trace_id[2];
    uint64_t span_id;
    uint64_t tail;
    unsigned state;
    bool has_trace_state;
} fields_seen;

/*
 * A seqlock on the generation. ThreadSanitizer is kept out: it does not know fences, and writers
 * that assign the fields one by one are harmless for the reason above.
 */
__attribute__((no_sanitize("thread"))) static inline bool fields_read(spool_span handle,
                                                                      fields_seen *out) {
    sp_slot *slot = sp_handle_slot(handle);
    if (SP_UNLIKELY(slot == NULL)) {
        return false;
    }
    /* Acquire: the fields; partner: the release in sp_slot_publish(). */
    uint64_t word = sp_load_acquire(&slot->word);
    out->state = state_of(word);
    if (SP_UNLIKELY(!same_generation(word, handle) || out->state < SP_SLOT_LIGHT ||
                    out->state > SP_SLOT_ENDED)) {
        return false;
    }
    /* One by one: a loop would go through memory, and wait for it. */
    const field_word *fields = (const field_word *)(const void *)slot->trace_id;
    out->trace_id[0] = __atomic_load_n(&fields[0], __ATOMIC_RELAXED);
    out->trace_id[1] = __atomic_load_n(&fields[1], __ATOMIC_RELAXED);
    out->span_id = __atomic_load_n(&fields[2], __ATOMIC_RELAXED);
    out->tail = __atomic_load_n(&fields[3], __ATOMIC_RELAXED);
    out->has_trace_state = __atomic_load_n(&slot->trace_state, __ATOMIC_RELAXED) != NULL;
    /* Fields of a later tenant come with a later generation; partner: the fence in acquire_from().
     * */
    sp_fence_acquire();
    return same_generation(sp_load_relaxed(&slot->word), handle);
}

static inline field_tail context_put(const fields_seen *seen, struct spool_span_context *out) {
    field_tail tail;
    memcpy(&tail, &seen->tail, sizeof tail);
    memcpy(out->trace_id, &seen->trace_id[0], sizeof(uint64_t));
    memcpy(out->trace_id + sizeof(uint64_t), &seen->trace_id[1], sizeof(uint64_t));
    memcpy(out->span_id, &seen->span_id, sizeof(uint64_t));
    out->flags = tail.flags;
    out->remote = 0;
    memset(out->reserved, 0, sizeof out->reserved);
    return tail;
}

bool sp_slot_read(spool_span handle, sp_slot_view *out_view) {
    fields_seen seen;
    if (!fields_read(handle, &seen)) {
        return false;
    }
    field_tail tail = context_put(&seen, &out_view->context);
    out_view->state = seen.state;
    out_view->sdk = tail.sdk;
    out_view->sdk_epoch = tail.sdk_epoch;
    out_view->has_trace_state = seen.has_trace_state;
    return true;
}

bool sp_slot_read_context(spool_span handle, struct spool_span_context *out_context) {
    fields_seen seen;
    if (!fields_read(handle, &seen) || seen.has_trace_state) {
        return false;
    }
    (void)context_put(&seen, out_context);
    return true;
}
