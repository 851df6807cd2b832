/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip for request bodies. It runs on the loop, where it must not take long: level 1, since on batches of
 * spans level 6 takes longer and saves less than one part in fifty more.
 */
#include "exporters/otlp/gzip.h"

#if SPOOL_WITH_ZLIB

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LEVEL = 1, GZIP_WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

/* Feeds one piece; zlib counts in unsigned int, pieces in size_t. */
static bool piece_deflate(z_stream *stream, const spool_batch_piece *piece, int flush) {
    const Bytef *at = piece->bytes;
    size_t left = piece->len;
    do {
        uInt step = left > UINT_MAX ? UINT_MAX : (uInt)left;
        /* zlib's type lacks a const; it does not write here. */
        memcpy(&stream->next_in, &at, sizeof at);
        stream->avail_in = step;
        left -= step;
        int result = deflate(stream, left == 0 ? flush : Z_NO_FLUSH);
        if (result == Z_STREAM_ERROR || stream->avail_in > 0) {
            return false;
        }
        at += step;
    } while (left > 0);
    return true;
}

static bool pieces_deflate(z_stream *stream, const spool_batch_piece *pieces, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].len > 0 && !piece_deflate(stream, &pieces[i], Z_NO_FLUSH)) {
            return false;
        }
    }
    return deflate(stream, Z_FINISH) == Z_STREAM_END;
}

bool sp_gzip_pieces(const spool_batch_piece *pieces, size_t count, void **out_bytes,
                    size_t *out_len) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += pieces[i].len;
    }
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    uLong bound = deflateBound(&stream, (uLong)total);
    void *bytes = bound <= UINT_MAX ? malloc(bound) : NULL;
    stream.next_out = bytes;
    stream.avail_out = (uInt)bound;
    bool made = bytes && pieces_deflate(&stream, pieces, count);
    size_t len = stream.total_out;
    deflateEnd(&stream);
    if (!made) {
        free(bytes);
        return false;
    }
    *out_bytes = bytes;
    *out_len = len;
    return true;
}

#else

bool sp_gzip_pieces(const spool_batch_piece *pieces, size_t count, void **out_bytes,
                    size_t *out_len) {
    (void)pieces;
    (void)count;
    (void)out_bytes;
    (void)out_len;
    return false;
}

#endif
