/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A processor that formats log records for people and writes them nowhere: what the formatting layer of
 * other tracing systems does, on the public extension interface alone. bench/README.md says what is alike
 * and what is not.
 *
 *     2026-11-30T22:19:45.123456Z  INFO request{foo=false}: bench: n=5
 */
#ifndef SPOOL_BENCH_ROWS_FORMAT_PROCESSOR_H
#define SPOOL_BENCH_ROWS_FORMAT_PROCESSOR_H

#include <spool/ext/processor.h>

#include <stddef.h>
#include <stdint.h>

/* Stateless: any number of SDKs may have one. */
spool_processor bench_format_processor(void);

/* What the discarding writer was handed on this thread: text of so many bytes, so often. */
typedef struct bench_written {
    uint64_t lines;
    uint64_t bytes;
} bench_written;
bench_written bench_format_written(void);

/* The writer of the naive arm, the same: takes a line and throws it away. */
void bench_discard(const char *text, size_t len);

/* Puts "2026-11-30T22:19:45.123456Z" at `at` and returns its end. */
char *bench_time_put(char *at, uint64_t wall_ns);
char *bench_int_put(char *at, int64_t value);

#endif /* SPOOL_BENCH_ROWS_FORMAT_PROCESSOR_H */
