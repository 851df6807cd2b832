/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subscriber: what receives the life of every span and record of one SDK. It owns the sampler, the
 * limits, the resource and the ordered processors. A spool_sdk is a subscriber.
 *
 * Owners: nothing in it changes after spool_sdk_create() but `state`, `users`, the filters (see filter.h) and
 * a count. It stands in the table of
 * subscribers under its index; spans remember index and epoch.
 *
 * Pins: a thread that uses a subscriber stores it in its thread block first, then reads the cell that it
 * came from again. A shutdown empties the cell, makes every running thread pass a barrier (membarrier),
 * and looks at the pins: whoever pinned before is seen, whoever comes later sees the empty cell.
 *
 * States: OPEN -> CLOSING (the first shutdown) -> CLOSED -> gone (free). Spans that end while it is not
 * OPEN are counted as late. A pin that does not go away in time leaves the subscriber unfreed, counted.
 */
#ifndef SPOOL_SDK_SUBSCRIBER_SUBSCRIBER_H
#define SPOOL_SDK_SUBSCRIBER_SUBSCRIBER_H

#include "sdk/memory/thread_block.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/resource/scope.h"
#include "sdk/subscriber/counters.h"
#include "sdk/subscriber/filter.h"

#include <spool/sdk/provider.h>

enum { SP_MAX_PROCESSORS = SPOOL_STATS_MAX_PROCESSORS };

enum { SP_SDK_OPEN, SP_SDK_CLOSING, SP_SDK_CLOSED };

/* The processors that have one hook, in order; the others are not looked at. */
typedef struct sp_hook_list {
    uint32_t mask; /* the same as bits */
    uint8_t count;
    uint8_t index[SP_MAX_PROCESSORS];
} sp_hook_list;

typedef struct spool_sdk {
    _Atomic uint32_t state;
    uint32_t users; /* flushes and the like in progress; under the lifecycle lock */
    uint32_t epoch;
    uint16_t index;
    uint16_t processor_count;
    uint32_t clock;
    uint32_t source_location;
    int32_t minimum_severity;
    uint32_t span_hooks;              /* processors that have a hook for spans, as bits */
    _Atomic(sp_filter_set *) filters; /* NULL: none */
    spool_processor processors[SP_MAX_PROCESSORS];
    sp_hook_list span_start, span_ending, span_end, span_enter, span_exit, log_emit, enabled;
    spool_sampler sampler;
    spool_id_generator id_generator;
    spool_limits limits;
    sp_wire_limits span_attrs, event_attrs, link_attrs,
        log_attrs; /* limits, as the writer wants them */
    spool_resource *resource;
    sp_filter_set *retired;                           /* of the exchange, see filter_set.c */
    _Atomic uint64_t late_refused[SP_MAX_PROCESSORS]; /* late spans that the filter kept from it */
} sp_subscriber;

typedef _Atomic(sp_subscriber *) sp_subscriber_cell;

/* The default SDK's cell, and the table of all. */
extern sp_subscriber_cell sp_default_subscriber;
extern sp_subscriber_cell sp_subscribers[SP_MAX_SDKS];
/* How many of them have span_enter or span_exit hooks: without one, entering a span looks no further. */
extern _Atomic uint32_t sp_sdks_with_current_hooks;

/* What a tracer or logger is: a scope, and where its subscriber is found. Lives for ever. */
typedef struct sp_source {
    const sp_scope *scope;
    sp_subscriber_cell *cell;
    uint32_t epoch; /* 0: whoever is in the cell; else only that tenant */
} sp_source;

struct spool_tracer {
    sp_source source;
};
struct spool_logger {
    sp_source source;
};

/* The source for a scope: of an SDK, or (NULL) one that follows the default. Never NULL. */
sp_source *sp_source_get(spool_sdk *sdk, const spool_scope *scope);

/* 1 once pins rely on membarrier(); else each pin is a full fence. Constant after the first SDK. */
extern int sp_pin_needs_fence;

/*
 * Pins what is in the cell; NULL when it is empty, holds another epoch's tenant (epoch not 0), or the
 * thread has no room for one more pin.
 */
