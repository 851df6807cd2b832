/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry on one thread: handles, generations, retirement, caps, chunks, and a model. What
 * several threads do to it is in tests/integration/memory.
 */
#include "sdk/memory/registry.h"
#include "sdk/platform/check.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static sp_registry_counters counters(void) {
    sp_registry_counters read;
    sp_registry_read_counters(&read);
    return read;
}

static sp_slot *start(bool with_body, spool_span *out_handle) {
    sp_slot *slot = sp_registry_acquire(sp_thread(), with_body, out_handle);
    if (slot != NULL) {
        sp_slot_publish(slot, with_body ? SP_SLOT_LIVE : SP_SLOT_LIGHT);
    }
    return slot;
}

static bool end(spool_span handle) {
    sp_thread_block *thread = sp_thread();
    sp_slot *slot = sp_slot_begin_end(thread, handle);
    if (slot != NULL) {
        sp_slot_freeze(slot);
    } else {
        slot = sp_slot_take_light(thread, handle);
    }
    if (slot != NULL) {
        sp_registry_release(thread, slot);
    }
    return slot != NULL;
}

static bool alive(spool_span handle) {
    sp_slot_view view;
    return sp_slot_read(handle, &view);
}

Test(registry, names_a_slot_from_acquire_to_release) {
    spool_span handle;
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, &handle);
    cr_assert_not_null(slot);
    cr_assert_neq(handle.bits, 0);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_STARTING);
    cr_assert_eq(sp_slot_handle(slot).bits, handle.bits);
    cr_assert_eq(sp_registry_slot(handle), slot);
    cr_assert_eq((uintptr_t)slot->body % 16, 0);
    memset(slot->body, 0xaa, SP_BODY_BYTES);
    sp_slot_publish(slot, SP_SLOT_LIVE);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_LIVE);
    cr_assert_eq(sp_slot_begin_end(sp_thread(), handle), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDING);
    sp_slot_freeze(slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDED);
    sp_registry_release(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE);
    cr_assert_neq(sp_slot_handle(slot).bits, handle.bits);
    SPT_TEST_END;
}

Test(registry, gives_back_a_slot_that_never_started) {
    spool_span handle;
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, &handle);
    sp_registry_release(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_FREE);
    cr_assert_not(alive(handle));
    SPT_TEST_END;
}

Test(registry, answers_nothing_to_a_stale_or_invented_handle) {
    sp_thread_block *thread = sp_thread();
    spool_span handle;
    cr_assert_not_null(start(true, &handle));
    cr_assert(end(handle));
    spool_span next;
    for (int i = 0; i < 64; i++) { /* until the same slot has a new tenant */
        cr_assert_not_null(start(true, &next));
    }
    static const uint64_t invented[] = {
        0,  1,  UINT64_MAX, UINT64_C(1) << 32, 0xffffffff, UINT64_C(0xffffffff00000000),
        63, 64, 4096};
    for (size_t i = 0; i < sizeof invented / sizeof invented[0] + 1; i++) {
        spool_span span = i == 0 ? handle : (spool_span){invented[i - 1]};
        cr_assert_not(alive(span));
        cr_assert_null(sp_slot_lock(thread, span));
        cr_assert_null(sp_slot_begin_end(thread, span));
        cr_assert_null(sp_slot_take_light(thread, span));
        cr_assert_null(sp_slot_pin(span));
    }
    SPT_TEST_END;
}

Test(registry, reads_what_a_header_says) {
    struct spool_span_context context = {.flags = SPOOL_FLAG_SAMPLED | SPOOL_FLAG_RANDOM};
    for (int i = 0; i < 16; i++) {
        context.trace_id[i] = (uint8_t)(i + 1);
        context.span_id[i / 2] = (uint8_t)(100 + i);
    }
    spool_span handle;
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, &handle);
    context.remote = 1;
    sp_slot_describe(slot, &context, 7, 99, NULL);
    context.remote = 0; /* a span's own context is not remote; its parent was */
    sp_slot_view view;
    cr_assert_not(sp_slot_read(handle, &view), "not before it is published");
    sp_slot_publish(slot, SP_SLOT_LIVE);
    cr_assert(sp_slot_read(handle, &view));
    cr_assert_arr_eq(&view.context, &context, sizeof context);
    cr_assert_eq(view.state, SP_SLOT_LIVE);
    cr_assert_eq(view.sdk, 7);
    cr_assert_eq(view.sdk_epoch, 99);
    cr_assert_not(view.has_trace_state);
    cr_assert_eq(slot->remote_parent, 1);
    cr_assert_arr_eq(slot->trace_id, context.trace_id, 16);
    cr_assert(end(handle));
    cr_assert_not(sp_slot_read(handle, &view));
    SPT_TEST_END;
}

