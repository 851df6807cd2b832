/* SPDX-License-Identifier: Apache-2.0 */
/* The OTLP exporter against a scripted collector: each way a batch can end, and how it shuts down. */
#include "tests/integration/otlp/http_calls.h"
#include "tests/integration/otlp/made_batch.h"

#include "sdk/platform/clock.h"
#include "tests/support/fake_collector.h"
#include "tests/support/spt.h"

#include <spool/sdk/diagnostics.h>
#include <spool/sdk/otlp.h>
#include <spool/version.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char BODY[] = "these bytes stand for ten records, and must arrive as they are";
enum { RECORDS = 10, PATIENT_MS = 15000, QUICK_MS = 20, BIG_BYTES = 3000000 };

typedef struct fixture {
    spt_collector *collector;
    spool_exporter exporter;
    char endpoint[96];
    spool_otlp_options options;
} fixture;

/* Quick tries, so that no test waits for a real back-off. */
static void options_set(fixture *self, unsigned port) {
    snprintf(self->endpoint, sizeof self->endpoint, "http://127.0.0.1:%u/v1/traces", port);
    self->options = (spool_otlp_options)SPOOL_OTLP_OPTIONS_INIT;
    self->options.endpoint = self->endpoint;
    self->options.retry_initial_ms = QUICK_MS;
    self->options.retry_max_ms = 4 * QUICK_MS;
}

static bool exporter_make(fixture *self) {
    return SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_SPANS, &self->options, &self->exporter),
                          SPOOL_OK);
}

static bool collector_make(fixture *self, const spt_step *script, size_t steps) {
    memset(self, 0, sizeof *self);
    self->collector = spt_collector_start(script, steps);
    if (!SPT_CHECK(self->collector != NULL)) {
        return false;
    }
    options_set(self, spt_collector_port(self->collector));
    return true;
}

static bool both_make(fixture *self, const spt_step *script, size_t steps) {
    return collector_make(self, script, steps) && exporter_make(self);
}

static spool_status exporter_stop(fixture *self, uint32_t ms) {
    return self->exporter.ops->shutdown(self->exporter.self, spt_deadline_ns(ms));
}

static void both_end(fixture *self) {
    if (self->exporter.ops) {
        self->exporter.ops->destroy(self->exporter.self);
    }
    spt_collector_stop(self->collector);
}

static void batch_export(fixture *self, made_batch *made, uint32_t timeout_ms) {
    made_batch_init(made, BODY, RECORDS);
    self->exporter.ops->export_batch(self->exporter.self, &made->batch,
                                     spt_deadline_ns(timeout_ms));
}

/* One batch with the script; its outcome, and how many requests there were. */
static void batch_ends(const spt_step *script, size_t steps, char way, uint32_t cause,
                       size_t requests) {
    fixture self;
    made_batch made;
    if (both_make(&self, script, steps)) {
        batch_export(&self, &made, PATIENT_MS);
        made_batch_expect(&made, way, cause);
        SPT_CHECK_UINT(spt_collector_requests(self.collector), requests);
    }
    both_end(&self);
}

/* --- delivery --- */

static void batch_is_posted_as_it_is(void) {
    fixture self;
    made_batch made;
    if (both_make(&self, NULL, 0)) {
        for (size_t i = 0; i < 3; i++) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'd', 0);
            spt_request request;
            SPT_REQUIRE(spt_collector_request(self.collector, i, &request));
            SPT_CHECK_STRING((const char *)request.body, BODY);
            SPT_CHECK(strncmp(request.head, "POST /v1/traces HTTP/1.1\r\n", 26) == 0);
            SPT_CHECK_STRING(spt_request_header(&request, "Content-Type"),
                             "application/x-protobuf");
            SPT_CHECK_STRING(spt_request_header(&request, "User-Agent"),
                             "OTel-OTLP-Exporter-C/" SPOOL_VERSION_STRING);
            SPT_CHECK_STRING(spt_request_header(&request, "Content-Encoding"), "");
        }
        SPT_CHECK_UINT(spt_collector_connections(self.collector), 1);
        SPT_CHECK_UINT(exporter_stop(&self, PATIENT_MS), SPOOL_OK);
    }
    both_end(&self);
}

