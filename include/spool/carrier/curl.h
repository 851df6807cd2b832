/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A `struct curl_slist *` as a carrier to inject into: the carrier argument is the address of the list
 * pointer. Everything is inline, so that libspool itself needs no libcurl.
 *
 *     struct curl_slist *headers = NULL;
 *     spool_inject(NULL, &spool_curl_setter, &headers);
 *     curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
 */
#ifndef SPOOL_CARRIER_CURL_H
#define SPOOL_CARRIER_CURL_H

#include <spool/propagation.h>

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

SPOOL_BEGIN_DECLS

/* Without memory the header is left out; the list stays as it was. */
static inline void spool_curl_set(void *carrier, spool_str name, spool_str value) {
    struct curl_slist **list = (struct curl_slist **)carrier;
    char *line = (char *)malloc(name.len + value.len + 3);
    if (!line) {
        return;
    }
    memcpy(line, name.ptr, name.len);
    memcpy(line + name.len, ": ", 2);
    if (value.len) {
        memcpy(line + name.len + 2, value.ptr, value.len);
    }
    line[name.len + 2 + value.len] = '\0';
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer) {
        *list = longer;
    }
    free(line);
}

static const spool_setter spool_curl_setter SPOOL_UNUSED = {spool_curl_set};

SPOOL_END_DECLS
#endif /* SPOOL_CARRIER_CURL_H */
