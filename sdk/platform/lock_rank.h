/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes with a rank. A thread takes locks in rising rank: at SP_CHECKS >= 2 whoever takes one of an
 * equal or lower rank than one it holds is told so, with both names, and the process aborts. Below
 * that level an sp_mutex is a pthread mutex and nothing else.
 *
 * docs/internals/locks.md says what each lock guards and why it stands where it does.
 */
#ifndef SPOOL_SDK_PLATFORM_LOCK_RANK_H
#define SPOOL_SDK_PLATFORM_LOCK_RANK_H

#include "sdk/platform/check.h"

#include <pthread.h>

/* In the order in which they may be taken; libspool-export, which calls libspool, has those below. */
enum {
    SP_RANK_LIFECYCLE = 100,
    SP_RANK_FILTERS = 105,
    SP_RANK_SOURCES = 110,
    SP_RANK_SCOPES = 120,
    SP_RANK_THREADS = 130,
    SP_RANK_SHARDS = 140,
    SP_RANK_SHARED_SHARD = 150,
    SP_RANK_BOX_TYPES = 160,
    SP_RANK_COUNTERS = 170
};

typedef struct sp_mutex {
    pthread_mutex_t mutex;
#if SP_CHECKS >= 2
    unsigned rank;
    const char *name;
#endif
} sp_mutex;

#if SP_CHECKS >= 2
#define SP_MUTEX_INIT(rank, name)                                                                  \
    { PTHREAD_MUTEX_INITIALIZER, (rank), (name) }
/* Before the lock is waited for, so that a wrong order shows without a deadlock. */
void sp_rank_taken(const sp_mutex *mutex);
void sp_rank_dropped(const sp_mutex *mutex);
#else
#define SP_MUTEX_INIT(rank, name)                                                                  \
    { PTHREAD_MUTEX_INITIALIZER }
#define sp_rank_taken(mutex) ((void)sizeof(mutex))
#define sp_rank_dropped(mutex) ((void)sizeof(mutex))
#endif

static inline void sp_mutex_lock(sp_mutex *mutex) {
    sp_rank_taken(mutex);
    (void)pthread_mutex_lock(&mutex->mutex);
}

static inline void sp_mutex_unlock(sp_mutex *mutex) {
    (void)pthread_mutex_unlock(&mutex->mutex);
    sp_rank_dropped(mutex);
}

#endif /* SPOOL_SDK_PLATFORM_LOCK_RANK_H */
