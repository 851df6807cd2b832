/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends many spans and log records from several threads at once, through queues that are far
 * smaller than what is sent, with back-pressure so that none is dropped. Each thread writes down
 * what it made, one JSON line a record, for the test to compare with what the Collector received.
 * Exits 0 only when the balances of spool_stats() are exact.
 *
 *     flood ENDPOINT THREADS EACH FOLDER
 *
 * ENDPOINT is "http://HOST:PORT"; EACH is the number of spans, and of records, of one thread, a
 * multiple of DEPTH: they come in chains of spans, each the parent of the next, with one record
 * inside each span.
 */
#include <spool/sdk/sdk.h>
#include <spool/spool.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 5, MAX_THREADS = 64, BLOCK_MS = 60000, SHUTDOWN_MS = 60000, URL_SIZE = 256 };

typedef struct sender {
    pthread_t thread;
    int number;
    int64_t each;
    int64_t next; /* sequence number of the next span and its record */
    FILE *list;
} sender;

static spool_tracer *tracer;
static spool_logger *logger;

static void hex(char *out, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

static void write_down(const sender *self, int64_t sequence, const struct spool_span_context *ids,
                       const char *parent) {
    char trace[33];
    char span[17];
    hex(trace, ids->trace_id, sizeof ids->trace_id);
    hex(span, ids->span_id, sizeof ids->span_id);
    fprintf(self->list,
            "{\"kind\":\"span\",\"trace_id\":\"%s\",\"span_id\":\"%s\",\"parent_span_id\":\"%s\","
            "\"thread\":%d,\"sequence\":%" PRId64 "}\n",
            trace, span, parent, self->number, sequence);
    fprintf(self->list,
            "{\"kind\":\"log\",\"trace_id\":\"%s\",\"span_id\":\"%s\",\"thread\":%d,"
            "\"sequence\":%" PRId64 "}\n",
            trace, span, self->number, sequence);
}

/* One span that is current while its record and the rest of the chain are made. */
static void send_chain(sender *self, int depth, const char *parent) {
    int64_t sequence = self->next++;
    const spool_attr attrs[] = {spool_int("thread", self->number), spool_int("sequence", sequence)};
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.attrs = attrs;
    options.attr_count = 2;
    spool_span span = spool_span_start(tracer, "flood", &options);
    struct spool_span_context ids = spool_span_context(span);
    char own[17];
    hex(own, ids.span_id, sizeof ids.span_id);

    spool_token token = spool_span_enter(span);
    spool_log_n(logger, SPOOL_SEVERITY_INFO, SPOOL_STR("flood"), attrs, 2);
    write_down(self, sequence, &ids, parent);
    if (depth > 1) {
        send_chain(self, depth - 1, own);
    }
    spool_span_exit(token);
    spool_span_end(span);
}

static void *sender_run(void *argument) {
    sender *self = argument;
    while (self->next < self->each) {
        send_chain(self, DEPTH, "");
    }
    return NULL;
}

/* A batch processor that waits rather than drops, over an OTLP exporter. */
static spool_status pipeline_create(uint32_t signal, const char *endpoint, const char *path,
                                    spool_processor *out_processor) {
    char url[URL_SIZE];
    snprintf(url, sizeof url, "%s%s", endpoint, path);
    spool_otlp_options otlp = SPOOL_OTLP_OPTIONS_INIT;
    otlp.endpoint = url;
    spool_exporter exporter;
    spool_status status = spool_otlp_create(signal, &otlp, &exporter);
    if (status != SPOOL_OK) {
        return status;
    }
    spool_batch_options batch;
    spool_batch_options_init(&batch, signal);
    batch.overflow = SPOOL_OVERFLOW_BLOCK;
    batch.block_limit_ms = BLOCK_MS;
    status = spool_batch_create(signal, exporter, &batch, out_processor);
    if (status != SPOOL_OK) {
        exporter.ops->destroy(exporter.self);
    }
    return status;
}

static spool_status sdk_create(const char *endpoint, spool_sdk **out_sdk) {
    spool_processor processors[2];
    spool_status status =
        pipeline_create(SPOOL_SIGNAL_SPANS, endpoint, "/v1/traces", &processors[0]);
    if (status != SPOOL_OK) {
        return status;
    }
    status = pipeline_create(SPOOL_SIGNAL_LOGS, endpoint, "/v1/logs", &processors[1]);
    if (status != SPOOL_OK) {
        processors[0].ops->destroy(processors[0].self);
        return status;
    }
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = processors;
    options.processor_count = 2;
    status = spool_sdk_create(&options, out_sdk);
    if (status != SPOOL_OK) {
        processors[0].ops->destroy(processors[0].self);
        processors[1].ops->destroy(processors[1].self);
    }
    return status;
}

static int equal(const char *what, uint64_t found, uint64_t wanted) {
    if (found != wanted) {
        fprintf(stderr, "flood: %s is %" PRIu64 ", not %" PRIu64 "\n", what, found, wanted);
    }
    return found == wanted;
}

/* The processor at `index` got all records of its own signal and delivered them. */
static int signal_is_exact(const struct spool_stats *stats, uint32_t signal, uint64_t total) {
    const spool_signal_stats *made = &stats->signals[signal];
    const spool_processor_stats *sent = &stats->processors[signal][signal];
    int good = equal("created", made->created, total);
    good &= equal("finished", made->finished, total);
    good &= equal("not_recorded", made->not_recorded, 0);
    good &= equal("filtered", made->filtered, 0);
    good &= equal("live", made->live, 0);
    good &= equal("offered", sent->offered, total);
    good &= equal("delivered", sent->delivered, total);
    good &= equal("rejected", sent->rejected, 0);
    good &= equal("unknown", sent->unknown, 0);
    good &= equal("queued", sent->queued, 0);
    good &= equal("in_flight", sent->in_flight, 0);
    good &= equal("stored", sent->stored, 0);
    for (uint32_t cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        good &= equal(spool_drop_cause_name(cause), sent->dropped[cause], 0);
    }
    return good;
}

static int balance_is_exact(spool_sdk *sdk, uint64_t total) {
    struct spool_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.struct_size = sizeof stats;
    spool_status status = spool_stats(sdk, &stats);
    if (status != SPOOL_OK) {
        fprintf(stderr, "flood: stats: %s\n", spool_status_text(status));
        return 0;
    }
    int good = equal("processor_count", stats.processor_count, 2);
    good &= signal_is_exact(&stats, SPOOL_SIGNAL_SPANS, total);
    good &= signal_is_exact(&stats, SPOOL_SIGNAL_LOGS, total);
    good &= equal("stale_handles", stats.stale_handles, 0);
    good &= equal("stale_parents", stats.stale_parents, 0);
    good &= equal("wrong_detaches", stats.wrong_detaches, 0);
    good &= equal("dropped_attributes", stats.dropped_attributes, 0);
    good &= equal("no_memory", stats.no_memory, 0);
    return good;
}

static int senders_run(sender *senders, int count, int64_t each, const char *folder) {
    int good = 1;
    int started = 0;
    for (; good && started < count; started++) {
        sender *self = &senders[started];
        char path[4096];
        snprintf(path, sizeof path, "%s/thread-%d.jsonl", folder, started);
        *self = (sender){.number = started, .each = each, .list = fopen(path, "w")};
        if (!self->list) {
            perror(path);
            good = 0;
            break;
        }
        if (pthread_create(&self->thread, NULL, sender_run, self) != 0) {
            fprintf(stderr, "flood: no thread\n");
            fclose(self->list);
            good = 0;
            break;
        }
    }
    for (int i = 0; i < started; i++) {
        pthread_join(senders[i].thread, NULL);
        if (fclose(senders[i].list) != 0) {
            perror("flood: list");
            good = 0;
        }
    }
    return good;
}

int main(int argc, char **argv) {
    int threads = argc == 5 ? atoi(argv[2]) : 0;
    long long each = argc == 5 ? atoll(argv[3]) : 0;
    if (threads < 1 || threads > MAX_THREADS || each < DEPTH || each % DEPTH != 0) {
        fprintf(stderr, "usage: flood ENDPOINT THREADS EACH FOLDER (EACH: a multiple of %d)\n",
                DEPTH);
        return 2;
    }
    spool_sdk *sdk = NULL;
    spool_status status = sdk_create(argv[1], &sdk);
    if (status != SPOOL_OK) {
        fprintf(stderr, "flood: start: %s\n", spool_status_text(status));
        return 1;
    }
    tracer = spool_tracer_get("flood", "1");
    logger = spool_logger_get("flood", "1");

    static sender senders[MAX_THREADS];
    int good = senders_run(senders, threads, each, argv[4]);
    status = spool_shutdown(sdk, SHUTDOWN_MS, NULL);
    if (status != SPOOL_OK) {
        fprintf(stderr, "flood: shutdown: %s\n", spool_status_text(status));
        good = 0;
    }
    good &= balance_is_exact(sdk, (uint64_t)threads * (uint64_t)each);
    spool_sdk_free(sdk);
    return good ? 0 : 1;
}
