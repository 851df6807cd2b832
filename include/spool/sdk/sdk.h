/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that main() needs: all of <spool/sdk/> and the API. */
#ifndef SPOOL_SDK_SDK_H
#define SPOOL_SDK_SDK_H

#include <spool/spool.h>

#include <spool/sdk/batch.h>
#include <spool/sdk/console.h>
#include <spool/sdk/diagnostics.h>
#include <spool/sdk/filter.h>
#include <spool/sdk/memory.h>
#include <spool/sdk/otlp.h>
#include <spool/sdk/provider.h>
#include <spool/sdk/resource.h>
#include <spool/sdk/sampler.h>
#include <spool/sdk/simple.h>
#include <spool/sdk/start.h>
#include <spool/sdk/stats.h>

#endif /* SPOOL_SDK_SDK_H */