Test(registry, gives_a_light_slot_no_body_and_frees_it_once) {
    spool_span handle;
    sp_slot *slot = start(false, &handle);
    cr_assert_not_null(slot);
    cr_assert_null(slot->body);
    cr_assert(alive(handle));
    cr_assert_null(sp_slot_lock(sp_thread(), handle));
    cr_assert_null(sp_slot_begin_end(sp_thread(), handle));
    cr_assert(end(handle));
    cr_assert_not(end(handle));
    cr_assert_not(alive(handle));
    SPT_TEST_END;
}

Test(registry, refuses_a_release_in_a_state_that_nobody_took) {
    if (SP_CHECK_LEVEL >= 1) {
        cr_skip_test("checked builds abort instead");
    }
    spool_span handle;
    sp_slot *slot = start(true, &handle);
    sp_registry_release(sp_thread(), slot);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_LIVE);
    cr_assert(end(handle));
    sp_registry_release(sp_thread(), slot);
    sp_registry_release(sp_thread(), slot);
    spool_span one;
    spool_span two;
    for (int i = 0; i < 200; i++) {
        cr_assert_not_null(start(true, &one));
        cr_assert_not_null(start(true, &two));
        cr_assert_neq((uint32_t)one.bits, (uint32_t)two.bits, "a slot was handed out twice");
    }
    SPT_TEST_END;
}

Test(registry, never_repeats_a_handle_in_ten_million, .timeout = 100) {
    enum { SPANS = 10000000 };
    sp_thread_block *thread = sp_thread();
    sp_registry_counters before = counters();
    /* The slots are the first 64, so a slot's generations say it all: each rises by one. */
    uint32_t last[64] = {0};
    for (int i = 0; i < SPANS; i++) {
        spool_span handle;
        sp_slot *slot = sp_registry_acquire(thread, true, &handle);
        uint32_t index = (uint32_t)handle.bits & 63;
        uint32_t generation = (uint32_t)(handle.bits >> 32);
        if (((uint32_t)handle.bits & ~63u) != 0 || generation != last[index] + 1) {
            cr_assert_fail("handle %llx after generation %u", (unsigned long long)handle.bits,
                           last[index]);
        }
        last[index] = generation;
        sp_slot_publish(slot, SP_SLOT_LIVE);
        slot = sp_slot_begin_end(thread, handle);
        sp_slot_freeze(slot);
        sp_registry_release(thread, slot);
    }
    sp_registry_counters after = counters();
    cr_assert_eq(after.local_acquires - before.local_acquires, SPANS);
    cr_assert_eq(after.remote_frees, 0);
    cr_assert_eq(after.chunks_mapped - before.chunks_mapped, 1, "one chunk does for all");
    SPT_TEST_END;
}

Test(registry, retires_a_slot_whose_generation_would_wrap) {
    sp_thread_block *thread = sp_thread();
    spool_span handle;
    sp_slot *slot = sp_registry_acquire(thread, true, &handle);
    uint32_t self = slot->self;
    sp_slot_age(slot, UINT32_MAX - 1);
    handle = sp_slot_handle(slot);
    sp_slot_publish(slot, SP_SLOT_LIVE);
    cr_assert(end(handle));
    /* Round the word once more: the last generation. */
    spool_span last = {0};
    spool_span others[63];
    for (int i = 0; i < 64; i++) {
        spool_span span;
        cr_assert_not_null(start(true, &span));
        if ((uint32_t)span.bits == self) {
            last = span;
        } else {
            others[i < 63 ? i : 0] = span;
        }
    }
    cr_assert_eq(last.bits >> 32, UINT32_MAX);
    cr_assert(alive(last));
    for (int i = 0; i < 63; i++) {
        cr_assert(end(others[i]));
    }
    cr_assert_eq(counters().retired_slots, 0);
    cr_assert(end(last));
    cr_assert_eq(counters().retired_slots, 1);
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_RETIRED);
    cr_assert_not(end(last));
    cr_assert_not(alive(last));
    cr_assert_null(sp_slot_pin(last));
    for (int i = 0; i < 1000; i++) {
        spool_span span;
        cr_assert_not_null(start(true, &span));
        cr_assert_neq((uint32_t)span.bits, self, "a retired slot came back");
        cr_assert(end(span));
    }
    SPT_TEST_END;
}

