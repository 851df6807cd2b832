/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping, measuring and cutting of text. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* wcwidth */
#endif
#include "tools/tail/line.h"

#include "tools/tail/utf8.h"

#include <string.h>
#include <wchar.h>

/* One character as it is printed. */
typedef struct glyph {
    char text[16];
    size_t len;
    unsigned width;
} glyph;

/*
 * Characters that print as nothing or turn the writing direction: with them a text
 * can show something else than what it says.
 */
static bool is_deceptive(uint32_t code) {
    return code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
           code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) || code >= 0xE0000;
}

static void glyph_escape(glyph *out, uint32_t code) {
    const char *name = code == '\n' ? "\\n" : code == '\r' ? "\\r" : code == '\t' ? "\\t" : NULL;
    int len = name != NULL   ? snprintf(out->text, sizeof out->text, "%s", name)
              : code <= 0x7F ? snprintf(out->text, sizeof out->text, "\\x%02x", (unsigned)code)
                             : snprintf(out->text, sizeof out->text, "\\u{%x}", (unsigned)code);
    out->len = (size_t)len;
    out->width = (unsigned)len;
}

/* Reads the next character of the text (`len` > 0); returns the bytes it took. */
static size_t glyph_next(const sp_tail_style *style, const uint8_t *text, size_t len, glyph *out) {
    uint32_t code;
    size_t size = sp_tail_utf8_next(text, len, &code);
    if (size == 0) {
        out->len = out->width =
            (unsigned)snprintf(out->text, sizeof out->text, "\\x%02x", (unsigned)text[0]);
        return 1;
    }
    int width = 1;
    bool plain = code >= 0x20 && code < 0x7F;
    if (code > 0x7F && style->utf8 && !is_deceptive(code)) {
        width = wcwidth((wchar_t)code);
        plain = width >= 0 && code >= 0xA0;
    }
    if (!plain) {
        glyph_escape(out, code);
        return size;
    }
    memcpy(out->text, text, size);
    out->len = size;
    out->width = (unsigned)width;
    return size;
}

unsigned sp_tail_text_width(const sp_tail_style *style, const uint8_t *text, size_t len,
                            unsigned most) {
    unsigned width = 0;
    glyph next;
    for (size_t at = 0; at < len && width <= most;) {
        at += glyph_next(style, text + at, len - at, &next);
        width += next.width;
    }
    return width;
}

void sp_tail_line_text(sp_tail_line *line, const uint8_t *text, size_t len, unsigned most) {
    const char *ellipsis = line->style->utf8 ? "\xe2\x80\xa6" : "~";
    bool whole = sp_tail_text_width(line->style, text, len, most) <= most;
    unsigned room = whole ? most : most > 0 ? most - 1 : 0;
    unsigned used = 0;
    glyph next;
    for (size_t at = 0; at < len;) {
        at += glyph_next(line->style, text + at, len - at, &next);
        if (next.width > room - used) {
            break;
        }
        fwrite(next.text, 1, next.len, line->out);
        used += next.width;
    }
    if (!whole && most > 0) {
        fputs(ellipsis, line->out);
        used++;
    }
    line->column += used;
}

void sp_tail_line_own(sp_tail_line *line, const char *utf8, const char *ascii) {
    const char *text = line->style->utf8 ? utf8 : ascii;
    fputs(text, line->out);
    for (; *text != '\0'; text++) {
        line->column += ((unsigned char)*text & 0xC0) != 0x80;
    }
}

void sp_tail_line_fill(sp_tail_line *line, unsigned column) {
    for (; line->column < column; line->column++) {
        putc(' ', line->out);
    }
}

void sp_tail_line_color(sp_tail_line *line, const char *code) {
    if (line->style->color) {
        fprintf(line->out, "\x1b[%sm", code);
    }
}

void sp_tail_line_plain(sp_tail_line *line) {
    sp_tail_line_color(line, "0");
}

unsigned sp_tail_line_left(const sp_tail_line *line) {
    return line->column < line->style->width ? line->style->width - line->column : 0;
}

void sp_tail_line_end(sp_tail_line *line) {
    putc('\n', line->out);
    line->column = 0;
}
