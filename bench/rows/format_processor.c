/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See format_processor.h. A span's text, with that of its parents before it, is made once, when it
 * starts, and kept in its extension box. A thread that enters the span pins it and keeps the pin until
 * the exit; an event inside borrows the text through that pin, so that it writes nothing that other
 * threads see. An event in a span that is not current pins it for the moment.
 */
#include "bench/rows/format_processor.h"

#include <spool/log.h>

#include <string.h>

enum { SCOPE_TEXT_BYTES = 232, LINE_BYTES = 4096, ENTERED_MAX = 64 };

/* The box. */
typedef struct scope_text {
    uint32_t len;
    char text[SCOPE_TEXT_BYTES];
} scope_text;

typedef struct entered {
    spool_span span;
    spool_span_record *record; /* pinned; NULL when it could not be */
    struct spool_span_context context;
    const scope_text *text;
} entered;

static spool_ext_id scope_type;
static _Thread_local entered stack[ENTERED_MAX];
static _Thread_local unsigned depth; /* may exceed ENTERED_MAX: those are not kept */
static _Thread_local char line[LINE_BYTES];
static _Thread_local bench_written written;

/* ---- writing ---- */

static void discard(const char *text, size_t len) {
    __asm__ volatile("" : : "r"(text) : "memory");
    written.lines++;
    written.bytes += len;
}

/* Called through memory, as a writer chosen at run time is. */
static void (*volatile writer)(const char *text, size_t len) = discard;

void bench_discard(const char *text, size_t len) {
    writer(text, len);
}

bench_written bench_format_written(void) {
    return written;
}

/* ---- text ---- */

static char *put(char *at, const char *end, const char *text, size_t len) {
    size_t room = (size_t)(end - at);
    len = len < room ? len : room;
    memcpy(at, text, len);
    return at + len;
}

static char *put_str(char *at, const char *end, spool_str text) {
    return text.len ? put(at, end, text.ptr, text.len) : at;
}

char *bench_int_put(char *at, int64_t value) {
    char digits[20];
    unsigned count = 0;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0) {
        *at++ = '-';
    }
    while (count) {
        *at++ = digits[--count];
    }
    return at;
}

static char *digits_put(char *at, unsigned value, unsigned count) {
    for (unsigned i = count; i-- > 0;) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + count;
}

/* The civil date of a day number, counted from 1 March of year 0, in whole eras of 400 years. */
static char *date_put(char *at, uint64_t days_since_epoch) {
    unsigned days = (unsigned)days_since_epoch + 719468;
    unsigned era = days / 146097;
    unsigned day_of_era = days % 146097;
    unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month_from_march = (5 * day_of_year + 2) / 153;
    unsigned day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    unsigned month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    unsigned year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    at = digits_put(at, year, 4);
    *at++ = '-';
    at = digits_put(at, month, 2);
    *at++ = '-';
    return digits_put(at, day, 2);
}

char *bench_time_put(char *at, uint64_t wall_ns) {
    uint64_t seconds = wall_ns / 1000000000;
    unsigned of_day = (unsigned)(seconds % 86400);
    at = date_put(at, seconds / 86400);
    *at++ = 'T';
    at = digits_put(at, of_day / 3600, 2);
    *at++ = ':';
    at = digits_put(at, of_day / 60 % 60, 2);
    *at++ = ':';
    at = digits_put(at, of_day % 60, 2);
    *at++ = '.';
    at = digits_put(at, (unsigned)(wall_ns % 1000000000 / 1000), 6);
    *at++ = 'Z';
    return at;
}

/* Room for a number must be left: callers keep 24 bytes before the real end. */
static char *value_put(char *at, const char *end, const spool_value *value) {
    if (value->type == SPOOL_VALUE_INT) {
        return bench_int_put(at, value->as.integer);
    }
    if (value->type == SPOOL_VALUE_BOOL) {
        return value->as.boolean ? put(at, end, "true", 4) : put(at, end, "false", 5);
    }
    if (value->type == SPOOL_VALUE_STRING) {
        return put_str(at, end, value->as.string);
    }
    return put(at, end, "?", 1);
}

static char *attrs_put(char *at, const char *end, const spool_attr *attrs, size_t count) {
    for (size_t i = 0; i < count && at < end; i++) {
        if (i) {
            at = put(at, end, " ", 1);
        }
        at = put_str(at, end, attrs[i].key);
        at = put(at, end, "=", 1);
        at = value_put(at, end, &attrs[i].value);
    }
    return at;
}

