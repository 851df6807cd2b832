/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: their life, combinations, and how they are asked. See filter.h; parsing is in directive.c. */
#include "sdk/subscriber/filter.h"

#include "sdk/platform/options.h"
#include "sdk/subscriber/subscriber.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

spool_filter *sp_filter_make(uint32_t kind) {
    spool_filter *filter = calloc(1, sizeof *filter);
    if (filter) {
        atomic_init(&filter->references, 1);
        filter->kind = kind;
        filter->leaves = 1;
        filter->depth = 1;
    }
    return filter;
}

spool_filter *spool_filter_copy(const spool_filter *filter) {
    /* The count is the one part of a filter that changes. */
    spool_filter *counted = (spool_filter *)(uintptr_t)filter;
    if (counted) {
        /* Relaxed: the caller has a reference already. */
        (void)sp_add_relaxed(&counted->references, 1);
    }
    return counted;
}

/* Recursion ends: trees are at most SP_FILTER_DEPTH deep. */
void spool_filter_release(spool_filter *filter) {
    /* Acquire-release: what other holders did with it comes before the end. */
    if (!filter || sp_sub_acq_rel(&filter->references, 1) != 1) {
        return;
    }
    spool_filter_release(filter->parts[0]);
    spool_filter_release(filter->parts[1]);
    if (filter->kind == SP_FILTER_CUSTOM && filter->ops.destroy) {
        filter->ops.destroy(filter->self);
    }
    sp_arena_fini(&filter->arena);
    free(filter);
}

spool_status spool_filter_create_custom(const spool_filter_ops *ops, void *self,
                                        spool_filter **out_filter) {
    spool_filter_ops given = {0};
    if (!ops || !out_filter || !sp_options_read(&given, sizeof given, ops)) {
        return SPOOL_ERR_INVALID;
    }
    spool_filter *filter = sp_filter_make(SP_FILTER_CUSTOM);
    if (!filter) {
        return SPOOL_ERR_NOMEM;
    }
    filter->ops = given;
    filter->self = self;
    *out_filter = filter;
    return SPOOL_OK;
}

/* `b` is NULL for a NOT. */
static spool_status combine(uint32_t kind, const spool_filter *a, const spool_filter *b,
                            spool_filter **out_filter) {
    static const spool_filter none = {0};
    if (!a || !out_filter || (!b && kind != SP_FILTER_NOT)) {
        return SPOOL_ERR_INVALID;
    }
    const spool_filter *second = b ? b : &none;
    uint32_t depth = (a->depth > second->depth ? a->depth : second->depth) + 1;
    if (depth > SP_FILTER_DEPTH || a->leaves + second->leaves > SP_FILTER_LEAVES ||
        a->span_parts + second->span_parts > SP_FILTER_SPAN_PARTS ||
        a->conditions + second->conditions > SP_FILTER_CONDITIONS) {
        return SPOOL_ERR_LIMIT;
    }
    spool_filter *filter = sp_filter_make(kind);
    if (!filter) {
        return SPOOL_ERR_NOMEM;
    }
    filter->leaves = a->leaves + second->leaves;
    filter->depth = depth;
    filter->span_parts = a->span_parts + second->span_parts;
    filter->conditions = a->conditions + second->conditions;
    filter->parts[0] = spool_filter_copy(a);
    filter->parts[1] = spool_filter_copy(b);
    *out_filter = filter;
    return SPOOL_OK;
}

spool_status spool_filter_and(const spool_filter *a, const spool_filter *b,
                              spool_filter **out_filter) {
    return combine(SP_FILTER_AND, a, b, out_filter);
}

spool_status spool_filter_or(const spool_filter *a, const spool_filter *b,
                             spool_filter **out_filter) {
    return combine(SP_FILTER_OR, a, b, out_filter);
}

spool_status spool_filter_not(const spool_filter *a, spool_filter **out_filter) {
    return combine(SP_FILTER_NOT, a, NULL, out_filter);
}

/* ---- lists ---- */

