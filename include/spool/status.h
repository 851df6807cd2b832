/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes of the control path. Calls of the hot path (spans, log records) return nothing or a
 * handle: they never fail to the caller, they count (see spool_stats in spool/sdk/provider.h).
 */
#ifndef SPOOL_STATUS_H
#define SPOOL_STATUS_H

#include <spool/export.h>

#include <stdint.h>

SPOOL_BEGIN_DECLS

/*
 * The one list of codes: X(name, value, text). The enum, spool_status_name() and spool_status_text()
 * are made from it. Values never change meaning within a major version.
 */
#define SPOOL_STATUS_MAP(X)                                                                        \
    X(SPOOL_OK, 0, "success")                                                                      \
    X(SPOOL_ERR_INVALID, 1, "an argument is invalid")                                              \
    X(SPOOL_ERR_NOMEM, 2, "out of memory")                                                         \
    X(SPOOL_ERR_SYSTEM, 3, "a system call failed")                                                 \
    X(SPOOL_ERR_EXISTS, 4, "a default SDK is already started")                                     \
    X(SPOOL_ERR_TIMEOUT, 5, "the deadline passed first")                                           \
    X(SPOOL_ERR_EXPORT, 6, "records could not be delivered")                                       \
    X(SPOOL_ERR_SHUTDOWN, 7, "already shut down")                                                  \
    X(SPOOL_ERR_WOULD_BLOCK, 8, "called where waiting would deadlock")                             \
    X(SPOOL_ERR_UNSUPPORTED, 9, "not supported by this build")                                     \
    X(SPOOL_ERR_LIMIT, 10, "a limit is reached")                                                   \
    X(SPOOL_ERR_ORDER, 11, "calls are in the wrong order or on the wrong thread")

#define SPOOL_STATUS_ENUM(name, value, text) name = value,
typedef enum spool_status { SPOOL_STATUS_MAP(SPOOL_STATUS_ENUM) SPOOL_STATUS_COUNT } spool_status;
#undef SPOOL_STATUS_ENUM

/*
 * The name ("SPOOL_ERR_NOMEM") or a short English sentence without a full stop. Static storage, never
 * NULL; an unknown value gives "unknown status".
 * Threads: any. Blocks: no. Signals: safe. Fork: child may call.
 */
SPOOL_API const char *spool_status_name(spool_status status);
SPOOL_API const char *spool_status_text(spool_status status);

SPOOL_END_DECLS
#endif /* SPOOL_STATUS_H */
