/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding, as in W3C baggage: "%41" is "A", and "+" is itself. */
#ifndef SPOOL_SDK_PLATFORM_PERCENT_H
#define SPOOL_SDK_PLATFORM_PERCENT_H

#include "sdk/platform/compiler.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * `to` has room for `len` bytes and may be `text`. What is no escape stays as it is. *out_len is the
 * length of the result. False when a '%' did not begin an escape: the caller decides what that means.
 */
bool sp_percent_decode(const char *text, size_t len, char *to, size_t *out_len)
    SP_SHARED("percent_decode");

/* The value of a hex digit of either case, or -1. */
int sp_hex_digit(char digit) SP_SHARED("hex_digit");

#endif /* SPOOL_SDK_PLATFORM_PERCENT_H */
