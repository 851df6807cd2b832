/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an options struct of a caller that may be older or newer than the library. */
#ifndef SPOOL_SDK_PLATFORM_OPTIONS_H
#define SPOOL_SDK_PLATFORM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * `into` holds the defaults; what the caller's struct has of it is copied over. Both begin with a size_t
 * struct_size. False: the caller's size is 0 (not initialised). A caller's larger struct is cut.
 */
static inline bool sp_options_read(void *into, size_t into_size, const void *from) {
    size_t from_size;
    memcpy(&from_size, from, sizeof from_size);
    if (from_size < sizeof from_size) {
        return false;
    }
    memcpy(into, from, from_size < into_size ? from_size : into_size);
    memcpy(into, &into_size, sizeof into_size);
    return true;
}

#endif /* SPOOL_SDK_PLATFORM_OPTIONS_H */
