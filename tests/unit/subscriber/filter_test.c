/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: the language, what spans and records they admit for whom, statements' caches, combinations. */
#define SPOOL_SCOPE "shop.http"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/ext/ext.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- a processor that writes down what it sees ---- */

typedef struct witness {
    char seen[512];
    char parents[512]; /* of each span: the name that its look-up finds, or - */
    char spans[512];   /* of each record: the name of the span that its look-up finds, or - */
    void (*in_start)(const char *name);
    unsigned asked; /* calls of `enabled` */
    bool refuses;
} witness;

static void note(char to[512], const char *kind, spool_str name) {
    size_t len = strlen(to);
    (void)snprintf(to + len, 512 - len, "%s%.*s ", kind, (int)name.len, name.ptr);
}

static spool_str name_of(spool_span_record *span) {
    return span ? spool_span_record_data(span)->name : SPOOL_STR("-");
}

static void on_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)parent;
    witness *to = self;
    char name[64];
    spool_str own = name_of(span);
    (void)snprintf(name, sizeof name, "%.*s", (int)own.len, own.ptr);
    note(to->seen, "+", spool_str_of(name));
    spool_span_record *above = spool_ext_pin_parent(span);
    note(to->parents, "", name_of(above));
    spool_ext_unpin(above);
    if (to->in_start) {
        to->in_start(name);
    }
}
static void on_end(void *self, spool_span_record *span) {
    note(((witness *)self)->seen, "-", name_of(span));
}
static void on_enter(void *self, spool_span span) {
    spool_span_record *pinned = spool_ext_pin(span);
    note(((witness *)self)->seen, "(", name_of(pinned));
    spool_ext_unpin(pinned);
}
static void on_exit_hook(void *self, spool_span span) {
    spool_span_record *pinned = spool_ext_pin(span);
    note(((witness *)self)->seen, ")", name_of(pinned));
    spool_ext_unpin(pinned);
}
static void on_log(void *self, spool_log_data *log) {
    witness *to = self;
    note(to->seen, "!", log->body.as.string);
    spool_span_record *span = spool_ext_log_pin_span(log);
    note(to->spans, "", name_of(span));
    spool_ext_unpin(span);
}
static bool on_enabled(void *self, const spool_enabled_query *query) {
    (void)query;
    ((witness *)self)->asked++;
    return !((witness *)self)->refuses;
}

static const spool_processor_ops all_hooks = {.struct_size = sizeof all_hooks,
                                              .name = "witness",
                                              .span_start = on_start,
                                              .span_end = on_end,
                                              .log_emit = on_log};
static const spool_processor_ops current_hooks = {.struct_size = sizeof current_hooks,
                                                  .name = "current",
                                                  .span_start = on_start,
                                                  .span_enter = on_enter,
                                                  .span_exit = on_exit_hook};
static const spool_processor_ops asking = {
    .struct_size = sizeof asking, .name = "asking", .log_emit = on_log, .enabled = on_enabled};

static spool_filter *parse(const char *text) {
    spool_filter *filter = NULL;
    cr_assert_eq(spool_filter_create(text, &filter), SPOOL_OK, "%s", text);
    return filter;
}

/* An SDK of up to two witnesses; the filters' references are given up. */
static spool_sdk *open_ops(const spool_processor_ops *ops, witness *one, witness *two,
                           spool_filter *all, spool_filter *first, spool_filter *second) {
    spool_processor processors[] = {{ops, one}, {ops, two}};
    const spool_filter *own[] = {first, second};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = two ? 2 : 1;
    options.filter = all;
    options.processor_filters = first || second ? own : NULL;
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    spool_filter_release(all);
    spool_filter_release(first);
    spool_filter_release(second);
    return sdk;
}
static spool_sdk *open_with(witness *one, witness *two, spool_filter *all, spool_filter *first,
                            spool_filter *second) {
    return open_ops(&all_hooks, one, two, all, first, second);
}

