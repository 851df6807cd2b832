/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client against a scripted server: how each kind of end is told from the others. */
#include "tests/integration/otlp/http_calls.h"

#include "sdk/platform/clock.h"
#include "tests/support/fake_collector.h"
#include "tests/support/spt.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { LONG_MS = 15000, BIG_BYTES = 5 * 1000 * 1000 };

/* --- the name service of this program: libcurl would come here too --- */

static atomic_uint lookups;
static atomic_bool lookup_held; /* a look-up does not return while this is set */
static atomic_uint lookups_held;
static atomic_bool lookup_fails;
static atomic_int lookup_family;
static atomic_uint lookups_with_signals;

static void lookup_observe(void) {
    atomic_fetch_add(&lookups, 1);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (!sigismember(&blocked, SIGTERM)) {
        atomic_fetch_add(&lookups_with_signals, 1);
    }
    if (atomic_load(&lookup_held)) {
        atomic_fetch_add(&lookups_held, 1);
        while (atomic_load(&lookup_held)) {
            spt_pause_until(UINT64_MAX);
        }
        atomic_fetch_sub(&lookups_held, 1);
    }
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc reserves its own */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out) {
    (void)name;
    (void)service;
    (void)hints;
    lookup_observe();
    if (atomic_load(&lookup_fails)) {
        return EAI_NONAME;
    }
    struct {
        struct addrinfo info;
        union {
            struct sockaddr_in v4;
            struct sockaddr_in6 v6;
        } address;
    } *made = calloc(1, sizeof *made);
    if (!made) {
        return EAI_MEMORY;
    }
    bool v6 = atomic_load(&lookup_family) == AF_INET6;
    made->info.ai_family = v6 ? AF_INET6 : AF_INET;
    made->info.ai_addr = (struct sockaddr *)(void *)&made->address;
    if (v6) {
        made->address.v6.sin6_addr = in6addr_loopback;
    } else {
        made->address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    *out = &made->info;
    return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): as above */
void freeaddrinfo(struct addrinfo *list) {
    free(list);
}

static void name_service_reset(void) {
    atomic_store(&lookups, 0);
    atomic_store(&lookups_with_signals, 0);
    atomic_store(&lookup_held, false);
    atomic_store(&lookup_fails, false);
    atomic_store(&lookup_family, AF_INET);
}

/* A server and a client of it, from one script. */
static bool both_open(const spt_step *script, size_t steps, spt_collector **collector,
                      http_fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    *collector = spt_collector_start(script, steps);
    return SPT_CHECK(*collector != NULL) && http_open_port(fixture, spt_collector_port(*collector));
}

static void both_close(spt_collector *collector, http_fixture *fixture) {
    http_close(fixture);
    spt_collector_stop(collector);
}

static bool named_open(http_fixture *fixture, const char *host, unsigned port) {
    char url[128];
    snprintf(url, sizeof url, "http://%s:%u/v1/logs", host, port);
    sp_http_options options = {.url = url, .max_response_bytes = 65536, .max_connections = 1};
    return http_open(fixture, &options);
}

/* --- plain traffic --- */

static void pieces_arrive_as_one_body(void) {
    const spt_step script[] = {{.status = 200, .body = "hello", .body_len = 5}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 1, &collector, &fixture)) {
        spool_batch_piece pieces[] = {{"one ", 4}, {NULL, 0}, {"two ", 4}, {"three", 5}};
        const char *headers[] = {"X-Kind: test", "X-Empty: ", NULL};
        http_reply reply;
        spt_request request;
        SPT_CHECK(http_post_pieces(&fixture, pieces, 4, headers, LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_UINT(reply.status, 200);
        SPT_CHECK(reply.sent);
        SPT_CHECK_STRING(reply.body, "hello");
        SPT_CHECK_UINT(reply.retry_after_ms, (uint64_t)-1);
        SPT_REQUIRE(spt_collector_request(collector, 0, &request));
        SPT_CHECK_STRING((const char *)request.body, "one two three");
        SPT_CHECK(strncmp(request.head, "POST /v1/traces HTTP/1.1\r\n", 26) == 0);
        SPT_CHECK_STRING(spt_request_header(&request, "X-Kind"), "test");
        SPT_CHECK(strcasestr(request.head, "\r\nX-Empty:") != NULL);
        SPT_CHECK(strcasestr(request.head, "\r\nExpect:") == NULL);
    }
    both_close(collector, &fixture);
}

static void connection_is_kept(void) {
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(NULL, 0, &collector, &fixture)) {
        for (int i = 0; i < 5; i++) {
            http_reply reply;
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        }
        SPT_CHECK_UINT(spt_collector_requests(collector), 5);
        SPT_CHECK_UINT(spt_collector_connections(collector), 1);
    }
    both_close(collector, &fixture);
}

/* The server closes an idle connection; the next request meets it dead and goes out again, whole. */
static void stale_connection_costs_nothing(void) {
    const spt_step script[] = {{.close = true}, {.close = true}, {.status = 200}};
    spt_collector *collector;
    http_fixture fixture;
    char *body = calloc(1, BIG_BYTES + 1);
    if (both_open(script, 3, &collector, &fixture) && SPT_CHECK(body != NULL)) {
        memset(body, 'b', BIG_BYTES);
        for (size_t i = 0; i < 3; i++) {
            http_reply reply;
            spt_request request;
            SPT_CHECK(http_post_text(&fixture, body, LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
            SPT_CHECK(spt_collector_request(collector, i, &request) && request.complete &&
                      request.body_len == BIG_BYTES);
        }
    }
    both_close(collector, &fixture);
    free(body);
}

static void redirect_is_not_followed(void) {
    const spt_step other[] = {{.status = 200}};
    spt_collector *elsewhere = spt_collector_start(other, 1);
    char location[128];
    snprintf(location, sizeof location, "Location: http://127.0.0.1:%u/\r\n",
             elsewhere ? spt_collector_port(elsewhere) : 1);
    const spt_step script[] = {{.status = 307, .headers = location}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 1, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_UINT(reply.status, 307);
        SPT_CHECK_UINT(spt_collector_requests(elsewhere), 0);
    }
    both_close(collector, &fixture);
    spt_collector_stop(elsewhere);
}

static void interim_replies_and_trailers_are_no_reply(void) {
    const spt_step script[] = {
        {.raw = "HTTP/1.1 100 Continue\r\nRetry-After: 9\r\n\r\nHTTP/1.1 200 OK\r\n"
                "Transfer-Encoding: chunked\r\nTRAILER: x\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n"
                "x: y\r\n\r\n"},
        {.raw = "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"},
        {.raw = "HTTP/1.0 202 OK\r\n\r\nuntil the end", .close = true},
        {.status = 204}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 4, &collector, &fixture)) {
        const char *bodies[] = {"abcde", "", "until the end", ""};
        const long statuses[] = {200, 200, 202, 204};
        for (size_t i = 0; i < 4; i++) {
            http_reply reply;
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
            SPT_CHECK_UINT(reply.status, statuses[i]);
            SPT_CHECK_STRING(reply.body, bodies[i]);
            SPT_CHECK_UINT(reply.retry_after_ms, (uint64_t)-1);
        }
    }
    both_close(collector, &fixture);
}

/* What nobody asked for is not taken for the reply to the next request. */
static void second_reply_to_one_request_is_not_credited(void) {
    const spt_step script[] = {{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
                                       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"},
                               {.status = 503, .body = "right", .body_len = 5}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 2, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_STRING(reply.body, "first");
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_STRING(reply.body, "right");
        SPT_CHECK_UINT(reply.status, 503);
    }
    both_close(collector, &fixture);
}

/* --- Retry-After --- */

static void retry_after_has_two_forms(void) {
    char date[128];
    time_t later = time(NULL) + 100;
    struct tm parts;
    gmtime_r(&later, &parts);
    strftime(date, sizeof date, "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    const spt_step script[] = {
        {.status = 503, .headers = "Retry-After: 3\r\n"},
        {.status = 503, .headers = "RETRY-AFTER:   0  \r\n"},
        {.status = 503, .headers = date},
        {.status = 503, .headers = "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"},
        {.status = 503, .headers = "Retry-After: -5\r\n"},
        {.status = 503, .headers = "Retry-After: 12 apples\r\n"},
        {.status = 503, .headers = "Retry-After: soon\r\n"},
        {.status = 503, .headers = "Retry-After:\r\n"},
        {.status = 503, .headers = "Retry-After: 99999999999999999999999\r\n"},
    };
    const int64_t want[] = {3000, 0, 100000, 0, -1, -1, -1, -1, INT64_MAX};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 9, &collector, &fixture)) {
        for (size_t i = 0; i < 9; i++) {
            http_reply reply;
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.status, 503);
            int64_t slack = i == 2 ? 15000 : 0; /* time that passed since the date was made */
            SPT_CHECK(reply.retry_after_ms <= want[i] && reply.retry_after_ms >= want[i] - slack);
        }
    }
    both_close(collector, &fixture);
}

