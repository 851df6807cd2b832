/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of a million spans, each the child of the one before, ended in three orders on a stack of
 * 64 KiB: from the leaf, from the root, and at random. Nothing may recurse over ancestry.
 */
#define _GNU_SOURCE
#include "stress/figure.h"

#include <spool/ext/ext.h>
#include <spool/sdk/provider.h>

#include <pthread.h>
#include <stdint.h>

enum { CHAIN = 1000000, STACK_BYTES = 64 * 1024 };

static spool_span *chain;
static uint64_t ended;

static void on_end(void *self, spool_span_record *span) {
    (void)self;
    (void)span;
    ended++;
}

static void start_chain(spool_tracer *tracer) {
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    for (size_t i = 0; i < CHAIN; i++) {
        chain[i] = spool_span_start(tracer, "link", &options);
        require(spool_span_is_recording(chain[i]), "every span of the chain is recorded");
        options.parent_span = chain[i];
    }
}

static void shuffle(void) {
    uint64_t state = 42;
    for (size_t i = CHAIN - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t other = (size_t)((state >> 33) % (i + 1));
        spool_span kept = chain[i];
        chain[i] = chain[other];
        chain[other] = kept;
    }
}

static void *run(void *arg) {
    static const char *const names[] = {"end_from_leaf", "end_from_root", "end_at_random"};
    spool_tracer *tracer = arg;
    for (unsigned order = 0; order < 3; order++) {
        double begin = seconds_now();
        start_chain(tracer);
        double started = seconds_now();
        if (order == 2) {
            shuffle();
        }
        double ending = seconds_now();
        uint64_t before = ended;
        for (size_t i = 0; i < CHAIN; i++) {
            spool_span_end(chain[order == 0 ? CHAIN - 1 - i : i]);
        }
        require(ended - before == CHAIN, "every span of the chain ended once");
        figure(names[order], (seconds_now() - ending) * 1e9 / CHAIN, "ns/span");
        if (order == 0) {
            figure("start", (started - begin) * 1e9 / CHAIN, "ns/span");
        }
    }
    return NULL;
}

int main(void) {
    static const spool_processor_ops ops = {
        .struct_size = sizeof ops, .name = "count", .span_end = on_end};
    spool_processor processor = {&ops, NULL};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.max_live_spans = CHAIN + 1000;
    options.max_live_bytes = UINT64_C(1) << 30;
    spool_sdk *sdk = NULL;
    require(spool_sdk_create(&options, &sdk) == SPOOL_OK, "the SDK is made");
    chain = malloc(CHAIN * sizeof *chain);
    require(chain != NULL, "memory for the handles");
    pthread_attr_t attributes;
    pthread_t thread;
    (void)pthread_attr_init(&attributes);
    require(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0, "a stack of 64 KiB");
    require(pthread_create(&thread, &attributes, run, spool_tracer_get("stress", "")) == 0,
            "a thread");
    (void)pthread_join(thread, NULL);
    struct spool_stats stats = {.struct_size = sizeof stats};
    require(spool_stats(sdk, &stats) == SPOOL_OK && stats.signals[0].live == 0 &&
                stats.signals[0].finished == 3 * (uint64_t)CHAIN,
            "the balance of spans");
    free(chain);
    spool_sdk_free(sdk);
    return 0;
}
