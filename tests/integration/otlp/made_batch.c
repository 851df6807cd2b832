/* SPDX-License-Identifier: Apache-2.0 */
/* A batch without a processor. */
#include "tests/integration/otlp/made_batch.h"

#include "tests/support/spt.h"

#include <string.h>

enum { PATIENCE_MS = 20000 };

static void answered(spool_batch *batch, bool late) {
    made_batch *made = batch->owner;
    SPT_CHECK(!late);
    atomic_fetch_add(&made->answers, 1);
}

void made_batch_init(made_batch *made, const char *text, size_t records) {
    memset(made, 0, sizeof *made);
    size_t len = strlen(text);
    made->pieces[0] = (spool_batch_piece){text, len / 2};
    made->pieces[1] = (spool_batch_piece){text + len / 2, len - len / 2};
    made->batch.signal = SPOOL_SIGNAL_SPANS;
    made->batch.count = records;
    made->batch.pieces = made->pieces;
    made->batch.piece_count = 2;
    made->batch.size = len;
    made->batch.owner = made;
    made->batch.answered = answered;
    SPT_CHECK(sp_batch_await(&made->batch));
}

bool made_batch_wait(made_batch *made) {
    SPT_WAIT_UNTIL(PATIENCE_MS, atomic_load(&made->answers) > 0);
    bool answered_once = SPT_CHECK_UINT(atomic_load(&made->answers), 1);
    if (!answered_once) {
        (void)sp_batch_forget(&made->batch);
    }
    return answered_once;
}

made_outcome made_batch_outcome(const made_batch *made) {
    const spool_outcome *outcome = &made->batch.outcome;
    return (made_outcome){
        .delivered = outcome->delivered,
        .rejected = outcome->rejected,
        .unknown = outcome->unknown,
        .dropped = made->batch.count - outcome->delivered - outcome->rejected - outcome->unknown,
        .cause = outcome->drop_cause,
    };
}

void made_batch_expect(made_batch *made, char way, uint32_t cause) {
    if (!made_batch_wait(made)) {
        return;
    }
    made_outcome outcome = made_batch_outcome(made);
    uint64_t count = made->batch.count;
    SPT_CHECK_UINT(outcome.delivered, way == 'd' ? count : 0);
    SPT_CHECK_UINT(outcome.rejected, way == 'r' ? count : 0);
    SPT_CHECK_UINT(outcome.unknown, way == 'u' ? count : 0);
    SPT_CHECK_UINT(outcome.dropped, way == 'x' ? count : 0);
    if (way == 'x') {
        SPT_CHECK_UINT(outcome.cause, cause);
    }
}
