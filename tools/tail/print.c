/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of a span's line: service, tree and name, kind, duration, bar, remarks.
 * The widths are chosen per trace, so that the bars of one trace stand below each
 * other. A note's line has service, tree, time since the trace's start, text.
 */
#include "tools/tail/print.h"

#include "tools/tail/note_print.h"
#include "tools/tail/tree.h"
#include "tools/tail/value_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVICE_WIDTH_MAX = 20,
    KIND_WIDTH = 9,
    LEVEL_COLUMNS = 3, /* of the tree, per level */
    DEPTH_DRAWN_MAX = 24,
    NAME_WIDTH_MIN = 16,
    REMARK_WIDTH = 12,
    STATUS_ERROR = 2
};

typedef struct layout {
    unsigned service;
    unsigned name; /* tree and name */
    unsigned kind;
    unsigned bar;
} layout;

static sp_tail_line line_start(const sp_tail_printer *printer) {
    return (sp_tail_line){printer->out, &printer->style, 0};
}

static void block_start(sp_tail_printer *printer, bool logs) {
    if (printer->any_printed && !(logs && printer->in_logs)) {
        putc('\n', printer->out);
    }
    printer->any_printed = true;
    printer->in_logs = logs;
}

static const char *kind_name(int kind) {
    static const char *const names[] = {"", "", "server", "client", "producer", "consumer"};
    return kind >= 0 && kind < (int)(sizeof names / sizeof names[0]) ? names[kind] : "kind?";
}

static unsigned tree_width(size_t depth) {
    size_t drawn = depth < DEPTH_DRAWN_MAX ? depth : DEPTH_DRAWN_MAX;
    return (unsigned)drawn * LEVEL_COLUMNS;
}

static unsigned text_width(const sp_tail_printer *printer, sp_tail_text text) {
    return sp_tail_text_width(&printer->style, text.data, text.len, printer->style.width);
}

static unsigned larger(unsigned a, unsigned b) {
    return a > b ? a : b;
}

static layout layout_choose(const sp_tail_printer *printer, const sp_tail_tree *tree) {
    layout widths = {8, NAME_WIDTH_MIN, 0, 0};
    const unsigned total = printer->style.width;
    for (size_t i = 0; i < tree->span_count; i++) {
        const sp_tail_span *span = tree->spans[i].span;
        widths.service = larger(widths.service, text_width(printer, span->service));
        widths.name =
            larger(widths.name, tree_width(tree->spans[i].depth) + text_width(printer, span->name));
        widths.kind = kind_name(span->kind)[0] != '\0' ? KIND_WIDTH : widths.kind;
    }
    for (size_t i = 0; i < tree->note_count; i++) {
        widths.service = larger(widths.service, text_width(printer, tree->notes[i]->service));
    }
    widths.service = widths.service < SERVICE_WIDTH_MAX ? widths.service : SERVICE_WIDTH_MAX;
    widths.bar = total / 5 < 10 ? 10 : total / 5 > 40 ? 40 : total / 5;
    /* Two spaces after service, name and bar, one before the bar, two for its frame. */
    unsigned taken =
        widths.service + widths.kind + SP_TAIL_DURATION_WIDTH + widths.bar + 9 + REMARK_WIDTH;
    unsigned room = total > taken + NAME_WIDTH_MIN ? total - taken : NAME_WIDTH_MIN;
    widths.name = widths.name < room ? widths.name : room;
    return widths;
}

static void tree_print(sp_tail_line *line, const sp_tail_tree *tree, size_t index, bool note) {
    const sp_tail_tree_span *span = &tree->spans[index];
    bool last[DEPTH_DRAWN_MAX];
    if (span->depth >= DEPTH_DRAWN_MAX) {
        char text[40];
        int len = snprintf(text, sizeof text, "[level %zu] ", span->depth);
        sp_tail_line_text(line, (const uint8_t *)text, (size_t)len, (unsigned)len);
        return;
    }
    size_t depth = span->depth;
    for (size_t i = depth, at = index; i > 0; i--, at = tree->spans[at].parent) {
        last[i - 1] = tree->spans[at].last;
    }
    sp_tail_line_color(line, "2");
    for (size_t i = 0; i < depth; i++) {
        if (i + 1 == depth && !note) {
            sp_tail_line_own(line, last[i] ? "└─ " : "├─ ", last[i] ? "`- " : "|- ");
        } else {
            sp_tail_line_own(line, last[i] ? "   " : "│  ", last[i] ? "   " : "|  ");
        }
    }
    if (note) {
        sp_tail_line_own(line, span->child_count > 0 ? "│  " : "   ",
                         span->child_count > 0 ? "|  " : "   ");
    }
    sp_tail_line_plain(line);
}

