/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Context: what is current, and what travels (specification: context, trace/api "SpanContext").
 *
 * A spool_context is an immutable value: ids, and at most one counted block that holds trace state,
 * baggage and user keys. Functions that return one hand over a reference: pass it to
 * spool_context_release() once (releasing an empty or block-less context is a no-op, so "always
 * release" is right). Reading a context takes no reference.
 *
 * The thread's stack of attached contexts is kept by the library, not in the caller's frames: a
 * forgotten detach costs an entry, never memory safety.
 */
#ifndef SPOOL_CONTEXT_H
#define SPOOL_CONTEXT_H

#include <spool/export.h>
#include <spool/status.h>
#include <spool/value.h>

#include <stdbool.h>
#include <stdint.h>

SPOOL_BEGIN_DECLS

/*
 * A handle of a span, by value. Zero is "no span". A handle that is stale (ended, or of an SDK that is
 * gone) is harmless: every call with it is a no-op that is counted.
 */
typedef struct spool_span {
    uint64_t bits;
} spool_span;

enum {
    SPOOL_FLAG_SAMPLED = 0x01, /* W3C: the caller may have recorded the trace */
    SPOOL_FLAG_RANDOM = 0x02   /* W3C level 2: the low 7 bytes of the trace id are random */
};

/*
 * The specification's SpanContext without its trace state (which a spool_context owns). As with
 * `struct stat`, the tag shares its name with the function that fills it: spool_span_context().
 */
struct spool_span_context {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags;  /* SPOOL_FLAG_* */
    uint8_t remote; /* 1: it came from another process */
    uint8_t reserved[6];
};

struct spool_context_block;

/* A context. Zero-initialised, it is the empty context. Copy it with spool_context_copy() alone. */
typedef struct spool_context {
    struct spool_span_context span;
    spool_span handle;                 /* the live span, when it is one of this process */
    struct spool_context_block *block; /* private */
} spool_context;

#define SPOOL_CONTEXT_INIT                                                                         \
    { {{0}, {0}, 0, 0, {0}}, {0}, NULL }

/* Names one attached context; see spool_context_attach(). Zero is "nothing attached". */
typedef struct spool_token {
    uint64_t bits;
} spool_token;

/* True when both ids are non-zero. Threads: any. Signals: safe. */
static inline bool spool_span_context_is_valid(const struct spool_span_context *context) {
    static const uint8_t zero[16] = {0};
    return context && memcmp(context->trace_id, zero, 16) != 0 &&
           memcmp(context->span_id, zero, 8) != 0;
}

/*
 * The calling thread's current context, with a reference of its own.
 * Threads: any. Blocks: no. Signals: unsafe. Fork: child may call.
 */
SPOOL_API SPOOL_MUST_USE spool_context spool_context_capture(void);

/* Another reference to the same context. NULL gives the empty context. */
SPOOL_API SPOOL_MUST_USE spool_context spool_context_copy(const spool_context *context);

/* Gives the reference back and makes *context empty. NULL is a no-op. Threads: any. */
SPOOL_API void spool_context_release(spool_context *context);

/*
 * New contexts made from `base` (NULL: the current context); `base` is unchanged and stays the
 * caller's. Out of memory, the part that needed it is left out, and counted.
 *
 * with_span     `span` becomes the active span; zero or a stale handle: no active span
 * with_remote   the ids become the parent of what is started next; `trace_state` is the text of the
 *               tracestate header, parsed; if it is not valid it is left out
 * with_value    `value` under `key` (NULL: none any more); the value is handed over: if the key has a
 *               destroy function it is called once, when the last context that holds the value is
 *               released, on the thread that releases it, or at once when there is no memory. With a
 *               key that is zero, the value stays the caller's
 */
SPOOL_API SPOOL_MUST_USE spool_context spool_context_with_span(const spool_context *base,
                                                               spool_span span);
SPOOL_API SPOOL_MUST_USE spool_context spool_context_with_remote(
    const spool_context *base, const struct spool_span_context *remote, spool_str trace_state);

/*
 * The W3C trace state of the context (NULL: the current one): borrowed text, valid while the context is
 * held; may be empty.
 */
SPOOL_API spool_str spool_context_trace_state(const spool_context *context);

/* ---- user keys (specification: context, "Create a key") ---- */

/* Zero is no key. Two keys made with one name are different keys. */
typedef struct spool_context_key {
    uint32_t id;
} spool_context_key;

/*
 * Makes a key; at most 1,024 in a process, then zero. `name` is for debugging and is copied; `destroy`
 * may be NULL. Threads: any. Blocks: no.
 */
SPOOL_API spool_context_key spool_context_key_create(const char *name,
                                                     void (*destroy)(void *value));
SPOOL_API SPOOL_MUST_USE spool_context spool_context_with_value(const spool_context *base,
                                                                spool_context_key key, void *value);
/* The value, or NULL. `context` NULL: the current one. */
SPOOL_API void *spool_context_value(const spool_context *context, spool_context_key key);

/* ---- the thread's stack ---- */

/*
 * Makes `context` current on this thread (a reference is taken; NULL attaches the empty context) and
 * returns the token that takes it off again. Never fails: without memory the token is zero and the
 * current context is unchanged, counted; so it is above 65,536 entries, which somebody forgets.
 */
SPOOL_API spool_token spool_context_attach(const spool_context *context);

/*
 * Takes off what the token names, and nothing else. SPOOL_OK when it was on top; the zero token is a
 * no-op. SPOOL_ERR_ORDER, counted, when entries above it are still attached (the entry is taken out,
 * they stay current until they are detached themselves), and when the token names nothing here: it was
 * detached already, or belongs to another thread or stack (nothing changes).
 */
SPOOL_API spool_status spool_context_detach(spool_token token);

/* The height of this thread's stack; for event loops: mark before a callback, rewind after it. */
typedef struct spool_mark {
    uint64_t bits;
} spool_mark;
SPOOL_API spool_mark spool_context_mark(void);
/* Takes off everything above the mark; returns how many entries that were. Wrong thread: 0. */
SPOOL_API size_t spool_context_rewind(spool_mark mark);

/*
 * A stack apart from the thread's, for coroutines: swap it in when the coroutine runs, and what swap
 * returned when it yields. A stack may be current on one thread at a time: swapping it in elsewhere too
 * changes nothing, counted, and returns what is current there. NULL is the thread's own stack.
 */
typedef struct spool_context_stack spool_context_stack;
SPOOL_API spool_context_stack *spool_context_stack_create(void);
SPOOL_API void spool_context_stack_destroy(spool_context_stack *stack);
SPOOL_API spool_context_stack *spool_context_swap(spool_context_stack *stack);

/*
 * The ids of the current context as lower-case hex with a NUL; all zeros where there is no span.
 * Returns whether there is one. Threads: any. Signals: unsafe.
 */
SPOOL_API bool spool_trace_id_hex(char out[33]);
SPOOL_API bool spool_span_id_hex(char out[17]);

SPOOL_END_DECLS
#endif /* SPOOL_CONTEXT_H */
