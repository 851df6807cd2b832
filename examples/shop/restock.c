/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See restock.h. The list of causes and `stopping` are under `lock`; `changed` is signalled when an urgent
 * cause came or the thread shall end. A cause holds a context (a counted reference) rather than a span: the
 * order's span has ended long before the job begins, and its ids and trace state must outlive it.
 */
#define SPOOL_SCOPE "shop.restock"

#include "examples/shop/restock.h"

#include "examples/shop/pause.h"

#include <spool/semconv/db.h>
#include <spool/spool.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CAUSES_MAX = 64, ARTICLE_SIZE = 64, REFILL = 10, SUPPLIER_MS = 100 };

typedef struct cause {
    char article[ARTICLE_SIZE];
    int64_t quantity;
    bool urgent;
    spool_context order;
} cause;

struct restock {
    const database *db;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    cause causes[CAUSES_MAX];
    size_t cause_count;
    bool stopping;
};

/* Moves the article's causes out of the list; under the lock. */
static size_t causes_take(restock *job, const char *article, cause *out_causes) {
    size_t taken = 0;
    size_t kept = 0;
    for (size_t i = 0; i < job->cause_count; i++) {
        if (strcmp(job->causes[i].article, article) == 0) {
            out_causes[taken++] = job->causes[i];
        } else {
            job->causes[kept++] = job->causes[i];
        }
    }
    job->cause_count = kept;
    return taken;
}

/* The article of the first urgent cause, or NULL; under the lock. */
static const char *article_wanted(const restock *job) {
    for (size_t i = 0; i < job->cause_count; i++) {
        if (job->causes[i].urgent) {
            return job->causes[i].article;
        }
    }
    return NULL;
}

static void refill(restock *job, const char *article, const cause *causes, size_t count) {
    spool_link links[CAUSES_MAX];
    spool_attr link_attrs[CAUSES_MAX];
    for (size_t i = 0; i < count; i++) {
        link_attrs[i] = spool_int("shop.order.quantity", causes[i].quantity);
        links[i].context = causes[i].order.span;
        links[i].trace_state = spool_context_trace_state(&causes[i].order);
        links[i].attrs = &link_attrs[i];
        links[i].attr_count = 1;
    }
    const spool_attr attrs[] = {
        spool_string("shop.article.id", article),
        spool_int("shop.restock.quantity", REFILL),
        spool_int("shop.restock.cause_count", (int64_t)count),
    };
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.root = 1;
    options.attrs = attrs;
    options.attr_count = sizeof attrs / sizeof attrs[0];
    options.links = links;
    options.link_count = count;
    SPOOL_SPAN_WITH(span, SPOOL_TRACER(), "restock", &options);

    SPOOL_INFO("asking the supplier", attrs[0], attrs[1]);
    pause_ms(SUPPLIER_MS);
    spool_span_event(span, "shop.delivery", attrs, 2);
    static const database_statement update = {
        "UPDATE", "articles", "UPDATE articles SET quantity = quantity + ? WHERE id = ?"};
    const database_value values[] = {{NULL, REFILL}, {article, 0}};
    int code = database_run(job->db, &update, values, 2, NULL, NULL);
    if (code == SQLITE_OK) {
        SPOOL_INFO("restocked", attrs[0], attrs[1]);
    } else {
        spool_span_status(span, SPOOL_STATUS_ERROR, "the delivery could not be booked");
        SPOOL_ERROR("the delivery could not be booked", attrs[0]);
    }
}

static void *run(void *arg) {
    restock *job = arg;
    cause causes[CAUSES_MAX];
    char article[ARTICLE_SIZE];
    pthread_mutex_lock(&job->lock);
    while (!job->stopping) {
        const char *wanted = article_wanted(job);
        if (!wanted) {
            pthread_cond_wait(&job->changed, &job->lock);
            continue;
        }
        memcpy(article, wanted, sizeof article);
        size_t count = causes_take(job, article, causes);
        pthread_mutex_unlock(&job->lock);
        refill(job, article, causes, count);
        for (size_t i = 0; i < count; i++) {
            spool_context_release(&causes[i].order);
        }
        pthread_mutex_lock(&job->lock);
    }
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

void restock_note(restock *job, const char *article, int64_t quantity, bool urgent) {
    pthread_mutex_lock(&job->lock);
    if (job->cause_count < CAUSES_MAX && strlen(article) < ARTICLE_SIZE) {
        cause *last = &job->causes[job->cause_count++];
        memcpy(last->article, article, strlen(article) + 1);
        last->quantity = quantity;
        last->order = spool_context_capture();
        last->urgent = urgent;
        if (urgent) {
            pthread_cond_signal(&job->changed);
        }
    }
    pthread_mutex_unlock(&job->lock);
}

restock *restock_start(const database *db) {
    restock *job = calloc(1, sizeof *job);
    if (!job) {
        return NULL;
    }
    job->db = db;
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->changed, NULL);
    if (pthread_create(&job->thread, NULL, run, job) != 0) {
        pthread_cond_destroy(&job->changed);
        pthread_mutex_destroy(&job->lock);
        free(job);
        return NULL;
    }
    return job;
}

void restock_stop(restock *job) {
    if (!job) {
        return;
    }
    pthread_mutex_lock(&job->lock);
    job->stopping = true;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    pthread_join(job->thread, NULL);
    for (size_t i = 0; i < job->cause_count; i++) {
        spool_context_release(&job->causes[i].order);
    }
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job);
}
