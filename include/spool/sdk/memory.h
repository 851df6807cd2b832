/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory exporter: keeps deep copies of what it is handed, for tests (CE-02). It is bounded: what is
 * over the capacity is dropped and counted.
 */
#ifndef SPOOL_SDK_MEMORY_H
#define SPOOL_SDK_MEMORY_H

#include <spool/ext/exporter.h>

SPOOL_BEGIN_DECLS

typedef struct spool_memory_store spool_memory_store;

/*
 * A store of at most `capacity` records (0: 65,536), and an exporter that fills it. The store is counted:
 * the caller's reference is given back with spool_memory_release(), the exporter's with its destroy.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_memory_create(size_t capacity,
                                                          spool_memory_store **out_store,
                                                          spool_exporter *out_exporter);
SPOOL_API void spool_memory_release(spool_memory_store *store);

/*
 * Reading, in the order of arrival. What is returned stays valid until _clear or _release. NULL past the
 * end. Threads: any.
 */
SPOOL_API size_t spool_memory_span_count(spool_memory_store *store);
SPOOL_API size_t spool_memory_log_count(spool_memory_store *store);
SPOOL_API const spool_span_data *spool_memory_span(spool_memory_store *store, size_t index);
SPOOL_API const spool_log_data *spool_memory_log(spool_memory_store *store, size_t index);
SPOOL_API void spool_memory_clear(spool_memory_store *store);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_MEMORY_H */
