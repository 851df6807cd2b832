/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The W3C traceparent and tracestate headers (Trace Context level 2).
 *
 *     00-<32 hex trace id>-<16 hex span id>-<2 hex flags>
 *
 * A later version may be longer, after another '-'; of its flags the sampled bit alone is known.
 */
#include "sdk/context/header_text.h"
#include "sdk/context/stack.h"

#include <spool/ext/propagator.h>

enum {
    VERSION_AT = 0,
    TRACE_ID_AT = 3,
    SPAN_ID_AT = 36,
    FLAGS_AT = 53,
    PARENT_BYTES = 55,
    LATER_PARENT_BYTES = 1024 /* no version has more; what is longer is not a traceparent */
};

static const char parent_name[] = "traceparent";
static const char state_name[] = "tracestate";

static spool_str field(const char *name, size_t size) {
    return spool_str_n(name, size - 1);
}

/* ---- writing ---- */

static void tracecontext_inject(const spool_context *context, const spool_setter *setter,
                                void *carrier) {
    if (!context || !setter || !setter->set || !spool_span_context_is_valid(&context->span)) {
        return;
    }
    const struct spool_span_context *span = &context->span;
    uint8_t flags = span->flags & (SPOOL_FLAG_SAMPLED | SPOOL_FLAG_RANDOM);
    char text[PARENT_BYTES] = "00-";
    sp_hex_put(text + TRACE_ID_AT, span->trace_id, sizeof span->trace_id);
    text[SPAN_ID_AT - 1] = '-';
    sp_hex_put(text + SPAN_ID_AT, span->span_id, sizeof span->span_id);
    text[FLAGS_AT - 1] = '-';
    sp_hex_put(text + FLAGS_AT, &flags, 1);
    setter->set(carrier, field(parent_name, sizeof parent_name), spool_str_n(text, sizeof text));

    spool_str state = spool_context_trace_state(context);
    if (state.len) {
        setter->set(carrier, field(state_name, sizeof state_name), state);
    }
}

/* ---- reading ---- */

/* Lower-case hex alone: upper case is not valid in any version (PR-08). */
static bool hex_read(const char *text, uint8_t *out, size_t count) {
    for (size_t i = 0; i < 2 * count; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            return false;
        }
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] << 4 | digit : digit);
    }
    return true;
}

static bool is_printable(spool_str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < 0x20 || text.ptr[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

static bool parent_read(spool_str header, struct spool_span_context *out) {
    uint8_t version;
    struct spool_span_context span = {{0}, {0}, 0, 1, {0}};
    spool_str text = sp_text_trimmed(spool_str_n(header.ptr, header.len));
    if (text.len < PARENT_BYTES || text.len > LATER_PARENT_BYTES ||
        !hex_read(text.ptr + VERSION_AT, &version, 1) || version == 0xff ||
        text.ptr[TRACE_ID_AT - 1] != '-' || text.ptr[SPAN_ID_AT - 1] != '-' ||
        text.ptr[FLAGS_AT - 1] != '-' ||
        !hex_read(text.ptr + TRACE_ID_AT, span.trace_id, sizeof span.trace_id) ||
        !hex_read(text.ptr + SPAN_ID_AT, span.span_id, sizeof span.span_id) ||
        !hex_read(text.ptr + FLAGS_AT, &span.flags, 1) || !spool_span_context_is_valid(&span)) {
        return false;
    }
    spool_str more = spool_str_n(text.ptr + PARENT_BYTES, text.len - PARENT_BYTES);
    if (more.len && (version == 0 || more.ptr[0] != '-' || !is_printable(more))) {
        return false;
    }
    span.flags &= version == 0 ? SPOOL_FLAG_SAMPLED | SPOOL_FLAG_RANDOM : SPOOL_FLAG_SAMPLED;
    *out = span;
    return true;
}

/* Several headers are one list (PR-10); each is read in place, nothing is joined. */
static sp_trace_state *state_read(const spool_getter *getter, const void *carrier) {
    sp_trace_state_list list;
    spool_str line = {NULL, 0};
    sp_trace_state_list_init(&list);
    for (size_t i = 0; i < SP_HEADER_LINES; i++) {
        if (!getter->get(carrier, field(state_name, sizeof state_name), i, &line) ||
            !sp_trace_state_list_add(&list, line)) {
            break;
        }
        line = (spool_str){NULL, 0};
    }
    return sp_trace_state_of_list(&list);
}

static spool_context tracecontext_extract(const spool_context *base, const spool_getter *getter,
                                          const void *carrier) {
    const spool_context *from = base ? base : sp_context_current();
    struct spool_span_context span;
    spool_str line = {NULL, 0};
    spool_str second = {NULL, 0};
    if (!getter || !getter->get ||
        !getter->get(carrier, field(parent_name, sizeof parent_name), 0, &line) ||
        !parent_read(line, &span) ||
        /* Two of them: nobody can tell which is right (PR-09). */
        getter->get(carrier, field(parent_name, sizeof parent_name), 1, &second)) {
        return spool_context_copy(from);
    }
    sp_trace_state *state = state_read(getter, carrier);
    spool_context made = sp_context_make(from, &span, (spool_span){0}, state);
    sp_trace_state_release(state);
    return made;
}

static size_t tracecontext_fields(spool_str *out_names, size_t capacity) {
    if (out_names && capacity > 0) {
        out_names[0] = field(parent_name, sizeof parent_name);
    }
    if (out_names && capacity > 1) {
        out_names[1] = field(state_name, sizeof state_name);
    }
    return 2;
}

const spool_propagator spool_propagator_tracecontext = {
    sizeof(spool_propagator), "tracecontext",      tracecontext_inject,
    tracecontext_extract,     tracecontext_fields,
};
