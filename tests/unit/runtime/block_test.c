/* SPDX-License-Identifier: Apache-2.0 */
/* Batch blocks: what the sealed bytes say, field by field, whatever the order of arrival was. */
#include "runtime/block.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPES = 100, RECORD_KEY = SP_WIRE_SCOPE_RECORDS };

static sp_scope scopes[SCOPES];
static sp_wire_piece resource;

static void setup(void) {
    for (uint32_t i = 0; i < SCOPES; i++) {
        scopes[i].view = (spool_scope){.name = SPOOL_STR_INIT("scope")};
        if (i % 3 == 1) {
            scopes[i].view.schema_url = (spool_str)SPOOL_STR_INIT("https://example.test/1");
        }
        scopes[i].bytes = sp_wire_scope(&scopes[i].view);
        scopes[i].id = i + 1;
        cr_assert_not_null(scopes[i].bytes.bytes);
    }
    spool_attr attr = spool_string("service.name", "test");
    resource = sp_wire_resource(&(spool_resource_data){.attrs = &attr, .attr_count = 1});
    cr_assert_not_null(resource.bytes);
}

static void teardown(void) {
    for (uint32_t i = 0; i < SCOPES; i++) {
        free((void *)(uintptr_t)scopes[i].bytes.bytes);
    }
    free((void *)(uintptr_t)resource.bytes);
}

TestSuite(block, .init = setup, .fini = teardown);

/* A record as a thread writes it: key, length, a message of `len` bytes that holds its number. */
static size_t make_record(uint8_t *out, uint32_t number, size_t len) {
    uint8_t *message = sp_wire_open(out, RECORD_KEY, len);
    memset(message, 0xa5, len);
    memcpy(message, &number, len < sizeof number ? len : sizeof number);
    return (size_t)(message + len - out);
}

static sp_wire_piece join(const spool_batch_piece *pieces, size_t count, size_t size) {
    uint8_t *body = malloc(size);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        cr_assert_leq(at + pieces[i].len, size);
        cr_assert_gt(pieces[i].len, 0);
        memcpy(body + at, pieces[i].bytes, pieces[i].len);
        at += pieces[i].len;
    }
    cr_assert_eq(at, size);
    return (sp_wire_piece){body, size};
}

static bool next(sp_wire_piece *rest, uint32_t want, sp_wire_piece *out) {
    uint32_t key;
    uint64_t number;
    if (!sp_wire_next_field(rest, &key, out, &number)) {
        return false;
    }
    cr_assert_eq(key, want, "key %u instead of %u", key, want);
    return true;
}

/* The one ResourceSpans of a request, after its resource. */
static sp_wire_piece open_resource(sp_wire_piece body) {
    sp_wire_piece message, field;
    cr_assert(next(&body, 1 << 3 | 2, &message));
    cr_assert_eq(body.len, 0);
    cr_assert(next(&message, 1 << 3 | 2, &field));
    cr_assert_eq(field.bytes + field.len, message.bytes);
    return message;
}

Test(block, interleaved_scopes_are_dense_and_complete) {
    sp_block_pool pool = {0};
    spool_str url = SPOOL_STR("https://example.test/resource");
    for (unsigned round = 0; round < 3; round++) {
        sp_block *block = sp_block_open(&pool, resource, url);
        cr_assert_not_null(block);
        static uint8_t record[3000];
        uint32_t per_scope[SCOPES] = {0};
        for (uint32_t i = 0; i < 5000; i++) {
            uint32_t scope = i * 7 % SCOPES;
            size_t len = make_record(record, per_scope[scope]++, 4 + i % 2500);
            cr_assert(sp_block_append(block, &pool, &scopes[scope], record, len));
        }
        cr_assert_eq(block->count, 5000);
        cr_assert(sp_block_seal(block));
        sp_wire_piece body = join(block->pieces, block->piece_count, block->size);
        sp_wire_piece rest = open_resource(body), group, field;
        for (uint32_t seen = 0; seen < SCOPES; seen++) {
            uint32_t scope = seen * 7 % SCOPES;
            cr_assert(next(&rest, 2 << 3 | 2, &group));
            cr_assert(next(&group, 1 << 3 | 2, &field));
            for (uint32_t i = 0; i < per_scope[scope]; i++) {
                uint32_t number;
                cr_assert(next(&group, RECORD_KEY, &field));
                memcpy(&number, field.bytes, sizeof number);
                cr_assert_eq(number, i, "records of a scope keep their order");
            }
            if (scope % 3 == 1) {
                cr_assert(next(&group, 3 << 3 | 2, &field));
                cr_assert_eq(field.len, scopes[scope].view.schema_url.len);
            }
            cr_assert_eq(group.len, 0);
        }
        cr_assert(next(&rest, 3 << 3 | 2, &field));
        cr_assert_eq(field.len, url.len);
        cr_assert_arr_eq(field.bytes, url.ptr, url.len);
        cr_assert_eq(rest.len, 0);
        free((void *)(uintptr_t)body.bytes);
        sp_block_close(block, &pool);
    }
    sp_block_pool_fini(&pool);
    SPT_TEST_END;
}

