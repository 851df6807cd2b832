/* SPDX-License-Identifier: Apache-2.0 */
/* One request's headers, in and out, as the conformance tests need them. */
#ifndef SPT_W3C_CARRIER_H
#define SPT_W3C_CARRIER_H

#include <spool/baggage.h>
#include <spool/propagation.h>

#define W3C_TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define W3C_SPAN "00f067aa0ba902b7"
#define W3C_PARENT "00-" W3C_TRACE "-" W3C_SPAN "-01"

/* What extracting these header lines on an empty context gives. */
spool_context extracted(const spool_header *headers, size_t count);
/* One line of one header. */
spool_context extracted_one(spool_str name, spool_str value);
/* The value that injecting the context writes under the name, in static storage; NULL: none. */
const char *injected(const spool_context *context, const char *name);

#endif /* SPT_W3C_CARRIER_H */
