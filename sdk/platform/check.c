/* SPDX-License-Identifier: Apache-2.0 */
/* How a failed internal check ends the process: no allocation, no stdio, no locale. */
#include "sdk/platform/check.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The decimal text of `number` at the end of `room`; returns where it starts. */
static char *decimal(unsigned number, char *room_end) {
    char *at = room_end;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return at;
}

static struct iovec piece(const char *text, size_t len) {
    union {
        const char *in;
        void *out;
    } pointer = {.in = text}; /* writev() only reads, its struct cannot say so */
    return (struct iovec){pointer.out, len};
}

_Noreturn void sp_check_failed(const char *expression, const char *file, int line) {
    char digits[12];
    char *end = digits + sizeof digits;
    char *number = decimal(line > 0 ? (unsigned)line : 0, end);
    const struct iovec pieces[] = {
        piece("spool: check failed: ", 21),
        piece(expression, strlen(expression)),
        piece(" at ", 4),
        piece(file, strlen(file)),
        piece(":", 1),
        piece(number, (size_t)(end - number)),
        piece("\n", 1),
    };
    ssize_t ignored = writev(STDERR_FILENO, pieces, (int)(sizeof pieces / sizeof pieces[0]));
    (void)ignored;
    abort();
}
