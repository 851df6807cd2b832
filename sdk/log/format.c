/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h. */
#include "sdk/log/format.h"

#include "sdk/platform/diagnostics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

spool_str sp_format(char text[SP_FORMAT_BYTES], const char *format, va_list args) {
    int kept_errno = errno;
    int len = vsnprintf(text, SP_FORMAT_BYTES, format, args);
    errno = kept_errno;
    if (len < 0) {
        return spool_str_of("(a log format failed)");
    }
    if (len < SP_FORMAT_BYTES) {
        return spool_str_n(text, (size_t)len);
    }
    sp_misuse_count(SP_MISUSE_TRUNCATED_TEXT, 1);
    /* Not in the middle of a character: step back over its continuation bytes. */
    size_t end = SP_FORMAT_BYTES - 1 - 3;
    while (end && ((unsigned char)text[end] & 0xc0) == 0x80) {
        end--;
    }
    memcpy(text + end, "...", 4);
    return spool_str_n(text, end + 3);
}
