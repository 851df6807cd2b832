/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters of one SDK: numbering of span parts and conditions, verdicts, and the exchange while
 * running. See filter.h for owners and the closing protocol.
 */
#include "sdk/platform/clock.h"
#include "sdk/resource/copy.h"
#include "sdk/subscriber/filter.h"
#include "sdk/subscriber/subscriber.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGE_WAIT_MS = 1000 };

/* ---- what a span meets ---- */

static bool digits_equal(spool_str text, uint64_t number) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    return text.len == (size_t)len && memcmp(text.ptr, digits, text.len) == 0;
}

static bool value_meets(const sp_filter_field *field, const spool_value *value) {
    if (!field->text.ptr) {
        return true;
    }
    switch (value->type) {
    case SPOOL_VALUE_STRING:
        return sp_text_equals(field->text, value->as.string);
    case SPOOL_VALUE_BOOL:
        return sp_text_equals(field->text,
                              value->as.boolean ? SPOOL_STR("true") : SPOOL_STR("false"));
    case SPOOL_VALUE_INT:
        return field->is_integer && field->integer == value->as.integer;
    case SPOOL_VALUE_UINT:
        return digits_equal(field->text, value->as.unsigned_integer);
    case SPOOL_VALUE_DOUBLE:
        return field->is_number && !(field->number < value->as.number) &&
               !(field->number > value->as.number) && value->as.number - value->as.number == 0;
    default:
        return false;
    }
}

uint32_t sp_filter_condition_update(const sp_filter_set *set, uint32_t own,
                                    const spool_attr *attr) {
    if (!attr->key.ptr || !attr->key.len) {
        return own;
    }
    for (uint32_t i = 0; i < set->condition_count; i++) {
        const sp_filter_field *field = set->conditions[i].field;
        if (field && sp_text_equals(field->key, attr->key)) {
            uint32_t bit = UINT32_C(1) << i;
            own = value_meets(field, &attr->value) ? own | bit : own & ~bit;
        }
    }
    return own;
}

uint32_t sp_filter_conditions(const sp_filter_set *set, spool_str name, const spool_attr *attrs,
                              size_t count) {
    uint32_t own = 0;
    for (uint32_t i = 0; i < set->condition_count; i++) {
        if (!set->conditions[i].field && sp_text_equals(set->conditions[i].span, name)) {
            own |= UINT32_C(1) << i;
        }
    }
    for (size_t i = 0; attrs && i < count; i++) {
        own = sp_filter_condition_update(set, own, &attrs[i]);
    }
    return own;
}

uint32_t sp_filter_satisfied(const sp_filter_set *set, uint32_t own) {
    uint32_t satisfied = 0;
    for (uint32_t i = 0; own && i < set->span_parts; i++) {
        if ((own & set->needs[i]) == set->needs[i]) {
            satisfied |= UINT32_C(1) << i;
        }
    }
    return satisfied;
}

uint32_t sp_filter_matched(const sp_filter_set *set, spool_span span) {
    sp_verdict_view view;
    if (set->span_parts == 0 || span.bits == 0 || !sp_verdict_read(span, &view) ||
        view.set_id != set->id) {
        return 0;
    }
    return view.inherited | sp_filter_satisfied(set, view.own);
}

spool_span sp_span_behind(spool_span span) {
    sp_slot_view view;
    if (span.bits == 0 || !sp_slot_read(span, &view) || view.sdk != SP_SDK_PASSED_ON) {
        return span;
    }
    sp_slot *slot = sp_registry_slot((spool_span){view.sdk_epoch});
    spool_span parent = slot ? sp_slot_handle(slot) : (spool_span){0};
    sp_slot_view behind;
    /* The slot may have another tenant by now: the ids tell. */
    if (!slot || !sp_slot_read(parent, &behind) ||
        memcmp(behind.context.span_id, view.context.span_id, 8) != 0 ||
        memcmp(behind.context.trace_id, view.context.trace_id, 16) != 0) {
        return (spool_span){0};
    }
    return parent;
}

