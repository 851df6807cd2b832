/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters from the inside: the nodes, how they are asked, and the set of one SDK's filters.
 *
 * Owners: a spool_filter never changes but for its count of references. A set never changes; the
 * subscriber points to its present one, and a reader uses it under its pin of the subscriber alone. An
 * exchange unhooks the old set and frees it once every thread that might use it has been seen without
 * that pin; until then it stands in the subscriber's list `retired`.
 *
 * A verdict is a value: a bit for each processor. It is made once for a span (in its body) and once for
 * a record (in the emitting frame), so whatever happens in between, on this thread or another, cannot
 * change it. What span parts need to know of a span is in its body too, as bits of the set's numbering.
 */
#ifndef SPOOL_SDK_SUBSCRIBER_FILTER_H
#define SPOOL_SDK_SUBSCRIBER_FILTER_H

#include "sdk/memory/arena.h"
#include "sdk/memory/registry.h"
#include "sdk/memory/thread_block.h"
#include "sdk/platform/atomics.h"

#include <spool/ext/box.h>
#include <spool/sdk/filter.h>
#include <spool/sdk/stats.h>

enum {
    SP_FILTER_DIRECTIVES = 1024, /* in one list */
    SP_FILTER_SPAN_PARTS = 32,   /* directives with a span part in a set: bits of a word */
    SP_FILTER_CONDITIONS = 32,   /* names and attributes in them: the same */
    SP_FILTER_LEAVES = 256,
    SP_FILTER_DEPTH = 32,
    SP_LEVEL_OFF = 25 /* above every severity */
};
#define SP_ADMIT_ALL UINT32_C(0xffff)

/* `key` or `key=value` in a span part. */
typedef struct sp_filter_field {
    spool_str key;
    spool_str text; /* ptr NULL: the key is enough */
    bool is_integer, is_number;
    int64_t integer;
    double number;
} sp_filter_field;

typedef struct sp_directive {
    spool_str scope;
    spool_str span; /* ptr NULL: no name */
    const sp_filter_field *fields;
    uint32_t field_count;
    int32_t level; /* SPOOL_SEVERITY_*, or SP_LEVEL_OFF */
} sp_directive;

static inline bool sp_directive_has_span(const sp_directive *directive) {
    return directive->span.ptr || directive->field_count;
}

enum {
    SP_FILTER_LIST = 0,
    SP_FILTER_CUSTOM = 1,
    SP_FILTER_AND = 2,
    SP_FILTER_OR = 3,
    SP_FILTER_NOT = 4
};

struct spool_filter {
    _Atomic uint32_t references;
    uint32_t kind; /* SP_FILTER_LIST .. */
    /* Of the tree from here down: */
    uint32_t leaves;
    uint32_t depth;
    uint32_t span_parts;
    uint32_t conditions;
    /* A list: sorted, the most specific first; those with a span part come first. */
    sp_arena arena;
    const sp_directive *directives;
    uint32_t directive_count;
    /* A custom one: */
    spool_filter_ops ops;
    void *self;
    /* A combination: */
    spool_filter *parts[2];
};

/* A node with one reference, or NULL without memory. */
spool_filter *sp_filter_make(uint32_t kind);

/*
 * Parses a list. `origin` names it in diagnostics. `lenient`: a bad part is left out; if none is left,
 * *out_filter is NULL and the status SPOOL_OK.
 */
spool_status sp_filter_parse(const char *text, const char *origin, bool lenient,
                             spool_filter **out_filter) SP_SHARED("filter_parse");

/* ---- asking ---- */

enum { SP_ANSWER_NO = 0, SP_ANSWER_ASK = 1, SP_ANSWER_YES = 2 };

/* A question about a span or a log record (the other is NULL). */
typedef struct sp_filter_question {
    const spool_span_query *span;
    const spool_log_query *log;
    sp_thread_block *thread;
    uint32_t matched; /* span parts that hold, by the set's numbers */
    bool lasting;     /* about all spans or records of the scope (and severity): ASK is an answer */
} sp_filter_question;