/* --- failures --- */

static void refused_connection_is_not_sent(void) {
    spt_collector *collector = spt_collector_start(NULL, 0);
    unsigned port = collector ? spt_collector_port(collector) : 1;
    spt_collector_stop(collector);
    http_fixture fixture;
    if (http_open_port(&fixture, port)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_NOT_SENT);
        SPT_CHECK(!reply.sent && !reply.permanent && reply.status == 0);
        SPT_CHECK(strlen(reply.error) > 0);
    }
    http_close(&fixture);
}

static void reset_in_the_middle_is_no_reply_and_not_sent_whole(void) {
    const spt_step script[] = {{.reset_at = 1000000}, {.status = 200}};
    spt_collector *collector;
    http_fixture fixture;
    size_t size = 8 * (size_t)BIG_BYTES; /* more than socket buffers hold */
    char *body = calloc(1, size + 1);
    if (both_open(script, 2, &collector, &fixture) && SPT_CHECK(body != NULL)) {
        memset(body, 'b', size);
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, body, LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_NO_REPLY);
        SPT_CHECK(!reply.sent);
        SPT_CHECK(http_post_text(&fixture, body, LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK(reply.sent);
    }
    both_close(collector, &fixture);
    free(body);
}

static void close_without_an_answer_is_no_reply_but_sent(void) {
    const spt_step script[] = {{.silent = true}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 1, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_NO_REPLY);
        SPT_CHECK(reply.sent && reply.status == 0);
    }
    both_close(collector, &fixture);
}