static void configured_headers_and_user_are_sent(void) {
    fixture self;
    made_batch made;
    if (collector_make(&self, NULL, 0)) {
        snprintf(self.endpoint, sizeof self.endpoint, "http://us%%40er:pw@127.0.0.1:%u?key=7",
                 spt_collector_port(self.collector));
        self.options.headers = "x-one=1%2C2,user-agent=mine,bad pair,x-empty=";
        spt_request request;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'd', 0);
            SPT_REQUIRE(spt_collector_request(self.collector, 0, &request));
            SPT_CHECK(strncmp(request.head, "POST /?key=7 HTTP/1.1\r\n", 23) == 0);
            SPT_CHECK_STRING(spt_request_header(&request, "x-one"), "1,2");
            SPT_CHECK_STRING(spt_request_header(&request, "User-Agent"), "mine");
            SPT_CHECK_STRING(spt_request_header(&request, "Authorization"), "Basic dXNAZXI6cHc=");
            SPT_CHECK(strcasestr(request.head, "\r\nx-empty:") != NULL);
        }
    }
    both_end(&self);
}

static void gzip_body_unpacks_to_the_same_bytes(void) {
    fixture self;
    made_batch made;
    const spt_step script[] = {{.status = 503}, {.status = 200}};
    if (collector_make(&self, script, 2)) {
        self.options.compression = SPOOL_COMPRESSION_GZIP;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'd', 0);
            for (size_t i = 0; i < 2; i++) {
                spt_request request;
                unsigned char plain[256] = "";
                SPT_REQUIRE(spt_collector_request(self.collector, i, &request));
                SPT_CHECK_STRING(spt_request_header(&request, "Content-Encoding"), "gzip");
                z_stream stream = {.next_in = (Bytef *)(uintptr_t)request.body,
                                   .avail_in = (uInt)request.body_len,
                                   .next_out = plain,
                                   .avail_out = sizeof plain - 1};
                SPT_CHECK(inflateInit2(&stream, 15 + 16) == Z_OK);
                SPT_CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
                inflateEnd(&stream);
                SPT_CHECK_STRING((const char *)plain, BODY);
            }
        }
    }
    both_end(&self);
}

static void unknown_compression_goes_out_plain(void) {
    fixture self;
    made_batch made;
    if (collector_make(&self, NULL, 0)) {
        self.options.compression = 77;
        spt_request request;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'd', 0);
            SPT_REQUIRE(spt_collector_request(self.collector, 0, &request));
            SPT_CHECK_STRING((const char *)request.body, BODY);
        }
    }
    both_end(&self);
}

/* The batch of a simple processor is gone when export_batch returns, its bytes too. */
static void borrowed_batch_is_copied(void) {
    fixture self;
    made_batch made;
    const spt_step script[] = {{.status = 503}, {.status = 200}};
    if (both_make(&self, script, 2)) {
        char *bytes = strdup(BODY);
        made_batch_init(&made, bytes, 1);
        made.batch.borrowed = true;
        self.exporter.ops->export_batch(self.exporter.self, &made.batch,
                                        spt_deadline_ns(PATIENT_MS));
        memset(bytes, '!', strlen(bytes));
        free(bytes);
        memset(made.pieces, 0xff, sizeof made.pieces);
        made_batch_expect(&made, 'd', 0);
        spt_request request;
        SPT_REQUIRE(spt_collector_request(self.collector, 1, &request));
        SPT_CHECK_STRING((const char *)request.body, BODY);
    }
    both_end(&self);
}

static void several_batches_are_in_flight_if_allowed(void) {
    enum { BATCHES = 4 };
    const spt_step script[] = {{.delay_ms = 300}};
    fixture self;
    made_batch made[BATCHES];
    if (collector_make(&self, script, 1)) {
        self.options.max_in_flight = BATCHES;
        if (exporter_make(&self)) {
            SPT_CHECK_UINT(self.exporter.ops->max_in_flight, BATCHES);
            for (int i = 0; i < BATCHES; i++) {
                batch_export(&self, &made[i], PATIENT_MS);
            }
            SPT_WAIT_UNTIL(5000, spt_collector_requests(self.collector) == BATCHES);
            SPT_CHECK_UINT(spt_collector_connections(self.collector), BATCHES);
            for (int i = 0; i < BATCHES; i++) {
                made_batch_expect(&made[i], 'd', 0);
            }
        }
    }
    both_end(&self);
}

