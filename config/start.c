/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_start(): what the environment and the options say, turned into processors, a sampler, limits and a
 * resource, and handed to spool_sdk_create(). The environment is read here and in what this calls, on the
 * calling thread, and nowhere else.
 */
#include "config/environment.h"
#include "config/exit.h"
#include "config/limits_env.h"
#include "config/otlp_env.h"
#include "config/resource_env.h"
#include "config/sampler_env.h"
#include "sdk/platform/diagnostics.h"
#include "sdk/platform/options.h"
#include "sdk/subscriber/filter.h"

#include <spool/sdk/batch.h>
#include <spool/sdk/console.h>
#include <spool/sdk/simple.h>
#include <spool/sdk/start.h>

#include <string.h>

void spool_options_init(spool_options *options) {
    static const spool_options defaults = SPOOL_OPTIONS_INIT;
    if (options) {
        *options = defaults;
    }
}

/* What is being put together; everything in it is undone when the start fails. */
typedef struct assembly {
    spool_options given;
    bool use_env;
    spool_processor processors[SPOOL_STATS_MAX_PROCESSORS];
    size_t processor_count;
    size_t first_own; /* processors before it are the caller's */
    spool_sampler sampler;
    bool own_sampler;
    bool network; /* libcurl and TLS were initialised for it */
    spool_resource *resource;
    spool_filter *filter;
} assembly;

static void exporter_destroy(spool_exporter exporter) {
    if (exporter.ops && exporter.ops->destroy) {
        exporter.ops->destroy(exporter.self);
    }
}

/* A caller's table may be of an older version: what it lacks is NULL. */
static void processor_destroy(spool_processor processor) {
    spool_processor_ops ops = {0};
    if (processor.ops && sp_options_read(&ops, sizeof ops, processor.ops) && ops.destroy) {
        ops.destroy(processor.self);
    }
}

static void sampler_destroy(spool_sampler sampler) {
    spool_sampler_ops ops = {0};
    if (sampler.ops && sp_options_read(&ops, sizeof ops, sampler.ops) && ops.destroy) {
        ops.destroy(sampler.self);
    }
}

static void undo(assembly *made) {
    for (size_t i = made->first_own; i < made->processor_count; i++) {
        processor_destroy(made->processors[i]);
    }
    if (made->own_sampler) {
        sampler_destroy(made->sampler);
    }
    spool_resource_release(made->resource);
    spool_filter_release(made->filter);
}

/* ---- processors ---- */

static spool_status processor_add(assembly *made, spool_status status, spool_exporter exporter,
                                  const spool_processor *processor) {
    if (status != SPOOL_OK) {
        exporter_destroy(exporter);
        return status;
    }
    made->processors[made->processor_count++] = *processor;
    return SPOOL_OK;
}

static spool_status otlp_add(assembly *made, uint32_t signal) {
    sp_otlp_settings code = {made->given.endpoint, made->given.headers};
    spool_exporter exporter = {NULL, NULL};
    spool_processor processor;
    spool_status status = sp_otlp_create(signal, &code, made->use_env, &exporter);
    made->network = true;
    if (status == SPOOL_OK) {
        spool_batch_options options;
        spool_batch_options_init(&options, signal);
        if (made->use_env) {
            spool_batch_options_from_env(&options, signal);
        }
        status = spool_batch_create(signal, exporter, &options, &processor);
    }
    return processor_add(made, status, exporter, &processor);
}

static spool_status console_add(assembly *made, uint32_t signal) {
    spool_exporter exporter = {NULL, NULL};
    spool_processor processor;
    spool_simple_options options = SPOOL_SIMPLE_OPTIONS_INIT;
    options.signals = UINT32_C(1) << signal;
    spool_console_options console = SPOOL_CONSOLE_OPTIONS_INIT;
    if (made->use_env && sp_env_text("NO_COLOR")) {
        console.color = SPOOL_COLOR_NEVER;
    }
    spool_status status = spool_console_create(&console, &exporter);
    if (status == SPOOL_OK) {
        status = spool_simple_create(exporter, &options, &processor);
    }
    return processor_add(made, status, exporter, &processor);
}

