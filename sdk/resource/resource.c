/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: immutable, counted, all their memory in one arena. */
#include "sdk/resource/resource.h"

#include "sdk/memory/arena.h"
#include "sdk/platform/atomics.h"
#include "sdk/resource/copy.h"

#include <spool/version.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct spool_resource {
    spool_resource_data data; /* first: spool_resource_data_of() hands it out */
    _Atomic uint32_t references;
    sp_arena arena;
    sp_wire_piece bytes;
};

static const spool_resource_data empty_data = {NULL, 0, {"", 0}};

spool_status spool_resource_create(const spool_attr *attrs, size_t count, spool_str schema_url,
                                   spool_resource **out_resource) {
    if (!out_resource || (!attrs && count)) {
        return SPOOL_ERR_INVALID;
    }
    spool_resource *resource = calloc(1, sizeof *resource);
    if (!resource) {
        return SPOOL_ERR_NOMEM;
    }
    sp_store_relaxed(&resource->references, 1);
    if (sp_copy_attrs(&resource->arena, attrs, count, &resource->data.attrs,
                      &resource->data.attr_count) &&
        sp_copy_valid_text(&resource->arena, schema_url, &resource->data.schema_url)) {
        resource->bytes = sp_wire_resource(&resource->data);
    }
    if (!resource->bytes.bytes) {
        spool_resource_release(resource);
        return SPOOL_ERR_NOMEM;
    }
    *out_resource = resource;
    return SPOOL_OK;
}

spool_status spool_resource_default(spool_resource **out_resource) {
    char service[64 + sizeof "unknown_service:"];
    const char *program = program_invocation_short_name;
    if (program && program[0]) {
        (void)snprintf(service, sizeof service, "unknown_service:%.64s", program);
    } else {
        (void)snprintf(service, sizeof service, "unknown_service");
    }
    const spool_attr attrs[] = {
        spool_string("service.name", service),
        spool_string("telemetry.sdk.language", "c"),
        spool_string("telemetry.sdk.name", "spool"),
        spool_string("telemetry.sdk.version", SPOOL_VERSION_STRING),
    };
    return spool_resource_create(attrs, sizeof attrs / sizeof attrs[0], spool_str_n(NULL, 0),
                                 out_resource);
}

spool_status spool_resource_merge(const spool_resource *old, const spool_resource *updating,
                                  spool_resource **out_resource) {
    const spool_resource_data *low = spool_resource_data_of(old);
    const spool_resource_data *high = spool_resource_data_of(updating);
    spool_str schema_url = high->schema_url.len ? high->schema_url : low->schema_url;
    if (low->schema_url.len && high->schema_url.len &&
        !sp_text_equals(low->schema_url, high->schema_url)) {
        return SPOOL_ERR_INVALID;
    }
    size_t count = low->attr_count + high->attr_count;
    spool_attr *all = malloc((count + 1) * sizeof *all);
    if (!all) {
        return SPOOL_ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        all[i] = i < low->attr_count ? low->attrs[i] : high->attrs[i - low->attr_count];
    }
    spool_status status = spool_resource_create(all, count, schema_url, out_resource);
    free(all);
    return status;
}

spool_resource *spool_resource_copy(const spool_resource *resource) {
    spool_resource *counted = (spool_resource *)(uintptr_t)resource;
    if (counted) {
        /* Relaxed: whoever copies holds a reference already. */
        sp_add_relaxed(&counted->references, 1);
    }
    return counted;
}

void spool_resource_release(spool_resource *resource) {
    /* Acquire-release pairs with the other releases: the last one sees all their reads done. */
    if (!resource || sp_sub_acq_rel(&resource->references, 1) != 1) {
        return;
    }
    sp_arena_fini(&resource->arena);
    free((void *)(uintptr_t)resource->bytes.bytes);
    free(resource);
}

const spool_resource_data *spool_resource_data_of(const spool_resource *resource) {
    return resource ? &resource->data : &empty_data;
}

sp_wire_piece sp_resource_bytes(const spool_resource *resource) {
    static const uint8_t empty_resource[] = {0x0a, 0x00};
    sp_wire_piece none = {empty_resource, sizeof empty_resource};
    return resource ? resource->bytes : none;
}

sp_wire_piece sp_resource_data_bytes(const spool_resource_data *data) {
    return sp_resource_bytes(data == &empty_data ? NULL : (const spool_resource *)data);
}
