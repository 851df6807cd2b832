/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The restocking job: a thread that fills up articles which ran low. One job serves many orders, of many
 * traces, so it is a trace of its own whose span links to the orders that caused it.
 */
#ifndef SPOOL_EXAMPLES_SHOP_RESTOCK_H
#define SPOOL_EXAMPLES_SHOP_RESTOCK_H

#include "examples/shop/database.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct restock restock;

/* NULL when the thread cannot be started. stop() waits for a job that is running. */
restock *restock_start(const database *db);
void restock_stop(restock *job);

/*
 * Notes an order of the current context as a cause; `urgent` starts a job for the article, which then
 * counts all orders of it since the last one as causes.
 */
void restock_note(restock *job, const char *article, int64_t quantity, bool urgent);

#endif /* SPOOL_EXAMPLES_SHOP_RESTOCK_H */
