/* SPDX-License-Identifier: Apache-2.0 */
/* A program without an SDK: it uses the library, links libspool with it, and nothing is recorded. */
#include "examples/library.h"

#include <stdio.h>

int main(void) {
    printf("%zu words\n", text_words("spools of thread"));
    printf("%zu words\n", text_words(NULL));
    return 0;
}
