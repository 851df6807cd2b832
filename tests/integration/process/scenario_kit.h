/* SPDX-License-Identifier: Apache-2.0 */
/* What scenarios and the tests that run them share: numbered records, and counting them on arrival. */
#ifndef SPT_SCENARIO_KIT_H
#define SPT_SCENARIO_KIT_H

#include "tests/support/fake_collector.h"

#include <spool/sdk/sdk.h>

/* In a scenario: ends the process with status 99 when a start fails. */
spool_sdk *spt_scenario_start(const spool_options *options);
/* Spans named "<prefix>-span-<n>." and records with the body "<prefix>-log-<n>." */
void spt_scenario_records(const char *prefix, int count);
/* A batch processor with a delay of an hour over an exporter that writes names to standard output. */
spool_processor spt_scenario_file_batch(void);

/* In a test: "OTEL_EXPORTER_OTLP_ENDPOINT=..." of a collector; static, one at a time. */
const char *spt_endpoint_variable(const spt_collector *collector);
/* Checks that each of the numbered records arrived `times` times in all. */
void spt_check_arrived(spt_collector *collector, const char *prefix, int count, size_t times);
/* The same in a text. */
void spt_check_printed(const char *output, const char *prefix, int count, size_t times);

#endif /* SPT_SCENARIO_KIT_H */
