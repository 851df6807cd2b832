/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in samplers. They keep no state that changes, so they may be called concurrently. */
#include <spool/sdk/sampler.h>

#include <stdio.h>
#include <stdlib.h>

static void sample_on(void *self, const spool_sampler_query *query, spool_sampler_result *result) {
    (void)self;
    (void)query;
    result->decision = SPOOL_DECISION_RECORD_AND_SAMPLE;
}

static void sample_off(void *self, const spool_sampler_query *query, spool_sampler_result *result) {
    (void)self;
    (void)query;
    result->decision = SPOOL_DECISION_DROP;
}

static const char *describe_on(void *self) {
    (void)self;
    return "AlwaysOnSampler";
}

static const char *describe_off(void *self) {
    (void)self;
    return "AlwaysOffSampler";
}

static void destroy_nothing(void *self) {
    (void)self;
}

static const spool_sampler_ops on_ops = {sizeof on_ops, sample_on, describe_on, destroy_nothing};
static const spool_sampler_ops off_ops = {sizeof off_ops, sample_off, describe_off,
                                          destroy_nothing};

spool_sampler spool_sampler_always_on(void) {
    spool_sampler sampler = {&on_ops, NULL};
    return sampler;
}

spool_sampler spool_sampler_always_off(void) {
    spool_sampler sampler = {&off_ops, NULL};
    return sampler;
}

/* ---- ratio ---- */

typedef struct ratio_sampler {
    uint64_t threshold; /* of 2^56: sampled when the low 56 bits of the trace id are below it */
    char description[48];
} ratio_sampler;

static void sample_ratio(void *self, const spool_sampler_query *query,
                         spool_sampler_result *result) {
    const ratio_sampler *sampler = self;
    uint64_t low = 0;
    for (unsigned i = 9; i < 16; i++) {
        low = low << 8 | query->trace_id[i];
    }
    result->decision =
        low < sampler->threshold ? SPOOL_DECISION_RECORD_AND_SAMPLE : SPOOL_DECISION_DROP;
}

static const char *describe_ratio(void *self) {
    return ((const ratio_sampler *)self)->description;
}

static const spool_sampler_ops ratio_ops = {sizeof ratio_ops, sample_ratio, describe_ratio, free};

spool_status spool_sampler_ratio(double ratio, spool_sampler *out_sampler) {
    if (!out_sampler || !(ratio >= 0.0 && ratio <= 1.0)) {
        return SPOOL_ERR_INVALID;
    }
    ratio_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler) {
        return SPOOL_ERR_NOMEM;
    }
    sampler->threshold = (uint64_t)(ratio * 72057594037927936.0); /* 2^56 */
    /* Six decimals by integers: the host's locale must not choose the decimal mark. */
    uint32_t millionths = (uint32_t)(ratio * 1000000.0 + 0.5);
    (void)snprintf(sampler->description, sizeof sampler->description, "TraceIdRatioBased{%u.%06u}",
                   millionths / 1000000, millionths % 1000000);
    out_sampler->ops = &ratio_ops;
    out_sampler->self = sampler;
    return SPOOL_OK;
}

/* ---- parent-based ---- */

enum { ROOT, REMOTE_ON, REMOTE_OFF, LOCAL_ON, LOCAL_OFF, DELEGATES };

typedef struct parent_sampler {
    spool_sampler delegates[DELEGATES];
    char description[512];
} parent_sampler;

static void sample_parent(void *self, const spool_sampler_query *query,
                          spool_sampler_result *result) {
    const parent_sampler *sampler = self;
    const struct spool_span_context *parent = &query->parent->span;
    unsigned which = ROOT;
    if (spool_span_context_is_valid(parent)) {
        bool sampled = parent->flags & SPOOL_FLAG_SAMPLED;
        which =
            parent->remote ? (sampled ? REMOTE_ON : REMOTE_OFF) : (sampled ? LOCAL_ON : LOCAL_OFF);
    }
    sampler->delegates[which].ops->sample(sampler->delegates[which].self, query, result);
}

static const char *describe_parent(void *self) {
    return ((const parent_sampler *)self)->description;
}

static void destroy_parent(void *self) {
    parent_sampler *sampler = self;
    for (unsigned i = 0; i < DELEGATES; i++) {
        if (sampler->delegates[i].ops->destroy) {
            sampler->delegates[i].ops->destroy(sampler->delegates[i].self);
        }
    }
    free(sampler);
}

static const spool_sampler_ops parent_ops = {sizeof parent_ops, sample_parent, describe_parent,
                                             destroy_parent};

static const char *description_of(const spool_sampler *sampler) {
    return sampler->ops->describe ? sampler->ops->describe(sampler->self) : "?";
}

static bool is_usable(const spool_sampler *sampler) {
    return !sampler->ops || (sampler->ops->struct_size && sampler->ops->sample);
}

void spool_parent_based_options_init(spool_parent_based_options *options) {
    static const spool_parent_based_options defaults = SPOOL_PARENT_BASED_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

spool_status spool_sampler_parent_based(const spool_parent_based_options *options,
                                        spool_sampler *out_sampler) {
    static const spool_parent_based_options defaults = SPOOL_PARENT_BASED_OPTIONS_INIT;
    const spool_parent_based_options *given = options ? options : &defaults;
    if (!out_sampler || given->struct_size < sizeof *given || !is_usable(&given->root) ||
        !is_usable(&given->remote_sampled) || !is_usable(&given->remote_not_sampled) ||
        !is_usable(&given->local_sampled) || !is_usable(&given->local_not_sampled)) {
        return SPOOL_ERR_INVALID;
    }
    parent_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler) {
        return SPOOL_ERR_NOMEM;
    }
    spool_sampler on = spool_sampler_always_on();
    spool_sampler off = spool_sampler_always_off();
    sampler->delegates[ROOT] = given->root.ops ? given->root : on;
    sampler->delegates[REMOTE_ON] = given->remote_sampled.ops ? given->remote_sampled : on;
    sampler->delegates[REMOTE_OFF] =
        given->remote_not_sampled.ops ? given->remote_not_sampled : off;
    sampler->delegates[LOCAL_ON] = given->local_sampled.ops ? given->local_sampled : on;
    sampler->delegates[LOCAL_OFF] = given->local_not_sampled.ops ? given->local_not_sampled : off;
    (void)snprintf(sampler->description, sizeof sampler->description,
                   "ParentBased{root=%s,remoteParentSampled=%s,remoteParentNotSampled=%s,"
                   "localParentSampled=%s,localParentNotSampled=%s}",
                   description_of(&sampler->delegates[ROOT]),
                   description_of(&sampler->delegates[REMOTE_ON]),
                   description_of(&sampler->delegates[REMOTE_OFF]),
                   description_of(&sampler->delegates[LOCAL_ON]),
                   description_of(&sampler->delegates[LOCAL_OFF]));
    out_sampler->ops = &parent_ops;
    out_sampler->self = sampler;
    return SPOOL_OK;
}
