/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed reading of environment variables (specification: sdk-environment-variables, configuration/common).
 * An empty value is an unset one. A value that cannot be used is named in one diagnostic, once a process
 * and variable, and the reader behaves as if it were unset.
 */
#ifndef SPOOL_CONFIG_ENVIRONMENT_H
#define SPOOL_CONFIG_ENVIRONMENT_H

#include <spool/value.h>

#include <stdbool.h>
#include <stdint.h>

/* The value, or NULL when it is unset or empty. Borrowed from the environment. */
const char *sp_env_text(const char *name);
/* `true` in any case is true; anything but true and false warns and is false (EV-02). */
bool sp_env_bool(const char *name);
/*
 * Decimal digits alone, from `least` to 2^31-1 (EV-03). False: unset or not usable, *out untouched.
 */
bool sp_env_number(const char *name, uint32_t least, uint32_t *out);
/* A decimal fraction 0..1 (EV-14), whatever the locale. */
bool sp_env_ratio(const char *name, double *out);
/* Says that a variable's value is not usable, once for each variable. `value` NULL: it is a secret. */
void sp_env_warn(const char *name, const char *value, const char *why);

/* Steps through a comma list: trims spaces; false at the end. */
bool sp_env_next_item(const char **rest, spool_str *out_item);
/* Compares an item with a word without case. */
bool sp_env_is(spool_str item, const char *word);

#endif /* SPOOL_CONFIG_ENVIRONMENT_H */