/* --- refusals and retries --- */

static void permanent_statuses_cost_one_request_each(void) {
    static const int STATUSES[] = {300, 301, 307, 400, 401, 403, 404, 405, 407, 408, 410, 411,
                                   413, 415, 422, 428, 430, 431, 500, 501, 505, 511, 599};
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++) {
        const spt_step script[] = {
            {.status = STATUSES[i],
             .headers = "Retry-After: 0\r\nLocation: http://127.0.0.1:1/\r\n"}};
        batch_ends(script, 1, 'r', 0, 1);
    }
}

static void retryable_statuses_are_tried_again(void) {
    static const int STATUSES[] = {429, 502, 503, 504};
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++) {
        const spt_step script[] = {
            {.status = STATUSES[i]}, {.status = STATUSES[i]}, {.status = 200}};
        batch_ends(script, 3, 'd', 0, 3);
    }
}

static void tries_end_with_the_number_allowed(void) {
    const spt_step script[] = {{.status = 503}};
    fixture self;
    made_batch made;
    if (collector_make(&self, script, 1)) {
        self.options.max_attempts = 4;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'x', SPOOL_DROP_TIMEOUT);
            SPT_CHECK_UINT(spt_collector_requests(self.collector), 4);
        }
    }
    both_end(&self);
}

static double gap_ms(spt_collector *collector, size_t index) {
    spt_request before;
    spt_request after;
    if (!spt_collector_request(collector, index, &before) ||
        !spt_collector_request(collector, index + 1, &after)) {
        return -1;
    }
    return (double)(after.time_ns - before.time_ns) / (double)SP_NS_PER_MS;
}

static void waits_grow(void) {
    const spt_step script[] = {{.status = 503}, {.status = 503}, {.status = 503}, {.status = 200}};
    fixture self;
    made_batch made;
    if (collector_make(&self, script, 4)) {
        self.options.retry_initial_ms = 100;
        self.options.retry_max_ms = 10000;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'd', 0);
            double least = 80;
            for (size_t i = 0; i < 3; i++) {
                SPT_CHECK(gap_ms(self.collector, i) >= least);
                least *= 2;
            }
        }
    }
    both_end(&self);
}

static void retry_after_is_honoured(void) {
    const spt_step script[] = {{.status = 429, .headers = "Retry-After: 1\r\n"}, {.status = 200}};
    fixture self;
    made_batch made;
    if (both_make(&self, script, 2)) {
        batch_export(&self, &made, PATIENT_MS);
        made_batch_expect(&made, 'd', 0);
        double gap = gap_ms(self.collector, 0);
        SPT_CHECK(gap >= 1000 && gap < 5000);
    }
    both_end(&self);
}

static void retry_after_past_the_deadline_ends_at_once(void) {
    const spt_step script[] = {{.status = 503, .headers = "Retry-After: 3600\r\n"}};
    uint64_t begin = spt_now_ns();
    batch_ends(script, 1, 'x', SPOOL_DROP_TIMEOUT, 1);
    SPT_CHECK(spt_now_ns() - begin < 5 * SP_NS_PER_S);
}

/* --- partial success --- */

