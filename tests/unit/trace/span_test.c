/* SPDX-License-Identifier: Apache-2.0 */
/* Spans from start to end, as an exporter sees them. */
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static spt_pipeline pipe_of_test;

static spool_tracer *open_with(const spool_sdk_options *options) {
    cr_assert(spt_pipeline_open(&pipe_of_test, options));
    return spool_tracer_get("test", "1.0");
}

static const spool_span_data *exported(size_t index) {
    const spool_span_data *span = spool_memory_span(pipe_of_test.store, index);
    cr_assert_not_null(span, "span %zu was not exported", index);
    return span;
}

static void close_pipe(void) {
    cr_assert(spt_pipeline_close(&pipe_of_test));
}

Test(span, TA_19_has_name_kind_times_and_start_attributes) {
    spool_tracer *tracer = open_with(NULL);
    spool_attr attrs[] = {spool_string("k", "v"), spool_int("n", 7)};
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_SERVER;
    options.attrs = attrs;
    options.attr_count = 2;
    spool_span span = spool_span_start(tracer, "work", &options);
    cr_assert(spool_span_is_recording(span));
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_expect(spt_text_is(data->name, "work"));
    cr_expect_eq(data->kind, SPOOL_KIND_SERVER);
    cr_expect_geq(data->end_time_ns, data->start_time_ns);
    cr_expect_eq(data->attr_count, 2);
    cr_expect_eq(spt_attr(data->attrs, data->attr_count, "n")->as.integer, 7);
    cr_expect(spt_text_is(spt_attr(data->attrs, data->attr_count, "k")->as.string, "v"));
    cr_expect(spt_text_is(data->scope->name, "test"));
    cr_expect(spt_text_is(data->scope->version, "1.0"));
    cr_expect_not_null(spt_attr(data->resource->attrs, data->resource->attr_count, "service.name"));
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_16_does_not_become_current_by_starting) {
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "a", NULL);
    cr_expect_eq(spool_span_current().bits, 0);
    spool_token token = spool_span_enter(span);
    cr_expect_eq(spool_span_current().bits, span.bits);
    spool_span_exit(token);
    cr_expect_eq(spool_span_current().bits, 0);
    spool_span_end(span);
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_18_children_share_the_trace_and_roots_do_not) {
    spool_tracer *tracer = open_with(NULL);
    spool_span root = spool_span_start(tracer, "root", NULL);
    spool_span_options by_handle = SPOOL_SPAN_OPTIONS_INIT;
    by_handle.parent_span = root;
    spool_span child = spool_span_start(tracer, "child", &by_handle);
    spool_token token = spool_span_enter(root);
    spool_span inside = spool_span_start(tracer, "inside", NULL);
    spool_span_options apart = SPOOL_SPAN_OPTIONS_INIT;
    apart.root = 1;
    spool_span other = spool_span_start(tracer, "other", &apart);
    spool_span_exit(token);
    struct spool_span_context ids[4] = {spool_span_context(root), spool_span_context(child),
                                        spool_span_context(inside), spool_span_context(other)};
    cr_expect_arr_eq(ids[0].trace_id, ids[1].trace_id, 16);
    cr_expect_arr_eq(ids[0].trace_id, ids[2].trace_id, 16);
    cr_expect_arr_neq(ids[0].trace_id, ids[3].trace_id, 16);
    cr_expect_arr_neq(ids[0].span_id, ids[1].span_id, 8);
    spool_span_end(child);
    spool_span_end(inside);
    spool_span_end(other);
    spool_span_end(root);
    cr_expect_arr_eq(exported(0)->parent_span_id, ids[0].span_id, 8);
    cr_expect_arr_eq(exported(1)->parent_span_id, ids[0].span_id, 8);
    static const uint8_t none[8] = {0};
    cr_expect_arr_eq(exported(2)->parent_span_id, none, 8);
    cr_expect_eq(exported(0)->parent_remote, 0);
    close_pipe();
    SPT_TEST_END;
}

