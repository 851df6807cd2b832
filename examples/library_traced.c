/* SPDX-License-Identifier: Apache-2.0 */
/* The same program with an SDK: main() decides, the library is the same object. */
#include "examples/library.h"

#include <spool/sdk/sdk.h>

#include <stdio.h>

int main(void) {
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_sdk *sdk = NULL;
    options.service_name = "library";
    options.traces_exporter = "console";
    options.logs_exporter = "console";
    if (spool_start(&options, &sdk) != SPOOL_OK) {
        return 1;
    }
    size_t words = text_words("spools of thread");
    size_t none = text_words(NULL);
    (void)spool_shutdown(sdk, 1000, NULL);
    spool_sdk_free(sdk);
    printf("%zu words\n%zu words\n", words, none);
    return 0;
}
