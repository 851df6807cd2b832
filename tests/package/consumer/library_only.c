/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links libspool alone and starts no SDK: everything is a no-op. */
#include "instrumented.h"

#include <spool/version.h>

#include <stdio.h>

int main(void) {
    printf("version %s %s %d\n", SPOOL_VERSION_STRING, spool_version_string(),
           spool_version() == SPOOL_VERSION_NUMBER);
    printf("recorded %d\n", instrumented_work());
    return 0;
}
