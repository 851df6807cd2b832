/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URL that an OTLP exporter posts to: checked, brought into one form, and parted from its secrets.
 *
 *   scheme     http or https in any case; must be there
 *   user info  percent-decoded, sent as basic authorization; not part of the URL any more
 *   host       a name (letters, digits, "-", ".", "_"), an IPv4 address, or an IPv6 address in brackets
 *   port       1 to 65535; absent: 80 or 443
 *   path       kept as it is; empty becomes "/"
 *   query      kept as it is (a receiver may want its key there), not printed
 *   fragment   refused: it is never sent, so it is a mistake
 *   all        visible ASCII characters, at most 4096
 */
#ifndef SPOOL_EXPORTERS_OTLP_ENDPOINT_H
#define SPOOL_EXPORTERS_OTLP_ENDPOINT_H

#include <stdbool.h>

typedef struct sp_endpoint {
    char *url;           /* what is connected to, without user information */
    char *printable;     /* the same without its query */
    char *authorization; /* header line "Authorization: Basic ...", or NULL */
} sp_endpoint;

/*
 * *out is set on success alone; release it with sp_endpoint_fini(). On failure *out_reason says in words
 * what is wrong (static storage; NULL: no memory).
 */
bool sp_endpoint_parse(const char *text, sp_endpoint *out, const char **out_reason);
void sp_endpoint_fini(sp_endpoint *endpoint);

/* A wrong URL for a diagnostic: user information and query hidden, cut. `size` is at least 16. */
void sp_endpoint_hide_secrets(const char *text, char *out, unsigned size);

#endif /* SPOOL_EXPORTERS_OTLP_ENDPOINT_H */
