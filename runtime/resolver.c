/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver. getaddrinfo() cannot be interrupted, so a look-up may outlive everybody who waits for
 * it; memory is laid out for that.
 *
 * Owners. A look-up belongs to its thread, which frees it; while it runs it is in the table, so that
 * others can join it. A query belongs to the loop thread of its runtime, which frees it. The answer is
 * one counted block, shared by the queries of a look-up.
 *
 * States of a query: WAITING (in the list of its look-up) -> POSTED (its task is on its way to the loop)
 * -> freed by the task. Cancelled while WAITING it leaves the list and is freed at once; cancelled while
 * POSTED it is marked, and its task frees it without a call.
 *
 * Closing. The thread touches a runtime only through a query that is WAITING, under the lock. Since a
 * client cancels its queries before it releases its runtime, no thread can touch a runtime that is gone,
 * however late it ends.
 *
 * The table's lock is a leaf: under it nothing is called but sp_runtime_post(), which is lock-free.
 */
#include "runtime/resolver.h"

#include "sdk/platform/atomics.h"
#include "sdk/platform/fork.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ADDRESSES = 16, ERROR_BYTES = 160 };

enum { QUERY_WAITING, QUERY_POSTED };

typedef struct answer {
    _Atomic uint32_t holders; /* queries that point here, and the thread while it hands it out */
    bool found;
    char error[ERROR_BYTES];
    char addresses[MAX_ADDRESSES * (INET6_ADDRSTRLEN + 1)];
} answer;

typedef struct lookup {
    struct lookup *next;      /* table */
    sp_query *queries;        /* table lock */
    uint32_t fork_generation; /* of the process whose thread works on it */
    char host[];
} lookup;

struct sp_query {
    sp_task task; /* first: the task is the query */
    sp_runtime *runtime;
    void (*done)(void *arg, const sp_query_result *result);
    void *arg;
    /* table lock */
    int state;
    bool cancelled;
    lookup *lookup; /* while WAITING */
    sp_query *next; /* while WAITING */
    answer *answer; /* once POSTED; NULL: the thread had no memory for one */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static lookup *table;

/* Holders give up with acq_rel: the last one must see all reads of the others done before it frees. */
static void answer_release(answer *shared) {
    if (shared && sp_sub_acq_rel(&shared->holders, 1) == 1) {
        free(shared);
    }
}

static bool address_text(const struct addrinfo *info, char *text, size_t size) {
    if (info->ai_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)info->ai_addr;
        return inet_ntop(AF_INET, &v4->sin_addr, text, (socklen_t)size) != NULL;
    }
    if (info->ai_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)info->ai_addr;
        /* Without its scope, which the text cannot carry, a link-local address is of no use. */
        return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
               inet_ntop(AF_INET6, &v6->sin6_addr, text, (socklen_t)size) != NULL;
    }
    return false;
}

static void addresses_join(answer *shared, const struct addrinfo *list) {
    size_t used = 0;
    size_t count = 0;
    for (const struct addrinfo *info = list; info && count < MAX_ADDRESSES; info = info->ai_next) {
        char text[INET6_ADDRSTRLEN];
        if (!address_text(info, text, sizeof text)) {
            continue;
        }
        int written = snprintf(shared->addresses + used, sizeof shared->addresses - used, "%s%s",
                               count ? "," : "", text);
        used += (size_t)written;
        count++;
    }
    shared->found = count > 0;
}

/* Blocks; on the look-up's own thread. Errors of the name service are put into words here. */
static answer *answer_find(const char *host) {
    answer *shared = calloc(1, sizeof *shared);
    if (!shared) {
        return NULL;
    }
    /* Not AI_ADDRCONFIG: it hides ::1 on a machine that has no other IPv6 address. */
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int failure = getaddrinfo(host, NULL, &hints, &list);
    if (failure == 0) {
        addresses_join(shared, list);
        freeaddrinfo(list);
        if (!shared->found) {
            snprintf(shared->error, sizeof shared->error, "%s", "no usable address");
        }
    } else if (failure == EAI_SYSTEM) {
        snprintf(shared->error, sizeof shared->error, "system error %d", errno);
    } else {
        snprintf(shared->error, sizeof shared->error, "%s", gai_strerror(failure));
    }
    return shared;
}

