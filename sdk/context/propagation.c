/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's propagators.
 *
 * Owners: `current` names an immutable list; whoever reads it may go on using it for ever, since lists
 * are never freed. Setting the same propagators again finds the list that was made before, so their
 * number is that of the different settings. Closing: none.
 */
#include "sdk/context/header_text.h"
#include "sdk/context/stack.h"
#include "sdk/platform/atomics.h"

#include <spool/ext/propagator.h>

#include <stdlib.h>

enum { PROPAGATORS = 8 };

typedef struct propagator_list {
    struct propagator_list *next; /* the one made before */
    size_t count;
    const spool_propagator *items[PROPAGATORS];
} propagator_list;

static propagator_list by_default = {
    NULL, 2, {&spool_propagator_tracecontext, &spool_propagator_baggage}};
static _Atomic(propagator_list *) newest = &by_default;
static _Atomic(propagator_list *) current = &by_default;

static bool list_is(const propagator_list *list, const spool_propagator *const *items,
                    size_t count) {
    return list->count == count &&
           (count == 0 || memcmp(list->items, items, count * sizeof items[0]) == 0);
}

static propagator_list *list_find(propagator_list *from, const spool_propagator *const *items,
                                  size_t count) {
    while (from && !list_is(from, items, count)) {
        from = from->next;
    }
    return from;
}

static bool propagator_is_usable(const spool_propagator *propagator) {
    return propagator && propagator->struct_size >= sizeof *propagator && propagator->inject &&
           propagator->extract;
}

spool_status spool_propagators_set(const spool_propagator *const *propagators, size_t count) {
    if (count > PROPAGATORS) {
        return SPOOL_ERR_LIMIT;
    }
    if (count && !propagators) {
        return SPOOL_ERR_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        if (!propagator_is_usable(propagators[i])) {
            return SPOOL_ERR_INVALID;
        }
    }
    /* Acquire: the lists behind it; partner: the exchange below. */
    propagator_list *head = sp_load_acquire(&newest);
    propagator_list *list = list_find(head, propagators, count);
    if (!list) {
        list = malloc(sizeof *list);
        if (!list) {
            return SPOOL_ERR_NOMEM;
        }
        list->count = count;
        if (count) {
            memcpy(list->items, propagators, count * sizeof propagators[0]);
        }
        do {
            list->next = head;
        } while (!sp_cas_acq_rel(&newest, &head, list));
    }
    /* Publishes the list; pairs with the acquire in list_now. */
    sp_store_release(&current, list);
    return SPOOL_OK;
}

static const propagator_list *list_now(void) {
    return sp_load_acquire(&current);
}

void spool_inject(const spool_context *context, const spool_setter *setter, void *carrier) {
    if (!setter || !setter->set) {
        return;
    }
    const propagator_list *list = list_now();
    /* A reference of our own: the setter is foreign code, it may attach and detach. */
    spool_context held = context ? spool_context_copy(context) : spool_context_capture();
    for (size_t i = 0; i < list->count; i++) {
        list->items[i]->inject(&held, setter, carrier);
    }
    spool_context_release(&held);
}

spool_context spool_extract(const spool_context *base, const spool_getter *getter,
                            const void *carrier) {
    spool_context made = base ? spool_context_copy(base) : spool_context_capture();
    if (!getter || !getter->get) {
        return made;
    }
    const propagator_list *list = list_now();
    for (size_t i = 0; i < list->count; i++) {
        spool_context next = list->items[i]->extract(&made, getter, carrier);
        spool_context_release(&made);
        made = next;
    }
    return made;
}

size_t spool_propagation_fields(spool_str *out_names, size_t capacity) {
    const propagator_list *list = list_now();
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i]->fields) {
            continue;
        }
        size_t room = out_names && capacity > count ? capacity - count : 0;
        count += list->items[i]->fields(room ? out_names + count : NULL, room);
    }
    return count;
}