static void half_a_reply_tells_its_status(void) {
    const spt_step script[] = {
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", .close = true}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 1, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_NO_REPLY);
        SPT_CHECK(reply.sent);
        SPT_CHECK_UINT(reply.status, 200);
    }
    both_close(collector, &fixture);
}

static void garbage_is_no_reply(void) {
    const spt_step script[] = {{.raw = "SSH-2.0-hello\r\n\r\n", .close = true},
                               {.raw = "\x16\x03\x01\x02", .close = true},
                               {.status = 200}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 3, &collector, &fixture)) {
        http_reply reply;
        for (int i = 0; i < 2; i++) {
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_NO_REPLY);
            SPT_CHECK(!reply.permanent);
        }
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
    }
    both_close(collector, &fixture);
}

static void early_refusal_is_heard(void) {
    const spt_step script[] = {{.status = 413, .headers = "Connection: close\r\n", .early = true}};
    spt_collector *collector;
    http_fixture fixture;
    char *body = calloc(1, BIG_BYTES + 1);
    if (both_open(script, 1, &collector, &fixture) && SPT_CHECK(body != NULL)) {
        memset(body, 'b', BIG_BYTES);
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, body, LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_UINT(reply.status, 413);
    }
    both_close(collector, &fixture);
    free(body);
}

