/* SPDX-License-Identifier: Apache-2.0 */
/* Tracers: a scope and the way to its subscriber. */
#include "sdk/subscriber/subscriber.h"

#include <spool/trace.h>

static spool_tracer *tracer_of(sp_source *source) {
    /* A tracer is its source and nothing else. */
    return (spool_tracer *)(void *)source;
}

spool_tracer *spool_tracer_get_n(spool_str name, spool_str version) {
    spool_scope scope = {.name = name, .version = version};
    return tracer_of(sp_source_get(NULL, &scope));
}

spool_tracer *spool_tracer_get(const char *name, const char *version) {
    return spool_tracer_get_n(spool_str_of(name), spool_str_of(version));
}

spool_tracer *spool_tracer_get_scope(const spool_scope *scope) {
    return tracer_of(sp_source_get(NULL, scope));
}

spool_tracer *spool_sdk_tracer(spool_sdk *sdk, const spool_scope *scope) {
    return tracer_of(sp_source_get(sdk, scope));
}

bool spool_tracer_enabled(spool_tracer *tracer) {
    sp_thread_block *thread = sp_thread();
    if (!tracer || !thread) {
        return false;
    }
    sp_subscriber *subscriber = sp_pin(thread, tracer->source.cell, tracer->source.epoch);
    if (!subscriber) {
        return false;
    }
    bool enabled = false;
    /* Any hook that sees spans makes them worth starting (TS-09). */
    if (sp_load_relaxed(&subscriber->state) == SP_SDK_OPEN) {
        uint32_t hooks = sp_subscriber_span_hooks(subscriber);
        const sp_filter_set *filters = sp_filters_of(subscriber);
        if (filters) {
            spool_span_query about = {.struct_size = sizeof about,
                                      .scope = &tracer->source.scope->view};
            sp_filter_question question = {&about, NULL, thread, 0, true};
            hooks &= sp_filter_set_ask(filters, subscriber->processor_count, &question, NULL);
        }
        spool_enabled_query query = {.struct_size = sizeof query,
                                     .signal = SPOOL_SIGNAL_SPANS,
                                     .scope = &tracer->source.scope->view};
        static const struct spool_span_context none = {0};
        query.span = &none;
        enabled = !sp_subscriber_refuses(subscriber, thread, &query, hooks);
    }
    sp_unpin(thread);
    return enabled;
}
