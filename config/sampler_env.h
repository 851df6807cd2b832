/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_TRACES_SAMPLER and its argument (EV-13, EV-14), OTEL_PROPAGATORS (EV-12), OTEL_LOG_LEVEL. */
#ifndef SPOOL_CONFIG_SAMPLER_ENV_H
#define SPOOL_CONFIG_SAMPLER_ENV_H

#include <spool/sdk/sampler.h>

/* ops NULL: unset, the SDK's default. */
spool_status sp_sampler_from_env(spool_sampler *out_sampler);
/* Set the process's propagators and diagnostic level, where the variables say so. */
void sp_propagators_from_env(void);
void sp_log_level_from_env(void);

#endif /* SPOOL_CONFIG_SAMPLER_ENV_H */