Test(registry, refuses_past_the_cap_of_live_spans_but_not_light_ones) {
    static const uint64_t caps[] = {0, 1, 2, 63, 64, 65, 100, 1000, 5000};
    for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
        uint64_t cap = caps[c];
        spool_span *handles = calloc(cap + 1, sizeof *handles);
        sp_registry_set_caps(cap, UINT64_C(256) << 20);
        for (int round = 0; round < 3; round++) {
            uint64_t refused = counters().cap_refusals;
            for (uint64_t i = 0; i < cap; i++) {
                cr_assert_not_null(start(true, &handles[i]), "span %zu of %zu", (size_t)i,
                                   (size_t)cap);
            }
            cr_assert_null(start(true, &handles[cap]));
            cr_assert_eq(counters().cap_refusals, refused + 1);
            cr_assert_not_null(start(false, &handles[cap]));
            cr_assert(end(handles[cap]));
            for (uint64_t i = 0; i < cap; i++) {
                cr_assert(end(handles[i]));
            }
        }
        free(handles);
    }
    SPT_TEST_END;
}

Test(registry, refuses_past_the_cap_in_bytes_and_recovers) {
    enum { CAP_BYTES = 1 << 20, MOST = 4096 };
    static spool_span handles[MOST];
    sp_registry_set_caps(UINT64_MAX, CAP_BYTES);
    for (int round = 0; round < 3; round++) {
        int count = 0;
        while (count < MOST && start(true, &handles[count]) != NULL) {
            count++;
        }
        cr_assert_leq(count * SP_BODY_BYTES, CAP_BYTES);
        cr_assert_geq(count * SP_BODY_BYTES, CAP_BYTES * 3 / 4, "only %d spans", count);
        cr_assert_gt(counters().cap_refusals, 0);
        spool_span light;
        cr_assert_not_null(start(false, &light));
        cr_assert(end(light));
        for (int i = 0; i < count; i++) {
            cr_assert(end(handles[i]));
        }
    }
    SPT_TEST_END;
}

Test(registry, bounds_light_slots_as_well) {
    sp_registry_set_caps(UINT64_MAX, 1 << 20);
    spool_span handle;
    uint32_t count = 0;
    while (start(false, &handle) != NULL) {
        count++;
        cr_assert_leq(count * sizeof(sp_slot), (1 << 20) / 4);
    }
    cr_assert_geq(count, 2048);
    SPT_TEST_END;
}

Test(registry, gives_bodies_of_wholly_free_chunks_back_to_the_kernel) {
    enum { SPANS = 40000 };
    static spool_span handles[SPANS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SPANS; i++) {
            sp_slot *slot = start(true, &handles[i]);
            cr_assert_not_null(slot);
            memset(slot->body, i & 0xff, SP_BODY_BYTES);
        }
        for (int i = 0; i < SPANS; i++) {
            const sp_slot *slot = sp_registry_slot(handles[i]);
            cr_assert_eq(slot->body[SP_BODY_BYTES - 1], i & 0xff);
            cr_assert(end(handles[i]));
        }
        cr_assert_geq(counters().bodies_dropped, (uint64_t)(round + 1) * 4);
    }
    cr_assert_leq(counters().chunks_mapped, 6 + SPANS / 4096 + 1);
    SPT_TEST_END;
}