static unsigned bar_cell(const sp_tail_tree *tree, uint64_t ns, unsigned cells, bool up) {
    uint64_t range = tree->end_ns - tree->start_ns;
    uint64_t at = ns > tree->start_ns ? ns - tree->start_ns : 0;
    if (range == 0 || at >= range) {
        return range == 0 && !up ? 0 : cells;
    }
    double position = (double)at / (double)range * cells;
    unsigned cell = (unsigned)position;
    return up && (double)cell < position ? cell + 1 : cell;
}

static void bar_print(sp_tail_line *line, const sp_tail_tree *tree, const sp_tail_span *span,
                      unsigned cells) {
    unsigned first = bar_cell(tree, span->start_ns, cells, false);
    unsigned end = bar_cell(tree, span->end_ns, cells, true);
    first = first < cells ? first : cells - 1;
    end = end > first ? end : first + 1;
    uint64_t length = span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0;
    bool small = (double)length * cells * 2 < (double)(tree->end_ns - tree->start_ns);
    end = small ? first + 1 : end;
    sp_tail_line_own(line, "▕", "|");
    sp_tail_line_color(line, span->status == STATUS_ERROR ? "31" : "34");
    for (unsigned i = 0; i < cells; i++) {
        bool inside = i >= first && i < end;
        if (inside && small) {
            sp_tail_line_own(line, "▍", "-");
        } else {
            sp_tail_line_own(line, inside ? "█" : " ", inside ? "=" : " ");
        }
    }
    sp_tail_line_plain(line);
    sp_tail_line_own(line, "▏", "|");
}

static void duration_print(sp_tail_line *line, const sp_tail_span *span) {
    char text[32] = "ends early";
    if (span->end_ns >= span->start_ns) {
        sp_tail_duration_format(line->style, span->end_ns - span->start_ns, text);
    }
    size_t len = strlen(text);
    unsigned width = sp_tail_text_width(line->style, (const uint8_t *)text, len, 32);
    sp_tail_line_fill(
        line, line->column + (width < SP_TAIL_DURATION_WIDTH ? SP_TAIL_DURATION_WIDTH - width : 0));
    sp_tail_line_text(line, (const uint8_t *)text, len, width);
}

static void remark_add(sp_tail_text_buffer *remarks, const char *text) {
    if (remarks->len > 0) {
        sp_tail_buffer_add(remarks, "; ", 2);
    }
    sp_tail_buffer_add(remarks, text, strlen(text));
}

static void drop_remark_add(sp_tail_text_buffer *remarks, uint32_t count, const char *what) {
    char text[64];
    if (count > 0) {
        snprintf(text, sizeof text, "%" PRIu32 " %s dropped", count, what);
        remark_add(remarks, text);
    }
}

/* Status, and whatever is unusual about the span. */
static void remarks_collect(const sp_tail_tree_span *shown, sp_tail_text_buffer *remarks) {
    const sp_tail_span *span = shown->span;
    if (span->status != 0) {
        remark_add(remarks, span->status == 1              ? "OK"
                            : span->status == STATUS_ERROR ? "ERROR"
                                                           : "status?");
    }
    if (span->message.len > 0) {
        sp_tail_buffer_add(remarks, ": ", remarks->len > 0 ? 2 : 0);
        sp_tail_buffer_add(remarks, span->message.data, span->message.len);
    }
    if (shown->orphan) {
        char text[64] = "parent ";
        for (size_t i = 0; i < sizeof span->parent; i++) {
            snprintf(text + 7 + 2 * i, sizeof text - 7 - 2 * i, "%02x", span->parent[i]);
        }
        strcat(text, " not received");
        remark_add(remarks, text);
    }
    if (shown->circle) {
        remark_add(remarks, "its parents form a circle");
    }
    if (shown->twice) {
        remark_add(remarks, "span id received twice");
    }
    drop_remark_add(remarks, span->dropped_attributes, "attributes");
    drop_remark_add(remarks, span->dropped_events, "events");
    drop_remark_add(remarks, span->dropped_links, "links");
}

/* A line under span `index` that begins like a note's. */
static sp_tail_line note_line_start(const sp_tail_printer *printer, const layout *widths,
                                    const sp_tail_tree *tree, size_t index, sp_tail_text service) {
    sp_tail_line line = line_start(printer);
    sp_tail_line_service(&line, service, widths->service);
    sp_tail_line_fill(&line, widths->service + 2);
    if (index != SIZE_MAX) {
        tree_print(&line, tree, index, true);
    }
    return line;
}

