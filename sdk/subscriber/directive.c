/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing of directives (see <spool/sdk/filter.h> for the language). A parser over a counted text that
 * never reads past its end; what a part means is decided before anything is kept of it.
 */
#include "sdk/platform/diagnostics.h"
#include "sdk/resource/copy.h"
#include "sdk/subscriber/filter.h"

#include <spool/log.h>

#include <stdlib.h>
#include <string.h>

enum {
    FIELDS_IN_PART = SP_FILTER_CONDITIONS,
    SHOWN_BYTES = 80, /* of a bad part in a diagnostic */
    EXACT_DIGITS = 15 /* a double holds so many */
};

/* One part while it is read. */
typedef struct part_view {
    sp_directive directive;
    sp_filter_field fields[FIELDS_IN_PART];
} part_view;

typedef struct reader {
    sp_arena *arena;
    const char *at;
    const char *end;
    const char *why; /* what is wrong; NULL: nothing */
    bool no_memory;
} reader;

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static spool_str trimmed(const char *at, const char *end) {
    while (at < end && is_space(*at)) {
        at++;
    }
    while (at < end && is_space(end[-1])) {
        end--;
    }
    return spool_str_n(at, (size_t)(end - at));
}

/* ---- levels ---- */

static bool equals_without_case(spool_str text, const char *word) {
    size_t i = 0;
    for (; i < text.len && word[i]; i++) {
        char c = text.ptr[i];
        if (c >= 'A' && c <= 'Z') {
            c = (char)(c - 'A' + 'a');
        }
        char w = word[i];
        if (w >= 'A' && w <= 'Z') {
            w = (char)(w - 'A' + 'a');
        }
        if (c != w) {
            return false;
        }
    }
    return i == text.len && !word[i];
}

static bool level_read(spool_str text, int32_t *out_level) {
    if (equals_without_case(text, "off")) {
        *out_level = SP_LEVEL_OFF;
        return true;
    }
    for (int32_t level = SPOOL_SEVERITY_TRACE; level <= SPOOL_SEVERITY_FATAL4; level++) {
        if (equals_without_case(text, spool_severity_name(level))) {
            *out_level = level;
            return true;
        }
    }
    return false;
}

/* ---- values: the locale must not change what they mean ---- */

static void number_read(sp_filter_field *field) {
    spool_str text = field->text;
    size_t at = text.len && text.ptr[0] == '-' ? 1 : 0;
    bool negative = at == 1;
    uint64_t digits = 0;
    double scale = 1;
    unsigned count = 0;
    bool point = false;
    bool fits = true;
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == '.' && !point && count) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            return;
        }
        uint64_t digit = (uint64_t)(c - '0');
        fits = fits && digits <= (UINT64_MAX - digit) / 10;
        digits = digits * 10 + digit;
        scale = point ? scale * 10 : scale;
        count++;
    }
    if (count == 0 || !fits || (point && text.ptr[text.len - 1] == '.')) {
        return;
    }
    if (!point && digits <= (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        field->is_integer = true;
        field->integer = negative ? (int64_t)(0 - digits) : (int64_t)digits;
    }
    /* Both below 2^53, so the quotient is the double that the text means. */
    if (count <= EXACT_DIGITS) {
        field->is_number = true;
        field->number = (negative ? -(double)digits : (double)digits) / scale;
    }
}

/* ---- words ---- */

static bool fail(reader *from, const char *why) {
    from->why = why;
    return false;
}

/* A quoted word, without quotes and escapes; `at` stands on the opening quote. */
static bool quoted_read(reader *from, spool_str *out) {
    char *text = sp_arena_alloc(from->arena, (size_t)(from->end - from->at));
    if (!text) {
        from->no_memory = true;
        return fail(from, "no memory");
    }
    size_t len = 0;
    for (from->at++; from->at < from->end; from->at++) {
        char c = *from->at;
        if (c == '"') {
            from->at++;
            *out = spool_str_n(text, len);
            return true;
        }
        if (c == '\\' && from->at + 1 < from->end) {
            c = *++from->at;
        }
        text[len++] = c;
    }
    return fail(from, "a quote is not closed");
}

/* A word up to one of `stops`, trimmed; or a quoted one and nothing but spaces behind it. */
static bool word_read(reader *from, const char *stops, spool_str *out) {
    while (from->at < from->end && is_space(*from->at)) {
        from->at++;
    }
    if (from->at < from->end && *from->at == '"') {
        if (!quoted_read(from, out)) {
            return false;
        }
        while (from->at < from->end && is_space(*from->at)) {
            from->at++;
        }
        return from->at == from->end || strchr(stops, *from->at) != NULL ||
               fail(from, "something follows a quoted text");
    }
    const char *start = from->at;
    while (from->at < from->end && !strchr(stops, *from->at)) {
        if (strchr("\"[]{}", *from->at)) {
            return fail(from, "a bracket or quote is out of place");
        }
        from->at++;
    }
    *out = trimmed(start, from->at);
    return true;
}