Test(span, CM_07_setting_a_key_again_replaces_the_value) {
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "s", NULL);
    spool_span_set(span, spool_string("a", "first"));
    spool_span_set(span, spool_int("b", 1));
    spool_span_set(span, spool_string("a", "another, longer value"));
    spool_span_set(span, spool_int("a", 5));
    spool_span_set(span, spool_int("b", 2));
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_expect_eq(data->attr_count, 2);
    cr_expect_eq(spt_attr(data->attrs, 2, "a")->type, SPOOL_VALUE_INT);
    cr_expect_eq(spt_attr(data->attrs, 2, "a")->as.integer, 5);
    cr_expect_eq(spt_attr(data->attrs, 2, "b")->as.integer, 2);
    cr_expect_eq(data->dropped_attr_count, 0);
    close_pipe();
    SPT_TEST_END;
}

/* Random sets with lengths that move entries between chunks, against a plain array. */
Test(span, attributes_agree_with_a_model_through_many_replacements) {
    enum { KEYS = 100, STEPS = 4000, LONGEST = 700 };
    static char model[KEYS][LONGEST + 1];
    static bool is_set[KEYS];
    spool_tracer *tracer = open_with(NULL);
    spt_random random = {spt_seed(7)};
    spool_span span = spool_span_start(tracer, "model", NULL);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned key = (unsigned)spt_random_below(&random, KEYS);
        size_t len = (size_t)spt_random_below(&random, step % 5 ? 40 : LONGEST);
        char name[16];
        (void)snprintf(name, sizeof name, "key.%u", key);
        memset(model[key], 'a' + (int)(step % 26), len);
        model[key][len] = '\0';
        is_set[key] = true;
        spool_span_set(span, spool_string(name, model[key]));
    }
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    size_t expected = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        char name[16];
        (void)snprintf(name, sizeof name, "key.%u", key);
        const spool_value *value = spt_attr(data->attrs, data->attr_count, name);
        cr_assert_eq(value != NULL, is_set[key], "%s", name);
        if (value) {
            cr_assert(spt_text_is(value->as.string, model[key]), "%s", name);
        }
        expected += is_set[key];
    }
    cr_expect_eq(data->attr_count, expected);
    close_pipe();
    SPT_TEST_END;
}

Test(span, T37_keeps_128_of_10000_attributes_events_and_links) {
    enum { MANY = 10000 };
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "many", NULL);
    static char keys[MANY][12];
    static spool_attr attrs[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%u", i);
        attrs[i] = spool_int(keys[i], i);
        spool_span_set(span, attrs[i]);
    }
    for (unsigned i = 0; i < 130; i++) {
        spool_span_event(span, "e", NULL, 0);
        spool_link link = {.attrs = attrs, .attr_count = 1};
        spool_span_link(span, &link);
    }
    spool_span_end(span);
    span = spool_span_start(tracer, "fat event", NULL);
    spool_span_event(span, "e", attrs, MANY);
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_expect_eq(data->attr_count, 128);
    cr_expect_eq(data->dropped_attr_count, MANY - 128);
    cr_expect_eq(data->event_count, 128);
    cr_expect_eq(data->dropped_event_count, 2);
    cr_expect_eq(data->link_count, 128);
    cr_expect_eq(data->dropped_link_count, 2);
    cr_expect_eq(exported(1)->events[0].attr_count, 128);
    cr_expect_eq(exported(1)->events[0].dropped_attr_count, MANY - 128);
    close_pipe();
    SPT_TEST_END;
}

