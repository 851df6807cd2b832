/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of 1,000,000 spans, each the child of the one before, ended from the oldest, from the youngest
 * and in a shuffled order, by a thread with 64 KiB of stack: nothing about a span's end may recurse.
 * Every end must reach the processor with the right parent.
 */
#define SPOOL_SCOPE "stress.chain"
#include "stress/figures.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { CHAIN = 1000000, STACK_BYTES = 64 * 1024 };

static spool_span chain[CHAIN];
static uint32_t order[CHAIN];
static uint64_t ended;
static uint64_t roots;

/* Counts; of some, compares the parent as the span tells it with the attribute that names the place. */
static void span_end(void *self, spool_span_record *span) {
    (void)self;
    ended++;
    if (ended % 1000 == 1) {
        const spool_span_data *data = spool_span_record_data(span);
        static const uint8_t none[8];
        STRESS_REQUIRE(data && data->attr_count == 1);
        bool root = memcmp(data->parent_span_id, none, 8) == 0;
        STRESS_REQUIRE(root == (data->attrs[0].value.as.integer == 0));
        roots += root;
    }
}

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops ops = {
    .struct_size = sizeof ops, .name = "counts", .span_end = span_end, .destroy = destroy};

static void chain_make(void) {
    spool_span parent = {0};
    for (uint32_t i = 0; i < CHAIN; i++) {
        const spool_attr place = spool_int("place", i);
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.parent_span = parent;
        options.attrs = &place;
        options.attr_count = 1;
        parent = spool_span_start(SPOOL_TRACER(), "link", &options);
        STRESS_REQUIRE(spool_span_is_recording(parent));
        chain[i] = parent;
        order[i] = i;
    }
}

static void shuffle(void) {
    uint64_t random = 88172645463325252;
    for (uint32_t i = CHAIN - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t other = (uint32_t)(random % (i + 1));
        uint32_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
}

static void one_round(const char *name, bool reversed, bool shuffled) {
    char text[64];
    double begin = seconds_now();
    chain_make();
    double made = seconds_now();
    if (shuffled) {
        shuffle();
    }
    double started = seconds_now();
    for (uint32_t i = 0; i < CHAIN; i++) {
        spool_span_end(chain[order[reversed ? CHAIN - 1 - i : i]]);
    }
    double closed = seconds_now();
    (void)snprintf(text, sizeof text, "%s_create", name);
    figure(text, (made - begin) / CHAIN * 1e9, "ns a span");
    (void)snprintf(text, sizeof text, "%s_close", name);
    figure(text, (closed - started) / CHAIN * 1e9, "ns a span");
}

static void *run(void *arg) {
    (void)arg;
    one_round("oldest_first", false, false);
    one_round("youngest_first", true, false);
    one_round("shuffled", false, true);
    return NULL;
}

int main(void) {
    spool_sdk *sdk = sdk_with(&ops, 2 * CHAIN, UINT64_C(2) << 30);
    pthread_attr_t attributes;
    pthread_t thread;
    STRESS_REQUIRE(pthread_attr_init(&attributes) == 0);
    STRESS_REQUIRE(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
    STRESS_REQUIRE(pthread_create(&thread, &attributes, run, NULL) == 0);
    STRESS_REQUIRE(pthread_join(thread, NULL) == 0);
    (void)pthread_attr_destroy(&attributes);
    all_finished(sdk, 3 * CHAIN);
    STRESS_REQUIRE(ended == 3 * CHAIN && roots >= 1);
    figure("chain", CHAIN, "spans, closed in three orders on a 64 KiB stack");
    spool_sdk_free(sdk);
    return 0;
}
