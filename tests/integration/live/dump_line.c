/* SPDX-License-Identifier: Apache-2.0 */
/* See dump_line.h. */
#include "tests/integration/live/dump_line.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static char *hex_take(char **at, size_t digits) {
    char *start = *at;
    for (size_t i = 0; i < digits; i++) {
        if (!is_hex(start[i])) {
            return NULL;
        }
    }
    *at = start + digits;
    return start;
}

static bool take(char **at, const char *text) {
    size_t len = strlen(text);
    if (strncmp(*at, text, len) != 0) {
        return false;
    }
    *at += len;
    return true;
}

static unsigned nibble(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* A quoted text; *at is behind its closing quote then, which is NUL. */
static char *quoted_take(char **at) {
    char *from = *at;
    if (*from++ != '"') {
        return NULL;
    }
    char *start = from;
    char *to = from;
    while (*from != '"') {
        unsigned char byte = (unsigned char)*from++;
        if (byte < 0x20 || byte == 0x7f) {
            return NULL;
        }
        if (byte == '\\' && (*from == '"' || *from == '\\')) {
            byte = (unsigned char)*from++;
        } else if (byte == '\\') {
            if (from[0] != 'x' || !is_hex(from[1]) || !is_hex(from[2])) {
                return NULL;
            }
            byte = (unsigned char)(nibble(from[1]) << 4 | nibble(from[2]));
            from += 3;
        }
        *to++ = (char)byte;
    }
    *at = from + 1;
    *to = '\0';
    return start;
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._-/", c));
}

/* Behind the blank. */
static bool attr_take(char **at, dump_line *out) {
    char *key = *at;
    if (**at == '"') {
        key = quoted_take(at);
        if (!key || **at != '=') {
            return false;
        }
    } else {
        while (is_plain(**at)) {
            ++*at;
        }
        if (*at == key || **at != '=') {
            return false;
        }
        **at = '\0';
    }
    ++*at;
    if (out->attr_count == DUMP_ATTRS) {
        return false;
    }
    out->attrs[out->attr_count].key = key;
    out->attrs[out->attr_count].quoted = **at == '"';
    char *value = *at;
    if (**at == '"') {
        value = quoted_take(at);
        if (!value) {
            return false;
        }
    } else {
        char close = **at == '<' ? '>' : ' ';
        while (**at && **at != close) {
            ++*at;
        }
        *at += close == '>';
        if (*at == value) {
            return false;
        }
    }
    out->attrs[out->attr_count++].value = value;
    return true;
}

static bool rest_read(char *at, dump_line *out) {
    if (take(&at, " parent=")) {
        out->parent = hex_take(&at, 16);
        if (!out->parent) {
            return false;
        }
    }
    char *end;
    if (!take(&at, " age=")) {
        return false;
    }
    out->age = strtod(at, &end);
    if (end < at + 5 || end[-4] != '.') {
        return false;
    }
    at = end;
    if (!take(&at, " thread=")) {
        return false;
    }
    out->thread = (unsigned)strtoul(at, &end, 10);
    if (end == at) {
        return false;
    }
    at = end;
    if (!take(&at, " name=") || !(out->name = quoted_take(&at))) {
        return false;
    }
    while (*at) {
        if (*at != ' ') {
            return false;
        }
        *at++ = '\0';
        if (*at == '+') {
            out->left_out = (unsigned)strtoul(at + 1, &end, 10);
            return end > at + 1 && *end == '\0' && out->left_out;
        }
        if (!attr_take(&at, out)) {
            return false;
        }
    }
    return true;
}

bool dump_line_read(char *line, dump_line *out) {
    memset(out, 0, offsetof(dump_line, attrs));
    char *at = line;
    size_t len = strlen(line);
    if (len == 0 || len > 1023 || line[len - 1] != '\n') {
        return false;
    }
    line[len - 1] = '\0';
    if (!take(&at, "span ") || !(out->trace_id = hex_take(&at, 32)) || !take(&at, " ") ||
        !(out->span_id = hex_take(&at, 16))) {
        return false;
    }
    out->busy = strcmp(at, " <busy>") == 0;
    return out->busy || rest_read(at, out);
}

const char *dump_line_attr(const dump_line *line, const char *key) {
    for (size_t i = 0; i < line->attr_count; i++) {
        if (strcmp(line->attrs[i].key, key) == 0) {
            return line->attrs[i].value;
        }
    }
    return NULL;
}

char *dump_text(int descriptor, size_t *out_len) {
    off_t end = lseek(descriptor, 0, SEEK_END);
    size_t len = end > 0 ? (size_t)end : 0;
    char *text = malloc(len + 1);
    size_t done = 0;
    while (text && done < len) {
        ssize_t got = pread(descriptor, text + done, len - done, (off_t)done);
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    if (text) {
        text[done] = '\0';
        *out_len = done;
    }
    return text;
}
