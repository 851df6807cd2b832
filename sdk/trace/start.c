/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a span starts: parent, ids, sampler, slot, fields, hooks (design of a span's life, step 1).
 *
 * Owner: the starting thread holds the slot in STARTING until everything is in place; publishing it makes
 * the handle usable. While the span_start hooks run the body's phase is STARTING: an end that comes in
 * between is left to the starter (see end.c).
 *
 * A span that the filters refuse for every processor is treated as if its code were not instrumented: its
 * handle, a light slot, stands for the parent, and without a parent it is zero.
 */
#include "sdk/context/stack.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/options.h"
#include "sdk/subscriber/subscriber.h"
#include "sdk/trace/body.h"
#include "sdk/trace/span.h"

#include <spool/trace.h>

#include <string.h>

enum { ID_TRIES = 8 };

void spool_span_options_init(spool_span_options *options) {
    static const spool_span_options defaults = SPOOL_SPAN_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

/* ---- the parent ---- */

/* What a new span takes from its parent. The context is borrowed unless `owned` says otherwise. */
typedef struct parent_view {
    const spool_context *context;
    sp_trace_state *trace_state;
    bool valid;
    bool owned;
    spool_context own;
} parent_view;

static void parent_from_span(sp_thread_block *thread, spool_span span, parent_view *parent) {
    struct spool_span_context ids;
    sp_trace_state *trace_state = NULL;
    parent->owned = true;
    if (!sp_span_identity(thread, span, &ids, &trace_state)) {
        sp_misuse_count(SP_MISUSE_STALE_PARENT, 1);
        parent->own = sp_context_make(sp_context_top(thread), NULL, (spool_span){0}, NULL);
    } else {
        parent->own = sp_context_make(sp_context_top(thread), &ids, span, trace_state);
        sp_trace_state_release(trace_state);
    }
    parent->context = &parent->own;
}

static void parent_find(sp_thread_block *thread, const spool_span_options *options,
                        parent_view *parent) {
    parent->owned = false;
    if (SP_UNLIKELY(options->root)) {
        parent->own = sp_context_make(sp_context_top(thread), NULL, (spool_span){0}, NULL);
        parent->owned = true;
        parent->context = &parent->own;
    } else if (options->parent_span.bits) {
        parent_from_span(thread, options->parent_span, parent);
    } else if (options->parent) {
        parent->context = options->parent;
    } else {
        parent->context = sp_context_top(thread);
    }
    parent->valid = spool_span_context_is_valid(&parent->context->span);
    parent->trace_state = parent->valid ? sp_context_trace_state_of(parent->context) : NULL;
}

static void parent_done(parent_view *parent) {
    if (SP_UNLIKELY(parent->owned)) {
        spool_context_release(&parent->own);
    }
}

/* ---- ids ---- */

static bool is_zero(const uint8_t *id, size_t len) {
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= id[i];
    }
    return any == 0;
}

static void trace_id_make(sp_thread_block *thread, const sp_subscriber *subscriber,
                          uint8_t id[16]) {
    const spool_id_generator *generator = &subscriber->id_generator;
    unsigned tries = 0;
    do {
        if (generator->ops && tries < ID_TRIES) {
            generator->ops->trace_id(generator->self, id);
        } else {
            uint64_t words[2] = {sp_random_next(&thread->random), sp_random_next(&thread->random)};
            memcpy(id, words, 16);
        }
        tries++;
    } while (is_zero(id, 16));
}

static void span_id_make(sp_thread_block *thread, const sp_subscriber *subscriber, uint8_t id[8]) {
    const spool_id_generator *generator = &subscriber->id_generator;
    unsigned tries = 0;
    do {
        if (generator->ops && tries < ID_TRIES) {
            generator->ops->span_id(generator->self, id);
        } else {
            uint64_t word = sp_random_next(&thread->random);
            memcpy(id, &word, 8);
        }
        tries++;
    } while (is_zero(id, 8));
}

/* ---- slots ---- */

/* What a slot that is given up still holds: spill memory and a reference to its trace state. */
static void reclaim(sp_thread_block *thread, sp_slot *slot) {
    if (slot->body) {
        sp_body_fini(thread, sp_slot_body(slot));
    }
    if (slot->trace_state) {
        sp_trace_state_release(slot->trace_state);
        slot->trace_state = NULL;
    }
}

/* A slot whose contents are reclaimed when it is given up. */
static sp_slot *slot_acquire(sp_thread_block *thread, bool with_body, spool_span *out_handle) {
    /* Relaxed: setting the same function twice does no harm. */
    static _Atomic uint32_t ready;
    if (SP_UNLIKELY(!sp_load_relaxed(&ready))) {
        sp_registry_reclaims_with(reclaim);
        sp_store_relaxed(&ready, 1);
    }
    return sp_registry_acquire(thread, with_body, out_handle);
}

/*
 * A slot that only carries a context; zero without memory. `trace_state` is retained. `behind` is the
 * live span that it stands for, or zero.
 */
static spool_span light_start(sp_thread_block *thread, const struct spool_span_context *ids,
                              sp_trace_state *trace_state, spool_span behind) {
    spool_span handle = {0};
    sp_slot *slot = slot_acquire(thread, false, &handle);
    if (!slot) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return (spool_span){0};
    }
    struct spool_span_context context = *ids;
    context.remote = 0;
    sp_slot_describe(slot, &context, behind.bits ? SP_SDK_PASSED_ON : SP_NO_SDK,
                     (uint32_t)behind.bits,
                     trace_state ? sp_trace_state_retain(trace_state) : NULL);
    sp_slot_publish(slot, SP_SLOT_LIGHT);
    return handle;
}

