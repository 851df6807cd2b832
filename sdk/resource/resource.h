/* SPDX-License-Identifier: Apache-2.0 */
/* A resource from the inside: with its OTLP bytes, made once. */
#ifndef SPOOL_SDK_RESOURCE_RESOURCE_H
#define SPOOL_SDK_RESOURCE_RESOURCE_H

#include "sdk/platform/compiler.h"
#include "sdk/wire/wire.h"

#include <spool/sdk/resource.h>

/* Field 1 of ResourceSpans and ResourceLogs: key, length, Resource. Borrowed from the resource. */
sp_wire_piece sp_resource_bytes(const spool_resource *resource);

/* The same for the view that a resource gave out (spool_attach_info, spool_resource_data_of). */
sp_wire_piece sp_resource_data_bytes(const spool_resource_data *data)
    SP_SHARED("resource_data_bytes");

#endif /* SPOOL_SDK_RESOURCE_RESOURCE_H */