/* --- deadlines --- */

static void deadline_ends_a_late_reply_and_the_next_call_works(void) {
    const spt_step script[] = {{.raw = "HTTP/1.1 200 OK\r\nX: ", .drip_ms = 20}, {.status = 200}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 2, &collector, &fixture)) {
        http_reply reply;
        uint64_t begin = spt_now_ns();
        SPT_CHECK(http_post_text(&fixture, "x", 200, &reply));
        uint64_t took_ms = (spt_now_ns() - begin) / SP_NS_PER_MS;
        SPT_CHECK_UINT(reply.kind, SP_HTTP_DEADLINE);
        SPT_CHECK(reply.sent);
        SPT_CHECK(took_ms >= 200 && took_ms < 5000);
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_UINT(spt_collector_connections(collector), 2);
    }
    both_close(collector, &fixture);
}

static void deadline_ends_a_slow_upload_as_not_sent(void) {
    const spt_step script[] = {{.read_ms = 50}};
    spt_collector *collector;
    http_fixture fixture;
    size_t size = 4 * (size_t)BIG_BYTES; /* more than socket buffers hold */
    char *body = calloc(1, size + 1);
    if (both_open(script, 1, &collector, &fixture) && SPT_CHECK(body != NULL)) {
        memset(body, 'b', size);
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, body, 300, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_DEADLINE);
        SPT_CHECK(!reply.sent);
    }
    both_close(collector, &fixture);
    free(body);
}

static void deadline_in_the_past_ends_at_once(void) {
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(NULL, 0, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", 0, &reply));
        SPT_CHECK(reply.kind == SP_HTTP_DEADLINE || reply.kind == SP_HTTP_REPLY);
    }
    both_close(collector, &fixture);
}

/* --- bounds --- */

static void endless_replies_are_cut(void) {
    const spt_step script[] = {
        {.raw = "HTTP/1.1 200 OK\r\n\r\n", .flood_bytes = 100000000},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", .flood_bytes = 100000000},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", .flood_bytes = 100000000},
        {.raw = "HTTP/1.1 200 OK\r\nX: ", .flood_bytes = 100000000},
        {.status = 200}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 5, &collector, &fixture)) {
        http_reply reply;
        for (int i = 0; i < 2; i++) {
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_TOO_LARGE);
            SPT_CHECK_UINT(reply.status, 200);
        }
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_STRING(reply.body, "abcd");
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK(reply.kind == SP_HTTP_TOO_LARGE || reply.kind == SP_HTTP_NO_REPLY);
        /* On a busy machine the bytes behind "abcd" come only when the connection is in use again: then
         * that call ended without a reply, and the endless header is this one's. */
        int tries = 0;
        do {
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        } while (reply.kind != SP_HTTP_REPLY && ++tries < 2);
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
    }
    uint64_t written = spt_collector_written(collector);
    SPT_CHECK(written < 64000000); /* what was left over in socket buffers */
    both_close(collector, &fixture);
}

static void many_headers_are_taken_endless_ones_are_not(void) {
    enum { LINES = 64, LINE = 1024 };
    static char lines[LINES * LINE + 1];
    static char interim[8000 * 60 + 64];
    for (size_t i = 0; i < LINES; i++) {
        memset(lines + i * LINE, 'h', LINE);
        lines[i * LINE + 8] = ':';
        lines[(i + 1) * LINE - 2] = '\r';
        lines[(i + 1) * LINE - 1] = '\n';
    }
    size_t used = 0;
    for (int i = 0; i < 8000; i++) {
        used += (size_t)snprintf(interim + used, 64,
                                 "HTTP/1.1 100 Continue\r\nX-Fill: %020d\r\n\r\n", i);
    }
    const spt_step script[] = {{.status = 200, .headers = lines}, {.raw = interim}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 2, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_TOO_LARGE);
    }
    both_close(collector, &fixture);
}

