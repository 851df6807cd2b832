/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP request bodies made with protobuf-c from rows of a table. */
#ifndef SPT_OTLP_FIXTURE_H
#define SPT_OTLP_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

enum { SPT_ROWS_MAX = 16 };

/* Time 0 of all rows: a second of the year 2023. */
#define SPT_TIME_ZERO_NS UINT64_C(1700000000000000000)

typedef struct spt_event_row {
    uint32_t time_us;
    const char *name;
    const char *key; /* one attribute; NULL: none */
    const char *value;
} spt_event_row;

typedef struct spt_span_row {
    const char *service;
    uint8_t trace; /* every byte of the id */
    uint8_t span;
    uint8_t parent; /* 0: none */
    int kind;
    const char *name;
    uint32_t start_us;
    uint32_t end_us;
    int status;
    const char *message;
    spt_event_row events[2]; /* up to the first without a name */
    uint32_t flags;
} spt_span_row;

typedef struct spt_log_row {
    const char *service;
    uint8_t trace; /* 0: none */
    uint8_t span;  /* 0: none */
    uint32_t time_us;
    int severity;
    const char *body;
} spt_log_row;

typedef struct spt_body {
    uint8_t *data; /* from malloc */
    size_t len;
} spt_body;

/* At most SPT_ROWS_MAX rows; the caller frees the data. */
spt_body spt_traces_body(const spt_span_row *rows, size_t count);
spt_body spt_logs_body(const spt_log_row *rows, size_t count);

/* The body compressed as gzip; the caller frees the data. */
spt_body spt_gzip_body(spt_body body);

#endif /* SPT_OTLP_FIXTURE_H */
