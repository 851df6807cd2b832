/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library as it was built, for programs that load another than they were compiled for. */
#include <spool/version.h>

int spool_version(void) {
    return SPOOL_VERSION_NUMBER;
}

const char *spool_version_string(void) {
    return SPOOL_VERSION_STRING;
}
