/* SPDX-License-Identifier: Apache-2.0 */
/* A program that starts an SDK with the console exporter, so that the span can be read on stdout. */
#include "instrumented.h"

#include <spool/sdk/sdk.h>
#include <spool/version.h>

#include <stdio.h>

int main(void) {
    printf("version %s %s %d\n", SPOOL_VERSION_STRING, spool_version_string(),
           spool_version() == SPOOL_VERSION_NUMBER);
    fflush(stdout);

    spool_options options = SPOOL_OPTIONS_INIT;
    options.service_name = "consumer";
    options.traces_exporter = "console";
    options.logs_exporter = "none";
    options.ignore_env = 1;
    spool_sdk *sdk = NULL;
    spool_status status = spool_start(&options, &sdk);
    if (status != SPOOL_OK) {
        fprintf(stderr, "start: %s\n", spool_status_text(status));
        return 1;
    }
    int recorded = instrumented_work();
    status = spool_shutdown(sdk, 5000, NULL);
    if (status != SPOOL_OK) {
        fprintf(stderr, "shutdown: %s\n", spool_status_text(status));
        return 1;
    }
    spool_sdk_free(sdk);
    printf("recorded %d\n", recorded);
    return 0;
}