static bool stands_on(const reader *from, char c) {
    return from->at < from->end && *from->at == c;
}

/* ---- parts ---- */

/* `{key=value,...}`; `at` stands behind the opening brace. */
static bool fields_read(reader *from, part_view *part) {
    for (;;) {
        if (part->directive.field_count == FIELDS_IN_PART) {
            return fail(from, "too many attributes");
        }
        sp_filter_field *field = &part->fields[part->directive.field_count++];
        memset(field, 0, sizeof *field);
        if (!word_read(from, "=,}", &field->key)) {
            return false;
        }
        if (field->key.len == 0) {
            return fail(from, "an attribute has no key");
        }
        if (stands_on(from, '=')) {
            from->at++;
            if (!word_read(from, ",}", &field->text)) {
                return false;
            }
            number_read(field);
        }
        if (from->at >= from->end) {
            return fail(from, "a brace is not closed");
        }
        if (*from->at++ == '}') {
            return true;
        }
    }
}

/* `[name{...}]`; `at` stands behind the opening bracket. */
static bool span_read(reader *from, part_view *part) {
    spool_str name;
    if (!word_read(from, "{]", &name)) {
        return false;
    }
    if (name.len) {
        part->directive.span = name;
    }
    if (stands_on(from, '{')) {
        from->at++;
        if (!fields_read(from, part)) {
            return false;
        }
        while (from->at < from->end && is_space(*from->at)) {
            from->at++;
        }
    }
    if (!stands_on(from, ']')) {
        return fail(from, "a bracket is not closed");
    }
    from->at++;
    return sp_directive_has_span(&part->directive) || fail(from, "the brackets are empty");
}

static bool part_read(reader *from, part_view *part) {
    memset(&part->directive, 0, sizeof part->directive);
    part->directive.level = SPOOL_SEVERITY_TRACE;
    spool_str word;
    if (!word_read(from, "[=", &word)) {
        return false;
    }
    if (from->at == from->end) {
        /* A bare level, or a scope that everything passes. */
        part->directive.scope =
            level_read(word, &part->directive.level) ? spool_str_n(NULL, 0) : word;
        return true;
    }
    part->directive.scope = word;
    bool has_span = stands_on(from, '[');
    if (has_span) {
        from->at++;
        if (!span_read(from, part)) {
            return false;
        }
    }
    while (from->at < from->end && is_space(*from->at)) {
        from->at++;
    }
    if (from->at == from->end) {
        return true;
    }
    if (*from->at != '=') {
        return fail(from, "something follows the brackets");
    }
    if (!has_span && word.len == 0) {
        return fail(from, "there is nothing in front of the level");
    }
    return level_read(trimmed(from->at + 1, from->end), &part->directive.level) ||
           fail(from, "not a level");
}

/* The end of the part at `at`: a comma outside brackets, braces and quotes. */
static const char *part_end(const char *at, const char *end) {
    unsigned depth = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (quoted) {
            if (*at == '\\' && at + 1 < end) {
                at++;
            } else {
                quoted = *at != '"';
            }
        } else if (*at == '"') {
            quoted = true;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if ((*at == ']' || *at == '}') && depth) {
            depth--;
        } else if (*at == ',' && depth == 0) {
            break;
        }
    }
    return at;
}

/* ---- the list ---- */

/* Negative: a is more specific. */
static int specificity(const sp_directive *a, const sp_directive *b) {
    bool a_span = sp_directive_has_span(a);
    bool b_span = sp_directive_has_span(b);
    if (a_span != b_span) {
        return a_span ? -1 : 1;
    }
    if (a->scope.len != b->scope.len) {
        return a->scope.len > b->scope.len ? -1 : 1;
    }
    if (a->field_count != b->field_count) {
        return a->field_count > b->field_count ? -1 : 1;
    }
    return (b->span.ptr != NULL) - (a->span.ptr != NULL);
}

static bool same_selector(const sp_directive *a, const sp_directive *b) {
    if (specificity(a, b) != 0 || !sp_text_equals(a->scope, b->scope) ||
        !sp_text_equals(a->span, b->span)) {
        return false;
    }
    for (uint32_t i = 0; a->fields && b->fields && i < a->field_count; i++) {
        if (!sp_text_equals(a->fields[i].key, b->fields[i].key) ||
            (a->fields[i].text.ptr == NULL) != (b->fields[i].text.ptr == NULL) ||
            !sp_text_equals(a->fields[i].text, b->fields[i].text)) {
            return false;
        }
    }
    return true;
}

static bool text_keep(sp_arena *arena, spool_str *text) {
    return !text->ptr || sp_copy_text(arena, *text, text);
}

