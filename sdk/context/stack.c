/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of attached contexts.
 *
 * Owners: a thread's own stack belongs to the thread; a stack that was made for a coroutine belongs to
 * the thread where it is swapped in, which its `holder` word names, and to nobody in between.
 *
 * A token is the stack's id (24 bits) and the entry's serial (40 bits). Serials grow with each push and
 * start at a random place, so that a token of a stack that is gone, or that was used already, names
 * nothing. Entries keep the order of their serials, so a token is found by bisection; an entry that is
 * detached out of order is taken out of the middle, and what is above it stays current until it is
 * detached itself. A mark is the serial of the last push: it stays right whatever is taken out below.
 *
 * Releasing a context may run foreign code (destroy functions of keys), so it comes last, when the
 * stack is whole again.
 *
 * Closing: the thread's exit gives back what is attached on its own stack and lets go of one that is
 * swapped in; a stack that is destroyed while another thread holds it is freed when that thread swaps
 * it out.
 */
#include "sdk/context/stack.h"

#include "sdk/context/block.h"
#include "sdk/memory/registry.h"
#include "sdk/platform/diagnostics.h"

#include <stdlib.h>
#include <string.h>

enum {
    INLINE_ENTRIES = 32,
    MOST_ENTRIES = 64 * 1024, /* beyond it, somebody forgets to detach */
    KEPT_ENTRIES = 1024,      /* a larger array is not kept once the stack is empty */
    SERIAL_BITS = 40
};
#define SERIAL_MASK ((UINT64_C(1) << SERIAL_BITS) - 1)
/* Ids of stacks made by spool_context_stack_create(); below are thread numbers. */
#define MADE_STACK_ID (UINT32_C(1) << 23)

enum { HOLDER_DESTROYED = 1 << 30 }; /* in spool_context_stack.holder, beside a thread number */

typedef struct stack_entry {
    uint64_t serial;
    spool_context context; /* a reference */
} stack_entry;

struct spool_context_stack {
    stack_entry *entries; /* inline_entries, or from the heap */
    uint32_t depth;
    uint32_t capacity;
    uint64_t first_serial; /* where the serials of this stack began */
    uint64_t last_serial;
    uint32_t id;
    _Atomic uint32_t holder; /* of a made stack: the thread that has it swapped in; 0: none */
    stack_entry inline_entries[INLINE_ENTRIES];
};

typedef struct context_part {
    sp_context_part head; /* first: sp_context_top() reads it */
    spool_context_stack *current;
    bool closing; /* the thread exits: nothing is attached any more */
    spool_context_stack own;
} context_part;

/* ---- one stack ---- */

static void stack_init(spool_context_stack *stack, uint32_t id, uint64_t random) {
    stack->entries = stack->inline_entries;
    stack->depth = 0;
    stack->capacity = INLINE_ENTRIES;
    stack->first_serial = random & SERIAL_MASK;
    stack->last_serial = stack->first_serial;
    stack->id = id;
    atomic_init(&stack->holder, 0);
}

static bool stack_grow(spool_context_stack *stack) {
    if (stack->capacity >= MOST_ENTRIES) {
        return false;
    }
    uint32_t capacity = stack->capacity ? stack->capacity * 2 : INLINE_ENTRIES;
    bool inlined = stack->entries == stack->inline_entries;
    stack_entry *entries = realloc(inlined ? NULL : stack->entries, capacity * sizeof *entries);
    if (!entries) {
        return false;
    }
    if (inlined) {
        memcpy(entries, stack->inline_entries, sizeof stack->inline_entries);
    }
    stack->entries = entries;
    stack->capacity = capacity;
    return true;
}

static void stack_shrink(spool_context_stack *stack, uint32_t kept) {
    if (stack->depth == 0 && stack->capacity > kept) {
        free(stack->entries);
        stack->entries = stack->inline_entries;
        stack->capacity = INLINE_ENTRIES;
    }
}