Test(span, T37_keeps_all_of_10000_attributes_without_a_limit) {
    enum { MANY = 10000 };
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.limits.span_attr_count = SPOOL_NO_LIMIT;
    spool_tracer *tracer = open_with(&options);
    spool_span span = spool_span_start(tracer, "many", NULL);
    for (unsigned i = 0; i < MANY; i++) {
        char key[12];
        (void)snprintf(key, sizeof key, "k%u", i);
        spool_span_set(span, spool_int(key, i));
    }
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_expect_eq(data->attr_count, MANY);
    cr_expect_eq(data->dropped_attr_count, 0);
    cr_expect_eq(spt_attr(data->attrs, data->attr_count, "k9999")->as.integer, 9999);
    close_pipe();
    SPT_TEST_END;
}

Test(span, T38_overwriting_past_the_limit_is_no_drop) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.limits.span_attr_count = 2;
    spool_tracer *tracer = open_with(&options);
    spool_attr at_start[] = {spool_int("a", 1), spool_string("a", "x"), spool_bool("a", true)};
    spool_span_options start = SPOOL_SPAN_OPTIONS_INIT;
    start.attrs = at_start;
    start.attr_count = 3;
    spool_span span = spool_span_start(tracer, "s", &start);
    spool_span_set(span, spool_int("b", 1));
    spool_span_set(span, spool_int("c", 1));
    spool_span_set(span, spool_double("a", 2.5));
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_expect_eq(data->attr_count, 2);
    cr_expect_eq(data->dropped_attr_count, 1);
    cr_expect_eq(spt_attr(data->attrs, 2, "a")->as.number, 2.5);
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_27_status_keeps_the_highest_and_the_last) {
    static const struct {
        int codes[3];
        const char *texts[3];
        unsigned expected;
        const char *text;
    } rows[] = {
        {{SPOOL_STATUS_ERROR, SPOOL_STATUS_OK, SPOOL_STATUS_ERROR}, {"e", "ok", "late"}, 1, ""},
        {{SPOOL_STATUS_ERROR, SPOOL_STATUS_ERROR, SPOOL_STATUS_UNSET}, {"e", "f", "u"}, 2, "f"},
        {{SPOOL_STATUS_UNSET, SPOOL_STATUS_UNSET, SPOOL_STATUS_UNSET}, {"a", "b", "c"}, 0, ""},
        {{SPOOL_STATUS_OK, SPOOL_STATUS_UNSET, SPOOL_STATUS_UNSET}, {"x", NULL, NULL}, 1, ""},
        {{SPOOL_STATUS_ERROR, 99, -1}, {NULL, "x", "y"}, 2, ""},
    };
    spool_tracer *tracer = open_with(NULL);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        spool_span span = spool_span_start(tracer, "s", NULL);
        for (unsigned i = 0; i < 3; i++) {
            spool_span_status(span, rows[row].codes[i], rows[row].texts[i]);
        }
        spool_span_end(span);
        cr_expect_eq(exported(row)->status, rows[row].expected, "row %zu", row);
        cr_expect(spt_text_is(exported(row)->status_description, rows[row].text), "row %zu", row);
    }
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_24_events_keep_order_time_and_attributes) {
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "s", NULL);
    spool_attr attr = spool_string("k", "v");
    spool_span_event(span, "first", &attr, 1);
    spool_span_event_at(span, "second", 42, NULL, 0);
    spool_span_record_error(span, "E", "it broke", NULL);
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_assert_eq(data->event_count, 3);
    cr_expect(spt_text_is(data->events[0].name, "first"));
    cr_expect_geq(data->events[0].time_ns, data->start_time_ns);
    cr_expect_leq(data->events[0].time_ns, data->end_time_ns);
    cr_expect_eq(data->events[1].time_ns, 42);
    cr_expect(spt_text_is(data->events[2].name, "exception"));
    cr_expect_eq(data->events[2].attr_count, 2);
    cr_expect(spt_text_is(spt_attr(data->events[2].attrs, 2, "exception.message")->as.string,
                          "it broke"));
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_26_a_link_without_ids_is_kept_if_it_says_something) {
    spool_tracer *tracer = open_with(NULL);
    spool_attr attr = spool_int("n", 1);
    spool_link links[] = {{.attrs = &attr, .attr_count = 1},
                          {.trace_state = SPOOL_STR_INIT("a=b")}};
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.links = links;
    options.link_count = 2;
    spool_span_end(spool_span_start(tracer, "s", &options));
    cr_expect_eq(exported(0)->link_count, 2);
    cr_expect_eq(exported(0)->links[0].attr_count, 1);
    cr_expect(spt_text_is(exported(0)->links[1].trace_state, "a=b"));
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_28_rename_keeps_the_last_name_of_any_length) {
    static char long_name[3000];
    memset(long_name, 'n', sizeof long_name - 1);
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "short", NULL);
    spool_span_set(span, spool_int("k", 1));
    spool_span_rename(span, long_name);
    spool_span_rename(span, "shorter than that");
    spool_span_rename(span, long_name);
    spool_span_end(span);
    cr_expect(spt_text_is(exported(0)->name, long_name));
    cr_expect_eq(exported(0)->attr_count, 1);
    spool_span_end(spool_span_start(tracer, long_name, NULL));
    cr_expect(spt_text_is(exported(1)->name, long_name));
    close_pipe();
    SPT_TEST_END;
}