/* A few hundred bytes that unpack to more than is allowed, and input that never yields output. */
static void compressed_reply_is_bounded_unpacked(void) {
    enum { ZEROS = 300000, EMPTY_BLOCKS = 600 };
    static const unsigned char HEAD[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    static unsigned char zeros[ZEROS];
    static unsigned char packed[4096];
    static unsigned char idle[sizeof HEAD + EMPTY_BLOCKS * 5];
    memcpy(idle, HEAD, sizeof HEAD);
    for (size_t i = 0; i < EMPTY_BLOCKS; i++) {
        idle[sizeof HEAD + i * 5 + 3] = 0xff;
        idle[sizeof HEAD + i * 5 + 4] = 0xff;
    }
    z_stream stream = {
        .next_in = zeros, .avail_in = sizeof zeros, .next_out = packed, .avail_out = sizeof packed};
    SPT_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    SPT_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&stream);
    const spt_step script[] = {
        {.headers = "Content-Encoding: gzip\r\n", .body = packed, .body_len = stream.total_out},
        {.headers = "Content-Encoding: gzip\r\n", .body = idle, .body_len = sizeof idle},
        {.headers = "Content-Encoding: gzip\r\n", .body = "no gzip", .body_len = 7},
        {.status = 200}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 4, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_TOO_LARGE);
        for (int i = 0; i < 2; i++) {
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK(reply.kind == SP_HTTP_NO_REPLY || reply.kind == SP_HTTP_REPLY);
            SPT_CHECK_UINT(reply.status, 200);
        }
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
    }
    both_close(collector, &fixture);
}

/* --- names --- */

static void names_are_looked_up_by_a_thread_of_ours_alone(void) {
    name_service_reset();
    spt_collector *collector = spt_collector_start(NULL, 0);
    http_fixture fixture = {NULL, NULL};
    const char *hosts[] = {"collector.example", "localhost", "UPPER.example", "dotted.example."};
    for (unsigned i = 0; i < 4; i++) {
        if (named_open(&fixture, hosts[i], spt_collector_port(collector))) {
            http_reply reply;
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
            SPT_CHECK_UINT(atomic_load(&lookups), i + 1);
        }
        http_close(&fixture);
    }
    SPT_CHECK_UINT(atomic_load(&lookups_with_signals), 0);
    spt_collector_stop(collector);
}

static void name_with_ipv6_alone_is_reached(void) {
    name_service_reset();
    atomic_store(&lookup_family, AF_INET6);
    spt_collector *collector = spt_collector_start_at(0, true, NULL, 0);
    if (!collector) {
        spt_skip("no IPv6 loopback");
        return;
    }
    const char *hosts[] = {"six.example", "[::1]"};
    for (int i = 0; i < 2; i++) {
        http_fixture fixture;
        if (named_open(&fixture, hosts[i], spt_collector_port(collector))) {
            http_reply reply;
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        }
        http_close(&fixture);
    }
    SPT_CHECK_UINT(atomic_load(&lookups), 1);
    spt_collector_stop(collector);
}

static void missing_name_is_not_sent_and_asked_for_again(void) {
    name_service_reset();
    atomic_store(&lookup_fails, true);
    spt_collector *collector = spt_collector_start(NULL, 0);
    http_fixture fixture;
    if (named_open(&fixture, "nowhere.example", spt_collector_port(collector))) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_NOT_SENT);
        SPT_CHECK(!reply.permanent && strstr(reply.error, "nowhere.example") != NULL);
        atomic_store(&lookup_fails, false);
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_UINT(atomic_load(&lookups), 2);
    }
    http_close(&fixture);
    spt_collector_stop(collector);
}

