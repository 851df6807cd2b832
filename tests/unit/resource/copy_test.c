/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives a call is copied: resources, scopes, and the memory exporter's records. */
#include "sdk/resource/copy.h"
#include "sdk/resource/scope.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <criterion/criterion.h>
#include <string.h>

/* T39: a pointer of NULL has no length, whatever stands beside it. */
Test(copy, T39_lengths_beside_null_pointers_count_for_nothing) {
    spool_attr attrs[4] = {spool_int("a", 1), spool_int("b", 1), spool_int("c", 1),
                           spool_int("d", 1)};
    attrs[0].value.type = SPOOL_VALUE_ARRAY;
    attrs[0].value.as.array.items = NULL;
    attrs[0].value.as.array.count = 5;
    attrs[1].value.type = SPOOL_VALUE_MAP;
    attrs[1].value.as.map.items = NULL;
    attrs[1].value.as.map.count = 5;
    attrs[2].value.type = SPOOL_VALUE_STRING;
    attrs[2].value.as.string = (spool_str){NULL, 9};
    attrs[3].value.type = SPOOL_VALUE_BYTES;
    attrs[3].value.as.bytes = (spool_str){NULL, 9};
    spool_resource *resource = NULL;
    cr_assert_eq(spool_resource_create(attrs, 4, (spool_str){NULL, 9}, &resource), SPOOL_OK);
    const spool_resource_data *data = spool_resource_data_of(resource);
    cr_expect_eq(data->attr_count, 4);
    cr_expect_eq(data->schema_url.len, 0);
    cr_expect_eq(spt_attr(data->attrs, 4, "a")->as.array.count, 0);
    cr_expect_eq(spt_attr(data->attrs, 4, "c")->as.string.len, 0);
    spool_resource_release(resource);
    spool_scope scope = {.name = {NULL, 9}, .version = {NULL, 9}, .schema_url = {NULL, 9}};
    cr_expect_eq(spool_tracer_get_scope(&scope), spool_tracer_get("", ""));
    spt_pipeline pipe;
    cr_assert(spt_pipeline_open(&pipe, NULL));
    spool_log_n(spool_logger_get("t", ""), 9, (spool_str){NULL, 9}, attrs, 4);
    cr_expect_eq(spool_memory_log(pipe.store, 0)->attr_count, 4);
    cr_expect(spt_pipeline_close(&pipe));
    SPT_TEST_END;
}

/* T35: what goes out as it is kept is repaired when it is kept. */
Test(copy, T35_schema_urls_are_valid_text) {
    spool_resource *resource = NULL;
    cr_assert_eq(spool_resource_create(NULL, 0, spool_str_of("http://x/\xff\xfe"), &resource),
                 SPOOL_OK);
    cr_expect(spt_text_is(spool_resource_data_of(resource)->schema_url,
                          "http://x/\xef\xbf\xbd\xef\xbf\xbd"));
    spool_resource_release(resource);
    spool_scope scope = {.name = SPOOL_STR_INIT("s"), .schema_url = {"u\xc3", 2}};
    cr_expect(spt_text_is(sp_scope_intern(&scope)->view.schema_url, "u\xef\xbf\xbd"));
    SPT_TEST_END;
}

/* A value of few items that share others may have very many: it is refused, not followed for ever. */
Test(copy, a_value_that_fans_out_is_bounded) {
    enum { DEPTH = 40 };
    spool_value levels[DEPTH][2];
    levels[0][0] = levels[0][1] = spool_value_int(1);
    for (int i = 1; i < DEPTH; i++) {
        levels[i][0] = levels[i][1] = spool_value_array(levels[i - 1], 2);
    }
    spool_attr attr = spool_attr_of("k", levels[DEPTH - 1][0]);
    spool_resource *resource = NULL;
    cr_expect_eq(spool_resource_create(&attr, 1, spool_str_n(NULL, 0), &resource), SPOOL_ERR_NOMEM);
    cr_expect_null(resource);
    SPT_TEST_END;
}

Test(copy, keys_become_unique_and_the_last_value_stays) {
    sp_arena arena = {0};
    spool_attr attrs[] = {spool_int("a", 1), spool_int("b", 2), spool_int("", 3),
                          spool_int("a", 4)};
    const spool_attr *copies;
    size_t count;
    cr_assert(sp_copy_attrs(&arena, attrs, 4, &copies, &count));
    cr_expect_eq(count, 2);
    cr_expect_eq(copies[0].value.as.integer, 4);
    cr_expect(sp_attrs_equal(copies, count, copies, count));
    sp_arena_fini(&arena);
    SPT_TEST_END;
}

Test(resource, RE_02_the_updating_one_wins_and_schema_urls_must_agree) {
    spool_attr low[] = {spool_string("a", "low"), spool_string("b", "low")};
    spool_attr high[] = {spool_string("a", ""), spool_string("c", "high")};
    spool_resource *old = NULL;
    spool_resource *updating = NULL;
    spool_resource *merged = NULL;
    cr_assert_eq(spool_resource_create(low, 2, SPOOL_STR("u1"), &old), SPOOL_OK);
    cr_assert_eq(spool_resource_create(high, 2, spool_str_n(NULL, 0), &updating), SPOOL_OK);
    cr_assert_eq(spool_resource_merge(old, updating, &merged), SPOOL_OK);
    const spool_resource_data *data = spool_resource_data_of(merged);
    cr_expect_eq(data->attr_count, 3);
    cr_expect_eq(spt_attr(data->attrs, 3, "a")->as.string.len, 0);
    cr_expect(spt_text_is(data->schema_url, "u1"));
    spool_resource_release(merged);
    spool_resource_release(updating);
    cr_assert_eq(spool_resource_create(high, 2, SPOOL_STR("u2"), &updating), SPOOL_OK);
    merged = NULL;
    cr_expect_eq(spool_resource_merge(old, updating, &merged), SPOOL_ERR_INVALID);
    cr_expect_null(merged);
    spool_resource_release(updating);
    spool_resource_release(old);
    SPT_TEST_END;
}

Test(resource, RE_03_RE_05_the_default_names_the_service_and_the_sdk) {
    spool_resource *resource = NULL;
    cr_assert_eq(spool_resource_default(&resource), SPOOL_OK);
    const spool_resource_data *data = spool_resource_data_of(resource);
    spool_str service = spt_attr(data->attrs, data->attr_count, "service.name")->as.string;
    cr_expect_eq(strncmp(service.ptr, "unknown_service:", 16), 0);
    cr_expect(spt_text_is(spt_attr(data->attrs, data->attr_count, "telemetry.sdk.name")->as.string,
                          "spool"));
    cr_expect(spt_text_is(
        spt_attr(data->attrs, data->attr_count, "telemetry.sdk.language")->as.string, "c"));
    spool_resource_release(resource);
    SPT_TEST_END;
}
