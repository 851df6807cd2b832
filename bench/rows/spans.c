/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows 7 and 8: spans made and ended, with extension boxes and without; how long until an identifier
 * comes again. And the registry alone: what taking and giving back a slot costs without clocks, ids and
 * hooks.
 */
#define SPOOL_SCOPE "bench"
#include "bench/harness/bench.h"
#include "bench/naive/naive.h"
#include "sdk/memory/registry.h"

#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <stdlib.h>
#include <string.h>

enum { SPANS = 200000, SLOTS = 2000000, TYPES = 3, HELD = 32 };
enum { COARSE = 1, TAKE = 2 };

/* ---- a processor that inserts boxes ---- */

static const size_t type_sizes[TYPES] = {16, 32, 64};
static spool_ext_id types[TYPES];

static void keep_value(void *value) {
    bench_use(value);
}

static void types_register(void) {
    static const char *const names[TYPES] = {"bench one", "bench two", "bench three"};
    for (unsigned i = 0; i < TYPES && types[i] == 0; i++) {
        types[i] = spool_ext_register(names[i], type_sizes[i], 8, keep_value, NULL);
    }
}

/* `self` points to the number of types. */
static void insert(void *self, spool_span_record *span, const spool_context *parent) {
    const unsigned *count = self;
    (void)parent;
    for (unsigned i = 0; i < *count; i++) {
        uint64_t *value = spool_ext_get_or_init(span, types[i], NULL);
        if (!value) {
            abort();
        }
        *value += i + 1;
    }
}

static void take(void *self, spool_span_record *span) {
    const unsigned *count = self;
    uint64_t value[8];
    for (unsigned i = 0; i < *count; i++) {
        if (!spool_ext_take(span, types[i], value)) {
            abort();
        }
        bench_use(value);
    }
}

static void no_take(void *self, spool_span_record *span) {
    (void)self;
    bench_use(span);
}

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops inserts = {.struct_size = sizeof inserts,
                                            .name = "inserts",
                                            .span_start = insert,
                                            .span_end = no_take,
                                            .destroy = destroy};
static const spool_processor_ops inserts_and_takes = {.struct_size = sizeof inserts_and_takes,
                                                      .name = "inserts and takes",
                                                      .span_start = insert,
                                                      .span_end = take,
                                                      .destroy = destroy};

static void *sdk_make(const bench_case *bench) {
    static unsigned counts[TYPES + 1] = {0, 1, 2, 3};
    spool_sdk *sdk = NULL;
    types_register();
    spool_processor processor = {bench->variant & TAKE ? &inserts_and_takes : &inserts,
                                 &counts[bench->parameter]};
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = &processor;
    options.processor_count = 1;
    options.clock = bench->variant & COARSE ? SPOOL_CLOCK_COARSE : SPOOL_CLOCK_PRECISE;
    if (spool_sdk_create(&options, &sdk) != SPOOL_OK) {
        abort();
    }
    return sdk;
}

static void sdk_free(const bench_case *bench, void *shared) {
    (void)bench;
    spool_sdk_free(shared);
}

static void spans(bench_thread *thread) {
    spool_tracer *tracer = SPOOL_TRACER();
    for (uint64_t i = 0; i < thread->ops; i++) {
        const spool_attr attr = spool_int("n", (int64_t)i);
        spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
        options.attrs = &attr;
        options.attr_count = 1;
        spool_span_end(spool_span_start(tracer, "span", &options));
    }
}

static void naive_spans(bench_thread *thread) {
    unsigned count = thread->bench->parameter;
    for (uint64_t i = 0; i < thread->ops; i++) {
        uint64_t span = naive_span_new("span{n=1}:", 0);
        for (unsigned k = 0; k < count; k++) {
            uint64_t *value = naive_span_extension(span, k, type_sizes[k]);
            *value += k + 1;
            bench_use(value);
        }
        naive_span_drop(span);
    }
}

static void nothing(bench_thread *thread) {
    for (uint64_t i = 0; i < thread->ops; i++) {
        bench_use(&i);
    }
}

/* ---- the registry alone ---- */

static inline void create_close(sp_thread_block *thread, spool_span *handle) {
    sp_slot *slot = sp_registry_acquire(thread, true, handle);
    sp_slot_publish(slot, SP_SLOT_LIVE);
    bench_use(slot);
    slot = sp_slot_begin_end(thread, *handle);
    sp_slot_freeze(slot);
    sp_registry_release(thread, slot);
}

