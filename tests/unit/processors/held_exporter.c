/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, comparing the two shapes of a batch, and answering at will. */
#include "tests/unit/processors/held_exporter.h"

#include "sdk/wire/wire.h"
#include "tests/support/spt.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading a batch ---- */

/* The records in the bytes: request 1 -> resource 2 -> scope 2. */
static uint64_t records_in(sp_wire_piece bytes, unsigned depth) {
    static const uint32_t keys[] = {1 << 3 | 2, 2 << 3 | 2, 2 << 3 | 2};
    uint64_t records = 0, number;
    uint32_t key;
    sp_wire_piece field;
    while (sp_wire_next_field(&bytes, &key, &field, &number)) {
        if (key == keys[depth]) {
            records += depth == 2 ? 1 : records_in(field, depth + 1);
        }
    }
    return bytes.len == 0 ? records : UINT64_MAX / 2;
}

static bool bytes_agree(spool_batch *batch) {
    const spool_batch_piece *pieces;
    size_t count = spool_batch_pieces(batch, &pieces), at = 0, size = spool_batch_size(batch);
    uint8_t *body = malloc(size + 1);
    for (size_t i = 0; body && i < count; i++) {
        if (at + pieces[i].len <= size) {
            memcpy(body + at, pieces[i].bytes, pieces[i].len);
        }
        at += pieces[i].len;
    }
    bool agree = body && at == size &&
                 records_in((sp_wire_piece){body, size}, 0) == spool_batch_count(batch);
    free(body);
    return agree;
}

static bool next_number(spool_batch *batch, uint64_t *out_number) {
    if (spool_batch_signal(batch) == SPOOL_SIGNAL_LOGS) {
        const spool_log_data *log = spool_batch_next_log(batch);
        *out_number = log ? (uint64_t)log->body.as.integer : 0;
        return log && log->scope;
    }
    const spool_span_data *span = spool_batch_next_span(batch);
    *out_number = span ? span->start_time_ns : 0;
    return span && span->scope;
}

static void read_batch(spt_exporter *exporter, spool_batch *batch) {
    uint64_t number, seen = 0;
    while (next_number(batch, &number)) {
        uint64_t thread = number >> 32 & (SPT_MAX_THREADS - 1), index = number & UINT32_MAX;
        /* Dropped ones leave gaps, but nothing comes twice or out of order. */
        exporter->wrong_order += index < exporter->next_index[thread];
        exporter->next_index[thread] = index + 1;
        seen++;
    }
    uint64_t count = spool_batch_count(batch);
    exporter->malformed += seen != count || spool_batch_failed(batch) || !bytes_agree(batch);
    exporter->records += count;
    exporter->bytes += spool_batch_size(batch);
    exporter->batches++;
    exporter->largest_batch = count > exporter->largest_batch ? count : exporter->largest_batch;
    exporter->smallest_batch = count < exporter->smallest_batch ? count : exporter->smallest_batch;
}

/* ---- the table ---- */

static void export_batch(void *self, spool_batch *batch, uint64_t deadline_ns) {
    spt_exporter *exporter = self;
    int answer = atomic_load(&exporter->answer);
    uint64_t id = spool_batch_id(batch), count = spool_batch_count(batch);
    pthread_mutex_lock(&exporter->lock);
    read_batch(exporter, batch);
    exporter->last_deadline_ns = deadline_ns;
    if (answer >= SPT_HELD && exporter->held_batches < SPT_MAX_HELD) {
        exporter->held[exporter->held_batches] = id;
        exporter->held_counts[exporter->held_batches++] = count;
        if (exporter->held_batches > exporter->most_held) {
            exporter->most_held = exporter->held_batches;
        }
    }
    pthread_cond_broadcast(&exporter->arrived);
    pthread_mutex_unlock(&exporter->lock);
    if (exporter->on_export) {
        exporter->on_export(exporter, batch);
    }
    if (answer < SPT_HELD) {
        spool_outcome outcome = {.delivered = answer == SPT_DELIVERED ? count : 0,
                                 .rejected = answer == SPT_REJECTED ? count : 0};
        spool_batch_done(id, &outcome);
    }
}

static spool_status flush(void *self, uint64_t deadline_ns) {
    spt_exporter *exporter = self;
    (void)deadline_ns;
    pthread_mutex_lock(&exporter->lock);
    exporter->flushes++;
    pthread_mutex_unlock(&exporter->lock);
    return SPOOL_OK;
}