/* `first` is the number of the tree's first span part in its set. Never ASK unless `lasting`. */
unsigned sp_filter_ask(const spool_filter *filter, const sp_filter_question *question,
                       uint32_t first);

/* ---- the filters of one SDK ---- */

typedef struct sp_filter_condition {
    spool_str span;               /* the name, when `field` is NULL */
    const sp_filter_field *field; /* or the attribute */
} sp_filter_condition;

typedef struct sp_filter_set {
    uint32_t id; /* unique in the process; not 0 */
    uint32_t span_parts;
    uint32_t condition_count;
    sp_filter_condition conditions[SP_FILTER_CONDITIONS];
    uint32_t needs[SP_FILTER_SPAN_PARTS]; /* of each span part: its conditions */
    spool_filter *all;                    /* references; NULL: none */
    spool_filter *own[SPOOL_STATS_MAX_PROCESSORS];
    uint32_t own_first[SPOOL_STATS_MAX_PROCESSORS];
    struct sp_filter_set *next; /* in the list of retired sets */
} sp_filter_set;

/* What a span's body keeps; its first member. Read by anybody with the handle, see sp_verdict_read(). */
typedef struct sp_span_verdict {
    _Atomic uint32_t set_id;    /* whose numbers the next two are; 0: none */
    _Atomic uint32_t inherited; /* span parts that hold for an ancestor */
    _Atomic uint32_t own;       /* conditions that the span itself meets */
    _Atomic uint32_t admitted;  /* processors, a bit each; constant once published */
} sp_span_verdict;

/* In slot->sdk of a light span that was filtered: it stands for its parent, whose place is in sdk_epoch. */
enum { SP_SDK_PASSED_ON = 0xfffe };

/* The span that a handle stands for: itself, or the live parent that a filtered span passes on. */
spool_span sp_span_behind(spool_span span);
/* A copy of a live span's verdict; false when the handle is stale, or not recorded. */
typedef struct sp_verdict_view {
    uint32_t set_id, inherited, own, admitted;
} sp_verdict_view;
bool sp_verdict_read(spool_span span, sp_verdict_view *out_view);

struct spool_sdk;
/*
 * The nearest span from this one up that the processor admitted, of this SDK, pinned: for the processor's
 * look-ups. NULL when there is none, or a span in between has ended. Part of the trace layer.
 */
spool_span_record *sp_span_pin_admitted(spool_span span, const struct spool_sdk *subscriber,
                                        unsigned processor);

/* The span parts of the set that hold inside the span. */
uint32_t sp_filter_matched(const sp_filter_set *set, spool_span span);
/* The same for conditions that a span meets by itself. */
uint32_t sp_filter_satisfied(const sp_filter_set *set, uint32_t own);
/* The conditions that a span with this name and these attributes meets. */
uint32_t sp_filter_conditions(const sp_filter_set *set, spool_str name, const spool_attr *attrs,
                              size_t count);
/* `own` after an attribute was set: last write wins. */
uint32_t sp_filter_condition_update(const sp_filter_set *set, uint32_t own, const spool_attr *attr);

/* The processors, of `count`, that admit; with *out_ask (lasting questions): those that may. */
uint32_t sp_filter_set_ask(const sp_filter_set *set, unsigned count,
                           const sp_filter_question *question, uint32_t *out_ask);

/* A set; `own` may be NULL. *out_set is NULL when there is no filter at all. */
spool_status sp_filter_set_make(const spool_filter *all, const spool_filter *const *own,
                                size_t count, sp_filter_set **out_set);
/* Frees a list of sets. Runs destroy functions of filters: no lock may be held. */
void sp_filter_sets_free(sp_filter_set *sets);

#endif /* SPOOL_SDK_SUBSCRIBER_FILTER_H */