/* Deep copy of the part's texts and fields. */
static bool part_keep(sp_arena *arena, part_view *part) {
    sp_directive *directive = &part->directive;
    bool kept = text_keep(arena, &directive->scope) && text_keep(arena, &directive->span);
    sp_filter_field *fields = NULL;
    if (kept && directive->field_count) {
        fields = sp_arena_alloc(arena, directive->field_count * sizeof *fields);
        kept = fields != NULL;
    }
    for (uint32_t i = 0; kept && i < directive->field_count; i++) {
        fields[i] = part->fields[i];
        kept = text_keep(arena, &fields[i].key) && text_keep(arena, &fields[i].text);
    }
    directive->fields = fields;
    return kept;
}

/* Puts it in its place: behind what is as specific, or over what has the same selector. */
static spool_status directive_add(spool_filter *filter, sp_directive *list,
                                  const sp_directive *directive) {
    uint32_t place = filter->directive_count;
    for (uint32_t i = 0; i < filter->directive_count; i++) {
        if (same_selector(&list[i], directive)) {
            list[i].level = directive->level;
            return SPOOL_OK;
        }
        if (place == filter->directive_count && specificity(directive, &list[i]) < 0) {
            place = i;
        }
    }
    uint32_t span_parts = filter->span_parts + (sp_directive_has_span(directive) ? 1 : 0);
    uint32_t conditions =
        filter->conditions + directive->field_count + (directive->span.ptr ? 1 : 0);
    if (filter->directive_count == SP_FILTER_DIRECTIVES || span_parts > SP_FILTER_SPAN_PARTS ||
        conditions > SP_FILTER_CONDITIONS) {
        return SPOOL_ERR_LIMIT;
    }
    memmove(&list[place + 1], &list[place], (filter->directive_count - place) * sizeof *list);
    list[place] = *directive;
    filter->directive_count++;
    filter->span_parts = span_parts;
    filter->conditions = conditions;
    return SPOOL_OK;
}

static void complain(const char *origin, spool_str part, const char *why, bool lenient) {
    size_t shown = part.len < SHOWN_BYTES ? part.len : SHOWN_BYTES;
    while (shown < part.len && shown && ((unsigned char)part.ptr[shown] & 0xc0) == 0x80) {
        shown--; /* not inside a character */
    }
    sp_diag(lenient ? SPOOL_DIAG_WARN : SPOOL_DIAG_ERROR, "filter", "%s: \"%.*s\"%s: %s%s", origin,
            (int)shown, part.ptr, shown < part.len ? "..." : "", why, lenient ? "; left out" : "");
}

static spool_status part_add(spool_filter *filter, sp_directive *list, spool_str text,
                             const char **out_why) {
    part_view part;
    reader from = {&filter->arena, text.ptr, text.ptr + text.len, NULL, false};
    if (!part_read(&from, &part)) {
        *out_why = from.why;
        return from.no_memory ? SPOOL_ERR_NOMEM : SPOOL_ERR_INVALID;
    }
    if (!part_keep(&filter->arena, &part)) {
        *out_why = "no memory";
        return SPOOL_ERR_NOMEM;
    }
    spool_status status = directive_add(filter, list, &part.directive);
    *out_why = status == SPOOL_ERR_LIMIT ? "more directives than there is room for" : NULL;
    return status;
}

static uint32_t parts_count(const char *text, const char *end) {
    uint32_t count = 1;
    for (const char *at = text; at < end && count <= SP_FILTER_DIRECTIVES; at++) {
        count += *at == ',';
    }
    return count;
}

spool_status sp_filter_parse(const char *text, const char *origin, bool lenient,
                             spool_filter **out_filter) {
    const char *end = text + strlen(text);
    spool_filter *filter = sp_filter_make(SP_FILTER_LIST);
    sp_directive *list =
        filter ? sp_arena_alloc(&filter->arena, parts_count(text, end) * sizeof *list) : NULL;
    spool_status status = list ? SPOOL_OK : SPOOL_ERR_NOMEM;
    for (const char *at = text; status == SPOOL_OK && at < end;) {
        const char *stop = part_end(at, end);
        spool_str part = trimmed(at, stop);
        at = stop < end ? stop + 1 : end;
        if (part.len == 0) {
            continue;
        }
        const char *why = NULL;
        status = part_add(filter, list, part, &why);
        if (status != SPOOL_OK) {
            complain(origin, part, why, lenient);
            status = lenient && status != SPOOL_ERR_NOMEM ? SPOOL_OK : status;
        }
    }
    bool empty = status == SPOOL_OK && filter->directive_count == 0;
    if (empty && !lenient) {
        complain(origin, spool_str_n(text, (size_t)(end - text)), "no directive in it", false);
        status = SPOOL_ERR_INVALID;
    }
    if (status != SPOOL_OK || empty) {
        spool_filter_release(filter);
        filter = NULL;
    } else {
        filter->directives = list;
    }
    if (status == SPOOL_OK) {
        *out_filter = filter;
    }
    return status;
}

spool_status spool_filter_create(const char *directives, spool_filter **out_filter) {
    if (!directives || !out_filter) {
        return SPOOL_ERR_INVALID;
    }
    return sp_filter_parse(directives, "spool_filter_create", false, out_filter);
}
