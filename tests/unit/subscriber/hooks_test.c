/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks that use the API: on their own span, on others, on other SDKs, and in every hook there is. */
#define SPOOL_SCOPE "hooks"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

#include <criterion/criterion.h>
#include <string.h>

/* What a test wants done in one hook, once: hooks of what it makes do nothing. */
typedef enum hook { START, ENDING, END, ENTER, EXIT, LOG, HOOKS } hook;
typedef struct actor {
    hook in;
    void (*act)(spool_span span);
    bool acting;
    unsigned runs;
    unsigned calls[HOOKS];
} actor;

static void act(void *self, hook in, spool_span span) {
    actor *of = self;
    of->calls[in]++;
    if (of->act && of->in == in && !of->acting) {
        of->acting = true;
        of->runs++;
        of->act(span);
        of->acting = false;
    }
}

static void span_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)parent;
    act(self, START, spool_span_record_handle(span));
}
static void span_ending(void *self, spool_span_record *span) {
    act(self, ENDING, spool_span_record_handle(span));
}
static void span_end(void *self, spool_span_record *span) {
    act(self, END, spool_span_record_handle(span));
}
static void span_enter(void *self, spool_span span) {
    act(self, ENTER, span);
}
static void span_exit(void *self, spool_span span) {
    act(self, EXIT, span);
}
static void log_emit(void *self, spool_log_data *log) {
    spool_span_record *span = spool_ext_log_pin_span(log);
    spool_span handle = span ? spool_span_record_handle(span) : (spool_span){0};
    spool_ext_unpin(span);
    act(self, LOG, handle);
}

static const spool_processor_ops actor_ops = {.struct_size = sizeof actor_ops,
                                              .name = "actor",
                                              .span_start = span_start,
                                              .span_ending = span_ending,
                                              .span_end = span_end,
                                              .span_enter = span_enter,
                                              .span_exit = span_exit,
                                              .log_emit = log_emit};
static const spool_processor_ops no_hooks = {.struct_size = sizeof no_hooks, .name = "no hooks"};

static spool_sdk *open_pair(actor *one, actor *two) {
    spool_processor processors[] = {{&actor_ops, one}, {&no_hooks, NULL}, {&actor_ops, two}};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = two ? 3 : 2;
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    return sdk;
}

static spool_span start(const char *name) {
    return spool_span_start(spool_tracer_get("hooks", ""), name, NULL);
}

/* One span that reaches every hook. */
static void live_once(void) {
    spool_span span = start("s");
    spool_token token = spool_span_enter(span);
    SPOOL_INFO("l");
    spool_span_exit(token);
    spool_span_end(span);
}

static spool_span other;
static spool_status flushed;

static void do_all(spool_span span) {
    spool_span inner = start("inner");
    spool_token token = spool_span_enter(inner);
    SPOOL_INFO("from a hook", spool_int("k", 1));
    spool_span_set(span, spool_int("own", 1));
    spool_span_event(span, "e", NULL, 0);
    spool_span_rename(span, "renamed");
    spool_span_set(other, spool_int("other", 1));
    spool_span_status(other, SPOOL_STATUS_ERROR, "d");
    flushed = spool_flush(NULL, 100, NULL);
    spool_span_exit(token);
    spool_span_end(inner);
}

Test(hooks, each_of_them_may_start_end_set_log_and_flush) {
    for (hook in = START; in < HOOKS; in++) {
        actor one = {.in = in, .act = do_all};
        actor two = {.in = HOOKS};
        spool_sdk *sdk = open_pair(&one, &two);
        other = start("other");
        one.runs = 0;
        flushed = SPOOL_OK;
        live_once();
        cr_expect_eq(one.runs, 1, "hook %d", (int)in);
        cr_expect_eq(flushed, SPOOL_ERR_WOULD_BLOCK);
        spool_span_end(other);
        /* other, s and one inner span for each run: two starts act when it is the start hook. */
        cr_expect_eq(two.calls[START], two.calls[END]);
        cr_expect_geq(two.calls[START], 3);
        cr_expect_eq(two.calls[ENTER], two.calls[EXIT]);
        cr_expect_eq(one.calls[LOG], two.calls[LOG]);
        cr_expect_geq(one.calls[LOG], 2);
        cr_expect(spt_balanced(sdk));
        spool_sdk_free(sdk);
    }
    SPT_TEST_END;
}

