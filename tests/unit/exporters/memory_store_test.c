/* SPDX-License-Identifier: Apache-2.0 */
/* The memory exporter: deep copies, order, capacity, shutdown, who frees what. */
#define SPOOL_SCOPE "memory.test"
#define SPOOL_SCOPE_VERSION "1"
#include "sdk/memory/arena.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <criterion/criterion.h>
#include <string.h>

static spool_sdk *sdk;
static spool_memory_store *store;

static void open_store(size_t capacity) {
    spool_exporter exporter;
    spool_processor processor;
    cr_assert_eq(spool_memory_create(capacity, &store, &exporter), SPOOL_OK);
    cr_assert_eq(spool_simple_create(exporter, NULL, &processor), SPOOL_OK);
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    cr_assert_eq(spool_sdk_create(&options, &sdk), SPOOL_OK);
}

static void close_store(void) {
    (void)spool_shutdown(sdk, 1000, NULL);
    cr_expect(spt_balanced(sdk));
    spool_sdk_free(sdk);
    spool_memory_release(store);
}

static spool_processor_stats counts(uint32_t signal) {
    return spt_stats(sdk).processors[0][signal];
}

/* Everything is in buffers of the caller, which are overwritten after the call. */
Test(memory_store, copies_survive_the_callers_buffers) {
    open_store(0);
    char key[] = "key";
    char value[] = "value";
    char name[] = "name";
    char bytes[] = "bytes";
    char inner[] = "inner";
    spool_value items[] = {spool_value_string(inner), spool_value_bytes(bytes, 5)};
    spool_attr pairs[] = {spool_array(key, items, 2)};
    spool_attr attrs[] = {spool_string(key, value), spool_map("map", pairs, 1)};
    struct spool_span_context other = {{1}, {2}, SPOOL_FLAG_SAMPLED, 1, {0}};
    char state[] = "v=1";
    spool_link link = {
        .context = other, .trace_state = spool_str_of(state), .attrs = attrs, .attr_count = 2};
    spool_span span = spool_span_start(SPOOL_TRACER(), name, NULL);
    spool_span_set_all(span, attrs, 2);
    spool_span_event(span, name, attrs, 2);
    spool_span_link(span, &link);
    spool_span_status(span, SPOOL_STATUS_ERROR, value);
    spool_span_end(span);
    spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, value, attrs[0], attrs[1]);
    memset(key, '#', 3);
    memset(value, '#', 5);
    memset(name, '#', 4);
    memset(bytes, '#', 5);
    memset(inner, '#', 5);
    memset(state, '#', 3);
    memset(attrs, 0, sizeof attrs);
    const spool_span_data *kept = spool_memory_span(store, 0);
    const spool_log_data *log = spool_memory_log(store, 0);
    cr_assert(kept && log);
    cr_expect(spt_text_is(kept->name, "name"));
    cr_expect(spt_text_is(kept->status_description, "value"));
    cr_expect(spt_text_is(kept->events[0].name, "name"));
    cr_expect(spt_text_is(kept->links[0].trace_state, "v=1"));
    cr_expect(spt_text_is(log->body.as.string, "value"));
    cr_expect(spt_text_is(kept->scope->name, "memory.test"));
    cr_expect(spt_text_is(log->scope->version, "1"));
    const struct {
        const spool_attr *attrs;
        size_t count;
    } lists[] = {{kept->attrs, kept->attr_count},
                 {kept->events[0].attrs, kept->events[0].attr_count},
                 {kept->links[0].attrs, kept->links[0].attr_count},
                 {log->attrs, log->attr_count}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const spool_value *text = spt_attr(lists[i].attrs, lists[i].count, "key");
        const spool_value *map = spt_attr(lists[i].attrs, lists[i].count, "map");
        cr_assert(text && map, "list %zu", i);
        cr_expect(spt_text_is(text->as.string, "value"));
        cr_expect(spt_text_is(map->as.map.items[0].key, "key"));
        const spool_value *array = &map->as.map.items[0].value;
        cr_expect(spt_text_is(array->as.array.items[0].as.string, "inner"));
        cr_expect_arr_eq(array->as.array.items[1].as.bytes.ptr, "bytes", 5);
    }
    /* And the SDK's own memory too. */
    (void)spool_shutdown(sdk, 1000, NULL);
    spool_sdk_free(sdk);
    cr_expect(spt_text_is(kept->name, "name"));
    cr_expect_not_null(spt_attr(kept->resource->attrs, kept->resource->attr_count, "service.name"));
    spool_memory_release(store);
    SPT_TEST_END;
}