static void table_remove(const lookup *gone) {
    for (lookup **link = &table; *link; link = &(*link)->next) {
        if (*link == gone) {
            *link = gone->next;
            return;
        }
    }
}

static void *lookup_run(void *arg) {
    lookup *self = arg;
    answer *shared = answer_find(self->host);
    if (shared) {
        sp_store_relaxed(&shared->holders, 1); /* published by the posts below */
    }
    pthread_mutex_lock(&table_lock);
    table_remove(self);
    for (sp_query *query = self->queries; query;) {
        sp_query *next = query->next; /* the loop may free the query once it is posted */
        query->state = QUERY_POSTED;
        query->lookup = NULL;
        query->next = NULL;
        query->answer = shared;
        if (shared) {
            sp_add_relaxed(&shared->holders, 1);
        }
        sp_runtime_post(query->runtime, &query->task);
        query = next;
    }
    pthread_mutex_unlock(&table_lock);
    answer_release(shared);
    free(self);
    return NULL;
}

static bool lookup_start(lookup *self) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int failure = pthread_create(&thread, &attributes, lookup_run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failure == 0;
}

/* A look-up of the process we were forked from has no thread here: it is passed over. */
static lookup *table_find(const char *host) {
    for (lookup *entry = table; entry; entry = entry->next) {
        if (entry->fork_generation == sp_fork_generation() && strcmp(entry->host, host) == 0) {
            return entry;
        }
    }
    return NULL;
}

static lookup *table_add(const char *host) {
    size_t size = strlen(host) + 1;
    lookup *entry = calloc(1, sizeof *entry + size);
    if (!entry) {
        return NULL;
    }
    memcpy(entry->host, host, size);
    entry->fork_generation = sp_fork_generation();
    entry->next = table;
    table = entry;
    if (!lookup_start(entry)) {
        table = entry->next;
        free(entry);
        return NULL;
    }
    return entry;
}

static void query_finish(sp_task *task) {
    sp_query *query = (sp_query *)(void *)task;
    /* The lock orders this after the thread's last touch of the query. */
    pthread_mutex_lock(&table_lock);
    bool cancelled = query->cancelled;
    answer *shared = query->answer;
    pthread_mutex_unlock(&table_lock);
    if (!cancelled) {
        sp_query_result result = {.addresses = NULL, .error = "out of memory"};
        if (shared) {
            result.addresses = shared->found ? shared->addresses : NULL;
            result.error = shared->error;
        }
        query->done(query->arg, &result);
    }
    answer_release(shared);
    free(query);
}

sp_query *sp_resolver_ask(sp_runtime *runtime, const char *host,
                          void (*done)(void *arg, const sp_query_result *result), void *arg) {
    sp_query *query = calloc(1, sizeof *query);
    if (!query) {
        return NULL;
    }
    query->task.run = query_finish;
    query->runtime = runtime;
    query->done = done;
    query->arg = arg;
    query->state = QUERY_WAITING;

    /* The new thread cannot end before we let the lock go, so the query is in its list in time. */
    pthread_mutex_lock(&table_lock);
    lookup *entry = table_find(host);
    if (!entry) {
        entry = table_add(host);
    }
    if (entry) {
        query->lookup = entry;
        query->next = entry->queries;
        entry->queries = query;
    }
    pthread_mutex_unlock(&table_lock);
    if (!entry) {
        free(query);
        return NULL;
    }
    return query;
}

void sp_resolver_cancel(sp_query *query) {
    if (!query) {
        return;
    }
    pthread_mutex_lock(&table_lock);
    bool waiting = query->state == QUERY_WAITING;
    if (waiting) {
        sp_query **link = &query->lookup->queries;
        while (*link != query) {
            link = &(*link)->next;
        }
        *link = query->next;
    } else {
        query->cancelled = true;
    }
    pthread_mutex_unlock(&table_lock);
    if (waiting) {
        free(query);
    }
}
