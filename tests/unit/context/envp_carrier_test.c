/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables as carriers (PR-18, PR-19). */
#include <spool/propagation.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static void expect_text(spool_str got, const char *text) {
    cr_assert_eq(got.len, strlen(text), "%.*s", (int)got.len, got.ptr);
    cr_assert_eq(memcmp(got.ptr, text, got.len), 0, "%.*s", (int)got.len, got.ptr);
}

Test(envp_carrier, PR_18_get_reads_the_normalised_name_alone) {
    static const char *const envp[] = {"traceparent=lower",
                                       "TRACEPARENT2=longer",
                                       "TRACEPAREN=shorter",
                                       "TRACEPARENT",
                                       "TRACEPARENT=right",
                                       "TRACEPARENT=second",
                                       "X_B3_TRACEID=b3",
                                       "_9LIVES=cat",
                                       "_=nameless",
                                       "NO_EQUALS",
                                       "A_B=",
                                       NULL};
    spool_str value;
    cr_assert(spool_envp_getter.get(envp, SPOOL_STR("traceparent"), 0, &value));
    expect_text(value, "right");
    cr_assert_not(spool_envp_getter.get(envp, SPOOL_STR("traceparent"), 1, &value));
    cr_assert(spool_envp_getter.get(envp, SPOOL_STR("X-B3-TraceId"), 0, &value));
    expect_text(value, "b3");
    cr_assert(spool_envp_getter.get(envp, SPOOL_STR("9lives"), 0, &value));
    expect_text(value, "cat");
    cr_assert(spool_envp_getter.get(envp, SPOOL_STR(""), 0, &value));
    expect_text(value, "nameless");
    cr_assert(spool_envp_getter.get(envp, SPOOL_STR("a.b"), 0, &value));
    expect_text(value, "");
    cr_assert(spool_envp_getter.get(envp, SPOOL_STR("a\xc3"), 0, &value) == false);
    cr_assert_not(spool_envp_getter.get(envp, SPOOL_STR("no_equals"), 0, &value));
    SPT_TEST_END;
}

Test(envp_carrier, PR_18_keys_are_the_normalised_names_alone) {
    static const char *const envp[] = {"lower=1", "UPPER=2", "9A=3",  "_9A=4", "A.B=5",
                                       "=6",      "NAKED",   "Z_9=7", NULL};
    static const char *const expected[] = {"UPPER", "_9A", "Z_9"};
    spool_str name;
    for (size_t i = 0; i < 3; i++) {
        cr_assert(spool_envp_getter.key(envp, i, &name));
        expect_text(name, expected[i]);
    }
    cr_assert_not(spool_envp_getter.key(envp, 3, &name));
    SPT_TEST_END;
}

Test(envp_carrier, PR_19_the_child_environment_is_a_copy) {
    static const char *const base[] = {"PATH=/bin", "TRACEPARENT=old", "HOME=/",
                                       "TRACEPARENT=older", NULL};
    spool_envp *envp = spool_envp_create(base);
    cr_assert_not_null(envp);
    spool_envp_setter.set(envp, SPOOL_STR("traceparent"), SPOOL_STR("new"));
    spool_envp_setter.set(envp, SPOOL_STR("trace-state"), SPOOL_STR("a=b"));
    spool_envp_setter.set(envp, SPOOL_STR("2nd"), SPOOL_STR(""));
    spool_envp_setter.set(envp, SPOOL_STR("nul"), spool_str_n("a\0b", 3));
    char *const *array = spool_envp_array(envp);
    cr_assert_str_eq(array[0], "PATH=/bin");
    cr_assert_str_eq(array[1], "TRACEPARENT=new");
    cr_assert_str_eq(array[2], "HOME=/");
    cr_assert_str_eq(array[3], "TRACE_STATE=a=b");
    cr_assert_str_eq(array[4], "_2ND=");
    cr_assert_null(array[5]);
    cr_assert_str_eq(base[1], "TRACEPARENT=old");
    cr_assert_null(getenv("TRACE_STATE"));
    spool_envp_destroy(envp);
    SPT_TEST_END;
}

Test(envp_carrier, grows_and_goes_back_and_forth) {
    char name[16];
    spool_envp *envp = spool_envp_create(NULL);
    cr_assert_null(spool_envp_array(envp)[0]);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "n%d", i % 250);
        spool_envp_setter.set(envp, spool_str_of(name), SPOOL_STR("v"));
    }
    char *const *array = spool_envp_array(envp);
    size_t count = 0;
    while (array[count]) {
        count++;
    }
    cr_assert_eq(count, 250);
    spool_envp_destroy(envp);

    struct spool_span_context ids = {{7}, {8}, 1, 0, {0}};
    spool_context context = spool_context_with_remote(NULL, &ids, SPOOL_STR("a=b"));
    envp = spool_envp_create((const char *const *)environ);
    spool_inject(&context, &spool_envp_setter, envp);
    spool_context back = spool_extract(NULL, &spool_envp_getter, spool_envp_array(envp));
    cr_assert_eq(memcmp(&back.span, &context.span, sizeof back.span), 0);
    expect_text(spool_context_trace_state(&back), "a=b");
    spool_context_release(&back);
    spool_context_release(&context);
    spool_envp_destroy(envp);
    SPT_TEST_END;
}

Test(envp_carrier, T39_null_is_harmless) {
    spool_str value;
    cr_assert_not(spool_envp_getter.get(NULL, SPOOL_STR("a"), 0, &value));
    cr_assert_not(spool_envp_getter.key(NULL, 0, &value));
    spool_envp_setter.set(NULL, SPOOL_STR("a"), SPOOL_STR("b"));
    cr_assert_null(spool_envp_array(NULL)[0]);
    spool_envp_destroy(NULL);
    spool_envp *envp = spool_envp_create(NULL);
    spool_envp_setter.set(envp, (spool_str){NULL, 3}, SPOOL_STR("b"));
    spool_envp_setter.set(envp, SPOOL_STR("a"), (spool_str){NULL, 3});
    cr_assert_null(spool_envp_array(envp)[0]);
    spool_envp_destroy(envp);
    SPT_TEST_END;
}
