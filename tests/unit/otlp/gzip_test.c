/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed request bodies unpack to the same bytes. */
#include "exporters/otlp/gzip.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static size_t unpack(const void *packed, size_t len, unsigned char *to, size_t size) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    unsigned char *copy = malloc(len);
    cr_assert_not_null(copy);
    memcpy(copy, packed, len);
    stream.next_in = copy;
    stream.avail_in = (uInt)len;
    stream.next_out = to;
    stream.avail_out = (uInt)size;
    cr_assert_eq(inflateInit2(&stream, 15 + 16), Z_OK);
    cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    cr_assert_eq(stream.avail_in, 0);
    size_t made = stream.total_out;
    inflateEnd(&stream);
    free(copy);
    return made;
}

Test(gzip, pieces_of_every_size_come_back) {
    enum { BYTES = 300000, PIECES = 64 };
    static unsigned char plain[BYTES];
    static unsigned char back[BYTES + 1];
    spt_random random = {spt_seed(11)};
    for (int round = 0; round < 20; round++) {
        spool_batch_piece pieces[PIECES];
        size_t used = 0;
        size_t count = 1 + spt_random_below(&random, PIECES);
        for (size_t i = 0; i < count; i++) {
            size_t len = spt_random_below(&random, BYTES / PIECES);
            for (size_t k = 0; k < len; k++) {
                /* every other round compressible */
                plain[used + k] = (unsigned char)spt_random_below(&random, round % 2 ? 256 : 4);
            }
            pieces[i] = (spool_batch_piece){len ? plain + used : NULL, len};
            used += len;
        }
        void *packed = NULL;
        size_t len = 0;
        cr_assert(sp_gzip_pieces(pieces, count, &packed, &len));
        cr_expect_eq(unpack(packed, len, back, sizeof back), used);
        cr_expect_eq(memcmp(back, plain, used), 0);
        cr_expect(round % 2 || used < 1000 || len < used);
        free(packed);
    }
    SPT_TEST_END;
}
