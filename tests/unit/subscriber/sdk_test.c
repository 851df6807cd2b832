/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an SDK: create, hooks, flush, shutdown, free, and what is counted meanwhile. */
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

#include <criterion/criterion.h>
#include <string.h>

/* A processor that writes down the order of its calls, and what a test wants done inside a hook. */
typedef struct witness {
    char calls[256];
    void (*in_start)(spool_span span);
    void (*in_end)(spool_span_record *span);
    spool_status status;
} witness;

static void note(witness *self, const char *call) {
    strncat(self->calls, call, sizeof self->calls - strlen(self->calls) - 1);
}

static void span_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)parent;
    witness *of = self;
    note(of, "S");
    if (of->in_start) {
        of->in_start(spool_span_record_handle(span));
    }
}
static void span_ending(void *self, spool_span_record *span) {
    note(self, "e");
    spool_span_set(spool_span_record_handle(span), spool_bool("ending", true));
}
static void span_end(void *self, spool_span_record *span) {
    witness *of = self;
    note(of, "E");
    spool_span_set(spool_span_record_handle(span), spool_bool("too.late", true));
    if (of->in_end) {
        of->in_end(span);
    }
}
static void span_enter(void *self, spool_span span) {
    (void)span;
    note(self, "(");
}
static void span_exit(void *self, spool_span span) {
    (void)span;
    note(self, ")");
}
static void log_emit(void *self, spool_log_data *log) {
    (void)log;
    note(self, "L");
}
static spool_status flush(void *self, uint64_t deadline_ns, spool_report *report) {
    (void)deadline_ns;
    (void)report;
    note(self, "F");
    return ((witness *)self)->status;
}
static spool_status shutdown_hook(void *self, uint64_t deadline_ns, spool_report *report) {
    (void)deadline_ns;
    (void)report;
    note(self, "X");
    return ((witness *)self)->status;
}
static void destroy(void *self) {
    note(self, "D");
}

static const spool_processor_ops witness_ops = {
    .struct_size = sizeof witness_ops,
    .name = "witness",
    .span_start = span_start,
    .span_ending = span_ending,
    .span_end = span_end,
    .span_enter = span_enter,
    .span_exit = span_exit,
    .log_emit = log_emit,
    .flush = flush,
    .shutdown = shutdown_hook,
    .destroy = destroy,
};

static spool_sdk *create(witness *first, witness *second) {
    spool_processor processors[] = {{&witness_ops, first}, {&witness_ops, second}};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = second ? 2 : 1;
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    return sdk;
}

Test(sdk, SP_01_hooks_run_once_in_the_order_of_life) {
    witness one = {0};
    spool_sdk *sdk = create(&one, NULL);
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "s", NULL);
    spool_token token = spool_span_enter(span);
    spool_log(spool_logger_get("t", ""), 9, "l");
    spool_span_exit(token);
    spool_span_end(span);
    cr_expect_eq(spool_flush(NULL, 100, NULL), SPOOL_OK);
    cr_expect_eq(spool_shutdown(sdk, 100, NULL), SPOOL_OK);
    cr_expect_eq(spool_shutdown(sdk, 100, NULL), SPOOL_ERR_SHUTDOWN);
    cr_expect_eq(spool_flush(sdk, 100, NULL), SPOOL_ERR_SHUTDOWN);
    spool_sdk_free(sdk);
    cr_expect_str_eq(one.calls, "S(L)eEFXD");
    SPT_TEST_END;
}

static witness *order_of[2];
static void note_all(spool_span_record *span) {
    const spool_span_data *data = spool_span_record_data(span);
    cr_assert_not_null(data);
    cr_expect_not_null(spt_attr(data->attrs, data->attr_count, "ending"));
    cr_expect_null(spt_attr(data->attrs, data->attr_count, "too.late"));
    cr_expect_gt(data->end_time_ns, 0);
    /* SP-04: every span_ending before any span_end. */
    cr_expect_not_null(strchr(order_of[0]->calls, 'e'));
    cr_expect_not_null(strchr(order_of[1]->calls, 'e'));
}

