/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a line that spans, notes and lone logs have in common. */
#ifndef SPOOL_TOOLS_TAIL_NOTE_PRINT_H
#define SPOOL_TOOLS_TAIL_NOTE_PRINT_H

#include "tools/tail/line.h"
#include "tools/tail/record.h"

#include <stddef.h>
#include <stdint.h>

enum { SP_TAIL_DURATION_WIDTH = 10 };

/* "12.3 ms" into `out`: at most SP_TAIL_DURATION_WIDTH columns for less than 10 days. */
void sp_tail_duration_format(const sp_tail_style *style, uint64_t ns, char out[32]);

/* The service's name, always in the same colour, cut to `width` columns. */
void sp_tail_line_service(sp_tail_line *line, sp_tail_text service, unsigned width);

/* "INFO  message  key=value", "event name  key=value" or "link trace .. span ..". */
void sp_tail_line_note(sp_tail_line *line, const sp_tail_note *note);

#endif /* SPOOL_TOOLS_TAIL_NOTE_PRINT_H */
