/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both services do around their work: read the command line, start the SDK, say where they listen,
 * wait for SIGTERM or SIGINT, and end with everything delivered or said.
 */
#ifndef SPOOL_EXAMPLES_SHOP_SERVICE_H
#define SPOOL_EXAMPLES_SHOP_SERVICE_H

#include <spool/sdk/sdk.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct service {
    const char *name;
    const char *own_option; /* "stock" or "database"; with its value below */
    const char *own_value;
    uint16_t port;
    spool_sdk *sdk;
} service;

/*
 * Reads `--port N` and the service's own option, and starts the SDK from the environment. To be called
 * before any thread is started: it blocks the signals that service_wait() waits for. False: it has said
 * why.
 */
bool service_start(service *self, int argc, char **argv);

/* Prints "listening 127.0.0.1:PORT" and waits for the end. */
void service_wait(uint16_t port);

/* Shuts the SDK down, in at most five seconds, and says what was not delivered. */
void service_end(service *self);

#endif /* SPOOL_EXAMPLES_SHOP_SERVICE_H */
