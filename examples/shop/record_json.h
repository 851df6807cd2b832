/* SPDX-License-Identifier: Apache-2.0 */
/* Spans and log records as JSON objects, every field of them. NULL without memory. */
#ifndef SPOOL_EXAMPLES_SHOP_RECORD_JSON_H
#define SPOOL_EXAMPLES_SHOP_RECORD_JSON_H

#include <spool/ext/data.h>

struct cJSON;

struct cJSON *record_json_span(const spool_span_data *span);
struct cJSON *record_json_log(const spool_log_data *log);

#endif /* SPOOL_EXAMPLES_SHOP_RECORD_JSON_H */
