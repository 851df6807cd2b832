/* SPDX-License-Identifier: Apache-2.0 */
/* Traces and logs as text for people. */
#ifndef SPOOL_TOOLS_TAIL_PRINT_H
#define SPOOL_TOOLS_TAIL_PRINT_H

#include "tools/tail/line.h"
#include "tools/tail/store.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct sp_tail_printer {
    FILE *out;
    sp_tail_style style;
    bool attributes;  /* show span attributes, a line under the span */
    bool in_logs;     /* the last thing printed was a log without a trace */
    bool any_printed; /* blocks are kept apart by an empty line */
} sp_tail_printer;

/* A block: one line about the trace, then its spans, each with its notes. */
void sp_tail_print_trace(sp_tail_printer *printer, const sp_tail_trace *trace,
                         sp_tail_reason reason);

/* A log that belongs to no trace; those that follow each other share a heading. */
void sp_tail_print_log(sp_tail_printer *printer, const sp_tail_note *log);

#endif /* SPOOL_TOOLS_TAIL_PRINT_H */