static void partial_success_is_counted_and_not_sent_again(void) {
    static const char SEVEN[] = "\x0a\x09\x08\x07\x12\x05short";
    static const char ZERO[] = "\x0a\x06\x12\x04take";
    static const char MINUS_ONE[] = "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    static const char MANY[] = "\x0a\x03\x08\xff\x7f";
    static const struct {
        const char *body;
        size_t len;
        uint64_t rejected;
    } cases[] = {{SEVEN, sizeof SEVEN - 1, 7},
                 {ZERO, sizeof ZERO - 1, 0},
                 {MINUS_ONE, sizeof MINUS_ONE - 1, 0},
                 {MANY, sizeof MANY - 1, RECORDS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spt_step script[] = {{.body = cases[i].body, .body_len = cases[i].len}};
        fixture self;
        made_batch made;
        if (both_make(&self, script, 1)) {
            batch_export(&self, &made, PATIENT_MS);
            if (made_batch_wait(&made)) {
                made_outcome outcome = made_batch_outcome(&made);
                SPT_CHECK_UINT(outcome.rejected, cases[i].rejected);
                SPT_CHECK_UINT(outcome.delivered, RECORDS - cases[i].rejected);
            }
            SPT_CHECK_UINT(spt_collector_requests(self.collector), 1);
        }
        both_end(&self);
    }
}

static void odd_successes_are_not_sent_again(void) {
    const spt_step scripts[] = {
        {.headers = "Content-Type: text/html\r\n", .body = "<html>hello</html>", .body_len = 18},
        {.status = 202},
        {.status = 204},
        {.status = 299},
        {.body = "\x0a\xff\xff\xff\xff\x0f", .body_len = 6},
        {.body = "\x9b\x12\x00\xfe", .body_len = 4},
        {.raw = "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"},
        {.raw = "HTTP/1.0 200 OK\r\n\r\n", .close = true},
        {.raw = "HTTP/1.1 100 Continue\r\n\r\nhttp/1.1 nonsense\r\n\r\n", .close = true},
    };
    for (size_t i = 0; i + 1 < sizeof scripts / sizeof *scripts; i++) {
        batch_ends(&scripts[i], 1, 'd', 0, 1);
    }
}

/* --- transport --- */

static void reset_in_the_middle_sends_the_whole_body_again(void) {
    const spt_step script[] = {
        {.reset_at = BIG_BYTES / 2}, {.reset_at = BIG_BYTES / 2}, {.status = 200}};
    fixture self;
    made_batch made;
    char *body = malloc(BIG_BYTES + 1);
    if (both_make(&self, script, 3) && SPT_CHECK(body != NULL)) {
        for (size_t i = 0; i < BIG_BYTES; i++) {
            body[i] = (char)('a' + i % 23);
        }
        body[BIG_BYTES] = '\0';
        made_batch_init(&made, body, RECORDS);
        self.exporter.ops->export_batch(self.exporter.self, &made.batch,
                                        spt_deadline_ns(PATIENT_MS));
        made_batch_expect(&made, 'd', 0);
        spt_request request;
        SPT_CHECK_UINT(spt_collector_requests(self.collector), 3);
        SPT_CHECK(spt_collector_request(self.collector, 2, &request) && request.complete &&
                  request.body_len == BIG_BYTES && memcmp(request.body, body, BIG_BYTES) == 0);
    }
    both_end(&self);
    free(body);
}

static void collector_that_comes_back_gets_the_batch(void) {
    fixture self;
    made_batch made;
    if (both_make(&self, NULL, 0)) {
        uint16_t port = spt_collector_port(self.collector);
        batch_export(&self, &made, PATIENT_MS);
        made_batch_expect(&made, 'd', 0);
        spt_collector_stop(self.collector);
        self.collector = NULL;
        batch_export(&self, &made, PATIENT_MS);
        uint64_t until = spt_deadline_ns(300);
        while (spt_pause_until(until)) {
        }
        SPT_CHECK_UINT(atomic_load(&made.answers), 0);
        self.collector = spt_collector_start_at(port, false, NULL, 0);
        SPT_CHECK(self.collector != NULL);
        made_batch_expect(&made, 'd', 0);
    }
    both_end(&self);
}

static void nobody_there_is_a_drop(void) {
    fixture self;
    made_batch made;
    if (collector_make(&self, NULL, 0)) {
        spt_collector_stop(self.collector);
        self.collector = NULL;
        self.options.max_attempts = 3;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'x', SPOOL_DROP_TIMEOUT);
        }
    }
    both_end(&self);
}

static void sent_and_never_answered_is_unknown(void) {
    const spt_step script[] = {{.silent = true}, {.silent = true}, {.status = 503}};
    fixture self;
    made_batch made;
    if (collector_make(&self, script, 3)) {
        self.options.max_attempts = 3;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'u', 0);
            SPT_CHECK_UINT(spt_collector_requests(self.collector), 3);
        }
    }
    both_end(&self);
}