Test(sdk, SP_04_a_span_changes_until_the_last_ending_hook_and_not_after) {
    witness one = {.in_end = note_all};
    witness two = {0};
    order_of[0] = &one;
    order_of[1] = &two;
    spool_sdk *sdk = create(&one, &two);
    spool_span_end(spool_span_start(spool_tracer_get("t", ""), "s", NULL));
    spool_sdk_free(sdk);
    cr_expect_str_eq(one.calls, "SeEXD");
    cr_expect_str_eq(two.calls, "SeEXD");
    SPT_TEST_END;
}

static void end_at_once(spool_span span) {
    spool_span_end(span);
    spool_span_end(span);
}

Test(sdk, an_end_inside_a_start_hook_waits_for_the_other_start_hooks) {
    witness one = {.in_start = end_at_once};
    witness two = {0};
    spool_sdk *sdk = create(&one, &two);
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "s", NULL);
    cr_expect_str_eq(two.calls, "SeE");
    cr_expect_not(spool_span_is_recording(span));
    cr_expect_eq(spt_stats(sdk).signals[0].finished, 1);
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

static spool_status flush_status, shutdown_status;
static unsigned depth_reached;
static void do_everything(spool_span span) {
    flush_status = spool_flush(NULL, 1000, NULL);
    shutdown_status = spool_shutdown(NULL, 1000, NULL);
    spool_span_set(span, spool_int("from.hook", 1));
    spool_log(spool_logger_get("t", ""), 9, "from a hook");
    if (++depth_reached < 100) {
        spool_span_end(spool_span_start(spool_tracer_get("t", ""), "nested", NULL));
    }
}

