/* SPDX-License-Identifier: Apache-2.0 */
/* printf bodies: built in the caller's frame. */
#ifndef SPOOL_SDK_LOG_FORMAT_H
#define SPOOL_SDK_LOG_FORMAT_H

#include "sdk/platform/compiler.h"

#include <spool/value.h>

#include <stdarg.h>

enum { SP_FORMAT_BYTES = 1024 };

/* The formatted text in `text`; what was cut ends in "..." and is counted. errno is kept. */
spool_str sp_format(char text[SP_FORMAT_BYTES], const char *format, va_list args) SP_PRINTF(2, 0);

#endif /* SPOOL_SDK_LOG_FORMAT_H */
