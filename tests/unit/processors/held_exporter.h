/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exporter for tests of processors: it looks at every record and byte it is given, and answers when the
 * test says so. Its state is the test's: it stays readable after the processor is gone.
 *
 * Records carry their number as the integer body (logs) or as the span's start time: thread << 32 | index.
 */
#ifndef SPT_HELD_EXPORTER_H
#define SPT_HELD_EXPORTER_H

#include <spool/ext/exporter.h>
#include <spool/sdk/provider.h>

#include <pthread.h>
#include <stdatomic.h>

typedef enum spt_answer {
    SPT_DELIVERED, /* at once, inside export_batch */
    SPT_REJECTED,
    SPT_HELD, /* by spt_exporter_answer() */
    SPT_SLOW, /* by a thread of the exporter, after `delay_ms` */
    SPT_NEVER
} spt_answer;

enum { SPT_MAX_HELD = 4096, SPT_MAX_THREADS = 16 };

typedef struct spt_exporter {
    spool_exporter_ops ops;
    atomic_int answer; /* spt_answer */
    uint32_t delay_ms;
    void (*on_export)(struct spt_exporter *exporter, spool_batch *batch);

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t arrived;
    uint64_t batches, records, bytes;
    uint64_t largest_batch, smallest_batch;
    uint64_t wrong_order; /* records of one thread out of order */
    uint64_t malformed;   /* batches whose two shapes do not agree */
    uint64_t next_index[SPT_MAX_THREADS];
    uint64_t held[SPT_MAX_HELD];
    uint64_t held_counts[SPT_MAX_HELD];
    unsigned held_batches;
    unsigned most_held;
    unsigned flushes, shutdowns, destroys;
    uint64_t last_deadline_ns;
    bool stop;
    pthread_t thread;
} spt_exporter;

void spt_exporter_init(spt_exporter *exporter, spt_answer answer);
/* Ends the thread of a slow one. */
void spt_exporter_fini(spt_exporter *exporter);
spool_exporter spt_exporter_of(spt_exporter *exporter);

/* Answers the oldest held batch; its number of records, 0 when none is held. */
uint64_t spt_exporter_answer(spt_exporter *exporter, bool delivered);
unsigned spt_exporter_held(spt_exporter *exporter);
uint64_t spt_exporter_records(spt_exporter *exporter);

/* offered minus everything that became of it: zero at a quiet point. */
uint64_t spt_imbalance(const spool_processor_stats *stats);
uint64_t spt_dropped(const spool_processor_stats *stats);
/* The statistics of one processor, straight from its table. */
spool_processor_stats spt_stats_of(const spool_processor *processor, uint32_t signal);

#endif /* SPT_HELD_EXPORTER_H */
