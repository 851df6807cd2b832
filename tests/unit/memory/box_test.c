/* SPDX-License-Identifier: Apache-2.0 */
/* Extension boxes: inline and retained, reset and destroyed exactly once, taken, late and
 * over-aligned. */
#include "sdk/memory/box.h"
#include "sdk/memory/registry.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct value {
    uint64_t number;
    void *memory;
    sp_box_set *set; /* for hooks that look back */
    spool_ext_id type;
} value;

static int resets;
static int destroys;

static void reset_value(void *box) {
    value *v = box;
    v->number = 7; /* what a reset leaves is what the next span finds */
    resets++;
}

static void destroy_value(void *box) {
    value *v = box;
    free(v->memory);
    destroys++;
}

static sp_slot *start(spool_span *out_handle) {
    sp_slot *slot = sp_registry_acquire(sp_thread(), true, out_handle);
    sp_slot_publish(slot, SP_SLOT_LIVE);
    return slot;
}

static void end(spool_span handle) {
    sp_slot *slot = sp_slot_begin_end(sp_thread(), handle);
    sp_slot_freeze(slot);
    sp_registry_release(sp_thread(), slot);
}

Test(box, refuses_types_that_cannot_be) {
    cr_assert_eq(spool_ext_register(NULL, 8, 8, NULL, NULL), 0);
    cr_assert_eq(spool_ext_register("zero", 0, 8, NULL, NULL), 0);
    cr_assert_eq(spool_ext_register("large", 65537, 8, NULL, NULL), 0);
    cr_assert_eq(spool_ext_register("align", 8, 0, NULL, NULL), 0);
    cr_assert_eq(spool_ext_register("align", 8, 3, NULL, NULL), 0);
    cr_assert_eq(spool_ext_register("align", 8, 8192, NULL, NULL), 0);
    for (uint32_t i = 1; i <= SP_BOX_TYPES; i++) {
        cr_assert_eq(spool_ext_register("fits", 8, 8, NULL, NULL), i);
    }
    cr_assert_eq(spool_ext_register("one more", 8, 8, NULL, NULL), 0);
    SPT_TEST_END;
}

Test(box, is_null_for_a_type_that_is_none) {
    sp_box_set *set = NULL;
    uint64_t out;
    bool fresh = true;
    cr_assert_null(sp_box_get(NULL, 1));
    cr_assert_null(sp_box_get_or_init(&set, 1, &fresh));
    cr_assert_not(fresh);
    cr_assert_null(set);
    spool_ext_id type = spool_ext_register("one", 8, 8, NULL, NULL);
    cr_assert_not_null(sp_box_get_or_init(&set, type, &fresh));
    static const spool_ext_id none[] = {0, 2, 32, 33, UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_assert_null(sp_box_get(set, none[i]));
        cr_assert_null(sp_box_get_or_init(&set, none[i], NULL));
        cr_assert_not(sp_box_take(set, none[i], &out));
    }
    sp_box_reset_all(NULL);
    sp_box_set_destroy(NULL);
    sp_box_set_destroy(set);
    SPT_TEST_END;
}

/* A fresh value on each of two spans in the same set, with inner memory kept between them. */
static void live_twice(sp_box_set **set, spool_ext_id type) {
    bool fresh;
    resets = 0;
    destroys = 0;
    cr_assert_null(sp_box_get(*set, type));
    value *v = sp_box_get_or_init(set, type, &fresh);
    cr_assert(v != NULL && fresh);
    cr_assert_eq(v->number, 0);
    cr_assert_null(v->memory);
    v->memory = malloc(100);
    cr_assert_eq(sp_box_get_or_init(set, type, &fresh), v);
    cr_assert_not(fresh);
    cr_assert_eq(sp_box_get(*set, type), v);
    sp_box_reset_all(*set);
    cr_assert(resets == 1 && destroys == 0);
    cr_assert_null(sp_box_get(*set, type));
    sp_box_reset_all(*set);
    cr_assert_eq(resets, 1, "once for each span that used it");
    cr_assert_eq(sp_box_get_or_init(set, type, &fresh), v, "the box is kept");
    cr_assert(fresh);
    cr_assert_eq(v->number, 7);
    cr_assert_not_null(v->memory);
    sp_box_reset_all(*set);
    cr_assert(resets == 2 && destroys == 0);
}