Test(span, T45_an_ended_handle_changes_nothing_and_is_counted_exactly) {
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "once", NULL);
    spool_span_end(span);
    uint64_t before = spt_stats(NULL).stale_handles;
    uint64_t parents_before = spt_stats(NULL).stale_parents;
    spool_span_end(span);
    spool_span_set(span, spool_int("late", 1));
    spool_span_event(span, "late", NULL, 0);
    spool_span_status(span, SPOOL_STATUS_ERROR, "late");
    spool_span_rename(span, "late");
    spool_span_exit(spool_span_enter(span));
    cr_expect_not(spool_span_is_recording(span));
    cr_expect_not(spool_span_context_is_valid(&(struct spool_span_context){0}));
    cr_expect_eq(spt_stats(NULL).stale_handles - before, 6);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = span;
    spool_span child = spool_span_start(tracer, "child", &options);
    spool_span_end(child);
    cr_expect_eq(spt_stats(NULL).stale_parents - parents_before, 1);
    cr_expect_eq(spool_memory_span_count(pipe_of_test.store), 2);
    cr_expect_eq(exported(0)->attr_count, 0);
    cr_expect(spt_text_is(exported(0)->name, "once"));
    static const uint8_t none[8] = {0};
    cr_expect_arr_eq(exported(1)->parent_span_id, none, 8);
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_12_a_remote_parent_is_marked_and_its_trace_state_passed_on) {
    spool_tracer *tracer = open_with(NULL);
    struct spool_span_context remote = {{1, 2, 3}, {4, 5}, SPOOL_FLAG_SAMPLED, 1, {0}};
    spool_context context = spool_context_with_remote(NULL, &remote, SPOOL_STR("a=1,b=2"));
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent = &context;
    spool_span span = spool_span_start(tracer, "server", &options);
    spool_context_release(&context);
    cr_expect_eq(spool_span_context(span).remote, 0);
    spool_token token = spool_span_enter(span);
    spool_span child = spool_span_start(tracer, "child", NULL);
    spool_context inside = spool_context_capture();
    cr_expect(spt_text_is(spool_context_trace_state(&inside), "a=1,b=2"));
    spool_span_exit(token);
    spool_span_end(child);
    spool_span_end(span);
    cr_expect(spt_text_is(exported(0)->trace_state, "a=1,b=2"));
    cr_expect_eq(exported(0)->parent_remote, 0);
    cr_expect_eq(exported(1)->parent_remote, 1);
    cr_expect_arr_eq(exported(1)->parent_span_id, remote.span_id, 8);
    spool_span late_child;
    options.parent = &inside;
    late_child = spool_span_start(tracer, "late child", &options);
    spool_context_release(&inside);
    spool_span_end(late_child);
    cr_expect_arr_eq(exported(2)->parent_span_id, exported(1)->context.span_id, 8);
    cr_expect(spt_text_is(exported(2)->trace_state, "a=1,b=2"));
    close_pipe();
    SPT_TEST_END;
}