/* Kept from ThreadSanitizer for the reasons of sp_slot_read(), which it resembles. */
__attribute__((no_sanitize("thread"))) bool sp_verdict_read(spool_span span,
                                                            sp_verdict_view *out_view) {
    span = sp_span_behind(span);
    sp_slot *slot = span.bits ? sp_registry_slot(span) : NULL;
    /* Acquire pairs with sp_slot_publish(): the verdict was written before. */
    uint64_t word = slot ? sp_load_acquire(&slot->word) : 0;
    unsigned state = (unsigned)((word & SP_WORD_STATE) >> SP_WORD_STATE_SHIFT);
    if (!slot || ((word ^ span.bits) & SP_WORD_GENERATION) || !slot->body || state < SP_SLOT_LIVE ||
        state > SP_SLOT_ENDED) {
        return false;
    }
    const sp_span_verdict *verdict = (const sp_span_verdict *)(const void *)slot->body;
    out_view->set_id = sp_load_relaxed(&verdict->set_id);
    out_view->inherited = sp_load_relaxed(&verdict->inherited);
    out_view->own = sp_load_relaxed(&verdict->own);
    out_view->admitted = sp_load_relaxed(&verdict->admitted);
    /* The same generation before and after: what was read belongs to this span. */
    sp_fence_acquire();
    return ((sp_load_relaxed(&slot->word) ^ span.bits) & SP_WORD_GENERATION) == 0;
}

/* ---- verdicts ---- */

uint32_t sp_filter_set_ask(const sp_filter_set *set, unsigned count,
                           const sp_filter_question *question, uint32_t *out_ask) {
    uint32_t admitted = 0;
    uint32_t ask = 0;
    unsigned all = set->all ? sp_filter_ask(set->all, question, 0) : SP_ANSWER_YES;
    for (unsigned i = 0; i < count && all != SP_ANSWER_NO; i++) {
        unsigned answer = all;
        if (set->own[i]) {
            unsigned own = sp_filter_ask(set->own[i], question, set->own_first[i]);
            answer = own < all ? own : all;
        }
        admitted |= answer == SP_ANSWER_NO ? 0 : UINT32_C(1) << i;
        ask |= answer == SP_ANSWER_ASK ? UINT32_C(1) << i : 0;
    }
    if (out_ask) {
        *out_ask = ask;
    }
    return admitted;
}

/* ---- making ---- */

