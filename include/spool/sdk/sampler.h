/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in samplers (specification: trace/sdk "Built-in samplers"). */
#ifndef SPOOL_SDK_SAMPLER_H
#define SPOOL_SDK_SAMPLER_H

#include <spool/ext/sampler.h>
#include <spool/status.h>

SPOOL_BEGIN_DECLS

/* "AlwaysOnSampler", "AlwaysOffSampler" (SA-05). They need no memory and no destroy. */
SPOOL_API spool_sampler spool_sampler_always_on(void);
SPOOL_API spool_sampler spool_sampler_always_off(void);

/*
 * "TraceIdRatioBased{RATIO}" (SA-06): samples by the low 56 bits of the trace id, so a larger ratio
 * samples a superset. Meant for roots: use it as the root of a parent-based sampler. A ratio that is
 * not in 0..1 is SPOOL_ERR_INVALID.
 */
SPOOL_API SPOOL_MUST_USE spool_status spool_sampler_ratio(double ratio, spool_sampler *out_sampler);

/*
 * Decides by the parent, and by `root` for roots (SA-12). Slots with ops NULL take the default: remote
 * and local parent sampled: always on; not sampled: always off; root: always on. The samplers are
 * consumed on success, still the caller's on failure.
 */
typedef struct spool_parent_based_options {
    size_t struct_size;
    spool_sampler root;
    spool_sampler remote_sampled;
    spool_sampler remote_not_sampled;
    spool_sampler local_sampled;
    spool_sampler local_not_sampled;
} spool_parent_based_options;

#define SPOOL_PARENT_BASED_OPTIONS_INIT                                                            \
    {                                                                                              \
        sizeof(spool_parent_based_options), {NULL, NULL}, {NULL, NULL}, {NULL, NULL},              \
            {NULL, NULL}, {                                                                        \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
SPOOL_API void spool_parent_based_options_init(spool_parent_based_options *options);
SPOOL_API SPOOL_MUST_USE spool_status
spool_sampler_parent_based(const spool_parent_based_options *options, spool_sampler *out_sampler);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_SAMPLER_H */