/* Adds what the comma list names, each once. Unknown names are left out with a warning. */
static spool_status exporters_add(assembly *made, uint32_t signal, const char *list,
                                  const char *name) {
    bool otlp = false;
    bool console = false;
    bool none = false;
    spool_str item;
    const char *rest = list;
    while (sp_env_next_item(&rest, &item)) {
        if (sp_env_is(item, "otlp")) {
            otlp = true;
        } else if (sp_env_is(item, "console")) {
            console = true;
        } else if (sp_env_is(item, "none")) {
            none = true;
        } else {
            sp_env_warn(name, list, "names an exporter that there is not; left out");
        }
    }
    /* Nothing usable was named: as if it were unset. */
    otlp = otlp || (!console && !none);
    spool_status status = otlp ? otlp_add(made, signal) : SPOOL_OK;
    return status == SPOOL_OK && console ? console_add(made, signal) : status;
}

static spool_status processors_make(assembly *made) {
    static const char *const names[SPOOL_SIGNALS] = {"OTEL_TRACES_EXPORTER", "OTEL_LOGS_EXPORTER"};
    static const char *const options[SPOOL_SIGNALS] = {"spool_options.traces_exporter",
                                                       "spool_options.logs_exporter"};
    const char *chosen[SPOOL_SIGNALS] = {made->given.traces_exporter, made->given.logs_exporter};
    enum { MOST_OWN = 4 };
    if (made->given.processor_count > SPOOL_STATS_MAX_PROCESSORS - MOST_OWN) {
        return SPOOL_ERR_INVALID;
    }
    for (size_t i = 0; i < made->given.processor_count; i++) {
        made->processors[i] = made->given.processors[i];
    }
    made->first_own = made->given.processor_count;
    made->processor_count = made->first_own;
    for (uint32_t signal = 0; signal < SPOOL_SIGNALS; signal++) {
        const char *name = options[signal];
        const char *list = chosen[signal];
        if (!list && made->use_env) {
            name = names[signal];
            list = sp_env_text(name);
        }
        spool_status status = exporters_add(made, signal, list ? list : "otlp", name);
        if (status != SPOOL_OK) {
            return status;
        }
    }
    return SPOOL_OK;
}

/* ---- resource ---- */

/* Takes `upper` (a reference of ours) over made->resource. */
static spool_status resource_over(assembly *made, spool_resource *upper) {
    spool_resource *merged = NULL;
    spool_status status = spool_resource_merge(made->resource, upper, &merged);
    spool_resource_release(upper);
    if (status == SPOOL_OK) {
        spool_resource_release(made->resource);
        made->resource = merged;
    }
    return status;
}

/* Default, then environment, then the options' resource, then its service name. */
static spool_status resource_make(assembly *made) {
    spool_resource *upper = NULL;
    spool_status status = spool_resource_default(&made->resource);
    if (status == SPOOL_OK) {
        status = sp_resource_from_env(made->use_env, &upper);
    }
    if (status == SPOOL_OK) {
        status = resource_over(made, upper);
    }
    if (status == SPOOL_OK && made->given.resource) {
        status = resource_over(made, spool_resource_copy(made->given.resource));
    }
    spool_attr attrs[2];
    size_t count = 0;
    if (made->given.service_name) {
        attrs[count++] = spool_string("service.name", made->given.service_name);
    }
    if (made->given.service_version) {
        attrs[count++] = spool_string("service.version", made->given.service_version);
    }
    if (status == SPOOL_OK && count) {
        status = spool_resource_create(attrs, count, spool_str_n(NULL, 0), &upper);
        if (status == SPOOL_OK) {
            status = resource_over(made, upper);
        }
    }
    return status;
}

/* ---- start ---- */

