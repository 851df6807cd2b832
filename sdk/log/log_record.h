/* SPDX-License-Identifier: Apache-2.0 */
/* What a log_emit hook is handed, from the inside, for the processors of this library. */
#ifndef SPOOL_SDK_LOG_LOG_RECORD_H
#define SPOOL_SDK_LOG_LOG_RECORD_H

#include "sdk/platform/compiler.h"
#include "sdk/resource/scope.h"
#include "sdk/wire/wire.h"

#include <spool/ext/data.h>

/* The trimming that the SDK asks of log records. */
const sp_wire_limits *sp_log_data_limits(const spool_log_data *log) SP_SHARED("log_data_limits");
/* The interned scope; NULL for a view that is not a record in a hook. */
const sp_scope *sp_log_data_scope(const spool_log_data *log) SP_SHARED("log_data_scope");

#endif /* SPOOL_SDK_LOG_LOG_RECORD_H */