/* The parent's own context is passed on: without an SDK (TA-32), and by a filtered span. */
static SP_NOINLINE spool_span parent_pass_on(sp_thread_block *thread, const parent_view *parent) {
    return parent->valid ? light_start(thread, &parent->context->span, parent->trace_state,
                                       sp_span_behind(parent->context->handle))
                         : (spool_span){0};
}

static SP_NOINLINE spool_span start_without_sdk(sp_thread_block *thread, const sp_source *source,
                                                const parent_view *parent) {
    sp_count_after_shutdown(source);
    return parent_pass_on(thread, parent);
}

/* ---- recorded spans ---- */

/* One start in progress. */
typedef struct span_birth {
    sp_thread_block *thread;
    sp_subscriber *subscriber;
    const sp_source *source;
    const spool_span_options *options;
    spool_str name;
    const parent_view *parent;
    struct spool_span_context ids;
    sp_trace_state *trace_state; /* a reference of its own when `own_trace_state` */
    bool own_trace_state;
    spool_sampler_result sampled;
    sp_verdict_view verdict;
} span_birth;

/* Asks the filters. False: no processor that looks at spans is to see it. */
static SP_NOINLINE bool filters_ask(span_birth *birth, const sp_filter_set *filters) {
    const spool_span_options *options = birth->options;
    sp_subscriber *subscriber = birth->subscriber;
    sp_verdict_view *verdict = &birth->verdict;
    size_t count = options->attrs ? options->attr_count : 0;
    spool_span_query query = {sizeof query,
                              birth->name,
                              &birth->source->scope->view,
                              options->attrs,
                              count,
                              options->kind,
                              0};
    if (filters->span_parts) {
        verdict->set_id = filters->id;
        verdict->own = sp_filter_conditions(filters, birth->name, options->attrs, count);
        verdict->inherited = sp_filter_matched(filters, birth->parent->context->handle);
    }
    sp_filter_question question = {&query, NULL, birth->thread,
                                   verdict->inherited | sp_filter_satisfied(filters, verdict->own),
                                   false};
    unsigned count_asked = subscriber->processor_count ? subscriber->processor_count : 1U;
    verdict->admitted = sp_filter_set_ask(filters, count_asked, &question, NULL);
    /* Without a hook for spans anywhere they are kept for their context and boxes, as ever. */
    return (verdict->admitted & subscriber->span_hooks) ||
           (subscriber->span_hooks == 0 && verdict->admitted);
}