Test(box, is_reset_at_each_end_and_destroyed_with_the_set) {
    spool_ext_id type = spool_ext_register("value", sizeof(value), 8, reset_value, destroy_value);
    sp_box_set *set = NULL;
    live_twice(&set, type);
    sp_box_set_destroy(set);
    cr_assert_eq(destroys, 1);
    SPT_TEST_END;
}

Test(box, of_a_late_type_is_as_good_as_any) {
    spool_ext_id early = spool_ext_register("early", sizeof(value), 8, reset_value, destroy_value);
    sp_box_set *set = NULL;
    cr_assert_not_null(sp_box_get_or_init(&set, early, NULL));
    spool_ext_id late = spool_ext_register("late", sizeof(value), 8, reset_value, destroy_value);
    sp_box_reset_all(set);
    live_twice(&set, late);
    sp_box_set_destroy(set);
    cr_assert_eq(destroys, 2, "both types were made once");
    SPT_TEST_END;
}

Test(box, of_a_large_type_is_as_good_as_any) {
    spool_ext_id type = spool_ext_register("large", 60000, 8, reset_value, destroy_value);
    sp_box_set *set = NULL;
    live_twice(&set, type);
    memset((uint8_t *)sp_box_get_or_init(&set, type, NULL) + sizeof(value), 1,
           60000 - sizeof(value));
    sp_box_set_destroy(set);
    cr_assert_eq(destroys, 1);
    SPT_TEST_END;
}

Test(box, without_reset_is_destroyed_at_each_end_and_zeroed) {
    spool_ext_id type = spool_ext_register("plain", sizeof(value), 8, NULL, destroy_value);
    sp_box_set *set = NULL;
    for (int span = 1; span <= 3; span++) {
        value *v = sp_box_get_or_init(&set, type, NULL);
        cr_assert(v->number == 0 && v->memory == NULL);
        v->number = 1;
        v->memory = malloc(10);
        sp_box_reset_all(set);
        cr_assert_eq(destroys, span);
    }
    sp_box_set_destroy(set);
    cr_assert_eq(destroys, 3, "there was no value any more");
    SPT_TEST_END;
}

Test(box, without_any_hook_is_zeroed) {
    spool_ext_id type = spool_ext_register("bare", 8, 8, NULL, NULL);
    sp_box_set *set = NULL;
    uint64_t *number = sp_box_get_or_init(&set, type, NULL);
    *number = 5;
    sp_box_reset_all(set);
    cr_assert_eq(*(uint64_t *)sp_box_get_or_init(&set, type, NULL), 0);
    sp_box_set_destroy(set);
    SPT_TEST_END;
}

Test(box, take_moves_the_value_out_and_keeps_the_box) {
    spool_ext_id type = spool_ext_register("taken", sizeof(value), 8, reset_value, destroy_value);
    sp_box_set *set = NULL;
    value out;
    cr_assert_not(sp_box_take(set, type, &out));
    value *v = sp_box_get_or_init(&set, type, NULL);
    v->number = 9;
    v->memory = malloc(10);
    cr_assert_not(sp_box_take(set, type, NULL));
    cr_assert(sp_box_take(set, type, &out));
    cr_assert_eq(out.number, 9);
    free(out.memory);
    cr_assert_not(sp_box_take(set, type, &out), "nothing left");
    cr_assert_null(sp_box_get(set, type));
    sp_box_reset_all(set);
    cr_assert_eq(resets + destroys, 0);
    bool fresh;
    cr_assert_eq(sp_box_get_or_init(&set, type, &fresh), v);
    cr_assert(fresh && v->number == 0 && v->memory == NULL);
    sp_box_set_destroy(set);
    cr_assert_eq(destroys, 1);
    SPT_TEST_END;
}

static void look_back(void *box) {
    value *v = box;
    cr_assert_null(sp_box_get(v->set, v->type), "the live bit fell before");
    value out;
    cr_assert_not(sp_box_take(v->set, v->type, &out));
    cr_assert_null(sp_box_get_or_init(&v->set, v->type, NULL), "no box is made meanwhile");
    sp_box_reset_all(v->set);
    resets++;
}

