/* SPDX-License-Identifier: Apache-2.0 */
/* gzip for request bodies. Without zlib in the build, SP_GZIP_BUILT is 0 and nothing is compressed. */
#ifndef SPOOL_EXPORTERS_OTLP_GZIP_H
#define SPOOL_EXPORTERS_OTLP_GZIP_H

#include <spool/ext/exporter.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef SPOOL_WITH_ZLIB
enum { SP_GZIP_BUILT = SPOOL_WITH_ZLIB };
#else
enum { SP_GZIP_BUILT = 0 };
#endif

/* Compresses the pieces into one new block (free() it). False: no memory, or not built. */
bool sp_gzip_pieces(const spool_batch_piece *pieces, size_t count, void **out_bytes,
                    size_t *out_len);

#endif /* SPOOL_EXPORTERS_OTLP_GZIP_H */
