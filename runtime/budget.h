/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of one batch processor: how many records, and bytes of records, it may hold at once, from
 * the moment a thread begins to write one until its batch is answered.
 *
 * A thread takes credit in lots, so that most records touch no shared line. What it has not used is in
 * one word of its own, a credit; the loop takes a credit back when the thread's ring is empty. Hence
 * taken = credits that threads hold + records being written, queued or in flight, exactly; never more
 * than the maximum; and exact counts once the credits were taken back.
 *
 * The depth at which the loop is to be woken is part of it: lots end where it is reached, so that the
 * thread that reaches it finds its credit used up and looks.
 *
 * Orders: all numbers are relaxed; the one order that matters is sp_budget_reached() against
 * sp_budget_set_wake(), which both have a full fence.
 */
#ifndef SPOOL_RUNTIME_BUDGET_H
#define SPOOL_RUNTIME_BUDGET_H

#include "sdk/platform/atomics.h"
#include "sdk/platform/compiler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sp_budget {
    /* Written by every thread, once a lot, and by the loop. */
    SP_CACHE_ALIGNED _Atomic uint64_t records;
    _Atomic uint64_t bytes;
    /* Written by the loop. */
    SP_CACHE_ALIGNED _Atomic uint64_t wake_at;
    /* Constant. */
    uint64_t max_records;
    uint64_t max_bytes;
    uint64_t lot_records;
    uint64_t lot_bytes;
} sp_budget;

/* Records in the upper 8 bits, bytes below. Written by its thread; the loop exchanges it for zero. */
typedef _Atomic uint64_t sp_credit;

typedef enum sp_credit_result {
    SP_CREDIT_TAKEN,
    SP_CREDIT_LAST,       /* taken; after publishing, the caller asks sp_budget_reached() */
    SP_CREDIT_NO_RECORDS, /* the budget is used up */
    SP_CREDIT_NO_BYTES
} sp_credit_result;

void sp_budget_init(sp_budget *budget, uint64_t max_records, uint64_t max_bytes);
/* Credit for one record of `bytes`. Only the credit's own thread. */
sp_credit_result sp_credit_take(sp_credit *credit, sp_budget *budget, uint64_t bytes);
/* Takes the credit's unused part back into the budget. Threads: any. */
void sp_credit_revoke(sp_credit *credit, sp_budget *budget);

/* Records that are done with, and their bytes. Threads: any. */
void sp_budget_give_records(sp_budget *budget, uint64_t records);
void sp_budget_give_bytes(sp_budget *budget, uint64_t bytes);

/* The number of records taken that wakes the loop; UINT64_MAX: none. Loop alone. */
void sp_budget_set_wake(sp_budget *budget, uint64_t records);
/* True when that number is reached. Full fence: what was published before is seen by who is woken. */
bool sp_budget_reached(const sp_budget *budget);

#endif /* SPOOL_RUNTIME_BUDGET_H */