static void close_balanced(spool_sdk *sdk) {
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

static void emit(const char *scope, int severity, const char *body) {
    spool_log(spool_logger_get(scope, ""), severity, body);
}

static spool_span start(const char *scope, const char *name) {
    return spool_span_start(spool_tracer_get(scope, ""), name, NULL);
}

/* ---- the language ---- */

static char last_text[600];
static unsigned lines;
static void catch_line(void *arg, const spool_diagnostic *line) {
    (void)arg;
    (void)snprintf(last_text, sizeof last_text, "%s", line->text);
    lines++;
}

Test(filter, bad_directives_are_named_and_create_nothing) {
    static const struct {
        const char *text, *named;
    } rows[] = {
        {"", "\"\""},
        {" , ,", "no directive"},
        {"info,shop=loud", "\"shop=loud\""},
        {"shop=", "\"shop=\""},
        {"shop==info", "\"shop==info\""},
        {"=info", "\"=info\""},
        {"info,shop[", "\"shop[\""},
        {"shop[a", "bracket"},
        {"shop[a]]=info", "\"shop[a]]=info\""},
        {"shop[]=info", "empty"},
        {"shop[{}]=info", "no key"},
        {"shop[{=7}]=info", "no key"},
        {"shop[a{user=7]=info", "out of place"},
        {"shop[a{user=7}x]=info", "bracket"},
        {"shop[a{user=\"7}]=info", "quote"},
        {"shop[a]info", "follows"},
        {"shop]=info", "out of place"},
        {"a\"b=info", "out of place"},
        {"\"a\"b=info", "follows"},
        {"shop[a{user={7}}]=info", "out of place"},
        {"shop=inf\xff", "not a level"},
    };
    spool_diagnostics_set(catch_line, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_filter *filter = NULL;
        last_text[0] = '\0';
        cr_expect_eq(spool_filter_create(rows[i].text, &filter), SPOOL_ERR_INVALID, "%s",
                     rows[i].text);
        cr_expect_null(filter);
        /* At most 10 lines a minute are told. */
        if (i < 9) {
            cr_expect_eq(lines, i + 1);
            cr_expect_not_null(strstr(last_text, rows[i].named), "%s: %s", rows[i].text, last_text);
        }
    }
    spool_filter *filter = NULL;
    cr_expect_eq(spool_filter_create(NULL, &filter), SPOOL_ERR_INVALID);
    cr_expect_eq(spool_filter_create("info", NULL), SPOOL_ERR_INVALID);
    spool_diagnostics_set(NULL, NULL);
    SPT_TEST_END;
}

Test(filter, hostile_text_is_harmless) {
    static const char alphabet[] = "[]{}=,\"\\ a7.off";
    static char text[4096];
    spt_random random = {spt_seed(11)};
    for (unsigned i = 0; i < 20000; i++) {
        size_t len = spt_random_below(&random, 40);
        for (size_t j = 0; j < len; j++) {
            text[j] = alphabet[spt_random_below(&random, sizeof alphabet - 1)];
        }
        text[len] = '\0';
        spool_filter *filter = NULL;
        cr_expect((spool_filter_create(text, &filter) == SPOOL_OK) == (filter != NULL));
        spool_filter_release(filter);
    }
    memset(text, '[', sizeof text - 1);
    spool_filter *filter = NULL;
    cr_expect_eq(spool_filter_create(text, &filter), SPOOL_ERR_INVALID);
    SPT_TEST_END;
}

Test(filter, limits_are_errors) {
    static char text[64 * 1024];
    size_t len = 0;
    for (unsigned i = 0; i < 1025; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "s%u=info,", i);
    }
    spool_filter *filter = NULL;
    cr_expect_eq(spool_filter_create(text, &filter), SPOOL_ERR_LIMIT);
    len = 0;
    for (unsigned i = 0; i < 33; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "[s%u]=info,", i);
    }
    cr_expect_eq(spool_filter_create(text, &filter), SPOOL_ERR_LIMIT);
    text[len - strlen("[s32]=info,")] = '\0';
    cr_assert_eq(spool_filter_create(text, &filter), SPOOL_OK);
    spool_filter *more = NULL;
    cr_expect_eq(spool_filter_and(filter, filter, &more), SPOOL_ERR_LIMIT);
    spool_filter_release(filter);
    filter = parse("info");
    unsigned depth = 1;
    while (spool_filter_not(filter, &more) == SPOOL_OK) {
        spool_filter_release(filter);
        filter = more;
        depth++;
    }
    cr_expect_eq(depth, 32);
    spool_filter_release(filter);
    cr_expect_eq(spool_filter_and(NULL, NULL, &more), SPOOL_ERR_INVALID);
    spool_filter_release(NULL);
    cr_expect_null(spool_filter_copy(NULL));
    SPT_TEST_END;
}

/* What of the severities trace .. fatal of a scope passes: one letter each. */
static const char *passing(const char *scope) {
    static char letters[8];
    static const int severities[] = {1, 5, 9, 13, 17, 21};
    unsigned count = 0;
    for (unsigned i = 0; i < 6; i++) {
        if (spool_logger_enabled(spool_logger_get(scope, ""), NULL, severities[i], NULL)) {
            letters[count++] = "TDIWEF"[i];
        }
    }
    letters[count] = '\0';
    return letters;
}

Test(filter, the_most_specific_directive_decides) {
    static const struct {
        const char *text, *scope, *passes;
    } rows[] = {
        {"info", "any", "IWEF"},
        {" INFO ", "any", "IWEF"},
        {"Warn", "any", "WEF"},
        {"off", "any", ""},
        {"trace", "any", "TDIWEF"},
        {"info2", "any", "WEF"},
        {"fatal4", "any", ""},
        {"info,shop.db=debug", "shop.db", "DIWEF"},
        {"info,shop.db=debug", "shop.db.pool", "DIWEF"},
        {"info,shop.db=debug", "shop.dbx", "DIWEF"},
        {"info,shop.db=debug", "shop", "IWEF"},
        {"shop.db=debug,info", "shop.http", "IWEF"},
        {"shop=warn,shop.db=trace", "shop.db", "TDIWEF"},
        {"shop.db=trace,shop=warn", "shop.db", "TDIWEF"},
        {"shop.db=trace,shop=warn", "shop.http", "WEF"},
        {"shop.db=debug", "shop.http", ""},
        {"shop.db", "shop.db", "TDIWEF"},
        {"info,shop=off", "shop.db", ""},
        {"info,error", "any", "EF"},
        {"shop=info,shop=error", "shop", "EF"},
        {"info,,debug,", "any", "DIWEF"},
        {"info,\"a,b[\"=error", "a,b[", "EF"},
        {"\"shop\" = error", "shop", "EF"},
        {"info,[pay]=trace", "shop", "IWEF"},
    };
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_filter *filter = parse(rows[i].text);
        cr_assert_eq(spool_sdk_set_filter(sdk, filter), SPOOL_OK);
        spool_filter_release(filter);
        cr_expect_str_eq(passing(rows[i].scope), rows[i].passes, "%s for %s", rows[i].text,
                         rows[i].scope);
    }
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, severity_zero_passes_every_level_but_off) {
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, parse("fatal4,shop=off"), NULL, NULL);
    emit("any", 0, "a");
    emit("shop", 0, "b");
    emit("any", 9, "c");
    cr_expect_str_eq(one.seen, "!a ");
    cr_expect_eq(spt_stats(sdk).signals[1].filtered, 2);
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- spans ---- */

