/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shop-front: what customers talk to; it asks shop-stock.
 *
 *   GET  /articles/{id}
 *   POST /orders?article=ID&quantity=N
 *   POST /stocktaking?hold_ms=N
 *
 * The header X-Customer-Tier (standard, silver, gold) becomes baggage, which every service that works on
 * the request can read.
 */
#define SPOOL_SCOPE "shop.front"

#include "examples/shop/http_call.h"
#include "examples/shop/http_server.h"
#include "examples/shop/service.h"

#include <spool/semconv/http.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS = 64, HOLD_MAX_MS = 5000 };

typedef struct front {
    http_peer stock;
} front;

static const char *tier_of(const http_request *request) {
    static const char *const tiers[] = {"silver", "gold"};
    const char *said = http_request_header(request, "X-Customer-Tier", "");
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        if (strcmp(said, tiers[i]) == 0) {
            return tiers[i];
        }
    }
    return "standard";
}

/* From here until the token is detached, everything that leaves this service carries the tier. */
static spool_token customer_enter(const http_request *request) {
    const char *tier = tier_of(request);
    spool_baggage *baggage =
        spool_baggage_set(spool_context_baggage(NULL), "shop.customer.tier", tier);
    spool_context context = spool_context_with_baggage(NULL, baggage);
    spool_token token = spool_context_attach(&context);
    spool_context_release(&context);
    spool_baggage_release(baggage);

    const spool_value header[] = {spool_value_string(tier)};
    spool_span_set(spool_span_current(), spool_string("shop.customer.tier", tier));
    spool_span_set(
        spool_span_current(),
        spool_array(SPOOL_SEMCONV_HTTP_REQUEST_HEADER_PREFIX "x-customer-tier", header, 1));
    return token;
}

/* Hands the answer of shop-stock on; true when it was a good one. */
static bool stock_ask(front *self, http_call *call, http_response *response) {
    http_reply reply;
    call->peer = &self->stock;
    if (!http_call_perform(call, &reply)) {
        SPOOL_ERROR("shop-stock does not answer",
                    spool_string(SPOOL_SEMCONV_SERVER_ADDRESS, self->stock.host),
                    spool_int(SPOOL_SEMCONV_SERVER_PORT, self->stock.port));
        http_response_error(response, 502, "the stock cannot be reached");
        return false;
    }
    response->status = (unsigned)reply.status;
    memcpy(response->body, reply.body, reply.body_len + 1);
    return reply.status < 400;
}

static void article_show(void *owner, http_request *request, http_response *response) {
    http_call call = {.method = "GET", .url_template = "/articles/{id}"};
    spool_token token = customer_enter(request);
    (void)snprintf(call.target, sizeof call.target, "/articles/%s", request->parameter);
    if (!stock_ask(owner, &call, response) && response->status == 404) {
        /* Our own pages link to articles that exist: a link from elsewhere is broken. */
        SPOOL_ERROR("a page links to an unknown article",
                    spool_string("shop.article.id", request->parameter));
    }
    (void)spool_context_detach(token);
}

/* An event: a record with a name, for those who count orders rather than read logs. */
static void order_announce(const char *article, long quantity) {
    const spool_attr order[] = {
        spool_string("article", article),
        spool_int("quantity", quantity),
    };
    spool_log_record record = SPOOL_LOG_RECORD_INIT;
    record.severity = SPOOL_SEVERITY_INFO;
    record.event_name = SPOOL_STR("shop.order.placed");
    record.body = spool_value_map(order, 2);
    spool_log_emit(SPOOL_LOGGER(), &record);
}

static bool article_id_is_plain(const char *id) {
    size_t len = strlen(id);
    return len > 0 && len < HTTP_PARAMETER_SIZE &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static void order_place(void *owner, http_request *request, http_response *response) {
    const char *article = http_request_argument(request, "article", "");
    long quantity = strtol(http_request_argument(request, "quantity", "1"), NULL, 10);
    spool_token token = customer_enter(request);
    if (article_id_is_plain(article) && quantity > 0) {
        SPOOL_SPAN(checkout, SPOOL_TRACER(), "checkout", spool_string("shop.article.id", article),
                   spool_int("shop.order.quantity", quantity));
        http_call call = {.method = "POST", .url_template = "/articles/{id}/reservations"};
        (void)snprintf(call.target, sizeof call.target, "/articles/%s/reservations?quantity=%ld",
                       article, quantity);
        if (stock_ask(owner, &call, response)) {
            response->status = 201;
            order_announce(article, quantity);
        } else {
            spool_span_status(checkout, SPOOL_STATUS_ERROR, "the order was not taken");
        }
    } else {
        SPOOL_WARN("an order without a usable article or quantity",
                   spool_string("shop.article.id", article),
                   spool_int("shop.order.quantity", quantity));
        http_response_error(response, 400, "article or quantity is missing");
    }
    (void)spool_context_detach(token);
}

static void stock_take(void *owner, http_request *request, http_response *response) {
    http_call call = {.method = "POST", .url_template = "/stocktaking"};
    long hold_ms = strtol(http_request_argument(request, "hold_ms", "0"), NULL, 10);
    spool_token token = customer_enter(request);
    (void)snprintf(call.target, sizeof call.target, "/stocktaking?hold_ms=%ld",
                   hold_ms < 0             ? 0
                   : hold_ms > HOLD_MAX_MS ? HOLD_MAX_MS
                                           : hold_ms);
    (void)stock_ask(owner, &call, response);
    (void)spool_context_detach(token);
}

static const http_route routes[] = {
    {"GET", "/articles/{id}", article_show},
    {"POST", "/orders", order_place},
    {"POST", "/stocktaking", stock_take},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv) {
    service life = {.name = "shop-front", .own_option = "stock"};
    front self;
    http_server *server = NULL;
    if (!service_start(&life, argc, argv)) {
        return EXIT_FAILURE;
    }
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    if (http_peer_init(&self.stock, life.own_value)) {
        server = http_server_start(routes, &self, life.port, CONNECTIONS);
    }
    if (server) {
        service_wait(http_server_port(server));
    } else {
        fprintf(stderr, "%s: cannot ask %s or listen on port %u\n", life.name, life.own_value,
                (unsigned)life.port);
    }
    http_server_stop(server);
    http_peer_fini(&self.stock);
    service_end(&life);
    curl_global_cleanup();
    return server ? EXIT_SUCCESS : EXIT_FAILURE;
}
