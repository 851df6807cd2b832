/* SPDX-License-Identifier: Apache-2.0 */
/* See limits_env.h. The general variable first, then the model's own, which wins. */
#include "config/limits_env.h"

#include "config/environment.h"

void sp_limits_from_env(spool_limits *limits) {
    uint32_t general;
    if (sp_env_number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0, &general)) {
        limits->span_attr_length = general;
        limits->log_attr_length = general;
    }
    if (sp_env_number("OTEL_ATTRIBUTE_COUNT_LIMIT", 0, &general)) {
        limits->span_attr_count = general;
        limits->log_attr_count = general;
    }
    (void)sp_env_number("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0, &limits->span_attr_length);
    (void)sp_env_number("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", 0, &limits->span_attr_count);
    (void)sp_env_number("OTEL_SPAN_EVENT_COUNT_LIMIT", 0, &limits->span_event_count);
    (void)sp_env_number("OTEL_SPAN_LINK_COUNT_LIMIT", 0, &limits->span_link_count);
    (void)sp_env_number("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", 0, &limits->event_attr_count);
    (void)sp_env_number("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", 0, &limits->link_attr_count);
    (void)sp_env_number("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0, &limits->log_attr_length);
    (void)sp_env_number("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", 0, &limits->log_attr_count);
}
