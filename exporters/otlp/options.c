/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter's options; and, in a build without libcurl, the exporter that cannot be made. */
#include <spool/sdk/otlp.h>

#include "sdk/platform/diagnostics.h"

void spool_otlp_options_init(spool_otlp_options *options) {
    if (options) {
        *options = (spool_otlp_options)SPOOL_OTLP_OPTIONS_INIT;
    }
}

#if !SPOOL_WITH_OTLP

spool_status spool_otlp_create(uint32_t signal, const spool_otlp_options *options,
                               spool_exporter *out_exporter) {
    (void)signal;
    (void)options;
    (void)out_exporter;
    sp_diag(SPOOL_DIAG_ERROR, "otlp", "this build has no OTLP over the network");
    return SPOOL_ERR_UNSUPPORTED;
}

#endif