static void slow_replies_end_at_the_timeout(void) {
    const spt_step script[] = {{.raw = "HTTP/1.1 200 OK\r\nX: ", .drip_ms = 10}, {.status = 200}};
    fixture self;
    made_batch made;
    if (collector_make(&self, script, 2)) {
        self.options.timeout_ms = 300;
        if (exporter_make(&self)) {
            uint64_t begin = spt_now_ns();
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'u', 0);
            uint64_t took = spt_now_ns() - begin;
            SPT_CHECK(took >= 300 * SP_NS_PER_MS && took < 5 * SP_NS_PER_S);
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'd', 0);
        }
    }
    both_end(&self);
}

static void deadline_of_the_batch_counts_too_and_is_met(void) {
    const spt_step script[] = {{.delay_ms = 10000}};
    fixture self;
    made_batch made;
    if (both_make(&self, script, 1)) {
        uint64_t begin = spt_now_ns();
        batch_export(&self, &made, 400);
        made_batch_expect(&made, 'u', 0);
        uint64_t took = spt_now_ns() - begin;
        SPT_CHECK(took >= 300 * SP_NS_PER_MS && took < 5 * SP_NS_PER_S);
    }
    both_end(&self);
}

static void slow_upload_is_a_drop(void) {
    const spt_step script[] = {{.read_ms = 20}};
    enum { BYTES = 20000000 };
    fixture self;
    made_batch made;
    char *body = malloc(BYTES + 1);
    if (collector_make(&self, script, 1) && SPT_CHECK(body != NULL)) {
        memset(body, 'b', BYTES);
        body[BYTES] = '\0';
        self.options.timeout_ms = 400;
        if (exporter_make(&self)) {
            made_batch_init(&made, body, RECORDS);
            self.exporter.ops->export_batch(self.exporter.self, &made.batch,
                                            spt_deadline_ns(PATIENT_MS));
            made_batch_expect(&made, 'x', SPOOL_DROP_TIMEOUT);
        }
    }
    both_end(&self);
    free(body);
}

