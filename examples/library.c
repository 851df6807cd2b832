/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is instrumented and does not care who listens. It includes <spool/spool.h>, links libspool
 * (libc and threads) and never starts anything: whether there are spans is for main() to say.
 */
#define SPOOL_SCOPE "text"
#define SPOOL_SCOPE_VERSION "2.1.0"

#include "examples/library.h"

#include <spool/spool.h>

#include <string.h>

static const char blank[] = " \t\n";

size_t text_words(const char *text) {
    size_t words = 0;
    SPOOL_SPAN(span, SPOOL_TRACER(), "text_words");
    if (!text) {
        SPOOL_WARN("no text");
        return 0; /* the span ends here as well */
    }
    for (const char *at = text + strspn(text, blank); *at; at += strspn(at, blank)) {
        at += strcspn(at, blank);
        words++;
    }
    spool_span_set(span, spool_int("text.words", (int64_t)words));
    SPOOL_DEBUG("counted", spool_int("text.length", (int64_t)strlen(text)));
    return words;
}