static spool_status shut_down(void *self, uint64_t deadline_ns) {
    spt_exporter *exporter = self;
    (void)deadline_ns;
    pthread_mutex_lock(&exporter->lock);
    exporter->shutdowns++;
    pthread_mutex_unlock(&exporter->lock);
    return SPOOL_OK;
}

static void destroy(void *self) {
    spt_exporter *exporter = self;
    pthread_mutex_lock(&exporter->lock);
    exporter->destroys++;
    pthread_mutex_unlock(&exporter->lock);
}

static void *answer_slowly(void *arg) {
    spt_exporter *exporter = arg;
    pthread_mutex_lock(&exporter->lock);
    while (!exporter->stop) {
        while (!exporter->held_batches && !exporter->stop) {
            pthread_cond_wait(&exporter->arrived, &exporter->lock);
        }
        pthread_mutex_unlock(&exporter->lock);
        uint64_t until = spt_deadline_ns(exporter->delay_ms);
        while (spt_pause_until(until)) {
        }
        (void)spt_exporter_answer(exporter, true);
        pthread_mutex_lock(&exporter->lock);
    }
    pthread_mutex_unlock(&exporter->lock);
    return NULL;
}

/* ---- the test's side ---- */

void spt_exporter_init(spt_exporter *exporter, spt_answer answer) {
    memset(exporter, 0, sizeof *exporter);
    exporter->ops = (spool_exporter_ops){.struct_size = sizeof(spool_exporter_ops),
                                         .name = "held",
                                         .export_batch = export_batch,
                                         .flush = flush,
                                         .shutdown = shut_down,
                                         .destroy = destroy};
    atomic_init(&exporter->answer, answer);
    exporter->smallest_batch = UINT64_MAX;
    exporter->delay_ms = 2;
    pthread_mutex_init(&exporter->lock, NULL);
    pthread_cond_init(&exporter->arrived, NULL);
    if (answer == SPT_SLOW) {
        (void)pthread_create(&exporter->thread, NULL, answer_slowly, exporter);
    }
}

void spt_exporter_fini(spt_exporter *exporter) {
    if (exporter->thread) {
        pthread_mutex_lock(&exporter->lock);
        exporter->stop = true;
        pthread_cond_broadcast(&exporter->arrived);
        pthread_mutex_unlock(&exporter->lock);
        (void)pthread_join(exporter->thread, NULL);
    }
    pthread_cond_destroy(&exporter->arrived);
    pthread_mutex_destroy(&exporter->lock);
}

spool_exporter spt_exporter_of(spt_exporter *exporter) {
    return (spool_exporter){&exporter->ops, exporter};
}

uint64_t spt_exporter_answer(spt_exporter *exporter, bool delivered) {
    pthread_mutex_lock(&exporter->lock);
    if (!exporter->held_batches) {
        pthread_mutex_unlock(&exporter->lock);
        return 0;
    }
    uint64_t id = exporter->held[0], count = exporter->held_counts[0];
    exporter->held_batches--;
    memmove(exporter->held, exporter->held + 1, exporter->held_batches * sizeof exporter->held[0]);
    memmove(exporter->held_counts, exporter->held_counts + 1,
            exporter->held_batches * sizeof exporter->held_counts[0]);
    pthread_mutex_unlock(&exporter->lock);
    spool_outcome outcome = {.delivered = delivered ? count : 0, .rejected = delivered ? 0 : count};
    spool_batch_done(id, &outcome);
    return count;
}

unsigned spt_exporter_held(spt_exporter *exporter) {
    pthread_mutex_lock(&exporter->lock);
    unsigned held = exporter->held_batches;
    pthread_mutex_unlock(&exporter->lock);
    return held;
}

uint64_t spt_exporter_records(spt_exporter *exporter) {
    pthread_mutex_lock(&exporter->lock);
    uint64_t records = exporter->records;
    pthread_mutex_unlock(&exporter->lock);
    return records;
}

/* ---- statistics ---- */

uint64_t spt_dropped(const spool_processor_stats *stats) {
    uint64_t dropped = 0;
    for (unsigned cause = 0; cause < SPOOL_DROP_CAUSES; cause++) {
        dropped += stats->dropped[cause];
    }
    return dropped;
}

uint64_t spt_imbalance(const spool_processor_stats *stats) {
    return stats->offered - stats->delivered - stats->rejected - stats->unknown -
           spt_dropped(stats) - stats->queued - stats->in_flight - stats->stored;
}

spool_processor_stats spt_stats_of(const spool_processor *processor, uint32_t signal) {
    spool_processor_stats stats;
    memset(&stats, 0, sizeof stats);
    processor->ops->stats(processor->self, signal, &stats);
    return stats;
}
