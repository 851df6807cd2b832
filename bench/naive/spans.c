/* SPDX-License-Identifier: Apache-2.0 */
/* Spans the naive way: one table, one lock, an allocation for everything. See naive.h. */
#include "bench/naive/naive.h"
#include "bench/rows/format_processor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUCKETS = 4096, EXTENSION_BUCKETS = 8, SCOPE_DEPTH = 64, LINE_BYTES = 1024 };

typedef struct extension {
    struct extension *next;
    unsigned type;
    void *value;
} extension;

typedef struct span {
    struct span *next;
    uint64_t id;
    uint64_t parent;
    unsigned references;
    char *text;
    extension **extensions; /* a table, made on first use */
} span;

typedef struct entered {
    struct entered *below;
    uint64_t id;
} entered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static span *buckets[BUCKETS];
static uint64_t last_id;
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void stack_key_make(void) {
    (void)pthread_key_create(&stack_key, NULL);
}

static void *allocated(void *memory) {
    if (!memory) {
        abort();
    }
    return memory;
}

static span **place_of(uint64_t id) {
    span **at = &buckets[id * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    while (*at && (*at)->id != id) {
        at = &(*at)->next;
    }
    return at;
}

static entered *stack_top(void) {
    (void)pthread_once(&stack_once, stack_key_make);
    return pthread_getspecific(stack_key);
}

uint64_t naive_span_new(const char *text, uint64_t parent) {
    span *made = allocated(calloc(1, sizeof *made));
    made->text = allocated(strdup(text));
    made->references = 1;
    made->parent = parent;
    (void)pthread_mutex_lock(&lock);
    made->id = ++last_id;
    *place_of(made->id) = made;
    if (parent) {
        (*place_of(parent))->references++;
    }
    (void)pthread_mutex_unlock(&lock);
    return made->id;
}

static void span_free(span *dead) {
    for (unsigned i = 0; dead->extensions && i < EXTENSION_BUCKETS; i++) {
        extension *at = dead->extensions[i];
        while (at) {
            extension *next = at->next;
            free(at->value);
            free(at);
            at = next;
        }
    }
    free(dead->extensions);
    free(dead->text);
    free(dead);
}

void naive_span_drop(uint64_t id) {
    while (id) {
        (void)pthread_mutex_lock(&lock);
        span **place = place_of(id);
        span *found = *place;
        bool last = --found->references == 0;
        if (last) {
            *place = found->next;
        }
        (void)pthread_mutex_unlock(&lock);
        if (!last) {
            return;
        }
        id = found->parent;
        span_free(found);
    }
}

void *naive_span_extension(uint64_t id, unsigned type, size_t size) {
    (void)pthread_mutex_lock(&lock);
    span *found = *place_of(id);
    if (!found->extensions) {
        found->extensions = allocated(calloc(EXTENSION_BUCKETS, sizeof *found->extensions));
    }
    extension **at = &found->extensions[type * 2654435761U >> 29];
    while (*at && (*at)->type != type) {
        at = &(*at)->next;
    }
    if (!*at) {
        *at = allocated(calloc(1, sizeof **at));
        (*at)->type = type;
        (*at)->value = allocated(calloc(1, size));
    }
    void *value = (*at)->value;
    (void)pthread_mutex_unlock(&lock);
    return value;
}

void naive_span_enter(uint64_t id) {
    entered *top = allocated(malloc(sizeof *top));
    top->id = id;
    top->below = stack_top();
    (void)pthread_mutex_lock(&lock);
    (*place_of(id))->references++;
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_setspecific(stack_key, top);
}

void naive_span_exit(void) {
    entered *top = stack_top();
    (void)pthread_setspecific(stack_key, top->below);
    naive_span_drop(top->id);
    free(top);
}

/* The texts of the scope, root first. */
static size_t scope_put(char *to, size_t room, uint64_t id) {
    const span *chain[SCOPE_DEPTH];
    unsigned depth = 0;
    size_t used = 0;
    (void)pthread_mutex_lock(&lock);
    while (id && depth < SCOPE_DEPTH) {
        chain[depth] = *place_of(id);
        id = chain[depth]->parent;
        depth++;
    }
    while (depth-- && used < room) {
        used += (size_t)snprintf(to + used, room - used, "%s", chain[depth]->text);
    }
    (void)pthread_mutex_unlock(&lock);
    return used < room ? used : room - 1;
}

void naive_event(const char *target, int64_t value) {
    struct timespec now;
    struct tm parts;
    char scope[LINE_BYTES / 2] = "";
    entered *top = stack_top();
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    if (top) {
        (void)scope_put(scope, sizeof scope, top->id);
    }
    char *line = allocated(malloc(LINE_BYTES));
    size_t len = strftime(line, LINE_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    len += (size_t)snprintf(line + len, LINE_BYTES - len, ".%06ldZ %5s %s%s%s: n=%" PRId64 "\n",
                            now.tv_nsec / 1000, "INFO", scope, top ? " " : "", target, value);
    bench_discard(line, len < LINE_BYTES ? len : LINE_BYTES - 1);
    free(line);
}
