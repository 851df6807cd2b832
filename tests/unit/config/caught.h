/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics as a test sees them: kept in place of being printed. */
#ifndef SPT_CAUGHT_H
#define SPT_CAUGHT_H

#include <stddef.h>

/* Keeps all lines from here on; at most 32 are remembered, all are counted. */
void spt_caught_start(void);
size_t spt_caught_lines(void);
/* How many of the lines contain the text. */
size_t spt_caught_with(const char *part);
/* A line, "" past the end. */
const char *spt_caught_line(size_t index);

#endif /* SPT_CAUGHT_H */
