/* SPDX-License-Identifier: Apache-2.0 */
/* The memory store filled by many threads, read and measured by another meanwhile. */
#define SPOOL_SCOPE "store.threads"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <pthread.h>
#include <stdatomic.h>

enum { WRITERS = 6, ROUNDS = SPT_TSAN ? 200 : 1000 };

static spt_pipeline pipeline;
static atomic_bool done;

static void *write_records(void *arg) {
    int64_t number = *(const int64_t *)arg;
    for (int64_t i = 0; i < ROUNDS; i++) {
        spool_span span = spool_span_start(SPOOL_TRACER(), "s", NULL);
        spool_span_set(span, spool_int("writer", number));
        spool_span_set(span, spool_int("i", i));
        spool_span_end(span);
        SPOOL_INFO("x", spool_int("writer", number), spool_int("i", i));
    }
    return NULL;
}

static void *read_records(void *arg) {
    uint64_t *seen = arg;
    while (!atomic_load(&done)) {
        size_t count = spool_memory_span_count(pipeline.store);
        if (count) {
            const spool_span_data *span = spool_memory_span(pipeline.store, count - 1);
            *seen += span->attr_count == 2 && spt_text_is(span->name, "s");
        }
        count = spool_memory_log_count(pipeline.store);
        if (count) {
            *seen += spool_memory_log(pipeline.store, count - 1)->attr_count == 2;
        }
    }
    return NULL;
}

/* Each writer's records are there once and in its order. */
static void check_order(void) {
    int64_t next_span[WRITERS] = {0};
    int64_t next_log[WRITERS] = {0};
    for (size_t i = 0; i < spool_memory_span_count(pipeline.store); i++) {
        const spool_span_data *span = spool_memory_span(pipeline.store, i);
        int64_t writer = spt_attr(span->attrs, 2, "writer")->as.integer;
        SPT_CHECK(spt_attr(span->attrs, 2, "i")->as.integer == next_span[writer]++);
    }
    for (size_t i = 0; i < spool_memory_log_count(pipeline.store); i++) {
        const spool_log_data *log = spool_memory_log(pipeline.store, i);
        int64_t writer = spt_attr(log->attrs, 2, "writer")->as.integer;
        SPT_CHECK(spt_attr(log->attrs, 2, "i")->as.integer == next_log[writer]++);
    }
}

static void many_writers_and_a_reader(void) {
    pthread_t writers[WRITERS];
    pthread_t reader;
    int64_t numbers[WRITERS];
    uint64_t seen = 0;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    SPT_REQUIRE(pthread_create(&reader, NULL, read_records, &seen) == 0);
    for (int64_t i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        SPT_REQUIRE(pthread_create(&writers[i], NULL, write_records, &numbers[i]) == 0);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        (void)pthread_join(writers[i], NULL);
    }
    atomic_store(&done, true);
    (void)pthread_join(reader, NULL);
    SPT_CHECK_UINT(spool_memory_span_count(pipeline.store), WRITERS * ROUNDS);
    SPT_CHECK_UINT(spool_memory_log_count(pipeline.store), WRITERS * ROUNDS);
    check_order();
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

SPT_MAIN("memory_store.threads", SPT_CASE(many_writers_and_a_reader))
