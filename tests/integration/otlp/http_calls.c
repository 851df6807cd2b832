/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP client on the runtime's loop, driven from the thread of a test. */
#include "tests/integration/otlp/http_calls.h"

#include "tests/support/spt.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 20000 };

typedef struct loop_job {
    sp_task task; /* first: the task is the job */
    void (*run)(void *arg);
    void *arg;
    atomic_bool over;
} loop_job;

static void job_run(sp_task *task) {
    loop_job *job = (loop_job *)(void *)task;
    job->run(job->arg);
    atomic_store(&job->over, true);
}

void on_loop(sp_runtime *runtime, void (*run)(void *arg), void *arg) {
    loop_job job = {.task = {.run = job_run}, .run = run, .arg = arg};
    if (SPT_CHECK(sp_runtime_post(runtime, &job.task))) {
        while (!atomic_load(&job.over)) {
            spt_pause_until(UINT64_MAX);
        }
    }
}

bool http_open(http_fixture *fixture, const sp_http_options *options) {
    memset(fixture, 0, sizeof *fixture);
    return SPT_CHECK_UINT(sp_runtime_acquire(&fixture->runtime), SPOOL_OK) &&
           SPT_CHECK_UINT(sp_http_create(fixture->runtime, options, &fixture->client), SPOOL_OK);
}

bool http_open_port(http_fixture *fixture, unsigned port) {
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/traces", port);
    sp_http_options options = {.url = url, .max_response_bytes = 65536, .max_connections = 2};
    return http_open(fixture, &options);
}

static void client_destroy(void *arg) {
    sp_http_destroy(arg);
}

void http_close(http_fixture *fixture) {
    if (fixture->client) {
        on_loop(fixture->runtime, client_destroy, fixture->client);
    }
    if (fixture->runtime) {
        SPT_CHECK(sp_runtime_release(fixture->runtime, spt_deadline_ns(PATIENCE_MS)));
    }
    memset(fixture, 0, sizeof *fixture);
}

static void call_done(void *arg, const sp_http_result *result) {
    http_pending *pending = arg;
    http_reply *reply = &pending->reply;
    reply->done_calls++;
    reply->kind = result->kind;
    reply->sent = result->sent;
    reply->permanent = result->permanent;
    reply->status = result->status;
    reply->retry_after_ms = result->retry_after_ms;
    reply->body_len = result->body_len;
    size_t kept =
        result->body_len < sizeof reply->body - 1 ? result->body_len : sizeof reply->body - 1;
    if (kept > 0) {
        memcpy(reply->body, result->body, kept);
    }
    reply->body[kept] = '\0';
    snprintf(reply->error, sizeof reply->error, "%s", result->error);
    pending->call = NULL;
    if (pending->destroy_client) {
        sp_http_destroy(pending->fixture->client);
        pending->fixture->client = NULL;
    }
    atomic_store(&pending->over, true);
}

static void call_begin(void *arg) {
    http_pending *pending = arg;
    pending->call = sp_http_post(pending->fixture->client, pending->headers, pending->pieces,
                                 pending->count, pending->deadline_ns, call_done, pending);
    SPT_CHECK(pending->reply.done_calls == 0);
    if (!pending->call) {
        atomic_store(&pending->over, true);
    }
}

bool http_begin(http_pending *pending) {
    on_loop(pending->fixture->runtime, call_begin, pending);
    return SPT_CHECK(!atomic_load(&pending->over) || pending->reply.done_calls == 1);
}

bool http_wait(http_pending *pending) {
    SPT_WAIT_UNTIL(PATIENCE_MS, atomic_load(&pending->over));
    return SPT_CHECK(atomic_load(&pending->over)) && SPT_CHECK_UINT(pending->reply.done_calls, 1);
}

static void call_cancel(void *arg) {
    http_pending *pending = arg;
    sp_http_cancel(pending->call);
}

void http_cancel(http_pending *pending) {
    on_loop(pending->fixture->runtime, call_cancel, pending);
}

bool http_post_pieces(http_fixture *fixture, const spool_batch_piece *pieces, size_t count,
                      const char *const *headers, uint32_t timeout_ms, http_reply *out) {
    http_pending pending = {.fixture = fixture,
                            .pieces = pieces,
                            .count = count,
                            .headers = headers,
                            .deadline_ns = spt_deadline_ns(timeout_ms)};
    bool ended = http_begin(&pending) && http_wait(&pending);
    *out = pending.reply;
    return ended;
}

bool http_post_text(http_fixture *fixture, const char *body, uint32_t timeout_ms, http_reply *out) {
    spool_batch_piece piece = {.bytes = body, .len = strlen(body)};
    return http_post_pieces(fixture, &piece, 1, NULL, timeout_ms, out);
}
