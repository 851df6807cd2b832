/* SPDX-License-Identifier: Apache-2.0 */
/* Durations, service names, levels, events, links and logs. */
#include "tools/tail/note_print.h"

#include <stdio.h>
#include <string.h>

enum { LEVEL_WIDTH = 6 };

void sp_tail_duration_format(const sp_tail_style *style, uint64_t ns, char out[32]) {
    const double value = (double)ns;
    if (ns < 1000) {
        snprintf(out, 32, "%u ns", (unsigned)ns);
    } else if (value < 999.95e3) {
        snprintf(out, 32, "%.1f %s", value / 1e3, style->utf8 ? "\xc2\xb5s" : "us");
    } else if (value < 999.995e6) {
        snprintf(out, 32, "%.2f ms", value / 1e6);
    } else {
        snprintf(out, 32, "%.*f s", value < 1e12 ? 3 : 0, value / 1e9);
    }
}

void sp_tail_line_service(sp_tail_line *line, sp_tail_text service, unsigned width) {
    static const char *const colors[] = {"36", "35", "34", "32", "33", "96", "95", "94"};
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < service.len; i++) {
        hash = (hash ^ service.data[i]) * 16777619u;
    }
    sp_tail_line_color(line, colors[(hash ^ hash >> 15) % (sizeof colors / sizeof colors[0])]);
    sp_tail_line_text(line, service.data, service.len, width);
    sp_tail_line_plain(line);
}

typedef struct level {
    int least; /* severity number */
    const char *name;
    const char *color;
} level;

static const level levels[] = {
    {21, "FATAL", "1;31"}, {17, "ERROR", "31"}, {13, "WARN", "33"},
    {9, "INFO", "32"},     {5, "DEBUG", "2"},   {1, "TRACE", "2"},
};

static void level_print(sp_tail_line *line, const sp_tail_note *log) {
    unsigned end = line->column + LEVEL_WIDTH;
    const level *found = NULL;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0] && found == NULL; i++) {
        found = log->severity >= levels[i].least ? &levels[i] : NULL;
    }
    if (found != NULL) {
        sp_tail_line_color(line, found->color);
        sp_tail_line_own(line, found->name, found->name);
        sp_tail_line_plain(line);
    } else if (log->level.len > 0) {
        sp_tail_line_text(line, log->level.data, log->level.len, LEVEL_WIDTH - 1);
    } else {
        sp_tail_line_own(line, "log", "log");
    }
    sp_tail_line_fill(line, end);
}

static void part_print(sp_tail_line *line, sp_tail_text text, const char *color, bool *first) {
    if (text.len == 0 || sp_tail_line_left(line) < 3) {
        return;
    }
    if (!*first) {
        sp_tail_line_own(line, "  ", "  ");
    }
    *first = false;
    if (color != NULL) {
        sp_tail_line_color(line, color);
    }
    sp_tail_line_text(line, text.data, text.len, sp_tail_line_left(line));
    if (color != NULL) {
        sp_tail_line_plain(line);
    }
}

void sp_tail_line_note(sp_tail_line *line, const sp_tail_note *note) {
    unsigned end = line->column + LEVEL_WIDTH;
    bool first = true;
    switch (note->kind) {
    case SP_TAIL_NOTE_LOG:
        level_print(line, note);
        break;
    case SP_TAIL_NOTE_EVENT:
        sp_tail_line_color(line, "1");
        sp_tail_line_own(line, "event", "event");
        sp_tail_line_plain(line);
        break;
    case SP_TAIL_NOTE_LINK:
        sp_tail_line_own(line, "link", "link");
        break;
    }
    sp_tail_line_fill(line, end);
    part_print(line, note->label, NULL, &first);
    part_print(line, note->body, NULL, &first);
    part_print(line, note->attributes, "2", &first);
}
