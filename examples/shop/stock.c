/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shop-stock: knows what is on the shelves.
 *
 *   GET  /articles/{id}                          name, price, quantity
 *   POST /articles/{id}/reservations?quantity=N  takes N from the shelf: 404, 409 when there is less
 *   POST /stocktaking?hold_ms=N                  counts everything, with the database locked meanwhile
 *
 * With the database locked by somebody else, everything answers 503.
 */
#define SPOOL_SCOPE "shop.stock"

#include "examples/shop/database.h"
#include "examples/shop/http_server.h"
#include "examples/shop/pause.h"
#include "examples/shop/restock.h"
#include "examples/shop/service.h"

#include <spool/semconv/db.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS = 64, LOW_QUANTITY = 2, QUANTITY_MAX = 100, HOLD_MAX_MS = 5000 };

typedef struct stock {
    database db;
    restock *restock;
} stock;

typedef struct article {
    char name[64];
    double price;
    int64_t quantity;
    bool found;
} article;

static const database_statement begin_write = {"BEGIN", NULL, "BEGIN IMMEDIATE"};
static const database_statement begin_alone = {"BEGIN", NULL, "BEGIN EXCLUSIVE"};
static const database_statement commit = {"COMMIT", NULL, "COMMIT"};
static const database_statement rollback = {"ROLLBACK", NULL, "ROLLBACK"};

static int run(stock *self, const database_statement *statement) {
    return database_run(&self->db, statement, NULL, 0, NULL, NULL);
}

/* ---- the database ---- */

static bool tables_prepare(stock *self) {
    static const database_statement statements[] = {
        {"CREATE TABLE", "articles",
         "CREATE TABLE IF NOT EXISTS articles"
         " (id TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, quantity INTEGER NOT "
         "NULL)"},
        {"CREATE TABLE", "reservations",
         "CREATE TABLE IF NOT EXISTS reservations"
         " (number INTEGER PRIMARY KEY, article TEXT NOT NULL, quantity INTEGER NOT NULL)"},
        {"INSERT", "articles",
         "INSERT OR IGNORE INTO articles VALUES"
         " ('1', 'bobbin of cotton', 2.5, 40), ('2', 'bobbin of silk', 7.25, 5),"
         " ('3', 'thimble', 1.2, 12), ('4', 'spool rack', 34.9, 1)"},
    };
    SPOOL_SPAN(span, SPOOL_TRACER(), "prepare tables");
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        if (run(self, &statements[i]) != SQLITE_OK) {
            spool_span_status(span, SPOOL_STATUS_ERROR, "the tables cannot be made");
            return false;
        }
    }
    return true;
}

static void article_read(void *arg, sqlite3_stmt *row) {
    article *found = arg;
    (void)snprintf(found->name, sizeof found->name, "%s",
                   (const char *)sqlite3_column_text(row, 0));
    found->price = sqlite3_column_double(row, 1);
    found->quantity = sqlite3_column_int64(row, 2);
    found->found = true;
}

static int article_find(stock *self, const char *id, article *out_article) {
    static const database_statement select = {
        "SELECT", "articles", "SELECT name, price, quantity FROM articles WHERE id = ?"};
    const database_value values[] = {{id, 0}};
    memset(out_article, 0, sizeof *out_article);
    return database_run(&self->db, &select, values, 1, article_read, out_article);
}

/* ---- answers ---- */

static void answer_failure(http_response *response, int code) {
    if (code == SQLITE_BUSY) {
        http_response_error(response, 503, "the stock is being counted");
        response->retry_after_s = 1;
    } else {
        http_response_error(response, 500, "the database failed");
    }
}

static void answer_unknown(http_response *response, const char *id) {
    const spool_attr attrs[] = {spool_string("shop.article.id", id)};
    spool_span_event(spool_span_current(), "shop.article_unknown", attrs, 1);
    SPOOL_WARN("no such article", attrs[0]);
    http_response_error(response, 404, "there is no such article");
}

static void answer_article(http_response *response, const article *found) {
    (void)snprintf(response->body, sizeof response->body,
                   "{\"name\": \"%s\", \"price\": %.2f, \"quantity\": %" PRId64 "}\n", found->name,
                   found->price, found->quantity);
}

/* The customer's tier comes as baggage from the service that knows the customer. */
static void tier_note(const http_request *request) {
    spool_str tier;
    if (spool_baggage_get(spool_context_baggage(&request->context), "shop.customer.tier", &tier)) {
        spool_span_set(spool_span_current(), spool_string_n(SPOOL_STR("shop.customer.tier"), tier));
    }
}

/* ---- handlers ---- */

static void article_show(void *owner, http_request *request, http_response *response) {
    article found;
    tier_note(request);
    int code = article_find(owner, request->parameter, &found);
    if (code != SQLITE_OK) {
        answer_failure(response, code);
    } else if (!found.found) {
        answer_unknown(response, request->parameter);
    } else {
        SPOOL_DEBUG("article found", spool_string("shop.article.id", request->parameter),
                    spool_bool("shop.article.available", found.quantity > 0),
                    spool_double("shop.article.price", found.price));
        answer_article(response, &found);
    }
}

