/* SPDX-License-Identifier: Apache-2.0 */
/* A running spool-tail: its output as it comes, and requests to it. */
#ifndef SPT_TAIL_PROCESS_H
#define SPT_TAIL_PROCESS_H

#include "tests/tools/otlp_fixture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct spt_tail {
    pid_t pid;
    int out_fd;
    int err_fd;
    unsigned port;
    char *out; /* all of standard output so far, NUL-ended */
    size_t out_len;
    char err[4096];
    size_t err_len;
} spt_tail;

typedef struct spt_reply {
    int status; /* HTTP; 0: no answer */
    char type[64];
    uint8_t body[512];
    size_t body_len;
} spt_reply;

/*
 * Starts spool-tail with `--port 0` and the given arguments (NULL-ended), in the
 * locale `locale`, and waits for its first line. False if it does not come.
 */
bool spt_tail_start(spt_tail *tail, const char *locale, const char *const *arguments);

/* Waits until its output holds `text`; at most 10 s. */
bool spt_tail_wait(spt_tail *tail, const char *text);

/* Sends `signal` (0: none), waits for the end, reads the rest; the exit status or -1. */
int spt_tail_stop(spt_tail *tail, int signal);
void spt_tail_fini(spt_tail *tail);

/* `head`: request line up to the version, header lines ended by \r\n but the length's. */
spt_reply spt_tail_request(const spt_tail *tail, const char *request, const char *headers,
                           const void *body, size_t len);

/* POST of a protobuf body, which is freed; the HTTP status. */
int spt_tail_post(const spt_tail *tail, const char *path, spt_body body);

#endif /* SPT_TAIL_PROCESS_H */