Test(memory_store, a_record_with_nothing_in_it) {
    open_store(0);
    spool_span_end(spool_span_start(SPOOL_TRACER(), "", NULL));
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    spool_log_emit(SPOOL_LOGGER(), &record);
    const spool_span_data *span = spool_memory_span(store, 0);
    const spool_log_data *log = spool_memory_log(store, 0);
    cr_assert(span && log);
    cr_expect_eq(span->attr_count + span->event_count + span->link_count, 0);
    cr_expect_eq(log->attr_count, 0);
    cr_expect_eq(log->body.type, SPOOL_VALUE_EMPTY);
    spool_attr empty[] = {spool_array("a", NULL, 0), spool_map("m", NULL, 0),
                          spool_string("s", "")};
    spool_log(SPOOL_LOGGER(), SPOOL_SEVERITY_INFO, "", empty[0], empty[1], empty[2]);
    log = spool_memory_log(store, 1);
    cr_assert_eq(log->attr_count, 3);
    cr_expect_eq(spt_attr(log->attrs, 3, "a")->as.array.count, 0);
    close_store();
    SPT_TEST_END;
}

Test(memory_store, an_arena_gives_memory_for_nothing) {
    sp_arena arena = {NULL, 0};
    cr_expect_not_null(sp_arena_alloc(&arena, 0));
    for (int i = 0; i < 1000; i++) {
        cr_expect_not_null(sp_arena_alloc(&arena, 16));
        cr_expect_not_null(sp_arena_alloc(&arena, 0));
    }
    sp_arena_fini(&arena);
    SPT_TEST_END;
}

Test(memory_store, what_is_over_the_capacity_is_dropped_as_over_a_limit) {
    open_store(3);
    for (int i = 0; i < 2; i++) {
        spool_span_end(spool_span_start(SPOOL_TRACER(), "s", NULL));
    }
    for (int i = 0; i < 3; i++) {
        SPOOL_INFO("x");
    }
    cr_expect_eq(spool_memory_span_count(store), 2);
    cr_expect_eq(spool_memory_log_count(store), 1);
    cr_expect_eq(counts(SPOOL_SIGNAL_LOGS).dropped[SPOOL_DROP_LIMIT], 2);
    cr_expect_eq(counts(SPOOL_SIGNAL_LOGS).delivered, 1);
    spool_memory_clear(store);
    cr_expect_eq(spool_memory_span_count(store) + spool_memory_log_count(store), 0);
    SPOOL_INFO("room again");
    cr_expect_eq(spool_memory_log_count(store), 1);
    close_store();
    SPT_TEST_END;
}

Test(memory_store, pointers_stay_while_others_come) {
    enum { RECORDS = 1000 };
    open_store(0);
    SPOOL_INFO("first", spool_int("i", -1));
    const spool_log_data *first = spool_memory_log(store, 0);
    for (int i = 0; i < RECORDS; i++) {
        SPOOL_INFO("x", spool_int("i", i));
    }
    cr_expect_eq(spool_memory_log(store, 0), first);
    cr_expect(spt_text_is(first->body.as.string, "first"));
    for (size_t i = 0; i < RECORDS; i++) {
        const spool_log_data *log = spool_memory_log(store, i + 1);
        cr_assert_eq(log->attrs[0].value.as.integer, (int64_t)i, "in the order of arrival");
    }
    cr_expect_null(spool_memory_log(store, RECORDS + 1));
    cr_expect_null(spool_memory_span(store, 0));
    close_store();
    SPT_TEST_END;
}

Test(memory_store, after_a_shutdown_nothing_is_kept_and_what_there_is_stays) {
    open_store(0);
    SPOOL_INFO("before");
    cr_expect_eq(spool_shutdown(sdk, 1000, NULL), SPOOL_OK);
    SPOOL_INFO("after");
    cr_expect_eq(spool_memory_log_count(store), 1);
    cr_expect(spt_text_is(spool_memory_log(store, 0)->body.as.string, "before"));
    close_store();
    SPT_TEST_END;
}

Test(memory_store, the_exporter_outlives_the_callers_reference) {
    open_store(0);
    spool_memory_release(store);
    SPOOL_INFO("kept for nobody");
    cr_expect_eq(counts(SPOOL_SIGNAL_LOGS).delivered, 1);
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(memory_store, T39_null_everywhere) {
    spool_memory_store *other;
    spool_exporter exporter;
    cr_expect_eq(spool_memory_create(1, NULL, &exporter), SPOOL_ERR_INVALID);
    cr_expect_eq(spool_memory_create(1, &other, NULL), SPOOL_ERR_INVALID);
    spool_memory_release(NULL);
    spool_memory_clear(NULL);
    cr_expect_eq(spool_memory_span_count(NULL) + spool_memory_log_count(NULL), 0);
    cr_expect_null(spool_memory_span(NULL, 0));
    cr_expect_null(spool_memory_log(NULL, 0));
    SPT_TEST_END;
}
