/* SPDX-License-Identifier: Apache-2.0 */
/* The resource that the environment describes (RE-06, EV-08, EV-09). */
#ifndef SPOOL_CONFIG_RESOURCE_ENV_H
#define SPOOL_CONFIG_RESOURCE_ENV_H

#include <spool/sdk/resource.h>

/*
 * OTEL_RESOURCE_ATTRIBUTES (one bad pair voids the whole, with a warning) and OTEL_SERVICE_NAME, which
 * wins. With `use_env` false: the empty resource. Release what is returned.
 */
spool_status sp_resource_from_env(bool use_env, spool_resource **out_resource);

#endif /* SPOOL_CONFIG_RESOURCE_ENV_H */
