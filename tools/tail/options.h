/* SPDX-License-Identifier: Apache-2.0 */
/* spool-tail's command line. */
#ifndef SPOOL_TOOLS_TAIL_OPTIONS_H
#define SPOOL_TOOLS_TAIL_OPTIONS_H

#include "tools/tail/line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sp_tail_options {
    uint16_t port; /* 0: the kernel chooses */
    uint64_t quiet_ms;
    uint64_t idle_exit_ms; /* 0: stays until a signal */
    size_t max_traces;
    size_t max_bytes;
    bool json;
    bool attributes;
    bool help;
    sp_tail_style style;
} sp_tail_options;

/* Also looks at standard output, the locale, NO_COLOR, TERM and COLUMNS. Returns
 * false after a message on standard error. */
bool sp_tail_options_parse(int argc, char **argv, sp_tail_options *out_options);

extern const char sp_tail_usage[];

#endif /* SPOOL_TOOLS_TAIL_OPTIONS_H */