static void ids_and_sampling(span_birth *birth) {
    const parent_view *parent = birth->parent;
    const spool_span_options *options = birth->options;
    sp_subscriber *subscriber = birth->subscriber;
    memset(&birth->ids, 0, sizeof birth->ids);
    uint8_t random_flag = 0;
    if (parent->valid) {
        memcpy(birth->ids.trace_id, parent->context->span.trace_id, 16);
        random_flag = parent->context->span.flags & SPOOL_FLAG_RANDOM;
    } else {
        trace_id_make(birth->thread, subscriber, birth->ids.trace_id);
        const spool_id_generator_ops *ids = subscriber->id_generator.ops;
        if (!ids || (ids->struct_size >= sizeof *ids && ids->random_trace_ids)) {
            random_flag = SPOOL_FLAG_RANDOM;
        }
    }
    spool_sampler_query query = {sizeof query,        parent->context, birth->ids.trace_id,
                                 birth->name,         options->kind,   options->attrs,
                                 options->attr_count, options->links,  options->link_count};
    subscriber->sampler.ops->sample(subscriber->sampler.self, &query, &birth->sampled);
    span_id_make(birth->thread, subscriber, birth->ids.span_id);
    bool sampled = birth->sampled.decision == SPOOL_DECISION_RECORD_AND_SAMPLE;
    birth->ids.flags = (uint8_t)(random_flag | (sampled ? SPOOL_FLAG_SAMPLED : 0));
    birth->trace_state = parent->trace_state;
    birth->own_trace_state = birth->sampled.set_trace_state != 0;
    if (SP_UNLIKELY(birth->own_trace_state)) {
        birth->trace_state = sp_trace_state_parse(birth->sampled.trace_state);
    }
}

/* Wall time once per local root, the monotonic clock from there (user-pain I1). */
static void times_set(const span_birth *birth, sp_body *body) {
    const spool_context *context = birth->parent->context;
    uint32_t clock = birth->subscriber->clock;
    uint64_t mono = sp_clock_mono_ns(clock);
    uint64_t wall = 0;
    if (birth->parent->valid && context->handle.bits) {
        uint64_t anchor_wall;
        uint64_t anchor_mono;
        bool found = sp_span_anchor(context->handle, &anchor_wall, &anchor_mono);
        if (SP_UNLIKELY(!found)) {
            body->parent = sp_span_behind(context->handle);
            found = body->parent.bits && body->parent.bits != context->handle.bits &&
                    sp_span_anchor(body->parent, &anchor_wall, &anchor_mono);
        }
        if (found && mono >= anchor_mono) {
            wall = anchor_wall + (mono - anchor_mono);
            sp_store_relaxed(&body->anchor_wall_ns, anchor_wall);
            sp_store_relaxed(&body->anchor_mono_ns, anchor_mono);
        }
    }
    if (!wall) {
        wall = sp_clock_wall_ns(clock);
        sp_store_relaxed(&body->anchor_wall_ns, wall);
        sp_store_relaxed(&body->anchor_mono_ns, mono);
    }
    body->start_time_ns = birth->options->start_time_ns ? birth->options->start_time_ns : wall;
}

static void attrs_add(const span_birth *birth, sp_body *body, const spool_attr *attrs,
                      size_t count) {
    const sp_wire_limits *limits = &birth->subscriber->span_attrs;
    sp_scratch *scratch = &birth->thread->scratch;
    for (size_t i = 0; attrs && i < count; i++) {
        sp_scratch_mark mark = sp_scratch_hold(scratch);
        sp_wire_field field;
        if (sp_wire_attr(scratch, SP_WIRE_SPAN_ATTRS, &attrs[i], limits, &field)) {
            sp_body_set_attr(birth->thread, body, &field, limits->attr_count);
        } else {
            body->dropped_attrs++;
        }
        sp_scratch_release(scratch, mark);
    }
}