static void half_a_success_is_unknown_and_not_sent_again(void) {
    const spt_step half[] = {
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", .close = true}};
    batch_ends(half, 1, 'u', 0, 1);
    const spt_step refusal[] = {
        {.raw = "HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nhalf", .close = true},
        {.status = 200}};
    batch_ends(refusal, 2, 'd', 0, 2);
}

static void endless_replies_are_not_sent_again(void) {
    const spt_step success[] = {{.raw = "HTTP/1.1 200 OK\r\n\r\n", .flood_bytes = 100000000}};
    batch_ends(success, 1, 'u', 0, 1);
    const spt_step busy[] = {
        {.raw = "HTTP/1.1 503 No\r\nContent-Length: 100000000\r\n\r\n", .flood_bytes = 100000000}};
    batch_ends(busy, 1, 'r', 0, 1);
}

static void large_batch_is_not_sent(void) {
    fixture self;
    made_batch made;
    if (collector_make(&self, NULL, 0)) {
        self.options.max_request_bytes = sizeof BODY - 2;
        if (exporter_make(&self)) {
            batch_export(&self, &made, PATIENT_MS);
            made_batch_expect(&made, 'x', SPOOL_DROP_TOO_LARGE);
            SPT_CHECK_UINT(spt_collector_connections(self.collector), 0);
        }
    }
    both_end(&self);
}

static void any_reply_is_survived(void) {
    enum { ROUNDS = 150, REPLY_BYTES = 120 };
    static const char START[] = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nRetry-After: 0\r\n\r\n";
    spt_random random = {spt_seed(99)};
    fixture self;
    static char replies[ROUNDS][sizeof START + REPLY_BYTES];
    static spt_step script[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t len = 1 + spt_random_below(&random, REPLY_BYTES);
        size_t kept = i % 3 ? sizeof START - 1 : 0;
        memcpy(replies[i], START, kept);
        for (size_t k = 0; k < len; k++) {
            replies[i][kept + k] = (char)spt_random_next(&random);
        }
        if (i % 3 == 2) {
            replies[i][spt_random_below(&random, kept)] = (char)spt_random_next(&random);
        }
        script[i] = (spt_step){.raw = replies[i], .raw_len = kept + len, .close = true};
    }
    if (collector_make(&self, script, ROUNDS)) {
        self.options.max_attempts = 1;
        if (exporter_make(&self)) {
            for (size_t i = 0; i < ROUNDS; i++) {
                made_batch made;
                batch_export(&self, &made, PATIENT_MS);
                if (!made_batch_wait(&made)) {
                    break;
                }
            }
        }
    }
    both_end(&self);
}

/* --- shutdown --- */

static void shutdown_ends_a_wait_between_tries(void) {
    const spt_step script[] = {{.status = 503, .headers = "Retry-After: 8\r\n"}};
    fixture self;
    made_batch made;
    if (both_make(&self, script, 1)) {
        batch_export(&self, &made, PATIENT_MS);
        SPT_WAIT_UNTIL(5000, spt_collector_requests(self.collector) == 1);
        uint64_t begin = spt_now_ns();
        SPT_CHECK_UINT(exporter_stop(&self, 3000), SPOOL_OK);
        SPT_CHECK(spt_now_ns() - begin < 2500 * SP_NS_PER_MS);
        made_batch_expect(&made, 'x', SPOOL_DROP_SHUTDOWN);
        batch_export(&self, &made, PATIENT_MS);
        made_batch_expect(&made, 'x', SPOOL_DROP_SHUTDOWN);
        SPT_CHECK_UINT(exporter_stop(&self, 3000), SPOOL_OK);
    }
    both_end(&self);
}

static void shutdown_waits_for_a_reply(void) {
    const spt_step script[] = {{.delay_ms = 300}};
    fixture self;
    made_batch made;
    if (both_make(&self, script, 1)) {
        batch_export(&self, &made, PATIENT_MS);
        SPT_CHECK_UINT(exporter_stop(&self, PATIENT_MS), SPOOL_OK);
        SPT_CHECK_UINT(atomic_load(&made.answers), 1);
        made_batch_expect(&made, 'd', 0);
    }
    both_end(&self);
}

static void shutdown_keeps_its_deadline(void) {
    const spt_step script[] = {{.delay_ms = 10000}};
    fixture self;
    made_batch made;
    if (both_make(&self, script, 1)) {
        batch_export(&self, &made, PATIENT_MS);
        SPT_WAIT_UNTIL(5000, spt_collector_requests(self.collector) == 1);
        uint64_t begin = spt_now_ns();
        SPT_CHECK_UINT(exporter_stop(&self, 500), SPOOL_OK);
        SPT_CHECK(spt_now_ns() - begin < 3000 * SP_NS_PER_MS);
        SPT_CHECK_UINT(atomic_load(&made.answers), 1);
        made_batch_expect(&made, 'u', 0);
    }
    both_end(&self);
}

static void stop_here(void *arg) {
    fixture *self = arg;
    SPT_CHECK_UINT(self->exporter.ops->shutdown(self->exporter.self, spt_deadline_ns(5000)),
                   SPOOL_OK);
}

static void shutdown_on_the_loop_waits_for_nothing(void) {
    const spt_step script[] = {{.delay_ms = 10000}};
    fixture self;
    made_batch made;
    sp_runtime *runtime = NULL;
    if (both_make(&self, script, 1) && SPT_CHECK_UINT(sp_runtime_acquire(&runtime), SPOOL_OK)) {
        batch_export(&self, &made, PATIENT_MS);
        SPT_WAIT_UNTIL(5000, spt_collector_requests(self.collector) == 1);
        on_loop(runtime, stop_here, &self);
        SPT_CHECK_UINT(atomic_load(&made.answers), 1);
        made_batch_expect(&made, 'u', 0);
        SPT_CHECK(sp_runtime_release(runtime, spt_deadline_ns(5000)));
    }
    both_end(&self);
}

static void destroy_without_shutdown_answers(void) {
    const spt_step script[] = {{.delay_ms = 10000}};
    fixture self;
    made_batch made;
    if (both_make(&self, script, 1)) {
        batch_export(&self, &made, PATIENT_MS);
    }
    both_end(&self);
    made_batch_wait(&made);
}

/* --- creation --- */

static size_t entries(const char *folder) {
    DIR *opened = opendir(folder);
    size_t count = 0;
    while (opened && readdir(opened)) {
        count++;
    }
    if (opened) {
        closedir(opened);
    }
    return count;
}

static void creation_opens_nothing(void) {
    spool_exporter exporter;
    SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_LOGS, NULL, &exporter), SPOOL_OK);
    exporter.ops->destroy(exporter.self);
    size_t descriptors = entries("/proc/self/fd");
    size_t threads = entries("/proc/self/task");
    SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_LOGS, NULL, &exporter), SPOOL_OK);
    SPT_CHECK_UINT(entries("/proc/self/fd"), descriptors);
    SPT_CHECK_UINT(entries("/proc/self/task"), threads);
    SPT_CHECK_UINT(exporter.ops->shutdown(exporter.self, spt_deadline_ns(1000)), SPOOL_OK);
    exporter.ops->destroy(exporter.self);
}

