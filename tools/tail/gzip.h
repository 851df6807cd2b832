/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks a gzip request body within a size limit. */
#ifndef SPOOL_TOOLS_TAIL_GZIP_H
#define SPOOL_TOOLS_TAIL_GZIP_H

#include <stddef.h>
#include <stdint.h>

typedef enum sp_tail_gzip_status {
    SP_TAIL_GZIP_OK = 0,
    SP_TAIL_GZIP_MALFORMED,
    SP_TAIL_GZIP_TOO_BIG,
    SP_TAIL_GZIP_NO_MEMORY
} sp_tail_gzip_status;

/* *out_data is the caller's to free; it and *out_len are set on success only. */
sp_tail_gzip_status sp_tail_gunzip(const uint8_t *data, size_t len, size_t limit,
                                   uint8_t **out_data, size_t *out_len);

#endif /* SPOOL_TOOLS_TAIL_GZIP_H */
