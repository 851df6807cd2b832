/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding, as in W3C baggage: '+' is itself. */
#ifndef SPOOL_CONFIG_PERCENT_H
#define SPOOL_CONFIG_PERCENT_H

#include <spool/value.h>

/* Decodes in place; false when an escape is not complete or not hex. *len becomes the new length. */
bool sp_env_percent_decode(char *text, size_t *len);

#endif /* SPOOL_CONFIG_PERCENT_H */
