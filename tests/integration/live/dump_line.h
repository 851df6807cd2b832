/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what spool_dump_live_spans() wrote, strictly by the format that its header promises. */
#ifndef SPT_INTEGRATION_LIVE_DUMP_LINE_H
#define SPT_INTEGRATION_LIVE_DUMP_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum { DUMP_ATTRS = 160 };

/* Texts point into the line, unescaped in place. */
typedef struct dump_line {
    char *trace_id;
    char *span_id;
    bool busy;
    char *parent; /* NULL: a root */
    double age;
    unsigned thread;
    char *name;
    size_t attr_count;
    unsigned left_out; /* the N of +N */
    struct {
        char *key;
        char *value; /* a text without its quotes */
        bool quoted;
    } attrs[DUMP_ATTRS];
} dump_line;

/* `line` ends in a newline, which is replaced. False: not well formed. */
bool dump_line_read(char *line, dump_line *out);
const char *dump_line_attr(const dump_line *line, const char *key);

/* All that is in a descriptor, NUL-terminated, from its start; to be freed. */
char *dump_text(int descriptor, size_t *out_len);

#endif /* SPT_INTEGRATION_LIVE_DUMP_LINE_H */
