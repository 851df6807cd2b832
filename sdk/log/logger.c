/* SPDX-License-Identifier: Apache-2.0 */
/* Loggers, and the ways to emit through one. */
#include "sdk/context/stack.h"
#include "sdk/log/emission.h"
#include "sdk/log/format.h"
#include "sdk/platform/options.h"

#include <spool/log.h>

static spool_logger *logger_of(sp_source *source) {
    /* A logger is its source and nothing else. */
    return (spool_logger *)(void *)source;
}

spool_logger *spool_logger_get_n(spool_str name, spool_str version) {
    spool_scope scope = {.name = name, .version = version};
    return logger_of(sp_source_get(NULL, &scope));
}

spool_logger *spool_logger_get(const char *name, const char *version) {
    return spool_logger_get_n(spool_str_of(name), spool_str_of(version));
}

spool_logger *spool_logger_get_scope(const spool_scope *scope) {
    return logger_of(sp_source_get(NULL, scope));
}

spool_logger *spool_sdk_logger(spool_sdk *sdk, const spool_scope *scope) {
    return logger_of(sp_source_get(sdk, scope));
}

/* The pinned subscriber that takes new records, or NULL. */
static sp_subscriber *logger_pin(sp_thread_block *thread, const spool_logger *logger) {
    if (!logger || !thread || thread->suppressed) {
        return NULL;
    }
    sp_subscriber *subscriber = sp_pin(thread, logger->source.cell, logger->source.epoch);
    if (subscriber && SP_UNLIKELY(sp_load_relaxed(&subscriber->state) != SP_SDK_OPEN)) {
        sp_unpin(thread);
        subscriber = NULL;
    }
    return subscriber;
}

bool spool_logger_enabled_n(spool_logger *logger, const spool_context *context, int severity,
                            spool_str event_name) {
    sp_thread_block *thread = sp_thread();
    sp_subscriber *subscriber = logger_pin(thread, logger);
    if (!subscriber) {
        return false;
    }
    const spool_context *used = context ? context : sp_context_top(thread);
    spool_enabled_query query = {sizeof query, SPOOL_SIGNAL_LOGS,           severity,
                                 event_name,   &logger->source.scope->view, &used->span};
    bool enabled = !(severity && severity < subscriber->minimum_severity);
    if (enabled) {
        uint32_t admitted =
            sp_log_admitted(thread, subscriber, logger->source.scope, used, severity, event_name);
        enabled = !sp_subscriber_refuses(subscriber, thread, &query,
                                         admitted & subscriber->log_emit.mask);
    }
    sp_unpin(thread);
    return enabled;
}

bool spool_logger_enabled(spool_logger *logger, const spool_context *context, int severity,
                          const char *event_name) {
    return spool_logger_enabled_n(logger, context, severity, spool_str_of(event_name));
}

void spool_log_record_init(spool_log_record *record) {
    static const spool_log_record defaults = SPOOL_LOG_RECORD_INIT;
    if (record) {
        *record = defaults;
    }
}

void spool_log_emit(spool_logger *logger, const spool_log_record *record) {
    sp_thread_block *thread = sp_thread();
    spool_log_record given = SPOOL_LOG_RECORD_INIT;
    if (!record || record->struct_size < sizeof record->struct_size) {
        sp_misuse_count(SP_MISUSE_INVALID_CALL, 1);
        return;
    }
    if (SP_UNLIKELY(record->struct_size != sizeof given)) {
        (void)sp_options_read(&given, sizeof given, record);
        record = &given;
    }
    sp_subscriber *subscriber = logger_pin(thread, logger);
    if (SP_LIKELY(subscriber != NULL)) {
        sp_emit(thread, subscriber, logger->source.scope, record, SP_ADMIT_ASK);
        sp_unpin(thread);
    } else if (!thread) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    } else if (logger && !thread->suppressed) {
        sp_count_after_shutdown(&logger->source);
    }
}

void spool_log_n(spool_logger *logger, int severity, spool_str body, const spool_attr *attrs,
                 size_t count) {
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.timestamp_ns = SP_LOG_TIME_IS_NOW;
    record.severity = severity;
    record.body = spool_value_string_n(body);
    record.attrs = attrs;
    record.attr_count = attrs ? count : 0;
    spool_log_emit(logger, &record);
}

void spool_vlogf(spool_logger *logger, int severity, const char *format, va_list args) {
    char text[SP_FORMAT_BYTES];
    if (logger && format) {
        spool_log_n(logger, severity, sp_format(text, format, args), NULL, 0);
    }
}

void spool_logf(spool_logger *logger, int severity, const char *format, ...) {
    va_list args;
    va_start(args, format);
    spool_vlogf(logger, severity, format, args);
    va_end(args);
}
