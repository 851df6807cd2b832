/* SPDX-License-Identifier: Apache-2.0 */
/* An SDK of a test: a simple processor and a memory exporter, and the two balances. */
#ifndef SPT_PIPELINE_H
#define SPT_PIPELINE_H

#include <spool/sdk/sdk.h>

#include <stdbool.h>

typedef struct spt_pipeline {
    spool_sdk *sdk;
    spool_memory_store *store;
} spt_pipeline;

/* The default SDK, with `options` (NULL: defaults) but for its processors. False: it failed. */
bool spt_pipeline_open(spt_pipeline *pipeline, const spool_sdk_options *options);
/* Shuts down, checks the balances, frees. False: a balance did not hold. */
bool spt_pipeline_close(spt_pipeline *pipeline);

/* Whether both balances hold; what does not is printed. */
bool spt_balanced(spool_sdk *sdk);
struct spool_stats spt_stats(spool_sdk *sdk);

/* The attribute with this key, or NULL. */
const spool_value *spt_attr(const spool_attr *attrs, size_t count, const char *key);
bool spt_text_is(spool_str text, const char *expected);

#endif /* SPT_PIPELINE_H */