/* Inside the transaction. Answers, and returns whether to commit. */
static bool reserve(stock *self, const char *id, int64_t quantity, http_response *response) {
    static const database_statement update = {
        "UPDATE", "articles", "UPDATE articles SET quantity = quantity - ? WHERE id = ?"};
    static const database_statement insert = {
        "INSERT", "reservations", "INSERT INTO reservations (article, quantity) VALUES (?, ?)"};
    article found;
    int code = article_find(self, id, &found);
    if (code == SQLITE_OK && !found.found) {
        answer_unknown(response, id);
        return false;
    }
    if (code == SQLITE_OK && found.quantity < quantity) {
        const spool_attr attrs[] = {
            spool_string("shop.article.id", id),
            spool_int("shop.order.quantity", quantity),
            spool_int("shop.article.quantity", found.quantity),
        };
        spool_span_event(spool_span_current(), "shop.out_of_stock", attrs, 3);
        SPOOL_WARN("out of stock", attrs[0], attrs[1], attrs[2]);
        restock_note(self->restock, id, quantity, true);
        http_response_error(response, 409, "out of stock");
        return false;
    }
    if (code == SQLITE_OK) {
        const database_value values[] = {{NULL, quantity}, {id, 0}};
        code = database_run(&self->db, &update, values, 2, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        const database_value values[] = {{id, 0}, {NULL, quantity}};
        code = database_run(&self->db, &insert, values, 2, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        answer_failure(response, code);
        return false;
    }
    found.quantity -= quantity;
    answer_article(response, &found);
    restock_note(self->restock, id, quantity, found.quantity < LOW_QUANTITY);
    return true;
}

static void article_reserve(void *owner, http_request *request, http_response *response) {
    stock *self = owner;
    long quantity = strtol(http_request_argument(request, "quantity", "1"), NULL, 10);
    tier_note(request);
    if (quantity < 1 || quantity > QUANTITY_MAX) {
        http_response_error(response, 400, "quantity is not from 1 to 100");
        return;
    }
    int code = run(self, &begin_write);
    if (code != SQLITE_OK) {
        answer_failure(response, code);
        return;
    }
    if (!reserve(self, request->parameter, quantity, response)) {
        (void)run(self, &rollback);
        return;
    }
    code = run(self, &commit);
    if (code != SQLITE_OK) {
        (void)run(self, &rollback);
        answer_failure(response, code);
        return;
    }
    SPOOL_INFO("reserved", spool_string("shop.article.id", request->parameter),
               spool_int("shop.order.quantity", quantity));
}

static void number_read(void *arg, sqlite3_stmt *row) {
    *(int64_t *)arg = sqlite3_column_int64(row, 0);
}

static void stock_take(void *owner, http_request *request, http_response *response) {
    static const database_statement sum = {"SELECT", "articles",
                                           "SELECT sum(quantity) FROM articles"};
    stock *self = owner;
    int64_t pieces = 0;
    long hold_ms = strtol(http_request_argument(request, "hold_ms", "0"), NULL, 10);
    tier_note(request);
    int code = run(self, &begin_alone);
    if (code != SQLITE_OK) {
        answer_failure(response, code);
        return;
    }
    SPOOL_INFO("counting begins", spool_int("shop.stocktaking.hold_ms", hold_ms));
    code = database_run(&self->db, &sum, NULL, 0, number_read, &pieces);
    {
        SPOOL_SPAN(span, SPOOL_TRACER(), "count shelves",
                   spool_int("shop.stocktaking.hold_ms", hold_ms));
        pause_ms(hold_ms < 0 ? 0 : hold_ms > HOLD_MAX_MS ? HOLD_MAX_MS : hold_ms);
    }
    (void)run(self, &rollback);
    if (code != SQLITE_OK) {
        answer_failure(response, code);
        return;
    }
    (void)snprintf(response->body, sizeof response->body, "{\"pieces\": %" PRId64 "}\n", pieces);
}

static const http_route routes[] = {
    {"GET", "/articles/{id}", article_show},
    {"POST", "/articles/{id}/reservations", article_reserve},
    {"POST", "/stocktaking", stock_take},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv) {
    service life = {.name = "shop-stock", .own_option = "database"};
    stock self = {{NULL}, NULL};
    http_server *server = NULL;
    if (!service_start(&life, argc, argv)) {
        return EXIT_FAILURE;
    }
    self.db.file = life.own_value;
    bool good = tables_prepare(&self);
    database_close();
    if (good) {
        self.restock = restock_start(&self.db);
        server = self.restock ? http_server_start(routes, &self, life.port, CONNECTIONS) : NULL;
    }
    if (server) {
        service_wait(http_server_port(server));
    } else {
        fprintf(stderr, "%s: cannot use %s or listen on port %u\n", life.name, self.db.file,
                (unsigned)life.port);
    }
    http_server_stop(server);
    restock_stop(self.restock);
    service_end(&life);
    return server ? EXIT_SUCCESS : EXIT_FAILURE;
}
