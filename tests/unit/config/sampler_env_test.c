/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_TRACES_SAMPLER, OTEL_PROPAGATORS, OTEL_LOG_LEVEL. */
#include "config/sampler_env.h"
#include "sdk/platform/diagnostics.h"
#include "tests/support/spt.h"
#include "tests/unit/config/caught.h"

#include <spool/propagation.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Checks what the two variables make; `begins` NULL: none, the SDK's default is used. */
static void expect_sampler(const char *word, const char *argument, const char *begins) {
    spool_sampler sampler = {NULL, NULL};
    setenv("OTEL_TRACES_SAMPLER", word, 1);
    setenv("OTEL_TRACES_SAMPLER_ARG", argument, 1);
    cr_assert_eq(sp_sampler_from_env(&sampler), SPOOL_OK);
    if (!begins) {
        cr_expect_null(sampler.ops, "%s", word);
        return;
    }
    cr_assert_not_null(sampler.ops, "%s", word);
    const char *text = sampler.ops->describe(sampler.self);
    cr_expect_eq(strncmp(text, begins, strlen(begins)), 0, "%s %s: %s", word, argument, text);
    sampler.ops->destroy(sampler.self);
}

Test(sampler_env, EV_13_each_name_makes_its_sampler) {
    spt_caught_start();
    expect_sampler("", "", NULL);
    expect_sampler("always_on", "nonsense", "AlwaysOnSampler");
    expect_sampler("ALWAYS_OFF", "", "AlwaysOffSampler");
    expect_sampler("traceidratio", "0.25", "TraceIdRatioBased{0.250000}");
    expect_sampler("traceidratio", "", "TraceIdRatioBased{1.000000}");
    expect_sampler("traceidratio", "0", "TraceIdRatioBased{0.000000}");
    expect_sampler("parentbased_always_on", "", "ParentBased{root=AlwaysOnSampler");
    expect_sampler("parentbased_always_off", "", "ParentBased{root=AlwaysOffSampler");
    expect_sampler("parentbased_traceidratio", "0.5",
                   "ParentBased{root=TraceIdRatioBased{0.500000}");
    cr_expect_eq(spt_caught_lines(), 0, "%s", spt_caught_line(0));
    SPT_TEST_END;
}

Test(sampler_env, EV_14_a_bad_argument_counts_as_unset) {
    static const char *const bad[] = {"1.5", "-0.1", "nan", "abc", "1e3"};
    spt_caught_start();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_sampler("traceidratio", bad[i], "TraceIdRatioBased{1.000000}");
    }
    cr_expect_eq(spt_caught_lines(), 1);
    cr_expect_eq(spt_caught_with("OTEL_TRACES_SAMPLER_ARG=\"1.5\""), 1);
    SPT_TEST_END;
}

Test(sampler_env, an_unknown_sampler_is_named_once) {
    spt_caught_start();
    expect_sampler("sometimes", "", NULL);
    expect_sampler("jaeger_remote", "", NULL);
    cr_expect_eq(spt_caught_lines(), 1);
    cr_expect_eq(spt_caught_with("OTEL_TRACES_SAMPLER=\"sometimes\""), 1);
    SPT_TEST_END;
}

static size_t fields_with(const char *list) {
    static spool_str names[8];
    setenv("OTEL_PROPAGATORS", list, 1);
    sp_propagators_from_env();
    return spool_propagation_fields(names, 8);
}

Test(sampler_env, EV_12_propagators_are_chosen_and_counted_once_each) {
    spt_caught_start();
    cr_expect_eq(fields_with(""), 3);
    cr_expect_eq(fields_with("tracecontext"), 2);
    cr_expect_eq(fields_with("baggage"), 1);
    cr_expect_eq(fields_with("Baggage, baggage ,TRACECONTEXT,tracecontext"), 3);
    cr_expect_eq(fields_with("none"), 0);
    cr_expect_eq(fields_with("tracecontext,none"), 2);
    cr_expect_eq(spt_caught_lines(), 0, "%s", spt_caught_line(0));
    SPT_TEST_END;
}

Test(sampler_env, unknown_propagators_are_left_out_and_named_once) {
    spt_caught_start();
    cr_expect_eq(fields_with("b3,baggage"), 1);
    cr_expect_eq(fields_with("b3,tracecontext,xray"), 2);
    cr_expect_eq(spt_caught_lines(), 1);
    cr_expect_eq(spt_caught_with("OTEL_PROPAGATORS=\"b3,baggage\""), 1);
    SPT_TEST_END;
}

Test(sampler_env, a_list_of_unknown_propagators_counts_as_unset) {
    cr_expect_eq(fields_with("b3,jaeger"), 3);
    SPT_TEST_END;
}

/* How many of the four levels are let through. */
static size_t levels_shown(const char *word) {
    size_t before = spt_caught_lines();
    setenv("OTEL_LOG_LEVEL", word, 1);
    sp_log_level_from_env();
    for (int level = SPOOL_DIAG_ERROR; level <= SPOOL_DIAG_DEBUG; level++) {
        sp_diag(level, "test", "level %d", level);
    }
    return spt_caught_lines() - before;
}

Test(sampler_env, EV_11_log_levels) {
    spt_caught_start();
    cr_expect_eq(levels_shown("error"), 1);
    cr_expect_eq(levels_shown("WARN"), 2);
    cr_expect_eq(levels_shown("info"), 3);
    cr_expect_eq(levels_shown("none"), 0);
    SPT_TEST_END;
}

Test(sampler_env, EV_11_debug_shows_all) {
    spt_caught_start();
    cr_expect_eq(levels_shown("debug"), 4);
    SPT_TEST_END;
}

Test(sampler_env, EV_11_an_unknown_log_level_is_named_and_info_stays) {
    spt_caught_start();
    cr_expect_eq(levels_shown("loud"), 3 + 1);
    cr_expect_eq(spt_caught_with("OTEL_LOG_LEVEL=\"loud\""), 1);
    cr_expect_eq(levels_shown(""), 3);
    SPT_TEST_END;
}
