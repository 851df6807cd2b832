/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Propagation: contexts into and out of headers (specification: context/api-propagators; W3C Trace
 * Context level 2; W3C Baggage).
 *
 * inject and extract use the process's propagators: W3C trace context and baggage unless
 * spool_propagators_set() or the environment (OTEL_PROPAGATORS) chose others. They work without a
 * started SDK. Hostile input never fails a request: what is malformed is ignored, and what the
 * context already held stays.
 */
#ifndef SPOOL_PROPAGATION_H
#define SPOOL_PROPAGATION_H

#include <spool/context.h>

SPOOL_BEGIN_DECLS

/*
 * Writes into a carrier. `set` is called once a header; both texts are valid during the call alone.
 * It replaces a header of that name.
 */
typedef struct spool_setter {
    void (*set)(void *carrier, spool_str name, spool_str value);
} spool_setter;

/*
 * Reads from a carrier. `get` answers with the index-th value of the header `name` (compared without
 * case), or false when there are no more: several headers of one name are one list. `key` answers with
 * the index-th name in the carrier; it may be NULL. What is returned stays valid until extract returns.
 */
typedef struct spool_getter {
    bool (*get)(const void *carrier, spool_str name, size_t index, spool_str *out_value);
    bool (*key)(const void *carrier, size_t index, spool_str *out_name);
} spool_getter;

/* Writes `context` (NULL: the current one). Threads: any. Blocks: no. Signals: unsafe. */
SPOOL_API void spool_inject(const spool_context *context, const spool_setter *setter,
                            void *carrier);

/* `base` (NULL: the current context) with what the carrier holds; release what is returned. */
SPOOL_API SPOOL_MUST_USE spool_context spool_extract(const spool_context *base,
                                                     const spool_getter *getter,
                                                     const void *carrier);

/* The header names that inject may write: at most `capacity` are stored, the number is returned. */
SPOOL_API size_t spool_propagation_fields(spool_str *out_names, size_t capacity);

/* ---- ready carriers ---- */

typedef struct spool_header {
    spool_str name;
    spool_str value;
} spool_header;

/* An array of headers, to read from: carrier is a spool_header_list. */
typedef struct spool_header_list {
    const spool_header *items;
    size_t count;
} spool_header_list;
SPOOL_API extern const spool_getter spool_header_getter;

/*
 * Room for headers that inject writes: arrays of the caller's. What does not fit is left out whole and
 * counted in `dropped`. `text` holds the bytes; every name and value in it is followed by a NUL, so
 * that `ptr` can be used as a C string.
 */
typedef struct spool_header_buffer {
    spool_header *items;
    size_t capacity;
    size_t count;
    char *text;
    size_t text_capacity;
    size_t text_used;
    size_t dropped;
} spool_header_buffer;
SPOOL_API extern const spool_setter spool_header_setter;

/*
 * Environment variables (specification: context/env-carriers). The carrier to read is an
 * `const char *const *` such as environ. To write, copy an environment, inject, and hand
 * spool_envp_array() to execve() or posix_spawn(); the process's own environment is untouched.
 */
SPOOL_API extern const spool_getter spool_envp_getter;
typedef struct spool_envp spool_envp;
SPOOL_API SPOOL_MUST_USE spool_envp *spool_envp_create(const char *const *base);
SPOOL_API extern const spool_setter spool_envp_setter; /* carrier: spool_envp */
SPOOL_API char *const *spool_envp_array(const spool_envp *envp);
SPOOL_API void spool_envp_destroy(spool_envp *envp);

/* For curl lists include <spool/carrier/curl.h>. */

SPOOL_END_DECLS
#endif /* SPOOL_PROPAGATION_H */
