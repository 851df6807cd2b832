/* SPDX-License-Identifier: Apache-2.0 */
/* Lots of credit; see the header for who owns what. */
#include "runtime/budget.h"

enum {
    CREDIT_RECORD_SHIFT = 56,
    MAX_LOT_RECORDS = 32,
    MAX_LOT_BYTES = 16384,
    /* A full budget makes at least this many lots, so that a few idle threads cannot hold most of it. */
    LOTS = 64,
    /* And as room gets scarce, lots are at most this part of it: many threads with a record each do not
     * use a budget up that holds thousands. */
    ROOM_SHARE = 16
};

#define CREDIT_RECORD (UINT64_C(1) << CREDIT_RECORD_SHIFT)
#define CREDIT_BYTES (CREDIT_RECORD - 1)

static uint64_t lot(uint64_t whole, uint64_t most) {
    uint64_t size = whole / LOTS;
    return size < 1 ? 1 : size > most ? most : size;
}

void sp_budget_init(sp_budget *budget, uint64_t max_records, uint64_t max_bytes) {
    atomic_init(&budget->records, 0);
    atomic_init(&budget->bytes, 0);
    atomic_init(&budget->wake_at, UINT64_MAX);
    budget->max_records = max_records;
    budget->max_bytes = max_bytes > CREDIT_BYTES ? CREDIT_BYTES : max_bytes;
    budget->lot_records = lot(max_records, MAX_LOT_RECORDS);
    budget->lot_bytes = lot(budget->max_bytes, MAX_LOT_BYTES);
}

/* Takes at least `least`, at most `most`, or nothing; returns how much. */
static uint64_t take(_Atomic uint64_t *taken, uint64_t max, uint64_t least, uint64_t most,
                     uint64_t *out_before) {
    uint64_t before = sp_load_relaxed(taken);
    uint64_t amount;
    do {
        uint64_t room = before < max ? max - before : 0;
        if (room < least) {
            return 0;
        }
        amount = room / ROOM_SHARE < most ? room / ROOM_SHARE : most;
        amount = amount < least ? least : amount;
    } while (!atomic_compare_exchange_weak_explicit(taken, &before, before + amount,
                                                    memory_order_relaxed, memory_order_relaxed));
    *out_before = before;
    return amount;
}

static uint64_t records_to_take(const sp_budget *budget) {
    uint64_t wake_at = sp_load_relaxed(&budget->wake_at);
    uint64_t taken = sp_load_relaxed(&budget->records);
    uint64_t most = budget->lot_records;
    return wake_at > taken && wake_at - taken < most ? wake_at - taken : most;
}

/* The credit has too little: takes the rest of it in hand, a new lot, and one record out of both. */
static SP_NOINLINE sp_credit_result refill(sp_credit *credit, sp_budget *budget, uint64_t bytes) {
    /* In hand, the loop cannot take it back any more: plain stores do from here. */
    uint64_t held = atomic_exchange_explicit(credit, 0, memory_order_relaxed);
    uint64_t records = held >> CREDIT_RECORD_SHIFT, before = 0;
    uint64_t room = held & CREDIT_BYTES;
    if (room < bytes) {
        uint64_t need = bytes - room;
        uint64_t got =
            take(&budget->bytes, budget->max_bytes, need, need + budget->lot_bytes, &before);
        if (!got) {
            sp_store_relaxed(credit, held);
            return SP_CREDIT_NO_BYTES;
        }
        room += got;
    }
    bool past_wake = false;
    if (!records) {
        records = take(&budget->records, budget->max_records, 1, records_to_take(budget), &before);
        past_wake = before >= sp_load_relaxed(&budget->wake_at);
        if (!records) {
            /* The bytes stay: the loop takes them back if they are not used. */
            sp_store_relaxed(credit, room);
            return SP_CREDIT_NO_RECORDS;
        }
    }
    records--;
    sp_store_relaxed(credit, (records << CREDIT_RECORD_SHIFT) | (room - bytes));
    return records && !past_wake ? SP_CREDIT_TAKEN : SP_CREDIT_LAST;
}

sp_credit_result sp_credit_take(sp_credit *credit, sp_budget *budget, uint64_t bytes) {
    uint64_t held = sp_load_relaxed(credit);
    while (held >= CREDIT_RECORD && (held & CREDIT_BYTES) >= bytes) {
        uint64_t left = held - CREDIT_RECORD - bytes;
        /* Fails only when the loop has just taken the credit back. */
        if (atomic_compare_exchange_weak_explicit(credit, &held, left, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return left < CREDIT_RECORD ? SP_CREDIT_LAST : SP_CREDIT_TAKEN;
        }
    }
    return refill(credit, budget, bytes);
}

void sp_credit_revoke(sp_credit *credit, sp_budget *budget) {
    if (!sp_load_relaxed(credit)) {
        return;
    }
    uint64_t held = atomic_exchange_explicit(credit, 0, memory_order_relaxed);
    sp_budget_give_records(budget, held >> CREDIT_RECORD_SHIFT);
    sp_budget_give_bytes(budget, held & CREDIT_BYTES);
}

void sp_budget_give_records(sp_budget *budget, uint64_t records) {
    if (records) {
        sp_sub_relaxed(&budget->records, records);
    }
}

void sp_budget_give_bytes(sp_budget *budget, uint64_t bytes) {
    if (bytes) {
        sp_sub_relaxed(&budget->bytes, bytes);
    }
}

void sp_budget_set_wake(sp_budget *budget, uint64_t records) {
    sp_store_relaxed(&budget->wake_at, records);
    sp_fence_seq_cst(); /* pairs with the one in sp_budget_reached() */
}

bool sp_budget_reached(const sp_budget *budget) {
    sp_fence_seq_cst(); /* pairs with the one in sp_budget_set_wake() */
    return sp_load_relaxed(&budget->records) >= sp_load_relaxed(&budget->wake_at);
}
