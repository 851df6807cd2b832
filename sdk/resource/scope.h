/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instrumentation scopes, interned: equal scopes are one object that lives as long as the process, with
 * its OTLP bytes made once. Threads: any.
 */
#ifndef SPOOL_SDK_RESOURCE_SCOPE_H
#define SPOOL_SDK_RESOURCE_SCOPE_H

#include "sdk/platform/compiler.h"
#include "sdk/wire/wire.h"

#include <spool/trace.h>

typedef struct sp_scope {
    spool_scope view; /* deep copies, valid for ever */
    sp_wire_piece
        bytes;   /* field 1 of ScopeSpans and ScopeLogs: key, length, InstrumentationScope */
    uint32_t id; /* 1, 2, ... in the order of interning */
} sp_scope;

enum { SP_SCOPE_LIMIT = 4096 };

/* The interned scope; past the limit, or without memory, the overflow scope (id 0), counted. */
const sp_scope *sp_scope_intern(const spool_scope *scope);

#endif /* SPOOL_SDK_RESOURCE_SCOPE_H */
