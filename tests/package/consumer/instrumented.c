/* SPDX-License-Identifier: Apache-2.0 */
/* The instrumented library of the package test. */
#include "instrumented.h"

#include <spool/spool.h>

int instrumented_work(void) {
    spool_tracer *tracer = spool_tracer_get("package", "1.0");
    spool_span span = spool_span_start(tracer, "package.work", NULL);
    int recorded = spool_span_is_recording(span) ? 1 : 0;
    spool_span_set(span, spool_int("package.answer", 42));
    spool_span_end(span);
    return recorded;
}
