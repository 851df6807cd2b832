/* SPDX-License-Identifier: Apache-2.0 */
/* Telling whether an SDK that was seen before still exists, without touching its memory. */
#ifndef SPOOL_SDK_SUBSCRIBER_LIFE_H
#define SPOOL_SDK_SUBSCRIBER_LIFE_H

#include "sdk/platform/compiler.h"

#include <spool/sdk/provider.h>

/* Of a living SDK: the number that tells it from all others, also from one at the same address. */
uint32_t sp_sdk_epoch(const spool_sdk *sdk) SP_SHARED("sdk_epoch");
bool sp_sdk_is_alive(const spool_sdk *sdk, uint32_t epoch) SP_SHARED("sdk_is_alive");

#endif /* SPOOL_SDK_SUBSCRIBER_LIFE_H */