static void remarks_print(const sp_tail_printer *printer, const layout *widths,
                          const sp_tail_tree *tree, size_t index, sp_tail_line *line,
                          sp_tail_text remarks) {
    const sp_tail_span *span = tree->spans[index].span;
    const char *color = span->status == STATUS_ERROR ? "31" : span->status == 1 ? "32" : "33";
    bool fits = text_width(printer, remarks) + 2 <= sp_tail_line_left(line);
    if (remarks.len > 0) {
        sp_tail_line_own(line, "  ", "  ");
        sp_tail_line_color(line, color);
        if (fits) {
            sp_tail_line_text(line, remarks.data, remarks.len, sp_tail_line_left(line));
        } else if (span->status == STATUS_ERROR) {
            sp_tail_line_own(line, "ERROR", "ERROR");
        } else {
            sp_tail_line_own(line, "!", "!");
        }
        sp_tail_line_plain(line);
    }
    sp_tail_line_end(line);
    if (!fits && remarks.len > 0) {
        sp_tail_line under = note_line_start(printer, widths, tree, index, span->service);
        sp_tail_line_color(&under, color);
        sp_tail_line_own(&under, "! ", "! ");
        sp_tail_line_text(&under, remarks.data, remarks.len, sp_tail_line_left(&under));
        sp_tail_line_plain(&under);
        sp_tail_line_end(&under);
    }
}

static void span_print(const sp_tail_printer *printer, const layout *widths,
                       const sp_tail_tree *tree, size_t index) {
    const sp_tail_span *span = tree->spans[index].span;
    sp_tail_line line = line_start(printer);
    sp_tail_line_service(&line, span->service, widths->service);
    sp_tail_line_fill(&line, widths->service + 2);
    unsigned end = line.column + widths->name;
    tree_print(&line, tree, index, false);
    sp_tail_line_color(&line, "1");
    sp_tail_line_text(&line, span->name.data, span->name.len,
                      line.column + 4 < end ? end - line.column : 4);
    sp_tail_line_plain(&line);
    sp_tail_line_fill(&line, end + 2);
    sp_tail_line_own(&line, kind_name(span->kind), kind_name(span->kind));
    sp_tail_line_fill(&line, end + 2 + widths->kind);
    duration_print(&line, span);
    sp_tail_line_own(&line, " ", " ");
    bar_print(&line, tree, span, widths->bar);

    uint8_t room[SP_TAIL_TEXT_MAX * 2];
    sp_tail_text_buffer remarks = {room, sizeof room, 0, false};
    remarks_collect(&tree->spans[index], &remarks);
    remarks_print(printer, widths, tree, index, &line, (sp_tail_text){room, remarks.len});
    if (printer->attributes && span->attributes.len > 0) {
        sp_tail_line under = note_line_start(printer, widths, tree, index, span->service);
        sp_tail_line_color(&under, "2");
        sp_tail_line_text(&under, span->attributes.data, span->attributes.len,
                          sp_tail_line_left(&under));
        sp_tail_line_plain(&under);
        sp_tail_line_end(&under);
    }
}

static void note_print(const sp_tail_printer *printer, const layout *widths,
                       const sp_tail_tree *tree, size_t index, const sp_tail_note *note) {
    sp_tail_line line = note_line_start(printer, widths, tree, index, note->service);
    unsigned end = line.column + SP_TAIL_DURATION_WIDTH + 2;
    if (note->time_ns != 0 && tree->span_count > 0) {
        bool before = note->time_ns < tree->start_ns;
        char text[32];
        sp_tail_duration_format(
            line.style, before ? tree->start_ns - note->time_ns : note->time_ns - tree->start_ns,
            text);
        sp_tail_line_color(&line, "2");
        sp_tail_line_own(&line, before ? "-" : "+", before ? "-" : "+");
        sp_tail_line_own(&line, text, text);
        sp_tail_line_plain(&line);
    }
    sp_tail_line_fill(&line, end);
    sp_tail_line_note(&line, note);
    sp_tail_line_end(&line);
}

static void count_print(sp_tail_line *line, size_t count, const char *what) {
    char text[64];
    if (count > 0) {
        snprintf(text, sizeof text, "  %zu %s%s", count, what, count == 1 ? "" : "s");
        sp_tail_line_own(line, text, text);
    }
}

