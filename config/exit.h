/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to running SDKs when the process exits. */
#ifndef SPOOL_CONFIG_EXIT_H
#define SPOOL_CONFIG_EXIT_H

#include <spool/sdk/provider.h>

/*
 * At exit() the SDK, if it is still alive, is flushed and shut down within `budget_ms`; several share the
 * largest budget. `network`: its exporters use libcurl and TLS, which are initialised already. False: too
 * many, or no handler could be registered.
 */
bool sp_exit_add(spool_sdk *sdk, uint32_t budget_ms, bool network);

#endif /* SPOOL_CONFIG_EXIT_H */