static spool_status sampler_make(assembly *made) {
    made->sampler = made->given.sampler;
    if (made->sampler.ops || !made->use_env) {
        return SPOOL_OK;
    }
    made->own_sampler = true;
    return sp_sampler_from_env(&made->sampler);
}

/* From code a bad directive is an error; from the environment it is left out. */
static spool_status filter_make(assembly *made) {
    const char *text = made->given.filter;
    if (text && text[0]) {
        return sp_filter_parse(text, "spool_options.filter", false, &made->filter);
    }
    text = made->use_env && !text ? sp_env_text("SPOOL_FILTER") : NULL;
    return text ? sp_filter_parse(text, "SPOOL_FILTER", true, &made->filter) : SPOOL_OK;
}

static spool_status create(assembly *made, spool_sdk **out_sdk) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    options.processors = made->processors;
    options.processor_count = made->processor_count;
    options.sampler = made->sampler;
    options.resource = made->resource;
    options.not_default = made->given.not_default;
    options.source_location = made->given.source_location;
    options.filter = made->filter;
    if (made->use_env) {
        sp_limits_from_env(&options.limits);
    }
    return spool_sdk_create(&options, out_sdk);
}

/* An SDK that does nothing: no processor, thread or socket. What it was given is consumed all the same. */
static spool_status create_disabled(const spool_options *given, spool_sdk **out_sdk) {
    spool_sdk_options options = SPOOL_SDK_OPTIONS_INIT;
    /* Nobody's default: tracers find no SDK, and pass the caller's context on as it came (EV-07). */
    options.not_default = 1;
    spool_status status = spool_sdk_create(&options, out_sdk);
    for (size_t i = 0; status == SPOOL_OK && i < given->processor_count; i++) {
        processor_destroy(given->processors[i]);
    }
    if (status == SPOOL_OK) {
        sampler_destroy(given->sampler);
    }
    return status;
}

spool_status spool_start(const spool_options *options, spool_sdk **out_sdk) {
    static const spool_options defaults = SPOOL_OPTIONS_INIT;
    assembly made = {.given = SPOOL_OPTIONS_INIT};
    if (!out_sdk || (options && !sp_options_read(&made.given, sizeof made.given, options)) ||
        (made.given.processor_count && !made.given.processors)) {
        return SPOOL_ERR_INVALID;
    }
    made.use_env = !made.given.ignore_env;
    if (made.use_env) {
        sp_log_level_from_env();
        sp_propagators_from_env();
        if (sp_env_bool("OTEL_SDK_DISABLED")) {
            return create_disabled(&made.given, out_sdk);
        }
        if (sp_env_text("OTEL_CONFIG_FILE")) {
            sp_diag(SPOOL_DIAG_ERROR, "config", "OTEL_CONFIG_FILE is not supported by this build");
            return SPOOL_ERR_UNSUPPORTED;
        }
        if (made.given.exit_timeout_ms == defaults.exit_timeout_ms) {
            (void)sp_env_number("OTEL_C_EXIT_TIMEOUT", 0, &made.given.exit_timeout_ms);
        }
    }
    spool_status status =
        !made.given.not_default && spool_sdk_default() ? SPOOL_ERR_EXISTS : resource_make(&made);
    if (status == SPOOL_OK) {
        status = sampler_make(&made);
    }
    if (status == SPOOL_OK) {
        status = filter_make(&made);
    }
    if (status == SPOOL_OK) {
        status = processors_make(&made);
    }
    spool_sdk *sdk = NULL;
    if (status == SPOOL_OK) {
        status = create(&made, &sdk);
    }
    if (status != SPOOL_OK) {
        undo(&made);
        return status;
    }
    spool_resource_release(made.resource);
    spool_filter_release(made.filter);
    if (!made.given.no_exit_flush && !sp_exit_add(sdk, made.given.exit_timeout_ms, made.network)) {
        sp_diag(SPOOL_DIAG_WARN, "config", "no exit hook: call spool_shutdown() yourself");
    }
    *out_sdk = sdk;
    return SPOOL_OK;
}