static int service_compare(const void *left, const void *right) {
    const sp_tail_text *a = left;
    const sp_tail_text *b = right;
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len > 0 ? memcmp(a->data, b->data, len) : 0;
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Different services among the spans; 0 without memory. */
static size_t services_count(const sp_tail_tree *tree) {
    sp_tail_text *names = calloc(tree->span_count + 1, sizeof *names);
    if (names == NULL) {
        return 0;
    }
    size_t different = 0;
    for (size_t i = 0; i < tree->span_count; i++) {
        names[i] = tree->spans[i].span->service;
    }
    qsort(names, tree->span_count, sizeof *names, service_compare);
    for (size_t i = 0; i < tree->span_count; i++) {
        different += i == 0 || service_compare(&names[i - 1], &names[i]) != 0;
    }
    free(names);
    return different;
}

static const char *reason_text(sp_tail_reason reason) {
    switch (reason) {
    case SP_TAIL_UNFINISHED:
        return "  (unfinished)";
    case SP_TAIL_TOO_MANY:
        return "  (printed early: too much is held)";
    case SP_TAIL_LOST:
        return "  (incomplete: out of memory)";
    case SP_TAIL_FINISHED:
        break;
    }
    return "";
}

static void heading_print(const sp_tail_printer *printer, const sp_tail_trace *trace,
                          const sp_tail_tree *tree, sp_tail_reason reason) {
    sp_tail_line line = line_start(printer);
    char text[2 * SP_TAIL_TRACE_ID_SIZE + 1];
    size_t logs = 0;
    size_t errors = 0;
    for (size_t i = 0; i < sizeof trace->id; i++) {
        snprintf(text + 2 * i, 3, "%02x", trace->id[i]);
    }
    for (size_t i = 0; i < tree->note_count; i++) {
        logs += tree->notes[i]->kind == SP_TAIL_NOTE_LOG;
    }
    for (size_t i = 0; i < tree->span_count; i++) {
        errors += tree->spans[i].span->status == STATUS_ERROR;
    }
    sp_tail_line_own(&line, "trace ", "trace ");
    sp_tail_line_color(&line, "1");
    sp_tail_line_own(&line, text, text);
    sp_tail_line_plain(&line);
    if (tree->span_count > 0) {
        char duration[32];
        sp_tail_duration_format(&printer->style, tree->end_ns - tree->start_ns, duration);
        sp_tail_line_own(&line, "  ", "  ");
        sp_tail_line_own(&line, duration, duration);
    }
    count_print(&line, tree->span_count, "span");
    count_print(&line, services_count(tree), "service");
    count_print(&line, logs, "log");
    sp_tail_line_color(&line, "31");
    count_print(&line, errors, "error");
    sp_tail_line_color(&line, "33");
    sp_tail_line_own(&line, reason_text(reason), reason_text(reason));
    const char *later = trace->continued ? "  (continues a trace printed before)" : "";
    sp_tail_line_own(&line, later, later);
    sp_tail_line_plain(&line);
    sp_tail_line_end(&line);
}

void sp_tail_print_trace(sp_tail_printer *printer, const sp_tail_trace *trace,
                         sp_tail_reason reason) {
    sp_tail_tree tree;
    block_start(printer, false);
    if (!sp_tail_tree_build(trace, &tree)) {
        fputs("a trace could not be printed: out of memory\n", printer->out);
        return;
    }
    layout widths = layout_choose(printer, &tree);
    heading_print(printer, trace, &tree, reason);
    for (size_t i = 0; i < tree.span_count; i++) {
        const sp_tail_tree_span *span = &tree.spans[i];
        span_print(printer, &widths, &tree, i);
        for (size_t j = 0; j < span->note_count; j++) {
            note_print(printer, &widths, &tree, i, tree.notes[span->first_note + j]);
        }
    }
    if (tree.first_stray < tree.note_count) {
        fputs("logs whose span was not received:\n", printer->out);
    }
    for (size_t i = tree.first_stray; i < tree.note_count; i++) {
        note_print(printer, &widths, &tree, SIZE_MAX, tree.notes[i]);
    }
    sp_tail_tree_fini(&tree);
}

void sp_tail_print_log(sp_tail_printer *printer, const sp_tail_note *log) {
    bool heading = !printer->in_logs;
    block_start(printer, true);
    if (heading) {
        fputs("logs without a trace\n", printer->out);
    }
    sp_tail_line line = line_start(printer);
    sp_tail_line_service(&line, log->service, SERVICE_WIDTH_MAX);
    sp_tail_line_fill(&line, line.column < 8 ? 10 : line.column + 2);
    sp_tail_line_note(&line, log);
    sp_tail_line_end(&line);
}
