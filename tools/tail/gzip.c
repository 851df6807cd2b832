/* SPDX-License-Identifier: Apache-2.0 */
/* zlib over a growing buffer; one gzip member, complete, nothing behind it. */
#include "tools/tail/gzip.h"

#include <stdlib.h>
#include <zlib.h>

enum {
    FIRST_BYTES = 16 * 1024,
    GZIP_ONLY = 16 + MAX_WBITS /* zlib: window bits + 16 = gzip wrapper required */
};

typedef struct output {
    uint8_t *data;
    size_t size;
    size_t used;
} output;

static sp_tail_gzip_status output_grow(output *out, size_t limit) {
    /* One byte past the limit tells a body that is too big from one that just fits. */
    if (out->size > limit) {
        return SP_TAIL_GZIP_TOO_BIG;
    }
    size_t size = out->size == 0 ? FIRST_BYTES : out->size * 2;
    if (size > limit + 1) {
        size = limit + 1;
    }
    uint8_t *data = realloc(out->data, size);
    if (data == NULL) {
        return SP_TAIL_GZIP_NO_MEMORY;
    }
    out->data = data;
    out->size = size;
    return SP_TAIL_GZIP_OK;
}

static sp_tail_gzip_status stream_unpack(z_stream *stream, output *out, size_t limit) {
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        if (out->used == out->size) {
            sp_tail_gzip_status status = output_grow(out, limit);
            if (status != SP_TAIL_GZIP_OK) {
                return status;
            }
        }
        stream->next_out = out->data + out->used;
        stream->avail_out = (uInt)(out->size - out->used);
        result = inflate(stream, Z_NO_FLUSH);
        out->used = out->size - stream->avail_out;
        if (result == Z_MEM_ERROR) {
            return SP_TAIL_GZIP_NO_MEMORY;
        }
        /* Room in the output and no progress: the input is cut short. */
        if (result != Z_OK && result != Z_STREAM_END) {
            return SP_TAIL_GZIP_MALFORMED;
        }
    }
    if (out->used > limit) {
        return SP_TAIL_GZIP_TOO_BIG;
    }
    return stream->avail_in == 0 ? SP_TAIL_GZIP_OK : SP_TAIL_GZIP_MALFORMED;
}

sp_tail_gzip_status sp_tail_gunzip(const uint8_t *data, size_t len, size_t limit,
                                   uint8_t **out_data, size_t *out_len) {
    z_stream stream = {0};
    output out = {NULL, 0, 0};
    static uint8_t nothing[1];
    if (inflateInit2(&stream, GZIP_ONLY) != Z_OK) {
        return SP_TAIL_GZIP_NO_MEMORY;
    }
    /* zlib does not write there, but declares the pointer without const. */
    stream.next_in = len == 0 ? nothing : (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)len;
    sp_tail_gzip_status status = stream_unpack(&stream, &out, limit);
    inflateEnd(&stream);
    if (status != SP_TAIL_GZIP_OK) {
        free(out.data);
        return status;
    }
    *out_data = out.data;
    *out_len = out.used;
    return SP_TAIL_GZIP_OK;
}
