/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter interface (specification: trace/sdk, logs/sdk "Exporter"). */
#ifndef SPOOL_EXT_EXPORTER_H
#define SPOOL_EXT_EXPORTER_H

#include <spool/ext/data.h>
#include <spool/sdk/stats.h>
#include <spool/status.h>

SPOOL_BEGIN_DECLS

/*
 * A batch of records of one signal and one resource. It offers both shapes of the same records and
 * makes the other one when it is asked for: views through the iterator, and OTLP bytes.
 */
typedef struct spool_batch spool_batch;

SPOOL_API uint64_t spool_batch_id(const spool_batch *batch);
SPOOL_API uint32_t spool_batch_signal(const spool_batch *batch); /* SPOOL_SIGNAL_* */
SPOOL_API size_t spool_batch_count(const spool_batch *batch);    /* records */
SPOOL_API const spool_resource_data *spool_batch_resource(const spool_batch *batch);

/*
 * The records one after another; NULL after the last, or without memory (see _failed). What is
 * returned is valid until the next call. spool_batch_rewind() starts over. One thread at a time.
 */
SPOOL_API const spool_span_data *spool_batch_next_span(spool_batch *batch);
SPOOL_API const spool_log_data *spool_batch_next_log(spool_batch *batch);
SPOOL_API void spool_batch_rewind(spool_batch *batch);
SPOOL_API bool spool_batch_failed(const spool_batch *batch);

/*
 * The bytes of an ExportTraceServiceRequest or ExportLogsServiceRequest, which are those of TracesData
 * and LogsData too, as pieces to be sent one after another. The pieces are valid until the batch is
 * answered. spool_batch_size() is their sum.
 */
typedef struct spool_batch_piece {
    const void *bytes;
    size_t len;
} spool_batch_piece;
SPOOL_API size_t spool_batch_size(spool_batch *batch);
SPOOL_API size_t spool_batch_pieces(spool_batch *batch, const spool_batch_piece **out_pieces);

/*
 * What became of a batch. The four numbers must add up to spool_batch_count(); what is missing counts
 * as dropped with `drop_cause`, what is too much is cut.
 */
typedef struct spool_outcome {
    uint64_t delivered;
    uint64_t rejected;   /* refused by the receiver */
    uint64_t unknown;    /* sent, no reply */
    uint32_t drop_cause; /* SPOOL_DROP_* of the rest */
    uint32_t reserved;
} spool_outcome;

/*
 * Answers a batch, once, from any thread, during export_batch or later. The batch is gone with it. An
 * answer after the batch's deadline, a second one, or an unknown id is a counted no-op.
 */
SPOOL_API void spool_batch_done(uint64_t batch_id, const spool_outcome *outcome);

/*
 * An exporter. Calls are made one at a time, from the runtime's thread for a batch processor, from
 * the emitting thread for a simple processor; export_batch again only after the answer, unless
 * max_in_flight is more than 1.
 *
 * export_batch  takes the batch; must not block; deadline as in spool_processor_ops. With
 *               spool_batch_is_borrowed() the batch is gone when export_batch returns, answered or
 *               not: copy what is needed.
 * flush         hands on what the exporter itself holds back; may be NULL
 * shutdown      stops; a batch in flight is answered; export_batch afterwards must answer with a drop
 * destroy       last call
 */
typedef struct spool_exporter_ops {
    size_t struct_size;
    const char *name; /* static storage */
    void (*export_batch)(void *self, spool_batch *batch, uint64_t deadline_ns);
    spool_status (*flush)(void *self, uint64_t deadline_ns);
    spool_status (*shutdown)(void *self, uint64_t deadline_ns);
    void (*destroy)(void *self);
    uint32_t max_in_flight; /* 0 means 1 */
} spool_exporter_ops;

/* An exporter by value: its table and its state. It serves both signals: the batch says which. */
typedef struct spool_exporter {
    const spool_exporter_ops *ops;
    void *self;
} spool_exporter;

/* True for the batch of a simple processor, which ends with export_batch. */
SPOOL_API bool spool_batch_is_borrowed(const spool_batch *batch);

SPOOL_END_DECLS
#endif /* SPOOL_EXT_EXPORTER_H */
