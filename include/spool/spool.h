/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that instrumented code needs. main() includes <spool/sdk/sdk.h> as well. */
#ifndef SPOOL_SPOOL_H
#define SPOOL_SPOOL_H

#include <spool/baggage.h>
#include <spool/context.h>
#include <spool/log.h>
#include <spool/propagation.h>
#include <spool/status.h>
#include <spool/trace.h>
#include <spool/value.h>
#include <spool/version.h>

#endif /* SPOOL_SPOOL_H */