static bool is_prefix(spool_str prefix, spool_str text) {
    return prefix.len <= text.len &&
           (prefix.len == 0 || memcmp(prefix.ptr, text.ptr, prefix.len) == 0);
}

static bool level_admits(int32_t level, int32_t severity) {
    return level != SP_LEVEL_OFF && (severity == 0 || severity >= level);
}

/* The level that scopes alone decide; -1 when no directive matches. */
static int32_t plain_level(const spool_filter *filter, spool_str scope) {
    for (uint32_t i = filter->span_parts; i < filter->directive_count; i++) {
        if (is_prefix(filter->directives[i].scope, scope)) {
            return filter->directives[i].level;
        }
    }
    return -1;
}

static unsigned yes_or_no(bool yes) {
    return yes ? SP_ANSWER_YES : SP_ANSWER_NO;
}

static unsigned list_ask_log(const spool_filter *filter, const sp_filter_question *question,
                             uint32_t first) {
    int32_t severity = question->log->severity;
    spool_str scope = question->log->scope->name;
    int32_t level = plain_level(filter, scope);
    unsigned plain = yes_or_no(level >= 0 && level_admits(level, severity));
    for (uint32_t i = 0; i < filter->span_parts; i++) {
        const sp_directive *directive = &filter->directives[i];
        bool may_hold = question->lasting || (question->matched >> (first + i) & 1);
        if (!may_hold || !is_prefix(directive->scope, scope)) {
            continue;
        }
        unsigned answer = yes_or_no(level_admits(directive->level, severity));
        if (!question->lasting) {
            return answer;
        }
        if (answer != plain) {
            return SP_ANSWER_ASK;
        }
    }
    return plain;
}

static unsigned list_ask_span(const spool_filter *filter, const sp_filter_question *question,
                              uint32_t first) {
    spool_str scope = question->span->scope->name;
    if (plain_level(filter, scope) != SP_LEVEL_OFF) {
        return SP_ANSWER_YES;
    }
    for (uint32_t i = 0; i < filter->span_parts; i++) {
        const sp_directive *directive = &filter->directives[i];
        bool may_hold = question->lasting || (question->matched >> (first + i) & 1);
        if (may_hold && directive->level != SP_LEVEL_OFF && is_prefix(directive->scope, scope)) {
            return question->lasting ? SP_ANSWER_ASK : SP_ANSWER_YES;
        }
    }
    return SP_ANSWER_NO;
}

/* ---- functions ---- */

static unsigned custom_ask(const spool_filter *filter, const sp_filter_question *question) {
    const spool_filter_ops *ops = &filter->ops;
    if (question->span ? !ops->span : !ops->log) {
        return SP_ANSWER_YES;
    }
    if (question->lasting && (question->span || !ops->log_by_severity_and_scope)) {
        return SP_ANSWER_ASK;
    }
    if (!sp_hooks_enter(question->thread)) {
        return SP_ANSWER_NO;
    }
    bool yes = question->span ? ops->span(filter->self, question->span)
                              : ops->log(filter->self, question->log);
    sp_hooks_leave(question->thread);
    return yes_or_no(yes);
}

/* ---- trees ---- */

unsigned sp_filter_ask(const spool_filter *filter, const sp_filter_question *question,
                       uint32_t first) {
    if (filter->kind == SP_FILTER_LIST) {
        return question->span ? list_ask_span(filter, question, first)
                              : list_ask_log(filter, question, first);
    }
    if (filter->kind == SP_FILTER_CUSTOM) {
        return custom_ask(filter, question);
    }
    unsigned a = sp_filter_ask(filter->parts[0], question, first);
    if (filter->kind == SP_FILTER_NOT) {
        return SP_ANSWER_YES - a;
    }
    /* What leaves the answer open to the second part, and how the two are joined. */
    bool both = filter->kind == SP_FILTER_AND;
    if (a == (both ? SP_ANSWER_NO : SP_ANSWER_YES)) {
        return a;
    }
    unsigned b = sp_filter_ask(filter->parts[1], question, first + filter->parts[0]->span_parts);
    return (both ? a < b : a > b) ? a : b;
}
