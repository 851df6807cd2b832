/* SPDX-License-Identifier: Apache-2.0 */
/* Headers for the conformance tests. */
#include "carrier.h"

#include <string.h>

spool_context extracted(const spool_header *headers, size_t count) {
    const spool_header_list list = {headers, count};
    const spool_context empty = SPOOL_CONTEXT_INIT;
    return spool_extract(&empty, &spool_header_getter, &list);
}

spool_context extracted_one(spool_str name, spool_str value) {
    const spool_header header = {name, value};
    return extracted(&header, 1);
}

const char *injected(const spool_context *context, const char *name) {
    static char text[64 * 1024];
    static spool_header items[8];
    spool_header_buffer buffer = {items, 8, 0, text, sizeof text, 0, 0};
    spool_inject(context, &spool_header_setter, &buffer);
    for (size_t i = 0; i < buffer.count; i++) {
        if (strcmp(items[i].name.ptr, name) == 0) {
            return items[i].value.ptr;
        }
    }
    return NULL;
}
