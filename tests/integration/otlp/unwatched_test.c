/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and watches that cannot be had: the program stands in for uv_poll_init and for a host that
 * has no descriptors left. Nothing crashes or hangs, and what can be delivered later is.
 */
#include "tests/support/fake_collector.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

static _Atomic int to_fail;

/* In the place of libuv's: the next ones fail. */
int uv_poll_init(uv_loop_t *loop, uv_poll_t *handle, int descriptor) {
    int (*real)(uv_loop_t *, uv_poll_t *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "uv_poll_init");
    if (atomic_load(&to_fail) > 0) {
        atomic_fetch_sub(&to_fail, 1);
        return UV_ENOMEM;
    }
    return real(loop, handle, descriptor);
}

static spool_sdk *start_for(const spt_collector *collector) {
    char endpoint[64];
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d",
                   (int)spt_collector_port(collector));
    spool_options options = SPOOL_OPTIONS_INIT;
    options.endpoint = endpoint;
    options.ignore_env = 1;
    options.no_exit_flush = 1;
    spool_sdk *sdk = NULL;
    (void)SPT_CHECK(spool_start(&options, &sdk) == SPOOL_OK);
    return sdk;
}

static void a_socket_that_cannot_be_watched_is_tried_again(void) {
    static const spt_step script[] = {{.status = 200}};
    for (int failures = 1; failures <= 3; failures++) {
        spt_collector *collector = spt_collector_start(script, 1);
        spool_sdk *sdk = start_for(collector);
        SPT_REQUIRE(sdk != NULL);
        atomic_store(&to_fail, failures);
        spool_span_end(spool_span_start(spool_tracer_get("t", ""), "first", NULL));
        (void)SPT_CHECK(spool_flush(sdk, 9000, NULL) == SPOOL_OK);
        (void)SPT_CHECK(atomic_load(&to_fail) == 0);
        spool_span_end(spool_span_start(spool_tracer_get("t", ""), "second", NULL));
        (void)SPT_CHECK(spool_flush(sdk, 9000, NULL) == SPOOL_OK);
        (void)SPT_CHECK_UINT(spt_stats(sdk).processors[0][0].delivered, 2);
        (void)SPT_CHECK(spt_balanced(sdk));
        (void)SPT_CHECK(spool_shutdown(sdk, 5000, NULL) == SPOOL_OK);
        spool_sdk_free(sdk);
        spt_collector_stop(collector);
    }
}

/* Leaves exactly `spare` descriptors below the limit. */
static void start_with_spare_descriptors(rlim_t spare) {
    struct rlimit before;
    (void)SPT_CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)close(next);
    struct rlimit tight = {(rlim_t)next + spare, before.rlim_max};
    (void)SPT_CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    spool_options options = SPOOL_OPTIONS_INIT;
    options.ignore_env = 1;
    options.no_exit_flush = 1;
    spool_sdk *sdk = NULL;
    spool_status status = spool_start(&options, &sdk);
    (void)SPT_CHECK(status == SPOOL_OK || status == SPOOL_ERR_SYSTEM || status == SPOOL_ERR_NOMEM);
    (void)SPT_CHECK(spare > 4 || status != SPOOL_OK);
    (void)setrlimit(RLIMIT_NOFILE, &before);
    if (status == SPOOL_OK) {
        (void)spool_shutdown(sdk, 1000, NULL);
        spool_sdk_free(sdk);
    }
}

static void quiet(void *arg, const spool_diagnostic *line) {
    (void)arg;
    (void)line;
}

static void T57_a_start_without_descriptors_is_an_error_and_no_abort(void) {
    spool_diagnostics_set(quiet, NULL);
    for (rlim_t spare = 0; spare < 14; spare++) {
        start_with_spare_descriptors(spare);
    }
    spool_diagnostics_set(NULL, NULL);
}

/* The descriptors first: libuv makes its own with the first loop of the process. */
SPT_MAIN("otlp_unwatched", SPT_CASE(T57_a_start_without_descriptors_is_an_error_and_no_abort),
         SPT_CASE(a_socket_that_cannot_be_watched_is_tried_again))
