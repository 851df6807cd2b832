/* SPDX-License-Identifier: Apache-2.0 */
/* Resource, scope and the pieces of envelopes. */
#include "tests/support/spt.h"
#include "tests/unit/wire/reference.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

typedef Opentelemetry__Proto__Resource__V1__Resource pb_resource;
typedef Opentelemetry__Proto__Common__V1__InstrumentationScope pb_scope;

static const sp_wire_limits no_limits = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

static void check_resource(const spool_resource_data *resource) {
    sp_wire_piece bytes = sp_wire_resource(resource), message;
    cr_assert_not_null(bytes.bytes);
    cr_assert(spt_unwrap(bytes.bytes, bytes.len, 1 << 3 | 2, &message));
    pb_resource *got =
        opentelemetry__proto__resource__v1__resource__unpack(NULL, message.len, message.bytes);
    cr_assert_not_null(got);
    cr_assert(spt_attrs_match(resource->attrs, resource->attr_count, got->attributes,
                              got->n_attributes, got->dropped_attributes_count, &no_limits));
    opentelemetry__proto__resource__v1__resource__free_unpacked(got, NULL);
    free((void *)bytes.bytes);
}

static void check_scope(const spool_scope *scope) {
    sp_wire_piece bytes = sp_wire_scope(scope), message;
    cr_assert_not_null(bytes.bytes);
    cr_assert(spt_unwrap(bytes.bytes, bytes.len, 1 << 3 | 2, &message));
    pb_scope *got = opentelemetry__proto__common__v1__instrumentation_scope__unpack(
        NULL, message.len, message.bytes);
    cr_assert_not_null(got);
    cr_assert(spt_text_matches(scope->name, got->name));
    cr_assert(spt_text_matches(scope->version, got->version));
    cr_assert(spt_attrs_match(scope->attrs, scope->attr_count, got->attributes, got->n_attributes,
                              got->dropped_attributes_count, &no_limits));
    opentelemetry__proto__common__v1__instrumentation_scope__free_unpacked(got, NULL);
    free((void *)bytes.bytes);
}

Test(envelope, resources_are_written_with_unique_attributes) {
    spool_value list[] = {spool_value_string("x"), spool_value_string("y")};
    spool_attr attrs[] = {spool_string("service.name", "old"), spool_string("bad", "\xFF"),
                          spool_array("process.command_args", list, 2), spool_int(NULL, 1),
                          spool_string("service.name", "shop")};
    spool_resource_data resource = {attrs, 5, SPOOL_STR_INIT("https://example.com/schema")};
    check_resource(&resource);
    resource.attr_count = 0;
    check_resource(&resource);
    resource.attrs = NULL;
    check_resource(&resource);
    SPT_TEST_END;
}

Test(envelope, scopes_are_written_with_their_name_version_and_attributes) {
    spool_attr attrs[] = {spool_string("a", "b"), spool_bool("c", false)};
    spool_scope scope = {SPOOL_STR_INIT("shop.http"), SPOOL_STR_INIT("1.2.0"),
                         SPOOL_STR_INIT("ignored here"), attrs, 2};
    check_scope(&scope);
    scope.name = SPOOL_STR("bad \xC3 name");
    check_scope(&scope);
    memset(&scope, 0, sizeof scope);
    check_scope(&scope);
    SPT_TEST_END;
}

Test(envelope, varints_have_the_size_that_is_announced) {
    uint8_t bytes[16];
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int off = -1; off <= 1; off++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)off, number;
            uint8_t *at = sp_wire_varint(bytes + 1, value);
            cr_assert_eq((size_t)(at - bytes - 1), sp_wire_varint_size(value));
            bytes[0] = 1 << 3 | 0;
            sp_wire_piece rest = {bytes, (size_t)(at - bytes)}, piece;
            uint32_t key;
            cr_assert(sp_wire_next_field(&rest, &key, &piece, &number));
            cr_assert_eq(number, value);
            cr_assert_eq(rest.len, 0);
        }
    }
    SPT_TEST_END;
}

Test(envelope, headers_and_bytes_are_fields) {
    uint8_t bytes[32];
    sp_wire_piece piece;
    uint8_t *end = sp_wire_bytes(bytes, 3 << 3 | 2, "schema", 6);
    cr_assert(spt_unwrap(bytes, (size_t)(end - bytes), 3 << 3 | 2, &piece));
    cr_assert(memcmp(piece.bytes, "schema", 6) == 0);
    end = sp_wire_bytes(bytes, 3 << 3 | 2, NULL, 0);
    cr_assert_eq(end - bytes, 2);
    end = sp_wire_open(bytes, 16 << 3 | 2, 300);
    cr_assert_eq(end - bytes, 4);
    cr_assert(memcmp(bytes, "\x82\x01\xAC\x02", 4) == 0);
    SPT_TEST_END;
}