static void failure_to_connect_asks_for_the_name_again(void) {
    name_service_reset();
    spt_collector *collector = spt_collector_start(NULL, 0);
    uint16_t port = spt_collector_port(collector);
    http_fixture fixture;
    if (named_open(&fixture, "moving.example", port)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        spt_collector_stop(collector);
        collector = NULL;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_NOT_SENT);
        collector = spt_collector_start_at(port, true, NULL, 0); /* the name moves to ::1 */
        if (collector) {
            atomic_store(&lookup_family, AF_INET6);
            SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
            SPT_CHECK_UINT(atomic_load(&lookups), 2);
        }
    }
    http_close(&fixture);
    spt_collector_stop(collector);
}

/* The look-up hangs: the calls end at their deadline, the loop is not held, one thread hangs in all. */
static void hanging_lookup_holds_nobody(void) {
    name_service_reset();
    atomic_store(&lookup_held, true);
    spt_collector *collector = spt_collector_start(NULL, 0);
    http_fixture fixture;
    if (named_open(&fixture, "slow.example", spt_collector_port(collector))) {
        http_reply reply;
        for (int i = 0; i < 3; i++) {
            SPT_CHECK(http_post_text(&fixture, "x", 50, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_DEADLINE);
            SPT_CHECK(!reply.sent);
        }
        SPT_CHECK_UINT(atomic_load(&lookups), 1);
        http_pending late = {.fixture = &fixture,
                             .pieces = &(spool_batch_piece){"x", 1},
                             .count = 1,
                             .deadline_ns = spt_deadline_ns(LONG_MS)};
        SPT_CHECK(http_begin(&late));
        atomic_store(&lookup_held, false);
        SPT_CHECK(http_wait(&late));
        SPT_CHECK_UINT(late.reply.kind, SP_HTTP_REPLY);
        SPT_CHECK_UINT(atomic_load(&lookups), 1);
    }
    http_close(&fixture);
    spt_collector_stop(collector);
}

/* The client, and the loop with it, are gone before the look-up returns. */
static void lookup_outlives_the_client(void) {
    name_service_reset();
    atomic_store(&lookup_held, true);
    http_fixture fixture;
    if (named_open(&fixture, "slower.example", 1)) {
        http_pending pending = {.fixture = &fixture,
                                .pieces = &(spool_batch_piece){"x", 1},
                                .count = 1,
                                .deadline_ns = spt_deadline_ns(LONG_MS)};
        SPT_CHECK(http_begin(&pending));
        SPT_WAIT_UNTIL(5000, atomic_load(&lookups_held) == 1);
        SPT_CHECK_UINT(atomic_load(&lookups_held), 1);
        http_close(&fixture);
        SPT_CHECK(atomic_load(&pending.over));
        SPT_CHECK_UINT(pending.reply.kind, SP_HTTP_CANCELLED);
    } else {
        http_close(&fixture);
    }
    atomic_store(&lookup_held, false);
    SPT_WAIT_UNTIL(5000, atomic_load(&lookups_held) == 0);
    SPT_CHECK_UINT(atomic_load(&lookups_held), 0);
}

/* --- cancel, destroy --- */

static void cancel_ends_a_call_at_once(void) {
    const spt_step script[] = {{.delay_ms = 10000}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 1, &collector, &fixture)) {
        http_pending pending = {.fixture = &fixture,
                                .pieces = &(spool_batch_piece){"x", 1},
                                .count = 1,
                                .deadline_ns = SP_NO_DEADLINE};
        SPT_CHECK(http_begin(&pending));
        SPT_WAIT_UNTIL(5000, spt_collector_requests(collector) == 1);
        http_cancel(&pending);
        SPT_CHECK(atomic_load(&pending.over));
        SPT_CHECK_UINT(pending.reply.kind, SP_HTTP_CANCELLED);
        SPT_CHECK(pending.reply.sent);
    }
    both_close(collector, &fixture);
}