Test(filter, off_switches_spans_off_and_passes_the_parent_on) {
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, parse("info,noisy=off"), NULL, NULL);
    spool_span root = start("noisy", "root");
    cr_expect_eq(root.bits, 0);
    spool_span a = start("shop", "a");
    spool_token in_a = spool_span_enter(a);
    spool_span hidden = start("noisy", "hidden");
    cr_expect_neq(hidden.bits, 0);
    cr_expect_neq(hidden.bits, a.bits);
    cr_expect_not(spool_span_is_recording(hidden));
    struct spool_span_context of_a = spool_span_context(a);
    struct spool_span_context of_hidden = spool_span_context(hidden);
    cr_expect_eq(memcmp(&of_a, &of_hidden, sizeof of_a), 0, "it stands for its parent");
    spool_token in_hidden = spool_span_enter(hidden);
    spool_span deeper = start("noisy", "deeper");
    spool_token in_deeper = spool_span_enter(deeper);
    emit("shop", 9, "l");
    spool_span b = start("shop", "b");
    spool_span_set(hidden, spool_int("k", 1));
    spool_span_end(b);
    spool_span_exit(in_deeper);
    spool_span_end(deeper);
    spool_span_exit(in_hidden);
    spool_span_end(hidden);
    spool_span_exit(in_a);
    spool_span_end(a);
    cr_expect_str_eq(one.seen, "+a !l +b -b -a ");
    cr_expect_str_eq(one.parents, "- a ");
    cr_expect_str_eq(one.spans, "a ");
    struct spool_stats stats = spt_stats(sdk);
    cr_expect_eq(stats.signals[0].created, 5);
    cr_expect_eq(stats.signals[0].filtered, 3);
    cr_expect_eq(stats.signals[0].not_recorded, 0);
    cr_expect_not(spool_tracer_enabled(spool_tracer_get("noisy", "")));
    cr_expect(spool_tracer_enabled(spool_tracer_get("shop", "")));
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, a_filtered_span_whose_parent_ended_stands_for_nothing) {
    enum { TENANTS = 300 };
    static const spool_processor_ops starts = {
        .struct_size = sizeof starts, .name = "starts", .span_start = on_start};
    static spool_span tenants[TENANTS];
    witness one = {0};
    spool_sdk *sdk = open_ops(&starts, &one, NULL, parse("info,noisy=off"), NULL, NULL);
    spool_span a = start("shop", "a");
    spool_token in_a = spool_span_enter(a);
    spool_context context = spool_context_capture();
    spool_span hidden = start("noisy", "hidden");
    spool_span_exit(in_a);
    spool_span_end(a);
    /* Spans of the same trace, so many that one has the slot of `a`. */
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent = &context;
    for (unsigned i = 0; i < TENANTS; i++) {
        tenants[i] = spool_span_start(spool_tracer_get("shop", ""), "tenant", &options);
    }
    options.parent_span = hidden;
    one.parents[0] = '\0';
    spool_span child = spool_span_start(spool_tracer_get("shop", ""), "child", &options);
    cr_expect_str_eq(one.parents, "- ");
    struct spool_span_context of_child = spool_span_context(child);
    cr_expect_eq(memcmp(of_child.trace_id, context.span.trace_id, 16), 0);
    spool_span_end(child);
    for (unsigned i = 0; i < TENANTS; i++) {
        spool_span_end(tenants[i]);
    }
    spool_span_end(hidden);
    spool_context_release(&context);
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, enter_and_exit_hooks_are_filtered_too) {
    witness one = {0};
    witness two = {0};
    spool_sdk *sdk = open_ops(&current_hooks, &one, &two, NULL, parse("info,noisy=off"), NULL);
    spool_span span = start("noisy", "n");
    spool_span_exit(spool_span_enter(span));
    spool_span_end(span);
    cr_expect_str_eq(one.seen, "");
    cr_expect_str_eq(two.seen, "+n (n )n ");
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- span parts ---- */

static spool_span start_user(const char *name, spool_attr user) {
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attrs = &user;
    options.attr_count = 1;
    return spool_span_start(spool_tracer_get("shop.http", ""), name, &options);
}

static const char *passing_in(spool_span span, const char *scope) {
    spool_token token = spool_span_enter(span);
    const char *passes = passing(scope);
    spool_span_exit(token);
    return passes;
}

Test(filter, a_value_stands_for_a_text_a_number_or_a_bool) {
    static const struct {
        const char *value;
        spool_attr attr;
        bool holds;
    } rows[] = {
        {"=7", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_INT, {.integer = 7}}}, true},
        {"=7", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_INT, {.integer = 8}}}, false},
        {"=-7", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_INT, {.integer = -7}}}, true},
        {"=-9223372036854775808",
         {SPOOL_STR_INIT("user"), {SPOOL_VALUE_INT, {.integer = INT64_MIN}}},
         true},
        {"=9223372036854775808",
         {SPOOL_STR_INIT("user"), {SPOOL_VALUE_INT, {.integer = INT64_MIN}}},
         false},
        {"=18446744073709551615",
         {SPOOL_STR_INIT("user"), {SPOOL_VALUE_UINT, {.unsigned_integer = UINT64_MAX}}},
         true},
        {"=7", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_STRING, {.string = {"7", 1}}}}, true},
        {"=\"a,b}]\"",
         {SPOOL_STR_INIT("user"), {SPOOL_VALUE_STRING, {.string = {"a,b}]", 5}}}},
         true},
        {"=\"\\\\\\\"\"",
         {SPOOL_STR_INIT("user"), {SPOOL_VALUE_STRING, {.string = {"\\\"", 2}}}},
         true},
        {"=true", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_BOOL, {.boolean = true}}}, true},
        {"=true", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_BOOL, {.boolean = false}}}, false},
        {"=0.1", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_DOUBLE, {.number = 0.1}}}, true},
        {"=-2.5", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_DOUBLE, {.number = -2.5}}}, true},
        {"=7", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_DOUBLE, {.number = 7}}}, true},
        {"=7.", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_DOUBLE, {.number = 7}}}, false},
        {"", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_BYTES, {.bytes = {"x", 1}}}}, true},
        {"=x", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_BYTES, {.bytes = {"x", 1}}}}, false},
        {"=", {SPOOL_STR_INIT("user"), {SPOOL_VALUE_STRING, {.string = {"", 0}}}}, true},
        {"", {SPOOL_STR_INIT("other"), {SPOOL_VALUE_INT, {.integer = 7}}}, false},
    };
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "info,[pay{user%s}]=trace", rows[i].value);
        spool_filter *filter = parse(text);
        cr_assert_eq(spool_sdk_set_filter(sdk, filter), SPOOL_OK);
        spool_filter_release(filter);
        spool_span span = start_user("pay", rows[i].attr);
        cr_expect_str_eq(passing_in(span, "any"), rows[i].holds ? "TDIWEF" : "IWEF", "%s row %zu",
                         text, i);
        spool_span_end(span);
        span = start_user("other", rows[i].attr);
        cr_expect_str_eq(passing_in(span, "any"), "IWEF");
        spool_span_end(span);
    }
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, span_parts_hold_in_the_span_and_below_and_end_with_it) {
    witness one = {0};
    spool_sdk *sdk = open_with(
        &one, NULL,
        parse("info,shop.db=debug,shop.db[pay{user=7}]=trace,[quiet]=error,shop.dull[pay]=off"),
        NULL, NULL);
    spool_span pay = start_user("pay", spool_int("user", 7));
    cr_expect_str_eq(passing("shop.db"), "DIWEF", "it is not current yet");
    spool_token in_pay = spool_span_enter(pay);
    cr_expect_str_eq(passing("shop.db"), "TDIWEF");
    cr_expect_str_eq(passing("shop.dull"), "");
    cr_expect_str_eq(passing("any"), "IWEF");
    spool_span below = start("any", "below");
    spool_span lower = spool_span_start(
        spool_tracer_get("any", ""), "lower",
        &(spool_span_options){.struct_size = sizeof(spool_span_options), .parent_span = below});
    cr_expect_str_eq(passing_in(lower, "shop.db"), "TDIWEF");
    spool_span quiet = start("any", "quiet");
    cr_expect_str_eq(passing_in(quiet, "any"), "EF");
    cr_expect_str_eq(passing_in(quiet, "shop.db"), "TDIWEF", "the longer scope of the two");
    spool_span_end(quiet);
    spool_span_set(pay, spool_int("user", 8));
    cr_expect_str_eq(passing("shop.db"), "DIWEF", "last write wins");
    cr_expect_str_eq(passing_in(lower, "shop.db"), "TDIWEF", "what is live keeps what it had");
    spool_span_set(pay, spool_string("user", "7"));
    cr_expect_str_eq(passing("shop.db"), "TDIWEF");
    spool_span_end(pay);
    cr_expect_str_eq(passing("shop.db"), "DIWEF", "the span ended though it is still current");
    spool_span_exit(in_pay);
    cr_expect_str_eq(passing_in(lower, "shop.db"), "TDIWEF", "its children are still inside it");
    spool_span_end(lower);
    spool_span_end(below);
    spool_span root = spool_span_start(
        spool_tracer_get("any", ""), "root",
        &(spool_span_options){.struct_size = sizeof(spool_span_options), .root = 1});
    cr_expect_str_eq(passing_in(root, "shop.db"), "DIWEF");
    spool_span_end(root);
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, an_attribute_that_is_set_later_is_seen) {
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, parse("info,[{user=7,admin}]=trace"), NULL, NULL);
    spool_span span = start("any", "s");
    spool_span_set(span, spool_int("user", 7));
    cr_expect_str_eq(passing_in(span, "any"), "IWEF", "one of two");
    spool_span_set(span, spool_bool("admin", false));
    cr_expect_str_eq(passing_in(span, "any"), "TDIWEF");
    spool_span_end(span);
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, exits_out_of_order_take_the_right_span_away) {
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, parse("info,[pay]=trace"), NULL, NULL);
    spool_span pay = start("any", "pay");
    spool_span_options root = SPOOL_SPAN_OPTIONS_INIT;
    root.root = 1;
    spool_span other = spool_span_start(spool_tracer_get("any", ""), "other", &root);
    spool_token in_pay = spool_span_enter(pay);
    spool_token in_other = spool_span_enter(other);
    cr_expect_str_eq(passing("any"), "IWEF");
    spool_span_exit(in_pay);
    cr_expect_str_eq(passing("any"), "IWEF");
    in_pay = spool_span_enter(pay);
    spool_span_exit(in_other);
    cr_expect_str_eq(passing("any"), "TDIWEF");
    spool_span_exit(in_pay);
    cr_expect_str_eq(passing("any"), "IWEF");
    spool_span_end(pay);
    spool_span_end(other);
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(filter, a_span_part_lets_its_span_through_where_a_scope_is_off) {
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, parse("off,[pay]=debug,[health]=off"), NULL, NULL);
    spool_span pay = start("any", "pay");
    spool_token in_pay = spool_span_enter(pay);
    spool_span below = start("any", "below");
    emit("any", 5, "l");
    emit("any", 1, "m");
    spool_span_end(below);
    spool_span_exit(in_pay);
    spool_span_end(pay);
    spool_span_end(start("any", "other"));
    spool_span_end(start("any", "health"));
    cr_expect_str_eq(one.seen, "+pay +below !l -below -pay ");
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- filters of processors ---- */