/* How many pushes ago; right across the wrap of the serials. */
static uint64_t serial_age(const spool_context_stack *stack, uint64_t serial) {
    return (stack->last_serial - serial) & SERIAL_MASK;
}

/* False for a serial of an earlier stack with the same id. */
static bool serial_was_given(const spool_context_stack *stack, uint64_t serial) {
    return serial_age(stack, serial) <= serial_age(stack, stack->first_serial);
}

/* The index of the entry, or `depth` when it is not there. */
static uint32_t stack_find(const spool_context_stack *stack, uint64_t serial) {
    uint64_t age = serial_age(stack, serial);
    uint32_t low = 0;
    uint32_t high = stack->depth;
    if (high && stack->entries[high - 1].serial == serial) {
        return high - 1;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (serial_age(stack, stack->entries[middle].serial) > age) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < stack->depth && stack->entries[low].serial == serial ? low : stack->depth;
}

/* Takes an entry out; its context, with the reference, is the caller's. */
static spool_context stack_remove(spool_context_stack *stack, uint32_t index) {
    spool_context context = stack->entries[index].context;
    stack->depth--;
    if (index < stack->depth) {
        memmove(&stack->entries[index], &stack->entries[index + 1],
                (stack->depth - index) * sizeof stack->entries[0]);
    }
    stack_shrink(stack, KEPT_ENTRIES);
    return context;
}

/* Empties a stack that no thread looks at any more. */
static void stack_clear(spool_context_stack *stack) {
    while (stack->depth) {
        spool_context context = stack_remove(stack, stack->depth - 1);
        spool_context_release(&context);
    }
    stack_shrink(stack, INLINE_ENTRIES);
}

/* ---- the thread's part ---- */

static void top_follow(context_part *part) {
    const spool_context_stack *stack = part->current;
    part->head.top = stack->depth ? &stack->entries[stack->depth - 1].context : &sp_context_empty;
}

/* False when the stack was destroyed by another thread meanwhile: it is gone. */
static bool stack_let_go(spool_context_stack *stack) {
    /* Acquire and release: what this thread did with the stack, for the next that takes it. */
    if (sp_exchange_acq_rel(&stack->holder, 0) & HOLDER_DESTROYED) {
        stack_clear(stack);
        free(stack);
        return false;
    }
    return true;
}

static void part_fini(sp_thread_block *thread, void *value) {
    context_part *part = value;
    spool_context_stack *swapped_in = part->current == &part->own ? NULL : part->current;
    /* It stays in its place while contexts are released: what their destroy functions attach is
     * refused, rather than put into a new part that nobody would end. */
    thread->parts[SP_PART_CONTEXT] = part;
    part->closing = true;
    part->current = &part->own;
    part->head.top = &sp_context_empty;
    if (swapped_in) {
        stack_let_go(swapped_in);
    }
    stack_clear(&part->own);
    thread->parts[SP_PART_CONTEXT] = NULL;
    free(part);
}

static SP_COLD context_part *part_make(sp_thread_block *thread) {
    context_part *part = malloc(sizeof *part);
    if (!part) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    stack_init(&part->own, thread->number, sp_random_next(&thread->random));
    part->current = &part->own;
    part->closing = false;
    top_follow(part);
    sp_thread_part_ends_with(SP_PART_CONTEXT, part_fini);
    thread->parts[SP_PART_CONTEXT] = part;
    return part;
}

static context_part *part_of(sp_thread_block *thread) {
    if (!thread) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    context_part *part = thread->parts[SP_PART_CONTEXT];
    return SP_LIKELY(part != NULL) ? part : part_make(thread);
}

static uint64_t stack_name(const spool_context_stack *stack, uint64_t serial) {
    return (uint64_t)stack->id << SERIAL_BITS | serial;
}

static bool stack_is_named(const spool_context_stack *stack, uint64_t bits) {
    return bits >> SERIAL_BITS == stack->id;
}

/* Takes over the context's reference, also when it fails. */
static spool_token part_push(context_part *part, spool_context context) {
    spool_context_stack *stack = part->current;
    if (SP_UNLIKELY(part->closing) ||
        (SP_UNLIKELY(stack->depth == stack->capacity) && !stack_grow(stack))) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        spool_context_release(&context);
        return (spool_token){0};
    }
    stack->last_serial = (stack->last_serial + 1) & SERIAL_MASK;
    stack->entries[stack->depth].serial = stack->last_serial;
    stack->entries[stack->depth].context = context;
    stack->depth++;
    top_follow(part);
    return (spool_token){stack_name(stack, stack->last_serial)};
}

