/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output line for a terminal: escapes what could steer the terminal, knows the
 * width of what it wrote, and cuts text to a width. All received text goes to the
 * terminal through sp_tail_line_text().
 */
#ifndef SPOOL_TOOLS_TAIL_LINE_H
#define SPOOL_TOOLS_TAIL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct sp_tail_style {
    bool utf8; /* else everything is ASCII, other characters as \u{...} */
    bool color;
    unsigned width; /* columns of a line */
} sp_tail_style;

typedef struct sp_tail_line {
    FILE *out;
    const sp_tail_style *style;
    unsigned column; /* columns written so far */
} sp_tail_line;

/* Columns that sp_tail_line_text() needs for the whole text; stops counting past `most`. */
unsigned sp_tail_text_width(const sp_tail_style *style, const uint8_t *text, size_t len,
                            unsigned most);

/* Writes the text, cut with an ellipsis if it needs more than `most` columns. */
void sp_tail_line_text(sp_tail_line *line, const uint8_t *text, size_t len, unsigned most);

/* Writes our own text: one column for each character, trusted. */
void sp_tail_line_own(sp_tail_line *line, const char *utf8, const char *ascii);

/* Writes spaces up to `column`. */
void sp_tail_line_fill(sp_tail_line *line, unsigned column);

/* `code` is what stands between ESC[ and m; nothing without colour. */
void sp_tail_line_color(sp_tail_line *line, const char *code);
void sp_tail_line_plain(sp_tail_line *line);

/* Columns left on the line. */
unsigned sp_tail_line_left(const sp_tail_line *line);

void sp_tail_line_end(sp_tail_line *line);

#endif /* SPOOL_TOOLS_TAIL_LINE_H */