static bool starts_with_a(void *self, const spool_span_query *query) {
    (void)self;
    return query->name.len && query->name.ptr[0] == 'a';
}
static const spool_filter_ops only_a = {.struct_size = sizeof only_a, .span = starts_with_a};

static spool_filter *custom(const spool_filter_ops *ops, void *self) {
    spool_filter *filter = NULL;
    cr_assert_eq(spool_filter_create_custom(ops, self, &filter), SPOOL_OK);
    return filter;
}

static void tree_of_four(void) {
    static const char *const names[] = {"a1", "b1", "a2", "b2"};
    spool_span spans[4];
    spool_token tokens[4];
    for (unsigned i = 0; i < 4; i++) {
        spans[i] = start("t", names[i]);
        tokens[i] = spool_span_enter(spans[i]);
        emit("t", 9, names[i]);
    }
    for (unsigned i = 4; i-- > 0;) {
        spool_span_exit(tokens[i]);
        spool_span_end(spans[i]);
    }
}

/* Two memory exporters, the first behind a filter. */
static spool_sdk *open_stores(spool_memory_store *stores[2], const spool_filter *first) {
    spool_processor processors[2];
    for (unsigned i = 0; i < 2; i++) {
        spool_exporter exporter;
        cr_assert_eq(spool_memory_create(100, &stores[i], &exporter), SPOOL_OK);
        cr_assert_eq(spool_simple_create(exporter, NULL, &processors[i]), SPOOL_OK);
    }
    const spool_filter *own[] = {first, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = 2;
    options.processor_filters = own;
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    return sdk;
}
static void close_stores(spool_sdk *sdk, spool_memory_store *stores[2]) {
    close_balanced(sdk);
    spool_memory_release(stores[0]);
    spool_memory_release(stores[1]);
}

Test(filter, T50_each_processor_sees_what_its_own_filter_admits) {
    witness one = {0};
    witness two = {0};
    spool_sdk *sdk = open_with(&one, &two, NULL, custom(&only_a, NULL), NULL);
    tree_of_four();
    cr_expect_str_eq(one.seen, "+a1 !a1 !b1 +a2 !a2 !b2 -a2 -a1 ");
    cr_expect_str_eq(one.parents, "- a1 ");
    cr_expect_str_eq(one.spans, "a1 a1 a2 a2 ");
    cr_expect_str_eq(two.seen, "+a1 !a1 +b1 !b1 +a2 !a2 +b2 !b2 -b2 -a2 -b1 -a1 ");
    cr_expect_str_eq(two.parents, "- a1 b1 a2 ");
    cr_expect_str_eq(two.spans, "a1 b1 a2 b2 ");
    cr_expect_eq(spt_stats(sdk).signals[0].finished, 4);
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, T50_data_carry_the_true_ids_and_a_refusal_by_all_passes_on) {
    spool_memory_store *stores[2];
    spool_filter *a = custom(&only_a, NULL);
    spool_sdk *sdk = open_stores(stores, a);
    tree_of_four();
    cr_assert_eq(spool_memory_span_count(stores[0]), 2);
    cr_assert_eq(spool_memory_span_count(stores[1]), 4);
    /* In the order of their ends: a2, a1 and b2, a2, b1, a1. */
    const spool_span_data *a2 = spool_memory_span(stores[0], 0);
    const spool_span_data *b1 = spool_memory_span(stores[1], 2);
    cr_expect(spt_text_is(a2->name, "a2"));
    cr_expect_eq(memcmp(a2->parent_span_id, b1->context.span_id, 8), 0);
    /* With no one left to see b1, a2 is a child of a1. */
    cr_assert_eq(spool_sdk_set_filter(sdk, a), SPOOL_OK);
    spool_filter_release(a);
    tree_of_four();
    a2 = spool_memory_span(stores[1], 4);
    const spool_span_data *a1 = spool_memory_span(stores[1], 5);
    cr_expect(spt_text_is(a2->name, "a2"));
    cr_expect_eq(memcmp(a2->parent_span_id, a1->context.span_id, 8), 0);
    cr_expect_eq(spt_stats(sdk).signals[0].filtered, 2);
    close_stores(sdk, stores);
    SPT_TEST_END;
}

static void nest_in_start(const char *name) {
    if (strcmp(name, "a") == 0) {
        spool_span inner = start("t", "b.inner");
        spool_token token = spool_span_enter(inner);
        emit("t", 1, "quiet");
        emit("t", 9, "loud");
        spool_span_end(start("t", "a.inner"));
        spool_span_exit(token);
        spool_span_end(inner);
    }
}

Test(filter, E12_nested_calls_from_hooks_are_judged_on_their_own) {
    witness one = {.in_start = nest_in_start};
    witness two = {0};
    witness *both[] = {&one, &two};
    spool_filter *info = parse("info");
    spool_filter *first = NULL;
    spool_filter *names = custom(&only_a, NULL);
    cr_assert_eq(spool_filter_and(names, info, &first), SPOOL_OK);
    spool_filter_release(names);
    spool_filter_release(info);
    spool_sdk *sdk = open_with(&one, &two, NULL, first, NULL);
    spool_span_end(start("t", "a"));
    cr_expect_str_eq(both[0]->seen, "+a !loud +a.inner -a.inner -a ");
    cr_expect_str_eq(both[1]->seen, "+b.inner !quiet !loud +a.inner -a.inner -b.inner +a -a ");
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, the_filter_for_all_comes_before_those_of_processors) {
    witness one = {0};
    witness two = {0};
    spool_sdk *sdk = open_with(&one, &two, parse("info"), parse("trace"), parse("error"));
    emit("any", 5, "d");
    emit("any", 9, "i");
    emit("any", 17, "e");
    cr_expect_str_eq(one.seen, "!i !e ");
    cr_expect_str_eq(two.seen, "!e ");
    cr_expect_eq(spt_stats(sdk).signals[1].filtered, 1);
    cr_expect_eq(spool_sdk_set_processor_filter(sdk, 1, NULL), SPOOL_OK);
    cr_expect_eq(spool_sdk_set_filter(sdk, NULL), SPOOL_OK);
    emit("any", 5, "d");
    cr_expect_str_eq(one.seen, "!i !e !d ");
    cr_expect_str_eq(two.seen, "!e !d ");
    cr_expect_eq(spool_sdk_set_processor_filter(sdk, 2, NULL), SPOOL_ERR_INVALID);
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- statements ---- */

static unsigned evaluated;
static const char *evaluate(const char *text) {
    evaluated++;
    return text;
}
static void debug_statement(const char *body) {
    SPOOL_DEBUG(body, spool_string("k", evaluate("v")));
}
static void debug_statement_f(void) {
    SPOOL_DEBUG_F("%s", "formatted");
}

typedef struct judge {
    unsigned calls;
    bool answer;
    unsigned destroyed;
} judge;
static bool judge_log(void *self, const spool_log_query *query) {
    (void)query;
    ((judge *)self)->calls++;
    return ((judge *)self)->answer;
}
static void judge_destroy(void *self) {
    ((judge *)self)->destroyed++;
}
static const spool_filter_ops unhinted = {
    .struct_size = sizeof unhinted, .log = judge_log, .destroy = judge_destroy};
static const spool_filter_ops hinted = {.struct_size = sizeof hinted,
                                        .log = judge_log,
                                        .destroy = judge_destroy,
                                        .log_by_severity_and_scope = 1};

Test(callsite, a_statement_keeps_the_verdict_of_each_processor) {
    witness one = {0};
    witness two = {0};
    spool_sdk *sdk = open_with(&one, &two, NULL, parse("info"), parse("info,shop.http=debug"));
    debug_statement("x");
    debug_statement("y");
    cr_expect_str_eq(one.seen, "");
    cr_expect_str_eq(two.seen, "!x !y ");
    spool_filter *warn = parse("warn");
    cr_assert_eq(spool_sdk_set_filter(sdk, warn), SPOOL_OK);
    evaluated = 0;
    uint64_t created = spt_stats(sdk).signals[1].created;
    debug_statement("z");
    cr_expect_eq(evaluated, 0, "the arguments of a statement that is off");
    cr_expect_eq(spt_stats(sdk).signals[1].created, created, "nothing was created");
    cr_assert_eq(spool_sdk_set_filter(sdk, NULL), SPOOL_OK);
    debug_statement("w");
    cr_expect_str_eq(two.seen, "!x !y !w ");
    spool_filter_release(warn);
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(callsite, a_function_is_asked_once_if_it_says_so_and_else_each_time) {
    witness one = {0};
    judge often = {.answer = false};
    judge once = {.answer = false};
    spool_sdk *sdk = open_with(&one, NULL, custom(&unhinted, &often), NULL, NULL);
    for (unsigned i = 0; i < 10; i++) {
        debug_statement("x");
        debug_statement_f();
    }
    cr_expect_eq(often.calls, 20);
    spool_filter *filter = custom(&hinted, &once);
    cr_assert_eq(spool_sdk_set_filter(sdk, filter), SPOOL_OK);
    spool_filter_release(filter);
    cr_expect_eq(often.destroyed, 1);
    for (unsigned i = 0; i < 10; i++) {
        debug_statement("x");
    }
    cr_expect_eq(once.calls, 1);
    cr_expect_str_eq(one.seen, "");
    close_balanced(sdk);
    cr_expect_eq(once.destroyed, 1);
    SPT_TEST_END;
}

Test(callsite, hinted_and_unhinted_filters_together) {
    witness one = {0};
    witness two = {0};
    judge often = {.answer = true};
    judge once = {.answer = false};
    spool_sdk *sdk = open_with(&one, &two, NULL, custom(&hinted, &once), custom(&unhinted, &often));
    debug_statement("x");
    often.answer = false;
    debug_statement("y");
    often.answer = true;
    debug_statement("z");
    cr_expect_str_eq(one.seen, "");
    cr_expect_str_eq(two.seen, "!x !z ");
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(callsite, span_parts_make_a_statement_ask_each_time) {
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, parse("info,[pay]=debug"), NULL, NULL);
    spool_span pay = start("any", "pay");
    debug_statement("out");
    spool_token token = spool_span_enter(pay);
    debug_statement("in");
    debug_statement_f();
    spool_span_exit(token);
    debug_statement("out");
    debug_statement_f();
    spool_span_end(pay);
    cr_expect_str_eq(one.seen, "+pay !in !formatted -pay ");
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(callsite, enabled_hooks_of_refused_processors_are_not_asked) {
    witness one = {0};
    witness two = {.refuses = true};
    spool_sdk *sdk = open_ops(&asking, &one, &two, NULL, parse("error"), NULL);
    debug_statement("x");
    cr_expect_eq(one.asked, 0);
    cr_expect_geq(two.asked, 1);
    cr_expect_str_eq(two.seen, "");
    two.refuses = false;
    debug_statement("y");
    cr_expect_str_eq(one.seen, "");
    cr_expect_str_eq(two.seen, "!y ");
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- combinations ---- */

Test(filter, and_or_not_and_trees_of_them) {
    spool_filter *info = parse("info");
    spool_filter *db = parse("shop.db=trace");
    spool_filter *pay = parse("[pay]=trace");
    spool_filter *info_and_db, *info_or_db, *not_info, *or_pay, *tree, *not_not;
    cr_assert_eq(spool_filter_and(info, db, &info_and_db), SPOOL_OK);
    cr_assert_eq(spool_filter_or(info, db, &info_or_db), SPOOL_OK);
    cr_assert_eq(spool_filter_not(info, &not_info), SPOOL_OK);
    cr_assert_eq(spool_filter_not(not_info, &not_not), SPOOL_OK);
    cr_assert_eq(spool_filter_or(db, pay, &or_pay), SPOOL_OK);
    cr_assert_eq(spool_filter_or(info_and_db, or_pay, &tree), SPOOL_OK);
    const struct {
        const spool_filter *filter;
        const char *db, *any, *any_in_pay;
    } rows[] = {
        {info_and_db, "IWEF", "", ""},    {info_or_db, "TDIWEF", "IWEF", "IWEF"},
        {not_info, "TD", "TD", "TD"},     {not_not, "IWEF", "IWEF", "IWEF"},
        {or_pay, "TDIWEF", "", "TDIWEF"}, {tree, "TDIWEF", "", "TDIWEF"},
    };
    witness one = {0};
    spool_sdk *sdk = open_with(&one, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(spool_sdk_set_filter(sdk, rows[i].filter), SPOOL_OK);
        spool_span span = start("any", "pay");
        cr_expect_str_eq(passing("shop.db"), rows[i].db, "row %zu", i);
        cr_expect_str_eq(passing("any"), rows[i].any, "row %zu", i);
        cr_expect_str_eq(passing_in(span, "any"), rows[i].any_in_pay, "row %zu", i);
        spool_span_end(span);
    }
    close_balanced(sdk);
    spool_filter *const made[] = {info,     db,      pay,    info_and_db, info_or_db,
                                  not_info, not_not, or_pay, tree};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        spool_filter_release(made[i]);
    }
    SPT_TEST_END;
}

Test(filter, span_parts_are_told_apart_across_the_filters_of_an_sdk) {
    witness one = {0};
    witness two = {0};
    spool_filter *all = NULL;
    spool_filter *x = parse("trace,[x]=off");
    spool_filter *y = parse("trace,[y]=off");
    cr_assert_eq(spool_filter_and(x, y, &all), SPOOL_OK);
    spool_filter_release(x);
    spool_filter_release(y);
    spool_sdk *sdk = open_with(&one, &two, all, parse("info,[z]=trace"), parse("info,[w]=trace"));
    static const struct {
        const char *span, *one, *two;
    } rows[] = {{"x", "", ""}, {"y", "", ""}, {"z", "!l ", ""}, {"w", "", "!l "}, {"v", "", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_span span = start("any", rows[i].span);
        spool_token token = spool_span_enter(span);
        one.seen[0] = two.seen[0] = '\0';
        emit("any", 1, "l");
        cr_expect_str_eq(one.seen, rows[i].one, "in %s", rows[i].span);
        cr_expect_str_eq(two.seen, rows[i].two, "in %s", rows[i].span);
        spool_span_exit(token);
        spool_span_end(span);
    }
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- exchange ---- */

Test(filter, live_spans_keep_their_processors_across_an_exchange) {
    witness one = {0};
    witness two = {0};
    spool_sdk *sdk = open_with(&one, &two, NULL, custom(&only_a, NULL), NULL);
    spool_span b = start("t", "b");
    cr_assert_eq(spool_sdk_set_processor_filter(sdk, 0, NULL), SPOOL_OK);
    spool_filter *off = parse("off");
    cr_assert_eq(spool_sdk_set_processor_filter(sdk, 1, off), SPOOL_OK);
    spool_filter_release(off);
    spool_span_end(b);
    spool_span_end(start("t", "c"));
    cr_expect_str_eq(one.seen, "+c -c ");
    cr_expect_str_eq(two.seen, "+b -b ");
    cr_expect_eq(spool_shutdown(sdk, 100, NULL), SPOOL_OK);
    cr_expect_eq(spool_sdk_set_filter(sdk, NULL), SPOOL_ERR_SHUTDOWN);
    cr_expect_eq(spool_sdk_set_filter(NULL, NULL), SPOOL_ERR_INVALID);
    close_balanced(sdk);
    SPT_TEST_END;
}

static spool_filter *replacement;
static bool exchange_inside(void *self, const spool_span_query *query) {
    (void)query;
    judge *of = self;
    of->calls++;
    cr_expect_eq(spool_sdk_set_filter(NULL, replacement), SPOOL_OK);
    cr_expect_eq(of->destroyed, 0, "it is still running");
    return false;
}
static const spool_filter_ops exchanging = {
    .struct_size = sizeof exchanging, .span = exchange_inside, .destroy = judge_destroy};

Test(filter, a_filter_may_exchange_itself) {
    witness one = {0};
    judge self = {0};
    replacement = parse("trace");
    spool_sdk *sdk = open_with(&one, NULL, custom(&exchanging, &self), NULL, NULL);
    cr_expect_eq(start("t", "x").bits, 0);
    spool_span_end(start("t", "y"));
    cr_expect_str_eq(one.seen, "+y -y ");
    cr_expect_eq(self.calls, 1);
    cr_assert_eq(spool_sdk_set_filter(sdk, NULL), SPOOL_OK);
    cr_expect_eq(self.destroyed, 1);
    spool_filter_release(replacement);
    close_balanced(sdk);
    SPT_TEST_END;
}

static bool trace_inside(void *self, const spool_span_query *query) {
    ((judge *)self)->calls++;
    spool_span_end(start("t", "inside"));
    return query->name.ptr[0] != 'i';
}
static const spool_filter_ops tracing = {.struct_size = sizeof tracing, .span = trace_inside};

Test(filter, a_filter_that_traces_does_not_run_away) {
    witness one = {0};
    judge self = {0};
    uint64_t before = 0;
    spool_sdk *sdk = open_with(&one, NULL, custom(&tracing, &self), NULL, NULL);
    before = spt_stats(sdk).hook_recursion;
    spool_span_end(start("t", "x"));
    cr_expect_str_eq(one.seen, "+x -x ");
    cr_expect_eq(self.calls, 8);
    cr_expect_eq(spt_stats(sdk).hook_recursion, before + 1);
    close_balanced(sdk);
    SPT_TEST_END;
}

Test(filter, late_spans_are_offered_to_those_who_admitted_them) {
    spool_memory_store *stores[2];
    spool_filter *a = custom(&only_a, NULL);
    spool_sdk *sdk = open_stores(stores, a);
    spool_filter_release(a);
    spool_span late = start("t", "b");
    cr_assert_eq(spool_shutdown(sdk, 100, NULL), SPOOL_OK);
    spool_span_end(late);
    struct spool_stats stats = spt_stats(sdk);
    cr_expect_eq(stats.processors[0][0].offered, 0);
    cr_expect_eq(stats.processors[1][0].offered, 1);
    close_stores(sdk, stores);
    SPT_TEST_END;
}

Test(filter, works_without_processors) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    spool_filter *filter = parse("info,noisy=off");
    options.filter = filter;
    spool_sdk *sdk = NULL;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
    spool_filter_release(filter);
    /* Nobody to record it for, but it has ids. */
    spool_span span = start("t", "x");
    cr_expect_neq(span.bits, 0);
    cr_expect_not(spool_span_is_recording(span));
    spool_span_end(span);
    cr_expect_eq(start("noisy", "x").bits, 0);
    close_balanced(sdk);
    SPT_TEST_END;
}

/* ---- the documentation ---- */

Test(filter, the_examples_of_the_documentation_are_valid) {
    FILE *page = fopen(SPT_FILTERS_PAGE, "r");
    cr_assert_not_null(page);
    char line[512];
    unsigned examples = 0;
    while (fgets(line, sizeof line, page)) {
        char *end = strncmp(line, "| `", 3) == 0 ? strchr(line + 3, '`') : NULL;
        if (end) {
            *end = '\0';
            spool_filter *filter = NULL;
            cr_expect_eq(spool_filter_create(line + 3, &filter), SPOOL_OK, "%s", line + 3);
            spool_filter_release(filter);
            examples++;
        }
    }
    (void)fclose(page);
    cr_expect_geq(examples, 12);
    SPT_TEST_END;
}
