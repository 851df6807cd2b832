/* SPDX-License-Identifier: Apache-2.0 */
/* A library's public header: that the library is instrumented cannot be seen from here. */
#ifndef SPOOL_EXAMPLES_LIBRARY_H
#define SPOOL_EXAMPLES_LIBRARY_H

#include <stddef.h>

/* The number of words in the text; NULL has none. */
size_t text_words(const char *text);

#endif /* SPOOL_EXAMPLES_LIBRARY_H */
