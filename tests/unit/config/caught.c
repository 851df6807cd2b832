/* SPDX-License-Identifier: Apache-2.0 */
/* See caught.h. One thread. */
#include "tests/unit/config/caught.h"

#include <spool/sdk/diagnostics.h>

#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 32, LINE_BYTES = 512 };

static char lines[MOST_LINES][LINE_BYTES];
static size_t count;

static void keep(void *arg, const spool_diagnostic *line) {
    (void)arg;
    if (count < MOST_LINES) {
        (void)snprintf(lines[count], LINE_BYTES, "%s", line->text);
    }
    count++;
}

void spt_caught_start(void) {
    spool_diagnostics_set(keep, NULL);
}

size_t spt_caught_lines(void) {
    return count;
}

size_t spt_caught_with(const char *part) {
    size_t found = 0;
    for (size_t i = 0; i < count && i < MOST_LINES; i++) {
        found += strstr(lines[i], part) != NULL;
    }
    return found;
}

const char *spt_caught_line(size_t index) {
    return index < count && index < MOST_LINES ? lines[index] : "";
}
