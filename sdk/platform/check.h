/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal checks. SP_CHECKS is 0 (off), 1 (cheap) or 2 (expensive too). The level is a constant that
 * code may ask for. Off, the expression is still type-checked, never evaluated: it must be free of side
 * effects, since a build without checks has to behave the same.
 */
#ifndef SPOOL_SDK_PLATFORM_CHECK_H
#define SPOOL_SDK_PLATFORM_CHECK_H

#include "sdk/platform/compiler.h"

#ifndef SP_CHECKS
#define SP_CHECKS 0
#endif

enum { SP_CHECK_LEVEL = SP_CHECKS };

/* Prints the place and the expression on descriptor 2 and aborts. */
_Noreturn void sp_check_failed(const char *expression, const char *file, int line)
    SP_SHARED("check_failed");

#if SP_CHECKS >= 1
#define SP_CHECK(expression)                                                                       \
    ((expression) ? (void)0 : sp_check_failed(#expression, __FILE__, __LINE__))
#else
#define SP_CHECK(expression) ((void)sizeof(!(expression)))
#endif
#if SP_CHECKS >= 2
#define SP_CHECK_SLOW(expression) SP_CHECK(expression)
#else
#define SP_CHECK_SLOW(expression) ((void)sizeof(!(expression)))
#endif

#endif /* SPOOL_SDK_PLATFORM_CHECK_H */
