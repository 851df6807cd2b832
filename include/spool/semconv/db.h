/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semantic conventions of database client spans. A span is named by its summary ("SELECT articles"), and is
 * of the client kind even when the database is a library in the same process.
 */
#ifndef SPOOL_SEMCONV_DB_H
#define SPOOL_SEMCONV_DB_H

#include <spool/semconv/general.h>

#define SPOOL_SEMCONV_DB_SYSTEM_NAME "db.system.name"
#define SPOOL_SEMCONV_DB_SYSTEM_NAME_SQLITE "sqlite"
/* The database within the system: for SQLite the file. */
#define SPOOL_SEMCONV_DB_NAMESPACE "db.namespace"
#define SPOOL_SEMCONV_DB_COLLECTION_NAME "db.collection.name"
#define SPOOL_SEMCONV_DB_OPERATION_NAME "db.operation.name"
/* The text with placeholders; one with values in it must be made harmless first. */
#define SPOOL_SEMCONV_DB_QUERY_TEXT "db.query.text"
#define SPOOL_SEMCONV_DB_QUERY_SUMMARY "db.query.summary"
/* The system's own code, as text. */
#define SPOOL_SEMCONV_DB_RESPONSE_STATUS_CODE "db.response.status_code"
/* In development: rows (int). */
#define SPOOL_SEMCONV_DB_RESPONSE_RETURNED_ROWS "db.response.returned_rows"

#endif /* SPOOL_SEMCONV_DB_H */