static void client_may_be_destroyed_by_what_it_calls(void) {
    const spt_step script[] = {{.delay_ms = 50}, {.delay_ms = 10000}};
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(script, 2, &collector, &fixture)) {
        http_pending first = {.fixture = &fixture,
                              .pieces = &(spool_batch_piece){"x", 1},
                              .count = 1,
                              .deadline_ns = SP_NO_DEADLINE,
                              .destroy_client = true};
        http_pending second = first;
        second.destroy_client = false;
        SPT_CHECK(http_begin(&first));
        SPT_WAIT_UNTIL(5000, spt_collector_requests(collector) == 1);
        SPT_CHECK(http_begin(&second));
        SPT_CHECK(http_wait(&first));
        SPT_CHECK_UINT(first.reply.kind, SP_HTTP_REPLY);
        SPT_CHECK(http_wait(&second));
        SPT_CHECK_UINT(second.reply.kind, SP_HTTP_CANCELLED);
    }
    both_close(collector, &fixture);
}

/* --- options, descriptors, signals --- */

static void wrong_options_are_refused_when_the_client_is_made(void) {
    const sp_http_options wrong[] = {
        {.url = NULL},
        {.url = ""},
        {.url = "ftp://localhost/"},
        {.url = "file:///etc/passwd"},
        {.url = "http://"},
        {.url = "http://localhost:99999/"},
        {.url = "https://localhost/", .certificate = "/nowhere/ca.pem"},
        {.url = "https://localhost/", .certificate = "/dev/null"},
        {.url = "https://localhost/", .client_key = "/"},
        {.url = "http://localhost/", .proxy = "socks5://localhost"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        SPT_CHECK_UINT(sp_http_check(&wrong[i]), SPOOL_ERR_INVALID);
    }
    const sp_http_options right = {.url = "http://localhost", .proxy = "http://proxy.example"};
    SPT_CHECK_UINT(sp_http_check(&right), SPOOL_OK);
}

static void proxy_is_asked_for_the_whole_url(void) {
    name_service_reset();
    spt_collector *proxy = spt_collector_start(NULL, 0);
    char text[64];
    snprintf(text, sizeof text, "http://proxy.example:%u", spt_collector_port(proxy));
    sp_http_options options = {.url = "http://collector.example:4318/v1/traces",
                               .proxy = text,
                               .max_response_bytes = 1024};
    http_fixture fixture;
    if (http_open(&fixture, &options)) {
        http_reply reply;
        spt_request request;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
        SPT_CHECK(spt_collector_request(proxy, 0, &request));
        SPT_CHECK(strncmp(request.head, "POST http://collector.example:4318/v1/traces ", 45) == 0);
        SPT_CHECK_UINT(atomic_load(&lookups), 1);
    }
    http_close(&fixture);
    spt_collector_stop(proxy);
}

static void environment_names_no_proxy(void) {
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    spt_collector *collector;
    http_fixture fixture;
    if (both_open(NULL, 0, &collector, &fixture)) {
        http_reply reply;
        SPT_CHECK(http_post_text(&fixture, "x", LONG_MS, &reply));
        SPT_CHECK_UINT(reply.kind, SP_HTTP_REPLY);
    }
    both_close(collector, &fixture);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

static unsigned inheritable_descriptors(void) {
    unsigned count = 0;
    for (int fd = 3; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC)) {
            count++;
        }
    }
    return count;
}

