/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted HTTP/1.1 server on loopback, for tests of exporters. Each request takes the next step of
 * the script; the last step serves all that follow. It remembers every request as it came.
 *
 *     const spt_step script[] = {{.status = 503, .headers = "Retry-After: 1\r\n"}, {.status = 200}};
 *     spt_collector *collector = spt_collector_start(script, 2);
 *
 * One thread takes connections, one serves each. The script's texts must outlive the collector.
 */
#ifndef SPT_FAKE_COLLECTOR_H
#define SPT_FAKE_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: read the request, answer 200 with an empty body, keep the connection. */
typedef struct spt_step {
    int status;          /* 0: 200 */
    const char *headers; /* further header lines, each ending in CR LF */
    const void *body;
    size_t body_len;
    uint32_t delay_ms;    /* before the answer */
    const char *raw;      /* sent as it is, in place of status, headers and body */
    size_t raw_len;       /* 0: strlen(raw) */
    uint32_t drip_ms;     /* then one "x" each so often, until the client leaves */
    uint64_t flood_bytes; /* then so many bytes */
    bool early;           /* answer before the request's body is read */
    bool close;           /* close afterwards, without saying so beforehand */
    bool silent;          /* no answer: close at once, or after delay_ms */
    size_t reset_at;      /* reset the connection after so many body bytes are read; 0: not */
    uint32_t read_ms;     /* read the body slowly: 1 KiB each so often */
} spt_step;

typedef struct spt_request {
    uint64_t time_ns;    /* monotonic, when its head was complete */
    unsigned connection; /* numbered from 1 */
    const char *head;    /* request line and headers, NUL-ended */
    const uint8_t *body;
    size_t body_len; /* bytes that were read */
    bool complete;   /* the whole body was read */
} spt_request;

typedef struct spt_collector spt_collector;

/* NULL: no socket or thread, which fails the test. */
spt_collector *spt_collector_start(const spt_step *script, size_t steps);
/* The same on a port that was free a moment ago: a collector that comes back. IPv6 loopback if asked. */
spt_collector *spt_collector_start_at(uint16_t port, bool ipv6, const spt_step *script,
                                      size_t steps);
/* Closes all connections, joins all threads, frees everything. NULL is allowed. */
void spt_collector_stop(spt_collector *collector);

uint16_t spt_collector_port(const spt_collector *collector);
/* Requests whose head was read, and connections taken, until now. */
size_t spt_collector_requests(spt_collector *collector);
size_t spt_collector_connections(spt_collector *collector);
/* Bytes of answers that were written. */
uint64_t spt_collector_written(spt_collector *collector);
/* One request; false if there is none yet. Its texts stay valid until the collector stops. */
bool spt_collector_request(spt_collector *collector, size_t index, spt_request *out);
/* The value of a header of a request, "" if absent; valid until the next call on this thread. */
const char *spt_request_header(const spt_request *request, const char *name);

#endif /* SPT_FAKE_COLLECTOR_H */