/* Numbers the span parts of a tree in the order in which sp_filter_ask() counts them. */
static void number_tree(sp_filter_set *set, const spool_filter *filter) {
    if (filter->kind != SP_FILTER_LIST) {
        for (unsigned i = 0; i < 2; i++) {
            if (filter->parts[i]) {
                number_tree(set, filter->parts[i]);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < filter->span_parts; i++) {
        const sp_directive *directive = &filter->directives[i];
        uint32_t needs = 0;
        if (directive->span.ptr) {
            needs |= UINT32_C(1) << set->condition_count;
            set->conditions[set->condition_count++].span = directive->span;
        }
        for (uint32_t j = 0; j < directive->field_count; j++) {
            needs |= UINT32_C(1) << set->condition_count;
            set->conditions[set->condition_count++].field = &directive->fields[j];
        }
        set->needs[set->span_parts++] = needs;
    }
}

spool_status sp_filter_set_make(const spool_filter *all, const spool_filter *const *own,
                                size_t count, sp_filter_set **out_set) {
    static _Atomic uint32_t last_id;
    uint32_t span_parts = all ? all->span_parts : 0;
    uint32_t conditions = all ? all->conditions : 0;
    bool any = all != NULL;
    for (size_t i = 0; own && i < count; i++) {
        any = any || own[i];
        span_parts += own[i] ? own[i]->span_parts : 0;
        conditions += own[i] ? own[i]->conditions : 0;
    }
    if (span_parts > SP_FILTER_SPAN_PARTS || conditions > SP_FILTER_CONDITIONS) {
        return SPOOL_ERR_LIMIT;
    }
    sp_filter_set *set = any ? calloc(1, sizeof *set) : NULL;
    if (any && !set) {
        return SPOOL_ERR_NOMEM;
    }
    if (set) {
        do {
            set->id = sp_add_relaxed(&last_id, 1) + 1;
        } while (set->id == 0);
        set->all = spool_filter_copy(all);
        if (all) {
            number_tree(set, all);
        }
    }
    for (size_t i = 0; set && own && i < count; i++) {
        set->own[i] = spool_filter_copy(own[i]);
        set->own_first[i] = set->span_parts;
        if (own[i]) {
            number_tree(set, own[i]);
        }
    }
    *out_set = set;
    return SPOOL_OK;
}

void sp_filter_sets_free(sp_filter_set *sets) {
    while (sets) {
        sp_filter_set *next = sets->next;
        spool_filter_release(sets->all);
        for (unsigned i = 0; i < SPOOL_STATS_MAX_PROCESSORS; i++) {
            spool_filter_release(sets->own[i]);
        }
        free(sets);
        sets = next;
    }
}

/* ---- exchange ---- */

static pthread_mutex_t exchange_lock = PTHREAD_MUTEX_INITIALIZER;

/* The present set with one filter replaced: `place` -1 is the one for all. Under the lock. */
static spool_status exchange(sp_subscriber *sdk, long place, const spool_filter *filter) {
    /* Relaxed: sets are exchanged under the lock alone. */
    sp_filter_set *old = sp_load_relaxed(&sdk->filters);
    const spool_filter *all = old ? old->all : NULL;
    const spool_filter *own[SPOOL_STATS_MAX_PROCESSORS] = {NULL};
    for (unsigned i = 0; old && i < sdk->processor_count; i++) {
        own[i] = old->own[i];
    }
    if (place < 0) {
        all = filter;
    } else {
        own[place] = filter;
    }
    sp_filter_set *made;
    spool_status status = sp_filter_set_make(all, own, sdk->processor_count, &made);
    if (status == SPOOL_OK) {
        /* Release: the set; partners: the acquires of sp_filters_of(). */
        sp_store_release(&sdk->filters, made);
        if (old) {
            old->next = sdk->retired;
            sdk->retired = old;
        }
    }
    return status;
}

/* Frees the sets that were unhooked before the call, if nobody can be using them any more. */
static void retired_free(sp_subscriber *sdk) {
    pthread_mutex_lock(&exchange_lock);
    sp_filter_set *sets = sdk->retired;
    sdk->retired = NULL;
    pthread_mutex_unlock(&exchange_lock);
    if (sets && sp_pins_passed_wait(sdk, sp_deadline_after_ms(EXCHANGE_WAIT_MS))) {
        sp_filter_sets_free(sets);
        return;
    }
    sp_filter_set *last = sets;
    while (last && last->next) {
        last = last->next;
    }
    if (last) {
        pthread_mutex_lock(&exchange_lock);
        last->next = sdk->retired;
        sdk->retired = sets;
        pthread_mutex_unlock(&exchange_lock);
    }
}

static spool_status filter_set(spool_sdk *sdk, long place, const spool_filter *filter) {
    if (sp_load_acquire(&sdk->state) != SP_SDK_OPEN) {
        return SPOOL_ERR_SHUTDOWN;
    }
    pthread_mutex_lock(&exchange_lock);
    spool_status status = exchange(sdk, place, filter);
    pthread_mutex_unlock(&exchange_lock);
    if (status != SPOOL_OK) {
        return status;
    }
    sp_callsites_expire();
    /* Inside a hook the caller may be using the old set itself: a later exchange frees it. */
    if (!sp_thread_must_not_wait()) {
        retired_free(sdk);
    }
    return SPOOL_OK;
}

spool_status spool_sdk_set_filter(spool_sdk *sdk, const spool_filter *filter) {
    sdk = sdk ? sdk : spool_sdk_default();
    return sdk ? filter_set(sdk, -1, filter) : SPOOL_ERR_INVALID;
}

spool_status spool_sdk_set_processor_filter(spool_sdk *sdk, size_t processor,
                                            const spool_filter *filter) {
    sdk = sdk ? sdk : spool_sdk_default();
    if (!sdk || processor >= sdk->processor_count) {
        return SPOOL_ERR_INVALID;
    }
    return filter_set(sdk, (long)processor, filter);
}