Test(box, is_not_live_while_its_hook_runs) {
    spool_ext_id first = spool_ext_register("first", sizeof(value), 8, look_back, look_back);
    spool_ext_id second = spool_ext_register("second", sizeof(value), 8, look_back, look_back);
    sp_box_set *set = NULL;
    for (spool_ext_id type = first; type <= second; type++) {
        value *v = sp_box_get_or_init(&set, type, NULL);
        v->type = type;
        v->set = set;
    }
    sp_box_reset_all(set);
    cr_assert_eq(resets, 2);
    sp_box_set_destroy(set);
    cr_assert_eq(resets, 4, "destroyed once each");
    SPT_TEST_END;
}

Test(box, is_aligned_as_its_type_asks_on_slots_and_apart) {
    spool_ext_id types[SP_BOX_TYPES];
    uint32_t count = 0;
    for (size_t align = 1; align <= 4096; align *= 2) {
        types[count++] = spool_ext_register("odd", align + 3, align, NULL, NULL);
        types[count++] = spool_ext_register("small", 1, 1, NULL, NULL);
    }
    spool_span handles[100];
    sp_box_set *apart[100] = {NULL};
    for (int i = 0; i < 100; i++) {
        sp_box_set **sets[2] = {sp_slot_boxes(start(&handles[i])), &apart[i]};
        for (int s = 0; s < 2; s++) {
            for (uint32_t t = 0; t < count; t++) {
                size_t align = t % 2 == 0 ? (size_t)1 << (t / 2) : 1;
                uint8_t *box = sp_box_get_or_init(sets[s], types[t], NULL);
                cr_assert_eq((uintptr_t)box % align, 0);
                memset(box, (int)t + i, t % 2 == 0 ? align + 3 : 1);
            }
        }
    }
    for (int i = 0; i < 100; i++) {
        sp_box_set *sets[2] = {*sp_slot_boxes(sp_registry_slot(handles[i])), apart[i]};
        for (int s = 0; s < 2; s++) {
            for (uint32_t t = 0; t < count; t++) {
                const uint8_t *box = sp_box_get(sets[s], types[t]);
                size_t size = t % 2 == 0 ? ((size_t)1 << (t / 2)) + 3 : 1;
                for (size_t b = 0; b < size; b++) {
                    cr_assert_eq(box[b], (uint8_t)((int)t + i));
                }
            }
        }
        end(handles[i]);
        sp_box_set_destroy(apart[i]);
    }
    SPT_TEST_END;
}

Test(box, on_a_slot_is_empty_for_the_next_tenant_at_the_same_address) {
    spool_ext_id type = spool_ext_register("value", sizeof(value), 8, reset_value, destroy_value);
    void *boxes[64] = {NULL};
    for (int i = 0; i < 64 * 3; i++) {
        spool_span handle;
        sp_slot *slot = start(&handle);
        cr_assert_null(sp_box_get(*sp_slot_boxes(slot), type));
        bool fresh;
        value *v = sp_box_get_or_init(sp_slot_boxes(slot), type, &fresh);
        cr_assert(fresh);
        cr_assert_eq(v->number, i < 64 ? 0 : 7);
        void **known = &boxes[slot->self & 63];
        cr_assert(*known == NULL || *known == v);
        *known = v;
        end(handle);
        cr_assert_eq(resets, i + 1);
    }
    cr_assert_eq(destroys, 0);
    SPT_TEST_END;
}

Test(box, is_destroyed_when_its_bodies_are_given_back) {
    enum { SPANS = 30000 };
    static spool_span handles[SPANS];
    spool_ext_id type = spool_ext_register("value", sizeof(value), 8, reset_value, destroy_value);
    for (int i = 0; i < SPANS; i++) {
        value *v = sp_box_get_or_init(sp_slot_boxes(start(&handles[i])), type, NULL);
        v->memory = malloc(16);
    }
    for (int i = 0; i < SPANS; i++) {
        end(handles[i]);
    }
    cr_assert_eq(resets, SPANS);
    cr_assert_gt(destroys, SPANS / 2, "most went back to the kernel");
    int destroyed = destroys;
    for (int i = 0; i < SPANS; i++) {
        bool fresh;
        value *v = sp_box_get_or_init(sp_slot_boxes(start(&handles[i])), type, &fresh);
        cr_assert(fresh);
        destroyed -= v->number == 0;
    }
    cr_assert_eq(destroyed, 0, "what was destroyed starts from zero, what was kept does not");
    SPT_TEST_END;
}