static void end_it(spool_span span) {
    spool_span_end(span);
}

Test(hooks, an_end_inside_any_hook_ends_once) {
    for (hook in = START; in < HOOKS; in++) {
        actor one = {.in = in, .act = end_it};
        actor two = {.in = HOOKS};
        spool_sdk *sdk = open_pair(&one, &two);
        live_once();
        cr_expect_eq(two.calls[START], 1, "hook %d", (int)in);
        cr_expect_eq(two.calls[ENDING], 1, "hook %d", (int)in);
        cr_expect_eq(two.calls[END], 1, "hook %d", (int)in);
        cr_expect_eq(spt_stats(sdk).signals[0].finished, 1);
        cr_expect(spt_balanced(sdk));
        spool_sdk_free(sdk);
    }
    SPT_TEST_END;
}

static void end_other(spool_span span) {
    (void)span;
    spool_span_end(other);
}

Test(hooks, another_span_may_end_inside_any_hook) {
    for (hook in = START; in < HOOKS; in++) {
        actor one = {.in = HOOKS};
        spool_sdk *sdk = open_pair(&one, NULL);
        other = start("other");
        one.in = in;
        one.act = end_other;
        live_once();
        cr_expect_eq(one.calls[END], 2, "hook %d", (int)in);
        cr_expect(spt_balanced(sdk));
        spool_sdk_free(sdk);
    }
    SPT_TEST_END;
}

static spool_span_record *kept;
static void pin_it(spool_span span) {
    kept = spool_ext_pin(span);
}

Test(hooks, a_pin_taken_in_a_hook_outlives_the_span) {
    static const hook hooks[] = {START, ENDING, ENTER, EXIT, LOG, END};
    for (unsigned i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
        actor one = {.in = hooks[i], .act = pin_it};
        spool_sdk *sdk = open_pair(&one, NULL);
        kept = NULL;
        live_once();
        cr_assert_not_null(kept, "hook %d", (int)hooks[i]);
        cr_expect_eq(spool_span_record_data(kept)->name.len, 1);
        spool_ext_unpin(kept);
        cr_expect(spt_balanced(sdk));
        spool_sdk_free(sdk);
    }
    SPT_TEST_END;
}

static spool_sdk *second_sdk;
static void use_second(spool_span span) {
    (void)span;
    spool_scope scope = {.name = SPOOL_STR_INIT("second")};
    spool_span inner = spool_span_start(spool_sdk_tracer(second_sdk, &scope), "inner", NULL);
    spool_log(spool_sdk_logger(second_sdk, &scope), 9, "l");
    spool_span_end(inner);
}

Test(hooks, they_may_use_another_sdk) {
    for (hook in = START; in < HOOKS; in++) {
        actor one = {.in = in, .act = use_second};
        actor two = {.in = HOOKS};
        spool_sdk *sdk = open_pair(&one, NULL);
        spool_processor processor = {&actor_ops, &two};
        spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
        options.processors = &processor;
        options.processor_count = 1;
        options.not_default = 1;
        cr_assert_eq(spool_sdk_create(&options, &second_sdk), SPOOL_OK);
        live_once();
        cr_expect_eq(two.calls[END], 1, "hook %d", (int)in);
        cr_expect_eq(two.calls[LOG], 1, "hook %d", (int)in);
        cr_expect_eq(one.calls[END], 1);
        cr_expect(spt_balanced(second_sdk));
        spool_sdk_free(second_sdk);
        cr_expect(spt_balanced(sdk));
        spool_sdk_free(sdk);
    }
    SPT_TEST_END;
}

Test(hooks, a_processor_may_have_none) {
    spool_processor processor = {&no_hooks, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    cr_expect_not(spool_tracer_enabled(spool_tracer_get("hooks", "")));
    live_once();
    cr_expect_eq(spool_flush(sdk, 100, NULL), SPOOL_OK);
    cr_expect_eq(spt_stats(sdk).signals[0].filtered, 1);
    cr_expect(spt_balanced(sdk));
    cr_expect_eq(spool_shutdown(sdk, 100, NULL), SPOOL_OK);
    spool_sdk_free(sdk);
    SPT_TEST_END;
}
