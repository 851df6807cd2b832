/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler and id generator interfaces (specification: trace/sdk "Sampling", "Id generators"). */
#ifndef SPOOL_EXT_SAMPLER_H
#define SPOOL_EXT_SAMPLER_H

#include <spool/ext/data.h>

SPOOL_BEGIN_DECLS

enum {
    SPOOL_DECISION_DROP = 0,
    SPOOL_DECISION_RECORD_ONLY = 1,
    SPOOL_DECISION_RECORD_AND_SAMPLE = 2
};

/* What a sampler is asked. All borrowed for the call. */
typedef struct spool_sampler_query {
    size_t struct_size;
    const spool_context *parent; /* never NULL; its span is all zero for a root */
    const uint8_t *trace_id;     /* 16 bytes */
    spool_str name;
    uint32_t kind;
    const spool_attr *attrs;
    size_t attr_count;
    const spool_link *links;
    size_t link_count;
} spool_sampler_query;

/*
 * What it answers. `attrs` are added to the span; they must stay valid until the sampler is called
 * again on this thread. `trace_state`: with set_trace_state 1 it replaces the parent's (empty: none).
 */
typedef struct spool_sampler_result {
    uint32_t decision; /* SPOOL_DECISION_* */
    uint32_t set_trace_state;
    spool_str trace_state;
    const spool_attr *attrs;
    size_t attr_count;
} spool_sampler_result;

/* Called concurrently (SA-27). `describe` is a static or sampler-owned text (SA-04). */
typedef struct spool_sampler_ops {
    size_t struct_size;
    void (*sample)(void *self, const spool_sampler_query *query, spool_sampler_result *result);
    const char *(*describe)(void *self);
    void (*destroy)(void *self);
} spool_sampler_ops;

typedef struct spool_sampler {
    const spool_sampler_ops *ops;
    void *self;
} spool_sampler;

/*
 * A source of ids (ID-02). The default one is random, seeded by the kernel for each thread, anew
 * after fork, independent of srand(). `random_trace_ids` 1: the low 7 bytes of trace ids are random,
 * so roots carry SPOOL_FLAG_RANDOM. All-zero ids are asked for again, at most 8 times.
 */
typedef struct spool_id_generator_ops {
    size_t struct_size;
    void (*trace_id)(void *self, uint8_t out_id[16]);
    void (*span_id)(void *self, uint8_t out_id[8]);
    void (*destroy)(void *self);
    uint32_t random_trace_ids;
} spool_id_generator_ops;

typedef struct spool_id_generator {
    const spool_id_generator_ops *ops;
    void *self;
} spool_id_generator;

SPOOL_END_DECLS
#endif /* SPOOL_EXT_SAMPLER_H */