Test(registry, counts_live_spans_of_one_sdk) {
    struct spool_span_context context = {.flags = 0};
    spool_span handles[200];
    for (int i = 0; i < 200; i++) {
        sp_slot *slot = sp_registry_acquire(sp_thread(), i % 4 != 3, &handles[i]);
        sp_slot_describe(slot, &context, (uint16_t)(i % 2), 5, NULL);
        sp_slot_publish(slot, i % 4 != 3 ? SP_SLOT_LIVE : SP_SLOT_LIGHT);
    }
    cr_assert_eq(sp_registry_count_live(0, 5), 100);
    cr_assert_eq(sp_registry_count_live(1, 5), 50, "light slots do not count");
    cr_assert_eq(sp_registry_count_live(1, 6), 0);
    for (int i = 0; i < 200; i++) {
        cr_assert(end(handles[i]));
    }
    cr_assert_eq(sp_registry_count_live(0, 5), 0);
    SPT_TEST_END;
}

static int reclaimed;
static void count_reclaim(sp_thread_block *thread, sp_slot *slot) {
    cr_assert_eq(thread, sp_thread());
    cr_assert_eq(sp_slot_state(slot), SP_SLOT_ENDED);
    cr_assert_null(sp_slot_pin(sp_slot_handle(slot)), "too late for a pin");
    reclaimed++;
}

Test(registry, runs_the_reclaim_function_once_for_each_slot) {
    sp_registry_reclaims_with(count_reclaim);
    spool_span handle;
    cr_assert_not_null(start(true, &handle));
    cr_assert_eq(reclaimed, 0);
    cr_assert(end(handle));
    cr_assert_eq(reclaimed, 1);
    cr_assert_not_null(start(false, &handle));
    cr_assert(end(handle));
    cr_assert_eq(reclaimed, 2);
    SPT_TEST_END;
}

/* Random starts, ends, pins and mistakes against a list of what is alive. */
Test(registry, follows_a_model_through_random_steps, .timeout = 100) {
    enum { MOST = 6000, DEAD = 512 };
    static struct {
        spool_span handle;
        sp_slot *slot;
        uint64_t stamp;
        uint32_t pins;
        bool light;
        bool ended; /* but pinned */
    } live[MOST];
    static spool_span dead[DEAD];
    uint32_t count = 0;
    uint64_t stamp = 0;
    spt_random random = {spt_seed(0x5eed0006)};
    for (int step = 0; step < 400000; step++) {
        bool growing = step / 50000 % 2 == 0;
        uint64_t dice = spt_random_below(&random, 100);
        uint32_t at = count > 0 ? (uint32_t)spt_random_below(&random, count) : 0;
        if (dice < (growing ? 45u : 30u) && count < MOST) {
            bool light = spt_random_below(&random, 4) == 0;
            live[count].slot = start(!light, &live[count].handle);
            cr_assert_not_null(live[count].slot);
            live[count].stamp = ++stamp;
            live[count].pins = 0;
            live[count].light = light;
            live[count].ended = false;
            if (!light) {
                memcpy(live[count].slot->body + 500, &stamp, sizeof stamp);
            }
            count++;
        } else if (dice < 75 && count > 0) {
            cr_assert_eq(end(live[at].handle), !live[at].ended);
            live[at].ended = true;
        } else if (dice < 85 && count > 0) {
            sp_slot *slot = sp_slot_pin(live[at].handle);
            bool possible = !live[at].ended || live[at].pins > 0;
            cr_assert_eq(slot, possible ? live[at].slot : NULL);
            live[at].pins += possible;
        } else if (dice < 93 && count > 0 && live[at].pins > 0) {
            sp_slot_unpin(sp_thread(), live[at].slot);
            live[at].pins--;
        } else {
            spool_span stale = dead[spt_random_below(&random, DEAD)];
            cr_assert_not(alive(stale));
            cr_assert_not(end(stale));
            cr_assert_null(sp_slot_pin(stale));
        }
        if (count > 0 && at < count) {
            cr_assert_eq(alive(live[at].handle), !live[at].ended || live[at].pins > 0);
            if (live[at].ended && live[at].pins == 0) {
                dead[spt_random_below(&random, DEAD)] = live[at].handle;
                live[at] = live[--count];
            } else if (!live[at].light) {
                cr_assert_arr_eq(live[at].slot->body + 500, &live[at].stamp, sizeof stamp);
            }
        }
    }
    SPT_TEST_END;
}