static void slots(bench_thread *thread) {
    sp_thread_block *block = sp_thread();
    for (uint64_t i = 0; i < thread->ops; i++) {
        spool_span handle;
        create_close(block, &handle);
        bench_use(&handle);
    }
}

/* Some spans are alive meanwhile, taken and given back in order. */
static void slots_held(bench_thread *thread) {
    sp_thread_block *block = sp_thread();
    sp_slot *held[HELD];
    for (uint64_t i = 0; i < thread->ops; i += HELD) {
        for (unsigned k = 0; k < HELD; k++) {
            spool_span handle;
            held[k] = sp_registry_acquire(block, true, &handle);
            sp_slot_publish(held[k], SP_SLOT_LIVE);
            bench_use(&handle);
        }
        for (unsigned k = 0; k < HELD; k++) {
            spool_span handle = sp_slot_handle(held[k]);
            sp_slot *slot = sp_slot_begin_end(block, handle);
            sp_slot_freeze(slot);
            sp_registry_release(block, slot);
        }
    }
}

static void naive_slots(bench_thread *thread) {
    for (uint64_t i = 0; i < thread->ops; i++) {
        naive_span_drop(naive_span_new("", 0));
    }
}

/* The figure: after how many spans the first handle came again; 0 is never, in this run. */
static void repeats(bench_thread *thread) {
    sp_thread_block *block = sp_thread();
    spool_span first = {0};
    for (uint64_t i = 0; i < thread->ops; i++) {
        spool_span handle;
        create_close(block, &handle);
        if (i == 0) {
            first = handle;
        } else if (handle.bits == first.bits && thread->figure == 0) {
            thread->figure = (double)i;
        }
    }
}

#define SPOOL_CASE(name, count, variant)                                                           \
    { name, 1, SPANS, count, variant, false, NULL, sdk_make, sdk_free, NULL, spans, NULL }
#define NAIVE_CASE(name, count)                                                                    \
    { name, 1, SPANS, count, 0, false, NULL, NULL, NULL, NULL, naive_spans, NULL }
#define BARE_CASE(name, ops, loop)                                                                 \
    { name, 1, ops, 0, 0, false, NULL, NULL, NULL, NULL, loop, NULL }

static const bench_case cases[] = {
    SPOOL_CASE("07/new_span/ext0/spool", 0, 0),
    SPOOL_CASE("07/new_span/ext1/spool", 1, 0),
    SPOOL_CASE("07/new_span/ext2/spool", 2, 0),
    SPOOL_CASE("07/new_span/ext3/spool", 3, 0),
    SPOOL_CASE("07/new_span/ext0/spool_coarse", 0, COARSE),
    SPOOL_CASE("07/new_span/ext1/spool_coarse", 1, COARSE),
    SPOOL_CASE("07/new_span/ext2/spool_coarse", 2, COARSE),
    SPOOL_CASE("07/new_span/ext3/spool_coarse", 3, COARSE),
    SPOOL_CASE("07/new_span/ext3/spool_take", 3, COARSE | TAKE),
    NAIVE_CASE("07/new_span/ext0/naive", 0),
    NAIVE_CASE("07/new_span/ext1/naive", 1),
    NAIVE_CASE("07/new_span/ext2/naive", 2),
    NAIVE_CASE("07/new_span/ext3/naive", 3),
    BARE_CASE("07/new_span/ext0/control", SPANS, nothing),
    {"07/new_span/cold/spool", 1, 1, 3, 0, true, NULL, sdk_make, sdk_free, NULL, spans, NULL},

    {"08/id_repeat/one_thread/spool", 1, SLOTS, 0, 0, false, "until_repeat", NULL, NULL, NULL,
     repeats, NULL},
    BARE_CASE("08/id_repeat/one_thread/control", SLOTS, nothing),

    BARE_CASE("registry/create_close/one/spool", SLOTS, slots),
    BARE_CASE("registry/create_close/held32/spool", SLOTS, slots_held),
    BARE_CASE("registry/create_close/one/naive", SPANS, naive_slots),
    BARE_CASE("registry/create_close/one/control", SLOTS, nothing),
};

const bench_suite bench_suite_spans = {cases, sizeof cases / sizeof cases[0]};
