/* SPDX-License-Identifier: Apache-2.0 */
/* The slab: addresses that stay, checked frees, the cap, and lengths across chunks. */
#include "sdk/memory/slab.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static sp_slab slab;

Test(slab, keeps_addresses_and_values_while_it_grows) {
    static const uint32_t lengths[] = {0,  1,   2,   7,   8,    9,    63,   64,
                                       65, 255, 256, 257, 4095, 4096, 4097, 20000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint32_t length = lengths[i];
        uint64_t **nodes = calloc(length + 1, sizeof *nodes);
        uint32_t *indices = calloc(length + 1, sizeof *indices);
        sp_slab_init(&slab, sizeof(uint64_t), SP_SLAB_MAX);
        for (uint32_t n = 0; n < length; n++) {
            nodes[n] = sp_slab_take(&slab, &indices[n]);
            cr_assert_not_null(nodes[n]);
            cr_assert_eq((uintptr_t)nodes[n] % 16, 0);
            cr_assert_eq(*nodes[n], 0);
            *nodes[n] = n;
        }
        for (uint32_t n = 0; n < length; n++) {
            cr_assert_eq(sp_slab_at(&slab, indices[n]), nodes[n]);
            cr_assert_eq(*nodes[n], n);
        }
        cr_assert_eq(slab.used, length);
        for (uint32_t n = 0; n < length; n++) {
            cr_assert(sp_slab_free(&slab, indices[n]));
            cr_assert_not(sp_slab_free(&slab, indices[n]), "twice");
        }
        cr_assert_eq(slab.used, 0);
        sp_slab_fini(&slab);
        free(nodes);
        free(indices);
    }
    SPT_TEST_END;
}

Test(slab, doubles_its_chunks_from_64_to_4096) {
    sp_slab_init(&slab, 8, SP_SLAB_MAX);
    uint32_t index;
    for (int n = 0; n < 64 + 128 + 256 + 512 + 1024 + 2048 + 4096; n++) {
        cr_assert_not_null(sp_slab_take(&slab, &index));
    }
    cr_assert_eq(slab.chunk_count, 7);
    cr_assert_not_null(sp_slab_take(&slab, &index));
    cr_assert_eq(slab.chunk_count, 8);
    cr_assert_eq(slab.chunks[7]->indices.length, 4096);
    sp_slab_fini(&slab);
    SPT_TEST_END;
}

Test(slab, refuses_past_its_cap_and_counts_it) {
    sp_slab_init(&slab, 8, 65);
    uint32_t index = 0;
    for (int n = 0; n < 65; n++) {
        cr_assert_not_null(sp_slab_take(&slab, &index));
    }
    uint32_t other;
    cr_assert_null(sp_slab_take(&slab, &other));
    cr_assert_null(sp_slab_take(&slab, &other));
    cr_assert_eq(slab.refused, 2);
    cr_assert(sp_slab_free(&slab, index));
    cr_assert_not_null(sp_slab_take(&slab, &other));
    cr_assert_null(sp_slab_take(&slab, &other));
    sp_slab_fini(&slab);
    SPT_TEST_END;
}

Test(slab, knows_no_node_at_an_index_that_it_never_had) {
    sp_slab_init(&slab, 8, SP_SLAB_MAX);
    uint32_t index;
    cr_assert_null(sp_slab_at(&slab, 0));
    cr_assert_not_null(sp_slab_take(&slab, &index));
    cr_assert_not_null(sp_slab_at(&slab, index));
    cr_assert_null(sp_slab_at(&slab, 64), "the first chunk has 64");
    cr_assert_null(sp_slab_at(&slab, 1 << SP_CHUNK_SLOT_BITS));
    cr_assert_null(sp_slab_at(&slab, UINT32_MAX));
    cr_assert_not(sp_slab_free(&slab, UINT32_MAX));
    cr_assert_not(sp_slab_free(&slab, 64));
    sp_slab_fini(&slab);
    SPT_TEST_END;
}

Test(slab, follows_a_model_through_random_steps) {
    enum { NODES = 3000 };
    static struct {
        uint64_t *node;
        uint32_t index;
    } held[NODES];
    uint32_t count = 0;
    spt_random random = {spt_seed(0x5eed0002)};
    sp_slab_init(&slab, 24, NODES - 100);
    for (int step = 0; step < 200000; step++) {
        if (spt_random_below(&random, 100) < (step / 20000 % 2 == 0 ? 60u : 40u)) {
            uint64_t *node = sp_slab_take(&slab, &held[count].index);
            cr_assert_eq(node != NULL, count < NODES - 100);
            if (node != NULL) {
                *node = held[count].index;
                held[count++].node = node;
            }
        } else if (count > 0) {
            uint32_t at = (uint32_t)spt_random_below(&random, count);
            cr_assert_eq(*held[at].node, held[at].index);
            cr_assert_eq(sp_slab_at(&slab, held[at].index), held[at].node);
            cr_assert(sp_slab_free(&slab, held[at].index));
            held[at] = held[--count];
        }
        cr_assert_eq(slab.used, count);
    }
    sp_slab_fini(&slab);
    SPT_TEST_END;
}
