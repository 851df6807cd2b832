/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite with tracing: each statement that is run is a client span. A statement that finds the database
 * locked is tried again a few times, each time a span of its own and an event on the span around it.
 */
#ifndef SPOOL_EXAMPLES_SHOP_DATABASE_H
#define SPOOL_EXAMPLES_SHOP_DATABASE_H

#include <sqlite3.h>
#include <stdint.h>

/* A file; each thread that uses it gets a connection of its own. */
typedef struct database {
    const char *file;
} database;

/* What is run. `collection` may be NULL; `text` has a ? for each parameter. */
typedef struct database_statement {
    const char *operation;
    const char *collection;
    const char *text;
} database_statement;

/* A parameter: text, or a number when `text` is NULL. */
typedef struct database_value {
    const char *text;
    int64_t number;
} database_value;

/*
 * Runs a statement to its end and calls `row` (may be NULL) with each row. SQLITE_OK, SQLITE_BUSY when the
 * database stayed locked, or another code of SQLite's.
 */
int database_run(const database *db, const database_statement *statement,
                 const database_value *values, int value_count,
                 void (*row)(void *arg, sqlite3_stmt *row), void *arg);

/* Rows that the thread's last statement changed. */
int database_changes(const database *db);

/* Closes the calling thread's connection; other threads' are closed as they end. */
void database_close(void);

#endif /* SPOOL_EXAMPLES_SHOP_DATABASE_H */