static void links_add(const span_birth *birth, sp_body *body) {
    sp_scratch *scratch = &birth->thread->scratch;
    const spool_span_options *options = birth->options;
    for (size_t i = 0; options->links && i < options->link_count; i++) {
        sp_scratch_mark mark = sp_scratch_hold(scratch);
        sp_wire_field field;
        if (sp_wire_link(scratch, &options->links[i], &birth->subscriber->link_attrs, &field)) {
            sp_body_add_link(birth->thread, body, &field,
                             birth->subscriber->limits.span_link_count);
        } else {
            body->dropped_links++;
        }
        sp_scratch_release(scratch, mark);
    }
}

static void body_fill(const span_birth *birth, sp_body *body) {
    const spool_context *context = birth->parent->context;
    sp_scratch *scratch = &birth->thread->scratch;
    sp_body_init(body);
    /* Relaxed: sp_slot_publish() releases them. */
    sp_store_relaxed(&body->verdict.set_id, birth->verdict.set_id);
    sp_store_relaxed(&body->verdict.inherited, birth->verdict.inherited);
    sp_store_relaxed(&body->verdict.own, birth->verdict.own);
    sp_store_relaxed(&body->verdict.admitted, birth->verdict.admitted);
    body->parent = birth->parent->valid ? context->handle : (spool_span){0};
    times_set(birth, body);
    body->scope = birth->source->scope;
    body->thread = birth->thread->number;
    body->kind = (uint8_t)(birth->options->kind <= SPOOL_KIND_CONSUMER ? birth->options->kind
                                                                       : SPOOL_KIND_INTERNAL);
    if (birth->parent->valid) {
        body->has_parent = 1;
        memcpy(body->parent_span_id, context->span.span_id, 8);
    }
    sp_scratch_mark mark = sp_scratch_hold(scratch);
    (void)sp_body_set_name(birth->thread, body,
                           sp_wire_text_of(scratch, birth->name, SPOOL_NO_LIMIT, "span name"));
    sp_scratch_release(scratch, mark);
    attrs_add(birth, body, birth->options->attrs, birth->options->attr_count);
    attrs_add(birth, body, birth->sampled.attrs, birth->sampled.attr_count);
    links_add(birth, body);
}

/* Runs the span_start hooks; the span is published, and an end that comes now waits. */
static void start_hooks_run(const span_birth *birth, sp_slot *slot, spool_span handle) {
    sp_thread_block *thread = birth->thread;
    sp_subscriber *subscriber = birth->subscriber;
    if (sp_hooks_enter(thread)) {
        for (unsigned i = 0; i < subscriber->span_start.count; i++) {
            unsigned index = subscriber->span_start.index[i];
            const spool_processor *processor = &subscriber->processors[index];
            if (SP_LIKELY(birth->verdict.admitted >> index & 1)) {
                processor->ops->span_start(processor->self, sp_record_for(slot, index),
                                           birth->parent->context);
            }
        }
        sp_hooks_leave(thread);
    }
    sp_body *body = sp_slot_body(slot);
    /* Acquire-release pairs with the exchange in sp_span_finish(): one of the two ends the span. */
    if (sp_exchange_acq_rel(&body->phase, SP_PHASE_QUIET) == SP_PHASE_END_WAITS) {
        sp_span_finish_waiting(thread, slot, handle);
    }
}