Test(sdk, hooks_may_call_everything_and_recursion_is_cut) {
    witness one = {.in_start = do_everything};
    depth_reached = 0;
    spool_sdk *sdk = create(&one, NULL);
    uint64_t before = spt_stats(sdk).hook_recursion;
    spool_span_end(spool_span_start(spool_tracer_get("t", ""), "s", NULL));
    cr_expect_eq(flush_status, SPOOL_ERR_WOULD_BLOCK);
    cr_expect_eq(shutdown_status, SPOOL_ERR_WOULD_BLOCK);
    cr_expect_lt(depth_reached, 20);
    cr_expect_gt(spt_stats(sdk).hook_recursion, before);
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(sdk, T10_the_worst_result_is_reported_and_every_processor_is_called) {
    witness one = {.status = SPOOL_ERR_EXPORT};
    witness two = {.status = SPOOL_ERR_TIMEOUT};
    spool_sdk *sdk = create(&one, &two);
    cr_expect_eq(spool_flush(sdk, 10, NULL), SPOOL_ERR_TIMEOUT);
    cr_expect_eq(spool_shutdown(sdk, 10, NULL), SPOOL_ERR_TIMEOUT);
    spool_sdk_free(sdk);
    cr_expect_str_eq(one.calls, "FXD");
    cr_expect_str_eq(two.calls, "FXD");
    SPT_TEST_END;
}

Test(sdk, a_second_default_is_refused_and_keeps_what_it_was_given) {
    witness one = {0};
    witness two = {0};
    spool_sdk *sdk = create(&one, NULL);
    spool_processor processor = {&witness_ops, &two};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *second = NULL;
    cr_expect_eq(spool_sdk_create(&options, &second), SPOOL_ERR_EXISTS);
    cr_expect_null(second);
    cr_expect_str_eq(two.calls, "");
    options.not_default = 1;
    cr_expect_eq(spool_sdk_create(&options, &second), SPOOL_OK);
    spool_scope scope = {.name = SPOOL_STR_INIT("own")};
    spool_span_end(spool_span_start(spool_sdk_tracer(second, &scope), "s", NULL));
    spool_log(spool_sdk_logger(second, &scope), 9, "l");
    cr_expect_str_eq(one.calls, "");
    cr_expect_str_eq(two.calls, "SeEL");
    cr_expect_eq(spool_sdk_tracer(second, &scope), spool_sdk_tracer(second, &scope));
    spool_tracer *orphan = spool_sdk_tracer(second, &scope);
    spool_sdk_free(second);
    cr_expect_eq(spool_span_start(orphan, "s", NULL).bits, 0);
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(sdk, create_refuses_what_was_not_initialised) {
    spool_sdk *sdk = NULL;
    spool_sdk_options options = {0};
    cr_expect_eq(spool_sdk_create(&options, &sdk), SPOOL_ERR_INVALID);
    cr_expect_eq(spool_sdk_create(NULL, NULL), SPOOL_ERR_INVALID);
    spool_processor_ops empty = {0};
    spool_processor processor = {&empty, NULL};
    spool_sdk_options_init(&options);
    options.processors = &processor;
    options.processor_count = 1;
    cr_expect_eq(spool_sdk_create(&options, &sdk), SPOOL_ERR_INVALID);
    options.processor_count = 17;
    cr_expect_eq(spool_sdk_create(&options, &sdk), SPOOL_ERR_INVALID);
    cr_expect_null(sdk);
    SPT_TEST_END;
}

Test(sdk, T06_calls_after_shutdown_are_counted_no_ops) {
    witness one = {0};
    spool_sdk *sdk = create(&one, NULL);
    spool_tracer *tracer = spool_tracer_get("t", "");
    spool_span old = spool_span_start(tracer, "live at shutdown", NULL);
    cr_expect_eq(spool_shutdown(sdk, 100, NULL), SPOOL_OK);
    uint64_t before = spt_stats(sdk).after_shutdown;
    for (unsigned i = 0; i < 10; i++) {
        cr_expect_eq(spool_span_start(tracer, "new", NULL).bits, 0);
        spool_log(spool_logger_get("t", ""), 9, "new");
    }
    cr_expect_eq(spt_stats(sdk).after_shutdown - before, 20);
    cr_expect_eq(spt_stats(sdk).signals[0].live, 1);
    spool_span_set(old, spool_int("k", 1));
    spool_span_end(old);
    cr_expect_eq(spt_stats(sdk).signals[0].finished, 1);
    cr_expect(spt_balanced(sdk));
    cr_expect_str_eq(one.calls, "SX");
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(sdk, T09_spans_that_outlive_their_sdk_are_counted_with_a_cause_of_their_own) {
    witness one = {0};
    spool_sdk *sdk = create(&one, NULL);
    enum { LIVE = 1000 };
    static spool_span spans[LIVE];
    for (unsigned i = 0; i < LIVE; i++) {
        spans[i] = spool_span_start(spool_tracer_get("t", ""), "s", NULL);
    }
    spool_sdk_free(sdk);
    struct spool_stats stats = {.struct_size = sizeof stats};
    cr_expect_eq(spool_stats(NULL, &stats), SPOOL_ERR_INVALID);
    uint64_t before = stats.released_spans;
    witness two = {0};
    sdk = create(&two, NULL);
    for (unsigned i = 0; i < LIVE; i++) {
        spool_span_end(spans[i]);
    }
    cr_expect_eq(spt_stats(sdk).released_spans - before, LIVE);
    cr_expect_str_eq(two.calls, "", "a new SDK was handed spans of the old one");
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(sdk, works_with_no_processor_at_all) {
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(NULL, &sdk), SPOOL_OK);
    cr_expect_not(spool_tracer_enabled(spool_tracer_get("t", "")));
    cr_expect_not(spool_logger_enabled(spool_logger_get("t", ""), NULL, 9, NULL));
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "s", NULL);
    spool_log(spool_logger_get("t", ""), 9, "l");
    spool_span_end(span);
    cr_expect_eq(spt_stats(sdk).signals[1].filtered, 1);
    cr_expect(spt_balanced(sdk));
    cr_expect_eq(spool_flush(sdk, 10, NULL), SPOOL_OK);
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(sdk, TA_05_a_tracer_follows_the_default_sdk) {
    spool_tracer *tracer = spool_tracer_get("early", "1");
    cr_expect_eq(spool_tracer_get("early", "1"), tracer);
    cr_expect_neq(spool_tracer_get("early", "2"), tracer);
    cr_expect_not(spool_tracer_enabled(tracer));
    witness one = {0};
    spool_sdk *sdk = create(&one, NULL);
    cr_expect(spool_tracer_enabled(tracer));
    spool_sdk_free(sdk);
    cr_expect_not(spool_tracer_enabled(tracer));
    SPT_TEST_END;
}

Test(sdk, CM_11_a_scope_is_all_four_parts_in_any_order_of_attributes) {
    spool_attr ab[] = {spool_int("a", 1), spool_int("b", 2)};
    spool_attr ba[] = {spool_int("b", 2), spool_int("a", 1)};
    spool_scope scope = {.name = SPOOL_STR_INIT("n"), .attrs = ab, .attr_count = 2};
    spool_tracer *tracer = spool_tracer_get_scope(&scope);
    scope.attrs = ba;
    cr_expect_eq(spool_tracer_get_scope(&scope), tracer);
    ba[0] = spool_int("b", 3);
    cr_expect_neq(spool_tracer_get_scope(&scope), tracer);
    cr_expect_neq(spool_tracer_get("n", ""), tracer);
    scope.schema_url = SPOOL_STR("u");
    cr_expect_neq(spool_tracer_get_scope(&scope), tracer);
    SPT_TEST_END;
}

/* ---- samplers ---- */

Test(sampler, SA_12_parent_based_asks_the_right_delegate) {
    spool_parent_based_options options = SPOOL_PARENT_BASED_OPTIONS_INIT;
    spool_sampler sampler;
    options.root = spool_sampler_always_off();
    cr_assert_eq(spool_sampler_parent_based(&options, &sampler), SPOOL_OK);
    static const struct {
        uint8_t id, flags, remote;
        unsigned expected;
    } rows[] = {{0, 0, 0, SPOOL_DECISION_DROP},
                {1, 1, 0, SPOOL_DECISION_RECORD_AND_SAMPLE},
                {1, 0, 0, SPOOL_DECISION_DROP},
                {1, 1, 1, SPOOL_DECISION_RECORD_AND_SAMPLE},
                {1, 0, 1, SPOOL_DECISION_DROP}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_context parent = SPOOL_CONTEXT_INIT;
        parent.span.trace_id[0] = rows[i].id;
        parent.span.span_id[0] = rows[i].id;
        parent.span.flags = rows[i].flags;
        parent.span.remote = rows[i].remote;
        uint8_t trace_id[16] = {1};
        spool_sampler_query query = {
            .struct_size = sizeof query, .parent = &parent, .trace_id = trace_id};
        spool_sampler_result result = {0};
        sampler.ops->sample(sampler.self, &query, &result);
        cr_expect_eq(result.decision, rows[i].expected, "row %zu", i);
    }
    cr_expect_str_eq(sampler.ops->describe(sampler.self),
                     "ParentBased{root=AlwaysOffSampler,remoteParentSampled=AlwaysOnSampler,"
                     "remoteParentNotSampled=AlwaysOffSampler,localParentSampled=AlwaysOnSampler,"
                     "localParentNotSampled=AlwaysOffSampler}");
    sampler.ops->destroy(sampler.self);
    SPT_TEST_END;
}

Test(sampler, SA_06_a_larger_ratio_samples_a_superset) {
    spool_sampler quarter, half, all, none;
    cr_assert_eq(spool_sampler_ratio(0.25, &quarter), SPOOL_OK);
    cr_assert_eq(spool_sampler_ratio(0.5, &half), SPOOL_OK);
    cr_assert_eq(spool_sampler_ratio(1.0, &all), SPOOL_OK);
    cr_assert_eq(spool_sampler_ratio(0.0, &none), SPOOL_OK);
    cr_expect_eq(spool_sampler_ratio(1.5, &quarter), SPOOL_ERR_INVALID);
    cr_expect_eq(spool_sampler_ratio(-0.1, &quarter), SPOOL_ERR_INVALID);
    cr_expect_str_eq(quarter.ops->describe(quarter.self), "TraceIdRatioBased{0.250000}");
    spt_random random = {spt_seed(3)};
    unsigned counts[4] = {0};
    enum { IDS = 20000 };
    for (unsigned i = 0; i < IDS; i++) {
        uint64_t words[2] = {spt_random_next(&random), spt_random_next(&random)};
        spool_sampler *samplers[4] = {&quarter, &half, &all, &none};
        unsigned decisions[4];
        for (unsigned s = 0; s < 4; s++) {
            spool_sampler_query query = {.struct_size = sizeof query,
                                         .trace_id = (const uint8_t *)words};
            spool_sampler_result result = {0};
            samplers[s]->ops->sample(samplers[s]->self, &query, &result);
            decisions[s] = result.decision == SPOOL_DECISION_RECORD_AND_SAMPLE;
            counts[s] += decisions[s];
        }
        cr_assert(!decisions[0] || decisions[1]);
    }
    cr_expect(counts[0] > IDS / 4 - 400 && counts[0] < IDS / 4 + 400, "%u", counts[0]);
    cr_expect(counts[1] > IDS / 2 - 400 && counts[1] < IDS / 2 + 400, "%u", counts[1]);
    cr_expect_eq(counts[2], IDS);
    cr_expect_eq(counts[3], 0);
    quarter.ops->destroy(quarter.self);
    half.ops->destroy(half.self);
    all.ops->destroy(all.self);
    none.ops->destroy(none.self);
    SPT_TEST_END;
}

static void zero_trace_id(void *self, uint8_t id[16]) {
    memset(id, 0, 16);
    ++*(unsigned *)self;
}
static void zero_span_id(void *self, uint8_t id[8]) {
    memset(id, 0, 8);
    ++*(unsigned *)self;
}

Test(sdk, ID_04_an_all_zero_id_is_never_used) {
    static const spool_id_generator_ops ops = {sizeof ops, zero_trace_id, zero_span_id, NULL, 0};
    unsigned calls = 0;
    spt_pipeline pipe;
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.id_generator = (spool_id_generator){&ops, &calls};
    cr_assert(spt_pipeline_open(&pipe, &options));
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "s", NULL);
    struct spool_span_context ids = spool_span_context(span);
    cr_expect(spool_span_context_is_valid(&ids));
    cr_expect_eq(ids.flags & SPOOL_FLAG_RANDOM, 0, "ID-03: it does not claim randomness");
    cr_expect_eq(calls, 16);
    spool_span_end(span);
    cr_expect(spt_pipeline_close(&pipe));
    SPT_TEST_END;
}

/* ---- foreign code outside of hooks ---- */

static spool_status sampler_flush, sampler_shutdown;
static unsigned sampler_depth;
static spool_span outer_span;

static void sample_and_meddle(void *self, const spool_sampler_query *query,
                              spool_sampler_result *result) {
    (void)self;
    (void)query;
    result->decision = SPOOL_DECISION_RECORD_AND_SAMPLE;
    sampler_flush = spool_flush(NULL, 1000, NULL);
    sampler_shutdown = spool_shutdown(NULL, 1000, NULL);
    if (sampler_depth && --sampler_depth) {
        spool_span_end(spool_span_start(spool_tracer_get("t", ""), "nested", NULL));
    } else if (outer_span.bits) {
        spool_span_end(outer_span);
        outer_span.bits = 0;
    }
}

Test(sdk, A17_a_sampler_cannot_wait_for_itself_and_ends_are_never_refused) {
    static const spool_sampler_ops ops = {sizeof ops, sample_and_meddle, NULL, NULL};
    spt_pipeline pipe;
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.sampler.ops = &ops;
    cr_assert(spt_pipeline_open(&pipe, &options));
    spool_span span = spool_span_start(spool_tracer_get("t", ""), "outer", NULL);
    cr_expect_eq(sampler_flush, SPOOL_ERR_WOULD_BLOCK);
    cr_expect_eq(sampler_shutdown, SPOOL_ERR_WOULD_BLOCK);
    /* Deeper than a thread has room for pins: the end inside is still an end. */
    uint64_t before = spt_stats(NULL).released_spans;
    outer_span = span;
    sampler_depth = 40;
    spool_span_end(spool_span_start(spool_tracer_get("t", ""), "deep", NULL));
    spool_span_end(outer_span);
    cr_expect_eq(spt_stats(NULL).released_spans, before);
    cr_expect_eq(spt_stats(NULL).signals[0].live, 0);
    cr_expect(spt_pipeline_close(&pipe));
    SPT_TEST_END;
}