/* ---- spans ---- */

static uint32_t parent_text_put(spool_span_record *span, scope_text *to) {
    uint32_t len = 0;
    spool_span_record *parent = spool_ext_pin_parent(span);
    if (parent) {
        const scope_text *from = spool_ext_get(parent, scope_type);
        if (from) {
            len = from->len;
            memcpy(to->text, from->text, len);
        }
        spool_ext_unpin(parent);
    }
    return len;
}

static void span_start(void *self, spool_span_record *span, const spool_context *parent) {
    (void)self;
    (void)parent;
    scope_text *made = spool_ext_get_or_init(span, scope_type, NULL);
    const spool_span_data *data = spool_span_record_data(span);
    if (!made || !data) {
        return;
    }
    char *end = made->text + SCOPE_TEXT_BYTES - 26;
    char *at = made->text + parent_text_put(span, made);
    if (at < end) {
        at = put_str(at, end, data->name);
        if (data->attr_count) {
            at = put(at, end, "{", 1);
            at = attrs_put(at, end, data->attrs, data->attr_count);
            *at++ = '}';
        }
        *at++ = ':';
    }
    made->len = (uint32_t)(at - made->text);
}

static void reset(void *value) {
    ((scope_text *)value)->len = 0;
}

static void span_enter(void *self, spool_span span) {
    (void)self;
    if (depth < ENTERED_MAX) {
        entered *top = &stack[depth];
        top->span = span;
        top->record = spool_ext_pin(span);
        top->context = spool_span_context(span);
        top->text = top->record ? spool_ext_get(top->record, scope_type) : NULL;
    }
    depth++;
}

static void span_exit(void *self, spool_span span) {
    (void)self;
    if (depth == 0) {
        return;
    }
    depth--;
    unsigned at = depth;
    if (at >= ENTERED_MAX) {
        return;
    }
    while (at && stack[at].span.bits != span.bits) {
        at--;
    }
    if (stack[at].record) {
        spool_ext_unpin(stack[at].record);
    }
    memmove(&stack[at], &stack[at + 1], (depth - at) * sizeof stack[0]);
}

/* ---- events ---- */

static char *scope_put(char *at, const char *end, const scope_text *text) {
    if (text && text->len) {
        at = put(at, end, text->text, text->len);
        at = put(at, end, " ", 1);
    }
    return at;
}

static char *span_put(char *at, const char *end, spool_log_data *log) {
    static const uint8_t none[8];
    if (memcmp(log->context.span_id, none, 8) == 0) {
        return at;
    }
    const entered *top = depth && depth <= ENTERED_MAX ? &stack[depth - 1] : NULL;
    if (top && memcmp(top->context.span_id, log->context.span_id, 8) == 0) {
        return scope_put(at, end, top->text);
    }
    spool_span_record *record = spool_ext_log_pin_span(log);
    if (record) {
        at = scope_put(at, end, spool_ext_get(record, scope_type));
        spool_ext_unpin(record);
    }
    return at;
}

static void log_emit(void *self, spool_log_data *log) {
    (void)self;
    const char *end = line + sizeof line - 32;
    uint64_t time = log->timestamp_ns ? log->timestamp_ns : log->observed_timestamp_ns;
    char *at = bench_time_put(line, time);
    *at++ = ' ';
    if (log->severity_text.len == 4) {
        *at++ = ' ';
    }
    at = put_str(at, end, log->severity_text);
    *at++ = ' ';
    at = span_put(at, end, log);
    at = put_str(at, end, log->scope->name);
    at = put(at, end, ": ", 2);
    if (log->body.type == SPOOL_VALUE_STRING && log->body.as.string.len) {
        at = put_str(at, end, log->body.as.string);
        at = put(at, end, " ", 1);
    }
    at = attrs_put(at, end, log->attrs, log->attr_count);
    *at++ = '\n';
    writer(line, (size_t)(at - line));
}

/* ---- the table ---- */

static void destroy(void *self) {
    (void)self;
}

static const spool_processor_ops ops = {
    .struct_size = sizeof ops,
    .name = "format",
    .span_start = span_start,
    .span_enter = span_enter,
    .span_exit = span_exit,
    .log_emit = log_emit,
    .destroy = destroy,
};

spool_processor bench_format_processor(void) {
    if (scope_type == 0) {
        scope_type = spool_ext_register("bench scope text", sizeof(scope_text), 8, reset, NULL);
    }
    return (spool_processor){&ops, NULL};
}
