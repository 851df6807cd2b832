/* SPDX-License-Identifier: Apache-2.0 */
/* Hello: a span and a log record inside of it, shown on the console. */
#define SPOOL_SCOPE "hello"
#include <spool/sdk/sdk.h>

int main(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_sdk *sdk = NULL;
    options.service_name = "hello";
    options.traces_exporter = "console";
    options.logs_exporter = "console";
    if (spool_start(&options, &sdk) != SPOOL_OK) {
        return 1;
    }
    {
        SPOOL_SPAN(span, SPOOL_TRACER(), "greet", spool_string("who", "world"));
        SPOOL_INFO("hello, world", spool_int("times", 1));
        spool_span_set(span, spool_bool("polite", true));
    }
    spool_status status = spool_shutdown(sdk, 1000, NULL);
    spool_sdk_free(sdk);
    return status == SPOOL_OK ? 0 : 1;
}