static void wrong_options_are_refused(void) {
    spool_otlp_options unset = {0};
    spool_otlp_options endpoint = SPOOL_OTLP_OPTIONS_INIT;
    endpoint.endpoint = "h:4318";
    spool_otlp_options certificate = SPOOL_OTLP_OPTIONS_INIT;
    certificate.endpoint = "https://h";
    certificate.certificate = "/nowhere/ca.pem";
    certificate.client_key = "/nowhere/key.pem";
    const spool_otlp_options *wrong[] = {&unset, &endpoint, &certificate};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spool_exporter exporter = {NULL, NULL};
        SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_SPANS, wrong[i], &exporter),
                       SPOOL_ERR_INVALID);
        SPT_CHECK(exporter.ops == NULL && exporter.self == NULL);
    }
    spool_exporter exporter;
    SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNALS, NULL, &exporter), SPOOL_ERR_INVALID);
    SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_SPANS, NULL, NULL), SPOOL_ERR_INVALID);
    spool_otlp_options_init(NULL);
}

SPT_MAIN("otlp_exporter", SPT_CASE(batch_is_posted_as_it_is),
         SPT_CASE(configured_headers_and_user_are_sent),
         SPT_CASE(gzip_body_unpacks_to_the_same_bytes),
         SPT_CASE(unknown_compression_goes_out_plain), SPT_CASE(borrowed_batch_is_copied),
         SPT_CASE(several_batches_are_in_flight_if_allowed),
         SPT_CASE(permanent_statuses_cost_one_request_each),
         SPT_CASE(retryable_statuses_are_tried_again), SPT_CASE(tries_end_with_the_number_allowed),
         SPT_CASE(waits_grow), SPT_CASE(retry_after_is_honoured),
         SPT_CASE(retry_after_past_the_deadline_ends_at_once),
         SPT_CASE(partial_success_is_counted_and_not_sent_again),
         SPT_CASE(odd_successes_are_not_sent_again),
         SPT_CASE(reset_in_the_middle_sends_the_whole_body_again),
         SPT_CASE(collector_that_comes_back_gets_the_batch), SPT_CASE(nobody_there_is_a_drop),
         SPT_CASE(sent_and_never_answered_is_unknown), SPT_CASE(slow_replies_end_at_the_timeout),
         SPT_CASE(deadline_of_the_batch_counts_too_and_is_met), SPT_CASE(slow_upload_is_a_drop),
         SPT_CASE(half_a_success_is_unknown_and_not_sent_again),
         SPT_CASE(endless_replies_are_not_sent_again), SPT_CASE(large_batch_is_not_sent),
         SPT_CASE(any_reply_is_survived), SPT_CASE(shutdown_ends_a_wait_between_tries),
         SPT_CASE(shutdown_waits_for_a_reply), SPT_CASE(shutdown_keeps_its_deadline),
         SPT_CASE(shutdown_on_the_loop_waits_for_nothing),
         SPT_CASE(destroy_without_shutdown_answers), SPT_CASE(creation_opens_nothing),
         SPT_CASE(wrong_options_are_refused))
