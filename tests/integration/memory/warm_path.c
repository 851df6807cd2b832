/* SPDX-License-Identifier: Apache-2.0 */
/* Once warm, spans with boxes and spills cost no malloc and no mmap, whichever thread ends them. */
#include "sdk/memory/box.h"
#include "sdk/memory/registry.h"

#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"

#include <pthread.h>
#include <string.h>

/* Until WARM each span uses every type, so that every slot that takes part has made its boxes. */
enum { SPANS = 200, WARM = 30, ROUNDS = 60, TYPES = 4 };

static spool_ext_id types[TYPES];
static spool_span spans[SPANS];
static void *spills[SPANS];
static pthread_barrier_t barrier;
static uint64_t ender_mallocs;
static uint64_t ender_mmaps;

static void reset_nothing(void *value) {
    (void)value;
}

static void start_all(int round) {
    sp_thread_block *thread = sp_thread();
    for (int i = 0; i < SPANS; i++) {
        sp_slot *slot = sp_registry_acquire(thread, true, &spans[i]);
        SPT_REQUIRE(slot != NULL);
        for (int t = 0; t < (round < WARM ? TYPES : i % (TYPES + 1)); t++) {
            SPT_CHECK(sp_box_get_or_init(sp_slot_boxes(slot), types[t], NULL) != NULL);
        }
        spills[i] = sp_spill_acquire(thread, i % 2 == 0 ? 1024 : 4096);
        SPT_CHECK(spills[i] != NULL);
        void *temporary = sp_scratch_alloc(&thread->scratch, 64);
        SPT_CHECK(temporary != NULL);
        sp_slot_publish(slot, SP_SLOT_LIVE);
    }
}

static void end_all(void) {
    sp_thread_block *thread = sp_thread();
    for (int i = 0; i < SPANS; i++) {
        sp_slot *slot = sp_slot_begin_end(thread, spans[i]);
        SPT_REQUIRE(slot != NULL);
        sp_slot_freeze(slot);
        sp_spill_release(thread, spills[i], i % 2 == 0 ? 1024 : 4096);
        sp_registry_release(thread, slot);
    }
}

static void register_types(void) {
    if (types[0] == 0) {
        types[0] = spool_ext_register("small", 16, 8, reset_nothing, NULL);
        types[1] = spool_ext_register("aligned", 64, 64, reset_nothing, NULL);
        types[2] = spool_ext_register("large", 1000, 8, reset_nothing, NULL);
        types[3] = spool_ext_register("destroyed", 24, 8, NULL, reset_nothing);
    }
}

static void spans_of_one_thread_allocate_nothing(void) {
    register_types();
    sp_scratch *scratch = &sp_thread()->scratch;
    uint64_t mallocs = 0;
    uint64_t mmaps = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM) {
            mallocs = spt_mallocs_of_thread();
            mmaps = spt_mmaps_of_thread();
        }
        sp_scratch_mark mark = sp_scratch_hold(scratch);
        start_all(round);
        sp_scratch_release(scratch, mark);
        end_all();
    }
    SPT_CHECK(mallocs > 0);
    SPT_CHECK_UINT(spt_mallocs_of_thread() - mallocs, 0);
    SPT_CHECK_UINT(spt_mmaps_of_thread() - mmaps, 0);
}

static void *end_rounds(void *arg) {
    (void)arg;
    uint64_t mallocs = 0;
    uint64_t mmaps = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        if (round == WARM) {
            mallocs = spt_mallocs_of_thread();
            mmaps = spt_mmaps_of_thread();
        }
        end_all();
        pthread_barrier_wait(&barrier);
    }
    ender_mallocs = spt_mallocs_of_thread() - mallocs;
    ender_mmaps = spt_mmaps_of_thread() - mmaps;
    return NULL;
}

static void spans_that_another_thread_ends_allocate_nothing(void) {
    register_types();
    sp_scratch *scratch = &sp_thread()->scratch;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t ender;
    SPT_REQUIRE(pthread_create(&ender, NULL, end_rounds, NULL) == 0);
    uint64_t mallocs = 0;
    uint64_t mmaps = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM) {
            mallocs = spt_mallocs_of_thread();
            mmaps = spt_mmaps_of_thread();
        }
        sp_scratch_mark mark = sp_scratch_hold(scratch);
        start_all(round);
        sp_scratch_release(scratch, mark);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    uint64_t my_mallocs = spt_mallocs_of_thread() - mallocs;
    uint64_t my_mmaps = spt_mmaps_of_thread() - mmaps;
    pthread_join(ender, NULL);
    SPT_CHECK_UINT(my_mallocs, 0);
    SPT_CHECK_UINT(my_mmaps, 0);
    SPT_CHECK_UINT(ender_mallocs, 0);
    SPT_CHECK_UINT(ender_mmaps, 0);
    sp_registry_counters counters;
    sp_registry_read_counters(&counters);
    SPT_CHECK(counters.remote_frees >= (uint64_t)SPANS * ROUNDS);
}

SPT_MAIN("memory_warm_path", SPT_CASE(spans_of_one_thread_allocate_nothing),
         SPT_CASE(spans_that_another_thread_ends_allocate_nothing))
