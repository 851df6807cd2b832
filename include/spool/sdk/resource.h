/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources: who produces the telemetry (specification: resource/sdk). A spool_resource is immutable and
 * counted. Limits do not apply to it. Threads: any. Blocks: no.
 */
#ifndef SPOOL_SDK_RESOURCE_H
#define SPOOL_SDK_RESOURCE_H

#include <spool/ext/data.h>
#include <spool/status.h>

SPOOL_BEGIN_DECLS

typedef struct spool_resource spool_resource;

/*
 * create: from attributes (copied; the last of equal keys stays) and a schema URL (may be empty).
 * default: service.name ("unknown_service:" and the executable's name) and telemetry.sdk.*.
 * merge: `updating` wins, even with an empty value; schema URLs that differ give SPOOL_ERR_INVALID
 * (RE-02). NULL is the empty resource. *out is set on success alone; release it.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_resource_create(const spool_attr *attrs, size_t count,
                                                            spool_str schema_url,
                                                            spool_resource **out_resource);
SPOOL_API SPOOL_MUST_USE spool_status spool_resource_default(spool_resource **out_resource);
SPOOL_API SPOOL_MUST_USE spool_status spool_resource_merge(const spool_resource *old,
                                                           const spool_resource *updating,
                                                           spool_resource **out_resource);
SPOOL_API spool_resource *spool_resource_copy(const spool_resource *resource);
SPOOL_API void spool_resource_release(spool_resource *resource);
/* Borrowed; never NULL. */
SPOOL_API const spool_resource_data *spool_resource_data_of(const spool_resource *resource);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_RESOURCE_H */
