/* SPDX-License-Identifier: Apache-2.0 */
/* A pause of the calling thread that signals do not shorten. */
#ifndef SPOOL_EXAMPLES_SHOP_PAUSE_H
#define SPOOL_EXAMPLES_SHOP_PAUSE_H

#include <time.h>

static inline void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) {
    }
}

#endif /* SPOOL_EXAMPLES_SHOP_PAUSE_H */