Test(span, SA_25_roots_carry_the_random_flag_and_children_pass_it_on_unchanged) {
    spool_tracer *tracer = open_with(NULL);
    spool_span root = spool_span_start(tracer, "r", NULL);
    cr_expect_eq(spool_span_context(root).flags, SPOOL_FLAG_SAMPLED | SPOOL_FLAG_RANDOM);
    struct spool_span_context remote = {{1}, {2}, SPOOL_FLAG_SAMPLED, 1, {0}};
    spool_context context = spool_context_with_remote(NULL, &remote, spool_str_n(NULL, 0));
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent = &context;
    spool_span child = spool_span_start(tracer, "c", &options);
    cr_expect_eq(spool_span_context(child).flags, SPOOL_FLAG_SAMPLED);
    spool_context_release(&context);
    spool_span_end(child);
    spool_span_end(root);
    close_pipe();
    SPT_TEST_END;
}

Test(span, sampled_out_spans_get_an_id_and_reach_no_exporter) {
    spool_sdk_options sdk_options = SPOOL_SDK_OPTIONS_INIT;
    sdk_options.sampler = spool_sampler_always_off();
    spool_tracer *tracer = open_with(&sdk_options);
    spool_span span = spool_span_start(tracer, "out", NULL);
    struct spool_span_context ids = spool_span_context(span);
    cr_expect(spool_span_context_is_valid(&ids));
    cr_expect_eq(ids.flags & SPOOL_FLAG_SAMPLED, 0);
    cr_expect_not(spool_span_is_recording(span));
    uint64_t before = spt_stats(NULL).stale_handles;
    spool_span_set(span, spool_int("k", 1));
    spool_span_event(span, "e", NULL, 0);
    spool_span_exit(spool_span_enter(span));
    spool_span_end(span);
    cr_expect_eq(spt_stats(NULL).stale_handles, before);
    cr_expect_eq(spt_stats(NULL).signals[0].not_recorded, 1);
    cr_expect_eq(spool_memory_span_count(pipe_of_test.store), 0);
    close_pipe();
    SPT_TEST_END;
}

Test(span, TA_32_without_an_sdk_the_parent_is_passed_on) {
    spool_tracer *tracer = spool_tracer_get("none", "");
    cr_expect_eq(spool_span_start(tracer, "root", NULL).bits, 0);
    struct spool_span_context remote = {{9}, {8}, SPOOL_FLAG_SAMPLED, 1, {0}};
    spool_context context = spool_context_with_remote(NULL, &remote, SPOOL_STR("a=1"));
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent = &context;
    spool_span span = spool_span_start(tracer, "child", &options);
    struct spool_span_context ids = spool_span_context(span);
    cr_expect_arr_eq(ids.trace_id, remote.trace_id, 16);
    cr_expect_arr_eq(ids.span_id, remote.span_id, 8);
    cr_expect_not(spool_span_is_recording(span));
    spool_token token = spool_span_enter(span);
    spool_context inside = spool_context_capture();
    cr_expect(spt_text_is(spool_context_trace_state(&inside), "a=1"));
    spool_context_release(&inside);
    spool_span_exit(token);
    spool_span_end(span);
    spool_context_release(&context);
    SPT_TEST_END;
}

Test(span, T40_a_bad_key_costs_itself_alone) {
    spool_tracer *tracer = open_with(NULL);
    spool_span span = spool_span_start(tracer, "s", NULL);
    spool_attr attrs[] = {spool_int("a", 1),  spool_int("b", 1), spool_int("c", 1),
                          spool_int(NULL, 1), spool_int("", 1),  spool_int("f", 1),
                          spool_int("g", 1),  spool_int("h", 1)};
    spool_span_set_all(span, attrs, 8);
    spool_span_end(span);
    cr_expect_eq(exported(0)->attr_count, 6);
    cr_expect_eq(exported(0)->dropped_attr_count, 2);
    close_pipe();
    SPT_TEST_END;
}

