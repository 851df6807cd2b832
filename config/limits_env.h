/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that the environment sets (EV-17 to EV-23); LI-07 gives the order of look-up. */
#ifndef SPOOL_CONFIG_LIMITS_ENV_H
#define SPOOL_CONFIG_LIMITS_ENV_H

#include <spool/sdk/provider.h>

/* `limits` holds the defaults; what the environment says is written over them. */
void sp_limits_from_env(spool_limits *limits);

#endif /* SPOOL_CONFIG_LIMITS_ENV_H */