static void no_descriptor_survives_exec(void) {
    unsigned before = inheritable_descriptors();
    const spt_step script[] = {{.delay_ms = 10000}};
    spt_collector *collector;
    http_fixture fixture;
    int pair[2] = {-1, -1};
    /* An innocent pair of the host's, which must stay as it is. */
    SPT_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    if (both_open(script, 1, &collector, &fixture)) {
        http_pending pending = {.fixture = &fixture,
                                .pieces = &(spool_batch_piece){"x", 1},
                                .count = 1,
                                .deadline_ns = SP_NO_DEADLINE};
        SPT_CHECK(http_begin(&pending));
        SPT_WAIT_UNTIL(5000, spt_collector_requests(collector) == 1);
        SPT_CHECK_UINT(inheritable_descriptors(), before + 2);
        SPT_CHECK((fcntl(pair[0], F_GETFD) & FD_CLOEXEC) == 0);
        http_cancel(&pending);
    }
    both_close(collector, &fixture);
    close(pair[0]);
    close(pair[1]);
}

static atomic_uint broken_pipes;

static void broken_pipe(int signal) {
    (void)signal;
    atomic_fetch_add(&broken_pipes, 1);
}

static void broken_pipe_raises_no_signal(void) {
    struct sigaction counted = {.sa_handler = broken_pipe};
    struct sigaction before;
    sigaction(SIGPIPE, &counted, &before);
    const spt_step script[] = {{.reset_at = 1}};
    spt_collector *collector;
    http_fixture fixture;
    char *body = calloc(1, BIG_BYTES + 1);
    if (both_open(script, 1, &collector, &fixture) && SPT_CHECK(body != NULL)) {
        memset(body, 'b', BIG_BYTES);
        for (int i = 0; i < 20; i++) {
            http_reply reply;
            SPT_CHECK(http_post_text(&fixture, body, LONG_MS, &reply));
            SPT_CHECK_UINT(reply.kind, SP_HTTP_NO_REPLY);
        }
    }
    both_close(collector, &fixture);
    SPT_CHECK_UINT(atomic_load(&broken_pipes), 0);
    sigaction(SIGPIPE, &before, NULL);
    free(body);
}

SPT_MAIN("http", SPT_CASE(pieces_arrive_as_one_body), SPT_CASE(connection_is_kept),
         SPT_CASE(stale_connection_costs_nothing), SPT_CASE(redirect_is_not_followed),
         SPT_CASE(interim_replies_and_trailers_are_no_reply),
         SPT_CASE(second_reply_to_one_request_is_not_credited), SPT_CASE(retry_after_has_two_forms),
         SPT_CASE(refused_connection_is_not_sent),
         SPT_CASE(reset_in_the_middle_is_no_reply_and_not_sent_whole),
         SPT_CASE(close_without_an_answer_is_no_reply_but_sent),
         SPT_CASE(half_a_reply_tells_its_status), SPT_CASE(garbage_is_no_reply),
         SPT_CASE(early_refusal_is_heard),
         SPT_CASE(deadline_ends_a_late_reply_and_the_next_call_works),
         SPT_CASE(deadline_ends_a_slow_upload_as_not_sent),
         SPT_CASE(deadline_in_the_past_ends_at_once), SPT_CASE(endless_replies_are_cut),
         SPT_CASE(many_headers_are_taken_endless_ones_are_not),
         SPT_CASE(compressed_reply_is_bounded_unpacked),
         SPT_CASE(names_are_looked_up_by_a_thread_of_ours_alone),
         SPT_CASE(name_with_ipv6_alone_is_reached),
         SPT_CASE(missing_name_is_not_sent_and_asked_for_again),
         SPT_CASE(failure_to_connect_asks_for_the_name_again),
         SPT_CASE(hanging_lookup_holds_nobody), SPT_CASE(lookup_outlives_the_client),
         SPT_CASE(cancel_ends_a_call_at_once), SPT_CASE(client_may_be_destroyed_by_what_it_calls),
         SPT_CASE(wrong_options_are_refused_when_the_client_is_made),
         SPT_CASE(proxy_is_asked_for_the_whole_url), SPT_CASE(environment_names_no_proxy),
         SPT_CASE(no_descriptor_survives_exec), SPT_CASE(broken_pipe_raises_no_signal))
