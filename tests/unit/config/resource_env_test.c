/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME (case T65). */
#include "config/resource_env.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"
#include "tests/unit/config/caught.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char LIST[] = "OTEL_RESOURCE_ATTRIBUTES";

static spool_resource *resource;
static const spool_resource_data *data;

static void read_list(const char *list) {
    spool_resource_release(resource);
    resource = NULL;
    setenv(LIST, list, 1);
    cr_assert_eq(sp_resource_from_env(true, &resource), SPOOL_OK);
    data = spool_resource_data_of(resource);
}

static bool has(const char *key, const char *text) {
    const spool_value *value = spt_attr(data->attrs, data->attr_count, key);
    return value && value->type == SPOOL_VALUE_STRING && spt_text_is(value->as.string, text);
}

static void finish(void) {
    spool_resource_release(resource);
    resource = NULL;
    data = NULL;
}

Test(resource_env, T65_pairs_are_trimmed_and_decoded) {
    spt_caught_start();
    read_list("a=1,b=%20x%2Cy , c = d=e,k%3D=%c3%a4,\xc3\xa4=\xc3\xb6,empty=,plus=a+b");
    cr_expect_eq(data->attr_count, 7);
    cr_expect(has("a", "1"));
    cr_expect(has("b", " x,y"));
    cr_expect(has("c", "d=e"));
    cr_expect(has("k=", "\xc3\xa4"));
    cr_expect(has("\xc3\xa4", "\xc3\xb6"));
    cr_expect(has("empty", ""));
    cr_expect(has("plus", "a+b"));
    cr_expect_eq(spt_caught_lines(), 0, "%s", spt_caught_line(0));
    finish();
    SPT_TEST_END;
}

Test(resource_env, T65_one_bad_pair_voids_the_variable_with_one_warning) {
    static const char *const bad[] = {"ok=1,a", "=x",       "ok=1,a=%zz", "a=%4",
                                      "a=%",    "ok=1, =x", "%=a"};
    setenv("OTEL_SERVICE_NAME", "shop", 1);
    spt_caught_start();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        read_list(bad[i]);
        cr_expect_eq(data->attr_count, 1, "%s", bad[i]);
        cr_expect(has("service.name", "shop"));
        cr_expect_eq(spt_caught_lines(), 1);
    }
    cr_expect_eq(spt_caught_with(LIST), 1);
    cr_expect_eq(spt_caught_with("ok=1,a"), 1);
    finish();
    SPT_TEST_END;
}

Test(resource_env, T65_nothing_between_commas_is_nothing) {
    spt_caught_start();
    read_list(",,");
    cr_expect_eq(data->attr_count, 0);
    read_list("");
    cr_expect_eq(data->attr_count, 0);
    cr_expect_eq(spt_caught_lines(), 0);
    finish();
    SPT_TEST_END;
}

Test(resource_env, T65_ten_thousand_pairs) {
    enum { PAIRS = 10000, PAIR_BYTES = 24 };
    char *list = malloc(PAIRS * PAIR_BYTES);
    cr_assert_not_null(list);
    size_t used = 0;
    for (int i = 0; i < PAIRS; i++) {
        used += (size_t)snprintf(list + used, PAIR_BYTES, "%sk%d=v%d", i ? "," : "", i, i);
    }
    spt_caught_start();
    uint64_t begin_ns = spt_now_ns();
    read_list(list);
    cr_expect_lt(spt_now_ns() - begin_ns, UINT64_C(20000000000));
    cr_expect_eq(data->attr_count, PAIRS);
    cr_expect(has("k0", "v0"));
    cr_expect(has("k9999", "v9999"));
    cr_expect_eq(spt_caught_lines(), 0);
    free(list);
    finish();
    SPT_TEST_END;
}

Test(resource_env, T65_the_service_name_of_its_own_variable_wins) {
    read_list("service.name=low,a=1,a=2");
    cr_expect(has("service.name", "low"));
    cr_expect(has("a", "2"), "the last of equal keys");
    setenv("OTEL_SERVICE_NAME", "high%20", 1);
    read_list("service.name=low,a=1");
    cr_expect_eq(data->attr_count, 2);
    cr_expect(has("service.name", "high%20"), "it is not decoded");
    finish();
    SPT_TEST_END;
}

Test(resource_env, the_environment_is_left_as_it_was_and_unread_if_so_asked) {
    read_list("a=%20b");
    cr_expect_str_eq(getenv(LIST), "a=%20b");
    finish();
    cr_assert_eq(sp_resource_from_env(false, &resource), SPOOL_OK);
    cr_expect_eq(spool_resource_data_of(resource)->attr_count, 0);
    finish();
    SPT_TEST_END;
}