/* ---- attach and detach ---- */

spool_token sp_context_push_span(sp_thread_block *thread, spool_span span,
                                 const struct spool_span_context *context,
                                 sp_trace_state *trace_state) {
    context_part *part = part_of(thread);
    spool_context made;
    if (!part) {
        return (spool_token){0};
    }
    if (!sp_context_make_into(&made, part->head.top, context, span, trace_state)) {
        return (spool_token){0};
    }
    return part_push(part, made);
}

spool_token sp_context_push_plain(sp_thread_block *thread, spool_span span) {
    context_part *part = thread->parts[SP_PART_CONTEXT];
    if (SP_UNLIKELY(!part || part->closing || part->head.top->block)) {
        return (spool_token){0};
    }
    spool_context_stack *stack = part->current;
    stack_entry *entry = &stack->entries[stack->depth];
    /* Written in place: what is above the top is nobody's. */
    if (SP_UNLIKELY(stack->depth == stack->capacity) ||
        !sp_slot_read_context(span, &entry->context.span)) {
        return (spool_token){0};
    }
    entry->context.handle = span;
    entry->context.block = NULL;
    stack->last_serial = (stack->last_serial + 1) & SERIAL_MASK;
    entry->serial = stack->last_serial;
    stack->depth++;
    part->head.top = &entry->context;
    return (spool_token){stack_name(stack, stack->last_serial)};
}

/* The plain case of sp_context_pop(): the top entry, without a block. */
static inline bool pop_plain(context_part *part, spool_token token, spool_span *out_span) {
    spool_context_stack *stack = part->current;
    if (SP_UNLIKELY(stack->depth == 0 || stack->capacity > KEPT_ENTRIES)) {
        return false;
    }
    const stack_entry *top = &stack->entries[stack->depth - 1];
    if (!stack_is_named(stack, token.bits) || top->serial != (token.bits & SERIAL_MASK) ||
        top->context.block) {
        return false;
    }
    if (out_span) {
        *out_span = top->context.handle;
    }
    stack->depth--;
    top_follow(part);
    return true;
}

spool_status sp_context_pop(sp_thread_block *thread, spool_token token, spool_span *out_span) {
    if (out_span) {
        out_span->bits = 0;
    }
    if (token.bits == 0) {
        return SPOOL_OK;
    }
    context_part *part = thread ? thread->parts[SP_PART_CONTEXT] : NULL;
    if (SP_LIKELY(part != NULL) && pop_plain(part, token, out_span)) {
        return SPOOL_OK;
    }
    spool_context_stack *stack = part ? part->current : NULL;
    uint32_t index = 0;
    if (!stack || !stack_is_named(stack, token.bits) ||
        (index = stack_find(stack, token.bits & SERIAL_MASK)) == stack->depth) {
        sp_misuse_count(SP_MISUSE_WRONG_DETACH, 1);
        return SPOOL_ERR_ORDER;
    }
    bool on_top = index == stack->depth - 1;
    spool_context context = stack_remove(stack, index);
    top_follow(part);
    if (!on_top) {
        sp_misuse_count(SP_MISUSE_WRONG_DETACH, 1);
    }
    if (out_span) {
        *out_span = context.handle;
    }
    spool_context_release(&context);
    return on_top ? SPOOL_OK : SPOOL_ERR_ORDER;
}

