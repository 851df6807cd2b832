/* SPDX-License-Identifier: Apache-2.0 */
/* Random records: every kind of value, good and bad text, keys that come again, missing keys. */
#ifndef SPT_WIRE_GENERATOR_H
#define SPT_WIRE_GENERATOR_H

#include "sdk/wire/wire.h"
#include "tests/support/spt.h"

/* Everything made lives in `memory` until spt_generator_reset(). */
typedef struct spt_generator {
    spt_random random;
    sp_arena memory;
} spt_generator;

void spt_generator_init(spt_generator *generator, uint64_t seed);
void spt_generator_reset(spt_generator *generator);
void spt_generator_fini(spt_generator *generator);

sp_wire_limits spt_random_limits(spt_generator *generator);
spool_str spt_random_text(spt_generator *generator, size_t max_len);
spool_value spt_random_value(spt_generator *generator, unsigned depth);
/* Some without a key; keys are repeated unless `unique`. */
spool_attr *spt_random_attrs(spt_generator *generator, size_t count, bool unique);
spool_log_data spt_random_log(spt_generator *generator);

typedef struct spt_event_input {
    spool_str name;
    uint64_t time_ns;
    const spool_attr *attrs;
    size_t attr_count;
} spt_event_input;

/* A span as the parts that the trace layer would hand in one by one. */
typedef struct spt_span_input {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t parent_span_id[8];
    sp_wire_span span; /* without content; its ids point to the arrays above */
    const spool_attr *attrs;
    size_t attr_count;
    const spt_event_input *events;
    size_t event_count;
    const spool_link *links;
    size_t link_count;
} spt_span_input;

void spt_random_span(spt_generator *generator, spt_span_input *out);

/*
 * The whole record, SP_WIRE_SCOPE_RECORDS included, made by the functions under test; NULL on
 * failure or when the size announced is not the size written. free() it.
 */
uint8_t *spt_span_bytes(const spt_span_input *input, const sp_wire_limits *limits,
                        sp_scratch *scratch, size_t *out_len);
uint8_t *spt_log_bytes(const spool_log_data *log, const sp_wire_limits *limits, sp_scratch *scratch,
                       size_t *out_len);

#endif /* SPT_WIRE_GENERATOR_H */