static spool_span record_start(span_birth *birth) {
    sp_thread_block *thread = birth->thread;
    sp_subscriber *subscriber = birth->subscriber;
    spool_span handle = {0};
    sp_slot *slot = slot_acquire(thread, true, &handle);
    if (SP_UNLIKELY(!slot)) {
        sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                        SP_COUNT_NOT_RECORDED);
        return light_start(thread, &birth->ids, birth->trace_state, (spool_span){0});
    }
    struct spool_span_context context = birth->ids;
    context.remote = birth->parent->valid && birth->parent->context->span.remote;
    sp_slot_describe(slot, &context, subscriber->index, subscriber->epoch,
                     birth->trace_state ? sp_trace_state_retain(birth->trace_state) : NULL);
    sp_body *body = sp_slot_body(slot);
    body_fill(birth, body);
    bool has_hooks = subscriber->span_start.count != 0;
    if (has_hooks) {
        /* Relaxed: sp_slot_publish() releases it. */
        sp_store_relaxed(&body->phase, SP_PHASE_STARTING);
    }
    sp_slot_publish(slot, SP_SLOT_LIVE);
    if (has_hooks) {
        start_hooks_run(birth, slot, handle);
    }
    return handle;
}

static spool_span start_with_sdk(span_birth *birth) {
    sp_thread_block *thread = birth->thread;
    sp_subscriber *subscriber = birth->subscriber;
    spool_span handle;
    sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                    SP_COUNT_CREATED);
    const sp_filter_set *filters = sp_filters_of(subscriber);
    if (SP_UNLIKELY(filters != NULL) && !filters_ask(birth, filters)) {
        sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                        SP_COUNT_FILTERED);
        return parent_pass_on(thread, birth->parent);
    }
    ids_and_sampling(birth);
    if (birth->sampled.decision == SPOOL_DECISION_DROP) {
        sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                        SP_COUNT_NOT_RECORDED);
        handle = light_start(thread, &birth->ids, birth->trace_state, (spool_span){0});
    } else if (SP_UNLIKELY(!sp_subscriber_span_hooks(subscriber))) {
        /* Nobody to record it for; its ids still go into records and headers. */
        sp_counters_add(thread, subscriber->index, subscriber->epoch, SPOOL_SIGNAL_SPANS,
                        SP_COUNT_FILTERED);
        handle = light_start(thread, &birth->ids, birth->trace_state, (spool_span){0});
    } else {
        handle = record_start(birth);
    }
    if (SP_UNLIKELY(birth->own_trace_state)) {
        sp_trace_state_release(birth->trace_state);
    }
    return handle;
}

spool_span spool_span_start_n(spool_tracer *tracer, spool_str name,
                              const spool_span_options *options) {
    spool_span_options given = SPOOL_SPAN_OPTIONS_INIT;
    sp_thread_block *thread = sp_thread();
    if (SP_UNLIKELY(!thread)) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return (spool_span){0};
    }
    if (options && SP_LIKELY(options->struct_size == sizeof given)) {
        given = *options;
    } else if (options) {
        (void)sp_options_read(&given, sizeof given, options);
    }
    parent_view parent;
    parent_find(thread, &given, &parent);
    sp_subscriber *subscriber = NULL;
    if (tracer && !thread->suppressed) {
        subscriber = sp_pin(thread, tracer->source.cell, tracer->source.epoch);
        if (subscriber && SP_UNLIKELY(sp_load_relaxed(&subscriber->state) != SP_SDK_OPEN)) {
            sp_unpin(thread);
            subscriber = NULL;
        }
    }
    spool_span handle;
    if (SP_LIKELY(subscriber != NULL)) {
        span_birth birth;
        birth.thread = thread;
        birth.subscriber = subscriber;
        birth.source = &tracer->source;
        birth.options = &given;
        birth.name = name;
        birth.parent = &parent;
        birth.sampled = (spool_sampler_result){0};
        birth.verdict = (sp_verdict_view){.admitted = SP_ADMIT_ALL};
        handle = start_with_sdk(&birth);
        sp_unpin(thread);
    } else {
        static const sp_source none = {0};
        handle = start_without_sdk(thread, tracer ? &tracer->source : &none, &parent);
    }
    parent_done(&parent);
    return handle;
}