Test(span, LI_02_a_length_limit_cuts_characters_not_bytes) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.limits.span_attr_length = 3;
    spool_tracer *tracer = open_with(&options);
    spool_span span = spool_span_start(tracer, "a name is not cut", NULL);
    spool_span_set(span, spool_string("text", "h\xc3\xa4\xe2\x82\xacxyz"));
    spool_span_set(span, spool_int("number", 123456));
    spool_span_end(span);
    const spool_span_data *data = exported(0);
    cr_expect(spt_text_is(spt_attr(data->attrs, 2, "text")->as.string, "h\xc3\xa4\xe2\x82\xac"));
    cr_expect_eq(spt_attr(data->attrs, 2, "number")->as.integer, 123456);
    cr_expect(spt_text_is(data->name, "a name is not cut"));
    cr_expect_eq(data->dropped_attr_count, 0);
    close_pipe();
    SPT_TEST_END;
}

Test(span, the_block_macros_start_enter_and_end) {
    spool_tracer *tracer = open_with(NULL);
    spool_span kept;
    {
        SPOOL_SPAN(outer, tracer, "outer", spool_int("n", 1), spool_string("k", "v"));
        cr_expect_eq(spool_span_current().bits, outer.bits);
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.kind = SPOOL_KIND_CLIENT;
        {
            SPOOL_SPAN_WITH(inner, tracer, "inner", &options, spool_bool("b", true));
            cr_expect_eq(spool_span_current().bits, inner.bits);
        }
        SPOOL_SPAN(late, tracer, "late");
        kept = SPOOL_SPAN_KEEP(late);
        cr_expect_eq(kept.bits, late.bits);
        cr_expect_eq(spool_span_current().bits, outer.bits);
    }
    cr_expect_eq(spool_span_current().bits, 0);
    cr_expect(spool_span_is_recording(kept));
    spool_span_end(kept);
    cr_expect(spt_text_is(exported(0)->name, "inner"));
    cr_expect_eq(exported(0)->kind, SPOOL_KIND_CLIENT);
    cr_expect_eq(exported(0)->attr_count, 1);
    cr_expect(spt_text_is(exported(1)->name, "outer"));
    cr_expect_eq(exported(1)->attr_count, 2);
    cr_expect(spt_text_is(exported(2)->name, "late"));
    close_pipe();
    SPT_TEST_END;
}

Test(span, a_given_time_is_taken_as_it_is) {
    spool_tracer *tracer = open_with(NULL);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.start_time_ns = 1000;
    spool_span span = spool_span_start(tracer, "s", &options);
    spool_span_end_at(span, 500);
    cr_expect_eq(exported(0)->start_time_ns, 1000);
    cr_expect_eq(exported(0)->end_time_ns, 500);
    close_pipe();
    SPT_TEST_END;
}

Test(span, over_the_cap_a_span_is_not_recorded_but_has_a_context) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.max_live_spans = 2;
    spool_tracer *tracer = open_with(&options);
    spool_span spans[3];
    for (unsigned i = 0; i < 3; i++) {
        spans[i] = spool_span_start(tracer, "s", NULL);
    }
    struct spool_span_context ids = spool_span_context(spans[2]);
    cr_expect(spool_span_context_is_valid(&ids));
    cr_expect_not(spool_span_is_recording(spans[2]));
    cr_expect_eq(spt_stats(NULL).signals[0].live, 2);
    for (unsigned i = 0; i < 3; i++) {
        spool_span_end(spans[i]);
    }
    cr_expect_eq(spt_stats(NULL).signals[0].not_recorded, 1);
    cr_expect_eq(spool_memory_span_count(pipe_of_test.store), 2);
    close_pipe();
    SPT_TEST_END;
}
