/* SPDX-License-Identifier: Apache-2.0 */
/* See sampler_env.h. */
#include "config/sampler_env.h"

#include "config/environment.h"

#include <spool/ext/propagator.h>
#include <spool/sdk/diagnostics.h>

static spool_status ratio_sampler(spool_sampler *out_sampler) {
    double ratio = 1.0;
    (void)sp_env_ratio("OTEL_TRACES_SAMPLER_ARG", &ratio);
    return spool_sampler_ratio(ratio, out_sampler);
}

static spool_status parent_based(spool_sampler root, spool_sampler *out_sampler) {
    spool_parent_based_options options = SPOOL_PARENT_BASED_OPTIONS_INIT;
    options.root = root;
    spool_status status = spool_sampler_parent_based(&options, out_sampler);
    if (status != SPOOL_OK && root.ops->destroy) {
        root.ops->destroy(root.self);
    }
    return status;
}

spool_status sp_sampler_from_env(spool_sampler *out_sampler) {
    static const char name[] = "OTEL_TRACES_SAMPLER";
    const char *word = sp_env_text(name);
    out_sampler->ops = NULL;
    out_sampler->self = NULL;
    if (!word) {
        return SPOOL_OK;
    }
    spool_str item = spool_str_of(word);
    if (sp_env_is(item, "always_on")) {
        *out_sampler = spool_sampler_always_on();
    } else if (sp_env_is(item, "always_off")) {
        *out_sampler = spool_sampler_always_off();
    } else if (sp_env_is(item, "traceidratio")) {
        return ratio_sampler(out_sampler);
    } else if (sp_env_is(item, "parentbased_always_on")) {
        return parent_based(spool_sampler_always_on(), out_sampler);
    } else if (sp_env_is(item, "parentbased_always_off")) {
        return parent_based(spool_sampler_always_off(), out_sampler);
    } else if (sp_env_is(item, "parentbased_traceidratio")) {
        spool_sampler root;
        spool_status status = ratio_sampler(&root);
        return status == SPOOL_OK ? parent_based(root, out_sampler) : status;
    } else {
        sp_env_warn(name, word, "no such sampler; taken as unset");
    }
    return SPOOL_OK;
}

void sp_propagators_from_env(void) {
    static const char name[] = "OTEL_PROPAGATORS";
    enum { MOST = 2 };
    const spool_propagator *chosen[MOST];
    size_t count = 0;
    bool none = false;
    const char *rest = sp_env_text(name);
    if (!rest) {
        return;
    }
    spool_str item;
    while (sp_env_next_item(&rest, &item)) {
        const spool_propagator *one = NULL;
        if (sp_env_is(item, "tracecontext")) {
            one = &spool_propagator_tracecontext;
        } else if (sp_env_is(item, "baggage")) {
            one = &spool_propagator_baggage;
        } else if (sp_env_is(item, "none")) {
            none = true;
        } else {
            sp_env_warn(name, sp_env_text(name), "names a propagator that there is not; left out");
        }
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            known = known || chosen[i] == one;
        }
        if (one && !known) {
            chosen[count++] = one;
        }
    }
    /* Nothing usable was named: as if it were unset. */
    if (count || none) {
        (void)spool_propagators_set(chosen, count);
    }
}

void sp_log_level_from_env(void) {
    static const char name[] = "OTEL_LOG_LEVEL";
    static const struct {
        const char *word;
        int level;
    } levels[] = {
        {"none", SPOOL_DIAG_NONE},   {"fatal", SPOOL_DIAG_ERROR}, {"error", SPOOL_DIAG_ERROR},
        {"warn", SPOOL_DIAG_WARN},   {"info", SPOOL_DIAG_INFO},   {"debug", SPOOL_DIAG_DEBUG},
        {"trace", SPOOL_DIAG_DEBUG},
    };
    const char *word = sp_env_text(name);
    if (!word) {
        return;
    }
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (sp_env_is(spool_str_of(word), levels[i].word)) {
            spool_diagnostics_set_level(levels[i].level);
            return;
        }
    }
    sp_env_warn(name, word, "no such level; taken as unset");
}