spool_token spool_context_attach(const spool_context *context) {
    context_part *part = part_of(sp_thread());
    return part ? part_push(part, spool_context_copy(context)) : (spool_token){0};
}

spool_status spool_context_detach(spool_token token) {
    return sp_context_pop(sp_thread(), token, NULL);
}

/* ---- mark and rewind ---- */

spool_mark spool_context_mark(void) {
    context_part *part = part_of(sp_thread());
    if (!part) {
        return (spool_mark){0};
    }
    return (spool_mark){stack_name(part->current, part->current->last_serial)};
}

size_t spool_context_rewind(spool_mark mark) {
    sp_thread_block *thread = sp_thread();
    context_part *part = thread ? thread->parts[SP_PART_CONTEXT] : NULL;
    size_t taken = 0;
    if (mark.bits == 0) {
        return 0;
    }
    if (!part || !stack_is_named(part->current, mark.bits) ||
        !serial_was_given(part->current, mark.bits & SERIAL_MASK)) {
        sp_misuse_count(SP_MISUSE_WRONG_DETACH, 1);
        return 0;
    }
    /* Looked up anew each time: a destroy function may attach and detach too. */
    spool_context_stack *stack = part->current;
    while (stack->depth && serial_age(stack, stack->entries[stack->depth - 1].serial) <
                               serial_age(stack, mark.bits & SERIAL_MASK)) {
        spool_context context = stack_remove(stack, stack->depth - 1);
        top_follow(part);
        spool_context_release(&context);
        taken++;
    }
    return taken;
}

/* ---- stacks of coroutines ---- */

spool_context_stack *spool_context_stack_create(void) {
    static _Atomic uint32_t made;
    sp_thread_block *thread = sp_thread();
    spool_context_stack *stack = thread ? malloc(sizeof *stack) : NULL;
    if (!stack) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    uint32_t id = MADE_STACK_ID | (sp_add_relaxed(&made, 1) & (MADE_STACK_ID - 1));
    stack_init(stack, id, sp_random_next(&thread->random));
    return stack;
}

spool_context_stack *spool_context_swap(spool_context_stack *stack) {
    sp_thread_block *thread = sp_thread();
    context_part *part = part_of(thread);
    if (!part) {
        return NULL;
    }
    spool_context_stack *before = part->current == &part->own ? NULL : part->current;
    spool_context_stack *after = stack ? stack : &part->own;
    if (after == part->current) {
        return before;
    }
    uint32_t nobody = 0;
    if (stack && !sp_cas_acq_rel(&stack->holder, &nobody, thread->number)) {
        /* Current on another thread: what is current here stays, so swapping back changes nothing. */
        sp_misuse_count(SP_MISUSE_WRONG_DETACH, 1);
        return before;
    }
    part->current = after;
    top_follow(part);
    return before && stack_let_go(before) ? before : NULL;
}

void spool_context_stack_destroy(spool_context_stack *stack) {
    if (!stack) {
        return;
    }
    sp_thread_block *thread = sp_thread_of;
    context_part *part = thread ? thread->parts[SP_PART_CONTEXT] : NULL;
    if (part && part->current == stack) {
        part->current = &part->own;
        top_follow(part);
        sp_store_relaxed(&stack->holder, 0);
    }
    uint32_t holder = 0;
    /* Acquire and release: what its last holder did; for a holder that still has it, the mark. */
    while (!sp_cas_acq_rel(&stack->holder, &holder, holder | HOLDER_DESTROYED)) {
    }
    if (holder & ~(uint32_t)HOLDER_DESTROYED) {
        sp_misuse_count(SP_MISUSE_WRONG_DETACH, 1);
        return;
    }
    stack_clear(stack);
    free(stack);
}
