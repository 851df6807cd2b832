/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See database.h. SQLite's own waiting (busy_timeout) is off: it would hide in one long span what the
 * tries below show one by one.
 */
#define SPOOL_SCOPE "shop.database"

#include "examples/shop/database.h"

#include "examples/shop/pause.h"

#include <spool/semconv/db.h>
#include <spool/spool.h>

#include <pthread.h>
#include <stdio.h>

enum { TRIES = 3, PAUSE_MS = 10 /* before the second try; doubled for each next */ };

/* ---- the thread's connection ---- */

static pthread_key_t connection_key;
static pthread_once_t connection_once = PTHREAD_ONCE_INIT;

static void connection_close(void *connection) {
    (void)sqlite3_close(connection);
}

static void connection_key_create(void) {
    (void)pthread_key_create(&connection_key, connection_close);
}

static sqlite3 *connection_of_thread(const database *db) {
    (void)pthread_once(&connection_once, connection_key_create);
    sqlite3 *connection = pthread_getspecific(connection_key);
    if (connection) {
        return connection;
    }
    if (sqlite3_open(db->file, &connection) != SQLITE_OK) {
        SPOOL_ERROR("the database cannot be opened",
                    spool_string(SPOOL_SEMCONV_DB_NAMESPACE, db->file));
        (void)sqlite3_close(connection);
        return NULL;
    }
    (void)sqlite3_extended_result_codes(connection, 0);
    (void)pthread_setspecific(connection_key, connection);
    return connection;
}

void database_close(void) {
    (void)pthread_once(&connection_once, connection_key_create);
    connection_close(pthread_getspecific(connection_key));
    (void)pthread_setspecific(connection_key, NULL);
}

int database_changes(const database *db) {
    sqlite3 *connection = connection_of_thread(db);
    return connection ? sqlite3_changes(connection) : 0;
}

/* ---- statements ---- */

static const char *error_name(int code) {
    switch (code) {
    case SQLITE_BUSY:
        return "SQLITE_BUSY";
    case SQLITE_LOCKED:
        return "SQLITE_LOCKED";
    case SQLITE_CONSTRAINT:
        return "SQLITE_CONSTRAINT";
    case SQLITE_READONLY:
        return "SQLITE_READONLY";
    case SQLITE_FULL:
        return "SQLITE_FULL";
    case SQLITE_CANTOPEN:
        return "SQLITE_CANTOPEN";
    default:
        return "SQLITE_ERROR";
    }
}

static void error_record(spool_span span, sqlite3 *connection, int code) {
    char number[16];
    const char *message = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
    (void)snprintf(number, sizeof number, "%d", code);
    const spool_attr attrs[] = {
        spool_string(SPOOL_SEMCONV_ERROR_TYPE, error_name(code)),
        spool_string(SPOOL_SEMCONV_DB_RESPONSE_STATUS_CODE, number),
    };
    spool_span_set_all(span, attrs, sizeof attrs / sizeof attrs[0]);
    spool_span_record_error(span, error_name(code), message, NULL);
    spool_span_status(span, SPOOL_STATUS_ERROR, message);
}

static int values_bind(sqlite3_stmt *prepared, const database_value *values, int count) {
    int code = SQLITE_OK;
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        code = values[i].text
                   ? sqlite3_bind_text(prepared, i + 1, values[i].text, -1, SQLITE_STATIC)
                   : sqlite3_bind_int64(prepared, i + 1, values[i].number);
    }
    return code;
}

static int run_once(const database *db, const database_statement *statement,
                    const database_value *values, int value_count,
                    void (*row)(void *arg, sqlite3_stmt *row), void *arg) {
    char summary[96];
    (void)snprintf(summary, sizeof summary, "%s%s%s", statement->operation,
                   statement->collection ? " " : "",
                   statement->collection ? statement->collection : "");
    const spool_attr attrs[] = {
        spool_string(SPOOL_SEMCONV_DB_SYSTEM_NAME, SPOOL_SEMCONV_DB_SYSTEM_NAME_SQLITE),
        spool_string(SPOOL_SEMCONV_DB_NAMESPACE, db->file),
        spool_string(SPOOL_SEMCONV_DB_OPERATION_NAME, statement->operation),
        spool_string(SPOOL_SEMCONV_DB_QUERY_SUMMARY, summary),
        spool_string(SPOOL_SEMCONV_DB_QUERY_TEXT, statement->text),
        spool_string(SPOOL_SEMCONV_DB_COLLECTION_NAME, statement->collection),
    };
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_CLIENT;
    options.attrs = attrs;
    options.attr_count = sizeof attrs / sizeof attrs[0] - (statement->collection ? 0 : 1);
    SPOOL_SPAN_WITH(span, SPOOL_TRACER(), summary, &options);

    sqlite3_stmt *prepared = NULL;
    sqlite3 *connection = connection_of_thread(db);
    int code = connection ? sqlite3_prepare_v2(connection, statement->text, -1, &prepared, NULL)
                          : SQLITE_CANTOPEN;
    if (code == SQLITE_OK) {
        code = values_bind(prepared, values, value_count);
    }
    int64_t rows = 0;
    while (code == SQLITE_OK && (code = sqlite3_step(prepared)) == SQLITE_ROW) {
        rows++;
        if (row) {
            row(arg, prepared);
        }
        code = SQLITE_OK;
    }
    if (code == SQLITE_DONE) {
        code = SQLITE_OK;
        if (row) {
            spool_span_set(span, spool_int(SPOOL_SEMCONV_DB_RESPONSE_RETURNED_ROWS, rows));
        }
    } else {
        error_record(span, connection, code);
    }
    (void)sqlite3_finalize(prepared);
    return code;
}

int database_run(const database *db, const database_statement *statement,
                 const database_value *values, int value_count,
                 void (*row)(void *arg, sqlite3_stmt *row), void *arg) {
    for (int tried = 1;; tried++) {
        int code = run_once(db, statement, values, value_count, row, arg);
        if (code == SQLITE_OK) {
            return code;
        }
        const spool_attr attrs[] = {
            spool_string(SPOOL_SEMCONV_DB_OPERATION_NAME, statement->operation),
            spool_int("shop.retry.number", tried),
            spool_int("shop.retry.pause_ms", (int64_t)PAUSE_MS << tried >> 1),
        };
        if (code != SQLITE_BUSY || tried == TRIES) {
            SPOOL_ERROR("a statement failed",
                        spool_string(SPOOL_SEMCONV_ERROR_TYPE, error_name(code)), attrs[0],
                        attrs[1]);
            return code;
        }
        /* On the span around the statement: that is the one which had to wait. */
        spool_span_event(spool_span_current(), "shop.database_locked", attrs,
                         sizeof attrs / sizeof attrs[0]);
        pause_ms((long)PAUSE_MS << tried >> 1);
    }
}