static inline sp_subscriber *sp_pin_within(sp_thread_block *thread, sp_subscriber_cell *cell,
                                           uint32_t epoch, uint32_t most) {
    sp_subscriber *subscriber = sp_load_acquire(cell);
    uint32_t place = thread->pin_count;
    if (!subscriber || SP_UNLIKELY(place >= most)) {
        return NULL;
    }
    for (;;) {
        /* Pairs with the barrier of sp_unpinned_wait(): see the note at the top. */
        sp_store_relaxed(&thread->pins[place], (void *)subscriber);
        if (SP_UNLIKELY(sp_pin_needs_fence)) {
            sp_fence_seq_cst();
        } else {
            sp_fence_compiler();
        }
        sp_subscriber *again = sp_load_acquire(cell);
        if (SP_LIKELY(again == subscriber)) {
            break;
        }
        subscriber = again;
        if (!subscriber) {
            sp_store_release(&thread->pins[place], NULL);
            return NULL;
        }
    }
    if (SP_UNLIKELY(epoch && subscriber->epoch != epoch)) {
        sp_store_release(&thread->pins[place], NULL);
        return NULL;
    }
    thread->pin_count = place + 1;
    return subscriber;
}

static inline sp_subscriber *sp_pin(sp_thread_block *thread, sp_subscriber_cell *cell,
                                    uint32_t epoch) {
    return sp_pin_within(thread, cell, epoch, SP_MAX_PINS);
}

/* Ends the last pin of this thread. */
static inline void sp_unpin(sp_thread_block *thread) {
    /* Release pairs with the acquire of sp_unpinned_wait(): all use was before. */
    sp_store_release(&thread->pins[--thread->pin_count], NULL);
}

/*
 * Waits until no thread has the subscriber pinned, its cells being empty already. False: the deadline
 * passed first.
 */
bool sp_unpinned_wait(const sp_subscriber *subscriber, uint64_t deadline_ns);
/*
 * Waits until each thread that had the subscriber pinned at the call has been seen without it, while
 * others may pin it all the time. What the caller unhooked before is not in use then. Not with a pin of
 * the caller's own. False: the deadline passed first, or no memory.
 */
bool sp_pins_passed_wait(const sp_subscriber *subscriber, uint64_t deadline_ns);
/* Chooses the kind of barrier; before the first subscriber is published. */
void sp_pins_prepare(void);

/* Brackets the hooks that run on this thread; false: too deep, skip them (counted). */
static inline bool sp_hooks_enter(sp_thread_block *thread) {
    if (SP_UNLIKELY(thread->hook_depth >= SP_MAX_HOOK_DEPTH)) {
        sp_misuse_count(SP_MISUSE_HOOK_RECURSION, 1);
        return false;
    }
    thread->hook_depth++;
    return true;
}
static inline void sp_hooks_leave(sp_thread_block *thread) {
    thread->hook_depth--;
}

/* The filters; to be used under the pin. NULL: none. */
static inline const sp_filter_set *sp_filters_of(const sp_subscriber *subscriber) {
    /* Acquire: the set; partner: the release in exchange(). */
    return sp_load_acquire(&subscriber->filters);
}

/* The processors that look at spans, as bits (TS-09). */
static inline uint32_t sp_subscriber_span_hooks(const sp_subscriber *subscriber) {
    return subscriber->span_start.mask | subscriber->span_ending.mask | subscriber->span_end.mask;
}

/*
 * Whether every one of these processors (bits) has an `enabled` hook and refuses (LS-10), or there is
 * none.
 */
bool sp_subscriber_refuses(sp_subscriber *subscriber, sp_thread_block *thread,
                           const spool_enabled_query *query, uint32_t processors);

/* Whether waiting on this thread could be waiting for itself: a hook, an exporter, the runtime. */
bool sp_thread_must_not_wait(void);

/* One call on a tracer or logger found no SDK: counted when there was one before. */
SP_COLD void sp_count_after_shutdown(const sp_source *source);

/* The cached verdicts of all callsites are to be renewed. */
void sp_callsites_expire(void);

#endif /* SPOOL_SDK_SUBSCRIBER_SUBSCRIBER_H */
