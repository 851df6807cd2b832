/* SPDX-License-Identifier: Apache-2.0 */
/* The process's propagators: the default, replacing them, order, fields. */
#include <spool/ext/propagator.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

static char order[16];

static void note(char what) {
    size_t len = strlen(order);
    cr_assert(len + 1 < sizeof order);
    order[len] = what;
}

static void inject_a(const spool_context *context, const spool_setter *setter, void *carrier) {
    (void)context;
    note('a');
    setter->set(carrier, SPOOL_STR("x-a"), SPOOL_STR("1"));
}

static void inject_b(const spool_context *context, const spool_setter *setter, void *carrier) {
    (void)context, (void)setter, (void)carrier;
    note('b');
}

static spool_context extract_a(const spool_context *base, const spool_getter *getter,
                               const void *carrier) {
    (void)getter, (void)carrier;
    note('A');
    return spool_context_copy(base);
}

static spool_context extract_b(const spool_context *base, const spool_getter *getter,
                               const void *carrier) {
    (void)getter, (void)carrier;
    note('B');
    return spool_context_copy(base);
}

static size_t fields_a(spool_str *out_names, size_t capacity) {
    if (out_names && capacity) {
        out_names[0] = SPOOL_STR("x-a");
    }
    return 1;
}

static const spool_propagator a = {sizeof a, "a", inject_a, extract_a, fields_a};
static const spool_propagator b = {sizeof b, "b", inject_b, extract_b, NULL};

Test(propagation, the_default_is_trace_context_and_baggage) {
    spool_str names[4];
    cr_assert_eq(spool_propagation_fields(names, 4), 3);
    cr_assert_eq(memcmp(names[0].ptr, "traceparent", 11), 0);
    cr_assert_eq(memcmp(names[1].ptr, "tracestate", 10), 0);
    cr_assert_eq(memcmp(names[2].ptr, "baggage", 7), 0);
    names[1].ptr = "kept";
    cr_assert_eq(spool_propagation_fields(names, 1), 3);
    cr_assert_str_eq(names[1].ptr, "kept");
    cr_assert_eq(spool_propagation_fields(NULL, 9), 3);
    SPT_TEST_END;
}

Test(propagation, PR_05_they_are_called_in_the_order_given) {
    const spool_propagator *both[] = {&b, &a};
    spool_header items[2];
    char text[64];
    spool_header_buffer buffer = {items, 2, 0, text, sizeof text, 0, 0};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(spool_propagators_set(both, 2), SPOOL_OK);
    }
    spool_inject(NULL, &spool_header_setter, &buffer);
    spool_context context = spool_extract(NULL, &spool_header_getter, NULL);
    spool_context_release(&context);
    cr_assert_str_eq(order, "baBA");
    cr_assert_eq(buffer.count, 1);
    cr_assert_eq(spool_propagation_fields(NULL, 0), 1);
    cr_assert_eq(spool_propagators_set(NULL, 0), SPOOL_OK);
    spool_inject(NULL, &spool_header_setter, &buffer);
    cr_assert_str_eq(order, "baBA");
    cr_assert_eq(spool_propagation_fields(NULL, 0), 0);
    SPT_TEST_END;
}

Test(propagation, what_cannot_be_used_is_refused_and_nothing_changes) {
    static const spool_propagator no_size = {0, "x", inject_a, extract_a, fields_a};
    static const spool_propagator no_inject = {sizeof a, "x", NULL, extract_a, fields_a};
    static const spool_propagator no_extract = {sizeof a, "x", inject_a, NULL, fields_a};
    const spool_propagator *bad[] = {NULL, &no_size, &no_inject, &no_extract};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(spool_propagators_set(&bad[i], 1), SPOOL_ERR_INVALID);
    }
    const spool_propagator *many[9] = {&a, &a, &a, &a, &a, &a, &a, &a, &a};
    cr_assert_eq(spool_propagators_set(many, 9), SPOOL_ERR_LIMIT);
    cr_assert_eq(spool_propagators_set(NULL, 1), SPOOL_ERR_INVALID);
    cr_assert_eq(spool_propagation_fields(NULL, 0), 3);
    cr_assert_eq(spool_propagators_set(many, 8), SPOOL_OK);
    SPT_TEST_END;
}

Test(propagation, T39_null_is_harmless) {
    static const spool_setter no_set = {NULL};
    static const spool_getter no_get = {NULL, NULL};
    static const spool_propagator *const both[] = {&spool_propagator_tracecontext,
                                                   &spool_propagator_baggage};
    struct spool_span_context ids = {{7}, {8}, 1, 0, {0}};
    spool_context base = spool_context_with_remote(NULL, &ids, SPOOL_STR("a=b"));
    spool_inject(&base, NULL, NULL);
    spool_inject(&base, &no_set, NULL);
    spool_inject(&base, &spool_header_setter, NULL);
    spool_inject(NULL, NULL, NULL);
    const spool_getter *getters[] = {NULL, &no_get, &spool_header_getter, &spool_envp_getter};
    for (size_t i = 0; i < 4; i++) {
        spool_context same = spool_extract(&base, getters[i], NULL);
        cr_assert_eq(memcmp(&same, &base, sizeof same), 0);
        spool_context_release(&same);
        for (size_t j = 0; j < 2; j++) {
            same = both[j]->extract(&base, getters[i], NULL);
            cr_assert_eq(memcmp(&same, &base, sizeof same), 0);
            spool_context_release(&same);
            same = both[j]->extract(NULL, getters[i], NULL);
            cr_assert_null(same.block);
        }
    }
    for (size_t j = 0; j < 2; j++) {
        both[j]->inject(NULL, NULL, NULL);
        both[j]->inject(&base, &no_set, NULL);
        cr_assert_eq(both[j]->fields(NULL, 5), 2 - j);
    }
    spool_context_release(&base);
    SPT_TEST_END;
}

/* A setter that changes what is current: inject holds its own reference. */
static void set_and_rewind(void *carrier, spool_str name, spool_str value) {
    spool_context_rewind(*(spool_mark *)carrier);
    cr_assert(name.len > 0 && value.len > 0);
}

Test(propagation, a_setter_may_change_the_stack) {
    static const spool_setter setter = {set_and_rewind};
    struct spool_span_context ids = {{7}, {8}, 1, 0, {0}};
    spool_mark mark = spool_context_mark();
    spool_context base = spool_context_with_remote(NULL, &ids, SPOOL_STR("a=b"));
    (void)spool_context_attach(&base);
    spool_context_release(&base);
    spool_inject(NULL, &setter, &mark);
    SPT_TEST_END;
}
