/* SPDX-License-Identifier: Apache-2.0 */
/* See service.h. */
#include "examples/shop/service.h"

#include "examples/shop/recorder.h"

#include <spool/version.h>

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHUTDOWN_MS = 5000, PORT_MAX = 65535 };

static bool arguments_read(service *self, int argc, char **argv) {
    const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {self->own_option, required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0},
    };
    bool good = true;
    int option;
    while (good && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char *end = NULL;
        long port = option == 'p' ? strtol(optarg, &end, 10) : 0;
        if (option == 'p' && *end == '\0' && end != optarg && port >= 0 && port <= PORT_MAX) {
            self->port = (uint16_t)port;
        } else if (option == 'o') {
            self->own_value = optarg;
        } else {
            good = false;
        }
    }
    if (!good || optind != argc || !self->own_value) {
        fprintf(stderr, "usage: %s [--port N] --%s VALUE\n", self->name, self->own_option);
        return false;
    }
    return true;
}

static void signals_of_the_end(sigset_t *out_set) {
    sigemptyset(out_set);
    sigaddset(out_set, SIGTERM);
    sigaddset(out_set, SIGINT);
}

static bool sdk_start(service *self) {
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_processor recorder = {NULL, NULL};
    const char *record_file = getenv("SHOP_RECORD_FILE");
    const char *name = getenv("OTEL_SERVICE_NAME");
    if (record_file && record_file[0]) {
        if (!recorder_create(record_file, &recorder)) {
            fprintf(stderr, "%s: cannot write %s\n", self->name, record_file);
            return false;
        }
        options.processors = &recorder;
        options.processor_count = 1;
    }
    /* What code says wins over the environment, but here the environment shall have its say. */
    if (!name || !name[0]) {
        options.service_name = self->name;
    }
    options.service_version = SPOOL_VERSION_STRING;
    spool_status status = spool_start(&options, &self->sdk);
    if (status != SPOOL_OK) {
        fprintf(stderr, "%s: the SDK did not start: %s\n", self->name, spool_status_text(status));
        if (recorder.ops) {
            recorder.ops->destroy(recorder.self);
        }
        return false;
    }
    return true;
}

bool service_start(service *self, int argc, char **argv) {
    sigset_t set;
    signals_of_the_end(&set);
    if (!arguments_read(self, argc, argv)) {
        return false;
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return sdk_start(self);
}

void service_wait(uint16_t port) {
    sigset_t set;
    int which = 0;
    signals_of_the_end(&set);
    printf("listening 127.0.0.1:%u\n", (unsigned)port);
    (void)fflush(stdout);
    while (sigwait(&set, &which) != 0) {
    }
}

void service_end(service *self) {
    spool_report report = SPOOL_REPORT_INIT;
    spool_status status = spool_shutdown(self->sdk, SHUTDOWN_MS, &report);
    if (status != SPOOL_OK) {
        fprintf(stderr,
                "%s: %s: %" PRIu64 " delivered, %" PRIu64 " rejected, %" PRIu64
                " without an answer, %" PRIu64 " dropped, %" PRIu64 " too late\n",
                self->name, spool_status_text(status), report.delivered, report.rejected,
                report.unknown, report.dropped, report.timed_out);
    }
    spool_sdk_free(self->sdk);
    self->sdk = NULL;
}
