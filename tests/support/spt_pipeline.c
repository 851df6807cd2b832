/* SPDX-License-Identifier: Apache-2.0 */
/* See spt_pipeline.h. */
#include "tests/support/spt_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool spt_pipeline_open(spt_pipeline *pipeline, const spool_sdk_options *options) {
    spool_sdk_options given = SPOOL_SDK_OPTIONS_INIT;
    spool_exporter exporter;
    spool_processor processor;
    if (options) {
        given = *options;
    }
    if (spool_memory_create(0, &pipeline->store, &exporter) != SPOOL_OK) {
        return false;
    }
    if (spool_simple_create(exporter, NULL, &processor) != SPOOL_OK) {
        exporter.ops->destroy(exporter.self);
        spool_memory_release(pipeline->store);
        return false;
    }
    given.processors = &processor;
    given.processor_count = 1;
    if (spool_sdk_create(&given, &pipeline->sdk) != SPOOL_OK) {
        processor.ops->destroy(processor.self);
        spool_memory_release(pipeline->store);
        return false;
    }
    return true;
}

bool spt_pipeline_close(spt_pipeline *pipeline) {
    spool_status status = spool_shutdown(pipeline->sdk, 5000, NULL);
    bool balanced = spt_balanced(pipeline->sdk);
    spool_sdk_free(pipeline->sdk);
    spool_memory_release(pipeline->store);
    if (status != SPOOL_OK) {
        (void)fprintf(stderr, "shutdown: %s\n", spool_status_name(status));
    }
    return balanced && status == SPOOL_OK;
}

struct spool_stats spt_stats(spool_sdk *sdk) {
    struct spool_stats stats = {.struct_size = sizeof stats};
    (void)spool_stats(sdk, &stats);
    return stats;
}

static bool signal_balanced(const spool_signal_stats *of, const char *name) {
    bool balanced = of->created == of->not_recorded + of->filtered + of->live + of->finished;
    if (!balanced) {
        (void)fprintf(stderr,
                      "%s: created %" PRIu64 " != not_recorded %" PRIu64 " + filtered %" PRIu64
                      " + live %" PRIu64 " + finished %" PRIu64 "\n",
                      name, of->created, of->not_recorded, of->filtered, of->live, of->finished);
    }
    return balanced;
}

static bool processor_balanced(const spool_processor_stats *of) {
    uint64_t sum =
        of->delivered + of->rejected + of->unknown + of->queued + of->in_flight + of->stored;
    for (unsigned cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        sum += of->dropped[cause];
    }
    if (sum != of->offered) {
        (void)fprintf(stderr, "%s: offered %" PRIu64 " != %" PRIu64 "\n", of->name ? of->name : "?",
                      of->offered, sum);
    }
    return sum == of->offered;
}

bool spt_balanced(spool_sdk *sdk) {
    struct spool_stats stats = spt_stats(sdk);
    bool balanced = signal_balanced(&stats.signals[SPOOL_SIGNAL_SPANS], "spans");
    balanced = signal_balanced(&stats.signals[SPOOL_SIGNAL_LOGS], "logs") && balanced;
    for (size_t i = 0; i < stats.processor_count; i++) {
        balanced = processor_balanced(&stats.processors[i][0]) && balanced;
        balanced = processor_balanced(&stats.processors[i][1]) && balanced;
    }
    return balanced;
}

const spool_value *spt_attr(const spool_attr *attrs, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++) {
        if (spt_text_is(attrs[i].key, key)) {
            return &attrs[i].value;
        }
    }
    return NULL;
}

bool spt_text_is(spool_str text, const char *expected) {
    return text.len == strlen(expected) && memcmp(text.ptr, expected, text.len) == 0;
}
