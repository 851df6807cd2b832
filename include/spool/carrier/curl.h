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

/* True for a line "name: ..." or "name:" or "name;", compared without case. */
static inline int spool_curl_is(const char *line, spool_str name) {
    size_t i = 0;
    for (; i < name.len && line[i]; i++) {
        char a = line[i];
        char b = name.ptr[i];
        if (a != b && ((a ^ b) != 0x20 || (a | 0x20) < 'a' || (a | 0x20) > 'z')) {
            return 0;
        }
    }
    return i == name.len && (line[i] == ':' || line[i] == ';');
}

/* The list without that header; as it was, if memory runs out. */
static inline struct curl_slist *spool_curl_without(struct curl_slist *list, spool_str name) {
    struct curl_slist *kept = NULL;
    struct curl_slist *at = list;
    while (at && !spool_curl_is(at->data, name)) {
        at = at->next;
    }
    if (!at) {
        return list;
    }
    for (at = list; at; at = at->next) {
        struct curl_slist *longer =
            spool_curl_is(at->data, name) ? kept : curl_slist_append(kept, at->data);
        if (!longer && !spool_curl_is(at->data, name)) {
            curl_slist_free_all(kept);
            return list;
        }
        kept = longer;
    }
    curl_slist_free_all(list);
    return kept;
}

/* A header of that name is replaced. Without memory the new one is left out. */
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
    *list = spool_curl_without(*list, name);
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer) {
        *list = longer;
    }
    free(line);
}

static const spool_setter spool_curl_setter SPOOL_UNUSED = {spool_curl_set};

SPOOL_END_DECLS
#endif /* SPOOL_CARRIER_CURL_H */
