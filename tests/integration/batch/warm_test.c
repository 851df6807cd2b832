/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warm path through a processor: the caller's thread asks for no memory and makes no mapping, for spans
 * and records with attributes that are new each time.
 */
#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"

#include <spool/log.h>
#include <spool/sdk/batch.h>
#include <spool/sdk/provider.h>
#include <spool/sdk/simple.h>
#include <spool/trace.h>

#include <stdio.h>
#include <string.h>

enum { WARM = 1000, COUNTED = 20000, ATTRS = 8, LONG_MS = 20000 };

static void keep_nothing(void *self, spool_batch *batch, uint64_t deadline_ns) {
    (void)self;
    (void)deadline_ns;
    spool_outcome outcome = {.delivered = spool_batch_count(batch)};
    spool_batch_done(spool_batch_id(batch), &outcome);
}

static const spool_exporter_ops null_ops = {
    .struct_size = sizeof(spool_exporter_ops), .name = "null", .export_batch = keep_nothing};

static void emit(spool_logger *logger, spool_tracer *tracer, unsigned number, size_t attr_count) {
    char keys[ATTRS][32], values[ATTRS][64];
    spool_attr attrs[ATTRS];
    for (unsigned i = 0; i < attr_count; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "key.%u.%u", i, number % 100);
        (void)snprintf(values[i], sizeof values[i], "value %u of record %u", i, number);
        attrs[i] = i % 2 ? spool_int(keys[i], number) : spool_string(keys[i], values[i]);
    }
    if (logger) {
        spool_log_n(logger, SPOOL_SEVERITY_INFO, spool_str_of(values[0]), attrs, attr_count);
    } else {
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.attrs = attrs;
        options.attr_count = attr_count;
        spool_span_end(spool_span_start(tracer, values[0], &options));
    }
}

static void check_warm(spool_processor *processor, uint32_t signal, size_t attr_count) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    spool_sdk *sdk;
    options.processors = processor;
    options.processor_count = 1;
    SPT_REQUIRE(spool_sdk_create(&options, &sdk) == SPOOL_OK);
    spool_scope scope = {.name = SPOOL_STR_INIT("warm")};
    spool_logger *logger = signal == SPOOL_SIGNAL_LOGS ? spool_sdk_logger(sdk, &scope) : NULL;
    spool_tracer *tracer = spool_sdk_tracer(sdk, &scope);
    uint64_t mallocs = 0, mmaps = 0;
    for (unsigned i = 0; i < WARM + COUNTED; i++) {
        if (i == WARM) {
            (void)spool_flush(sdk, LONG_MS, NULL);
            mallocs = spt_mallocs_of_thread();
            mmaps = spt_mmaps_of_thread();
        }
        emit(logger, tracer, i, attr_count);
    }
    SPT_CHECK_UINT(spt_mallocs_of_thread() - mallocs, 0);
    SPT_CHECK_UINT(spt_mmaps_of_thread() - mmaps, 0);
    spool_sdk_free(sdk);
}

static void batch_asks_for_no_memory(void) {
    for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
        for (size_t attrs = 4; attrs <= ATTRS; attrs += 4) {
            spool_batch_options options = SPOOL_BATCH_SPAN_OPTIONS_INIT;
            /* As much as the warm-up made: no burst is larger than what came before. */
            options.max_queue_size = 900;
            spool_processor processor;
            SPT_REQUIRE(spool_batch_create(signal, (spool_exporter){&null_ops, NULL}, &options,
                                           &processor) == SPOOL_OK);
            check_warm(&processor, signal, attrs);
        }
    }
}

static void simple_asks_for_no_memory(void) {
    for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
        for (size_t attrs = 4; attrs <= ATTRS; attrs += 4) {
            spool_processor processor;
            SPT_REQUIRE(spool_simple_create((spool_exporter){&null_ops, NULL}, NULL, &processor) ==
                        SPOOL_OK);
            check_warm(&processor, signal, attrs);
        }
    }
}

SPT_MAIN("batch.warm", SPT_CASE(batch_asks_for_no_memory), SPT_CASE(simple_asks_for_no_memory))