Test(block, sizes_around_the_chunks_fit) {
    sp_block_pool pool = {0};
    uint8_t *record = malloc(200000);
    for (size_t len = 1; len < 150000; len = len * 2 + 1) {
        sp_block *block = sp_block_open(&pool, resource, spool_str_n(NULL, 0));
        size_t bytes = 0;
        for (uint32_t i = 0; i < 5; i++) {
            size_t size = make_record(record, i, len + i);
            bytes += size;
            cr_assert(sp_block_append(block, &pool, &scopes[0], record, size));
        }
        cr_assert_eq(block->bytes, bytes);
        cr_assert(sp_block_seal(block));
        sp_wire_piece body = join(block->pieces, block->piece_count, block->size);
        sp_wire_piece rest = open_resource(body), group, field;
        cr_assert(next(&rest, 2 << 3 | 2, &group));
        cr_assert(next(&group, 1 << 3 | 2, &field));
        for (uint32_t i = 0; i < 5; i++) {
            cr_assert(next(&group, RECORD_KEY, &field));
            cr_assert_eq(field.len, len + i);
        }
        cr_assert_eq(group.len + rest.len, 0);
        free((void *)(uintptr_t)body.bytes);
        sp_block_close(block, &pool);
    }
    free(record);
    sp_block_pool_fini(&pool);
    SPT_TEST_END;
}

Test(block, single_record_is_the_same_as_a_block_of_one) {
    for (uint32_t scope = 0; scope < 2; scope++) {
        for (unsigned with_url = 0; with_url < 2; with_url++) {
            spool_str url = with_url ? SPOOL_STR("https://example.test/r") : spool_str_n(NULL, 0);
            sp_block_pool pool = {0};
            uint8_t record[300], envelope[SP_SINGLE_ENVELOPE_BYTES + 100];
            size_t len = make_record(record, 7, 250), size;
            sp_block *block = sp_block_open(&pool, resource, url);
            cr_assert(sp_block_append(block, &pool, &scopes[scope], record, len));
            cr_assert(sp_block_seal(block));
            spool_batch_piece pieces[SP_SINGLE_PIECES];
            size_t count = sp_block_single(resource, url, &scopes[scope],
                                           (sp_wire_piece){record, len}, envelope, pieces, &size);
            cr_assert_eq(size, block->size);
            sp_wire_piece one = join(pieces, count, size);
            sp_wire_piece other = join(block->pieces, block->piece_count, block->size);
            cr_assert_arr_eq(one.bytes, other.bytes, size);
            free((void *)(uintptr_t)one.bytes);
            free((void *)(uintptr_t)other.bytes);
            sp_block_close(block, &pool);
            sp_block_pool_fini(&pool);
        }
    }
    SPT_TEST_END;
}

Test(block, empty_resource_leaves_no_empty_piece) {
    sp_block_pool pool = {0};
    uint8_t record[20];
    sp_block *block = sp_block_open(&pool, (sp_wire_piece){NULL, 0}, spool_str_n(NULL, 0));
    cr_assert(sp_block_append(block, &pool, &scopes[0], record, make_record(record, 1, 10)));
    cr_assert(sp_block_seal(block));
    for (size_t i = 0; i < block->piece_count; i++) {
        cr_assert_gt(block->pieces[i].len, 0);
    }
    sp_block_close(block, &pool);
    sp_block_pool_fini(&pool);
    SPT_TEST_END;
}

Test(block, pool_keeps_memory_within_its_limit) {
    sp_block_pool pool = {0};
    uint8_t *record = malloc(60000);
    size_t len = make_record(record, 1, 50000);
    sp_block *block = sp_block_open(&pool, resource, spool_str_n(NULL, 0));
    for (unsigned i = 0; i < 500; i++) {
        cr_assert(sp_block_append(block, &pool, &scopes[0], record, len));
    }
    sp_block_close(block, &pool);
    cr_assert_leq(pool.kept_bytes, 4u << 20);
    cr_assert_gt(pool.kept_bytes, 3u << 20);
    free(record);
    sp_block_pool_fini(&pool);
    cr_assert_eq(pool.kept_bytes, 0);
    SPT_TEST_END;
}
