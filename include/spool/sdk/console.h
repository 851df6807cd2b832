/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console exporter: a form for people. For debugging only; the format may change with any release
 * (CE-01).
 */
#ifndef SPOOL_SDK_CONSOLE_H
#define SPOOL_SDK_CONSOLE_H

#include <spool/ext/exporter.h>

SPOOL_BEGIN_DECLS

enum { SPOOL_COLOR_AUTO = 0, SPOOL_COLOR_ALWAYS = 1, SPOOL_COLOR_NEVER = 2 };

typedef struct spool_console_options {
    size_t struct_size;
    int32_t descriptor; /* written to, never closed; default 1 */
    uint32_t color;     /* SPOOL_COLOR_*; default auto: on a terminal; see below */
} spool_console_options;
#define SPOOL_CONSOLE_OPTIONS_INIT                                                                 \
    { sizeof(spool_console_options), 1, SPOOL_COLOR_AUTO }
SPOOL_API void spool_console_options_init(spool_console_options *options);

/*
 * Each record is one write. Control characters in text are escaped. A descriptor that takes no more
 * (full disk, closed pipe: no signal is raised; a non-blocking one that stays full for a second) costs
 * the record, counted as rejected. NO_COLOR is heeded where the environment is read: by spool_start().
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_console_create(const spool_console_options *options,
                                                           spool_exporter *out_exporter);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_CONSOLE_H */
