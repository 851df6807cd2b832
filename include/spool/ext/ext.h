/* SPDX-License-Identifier: Apache-2.0 */
/* Everything for people who write processors, exporters, samplers and propagators. */
#ifndef SPOOL_EXT_EXT_H
#define SPOOL_EXT_EXT_H

#include <spool/ext/box.h>
#include <spool/ext/data.h>
#include <spool/ext/exporter.h>
#include <spool/ext/processor.h>
#include <spool/ext/propagator.h>
#include <spool/ext/sampler.h>

#endif /* SPOOL_EXT_EXT_H */
