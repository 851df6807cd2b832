/* SPDX-License-Identifier: Apache-2.0 */
/* OTEL_BSP_* and OTEL_BLRP_*. */
#include "config/environment.h"

#include <spool/sdk/batch.h>

typedef struct batch_names {
    const char *queue, *size, *delay, *timeout;
} batch_names;

void spool_batch_options_from_env(spool_batch_options *options, uint32_t signal) {
    static const batch_names names[] = {
        {"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY",
         "OTEL_BSP_EXPORT_TIMEOUT"},
        {"OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "OTEL_BLRP_SCHEDULE_DELAY",
         "OTEL_BLRP_EXPORT_TIMEOUT"},
    };
    if (!options || signal >= SPOOL_SIGNALS) {
        return;
    }
    spool_batch_options_init(options, signal);
    const batch_names *of = &names[signal];
    uint32_t default_size = options->max_export_batch_size;
    (void)sp_env_number(of->queue, 1, &options->max_queue_size);
    bool chosen = sp_env_number(of->size, 1, &options->max_export_batch_size);
    (void)sp_env_number(of->delay, 0, &options->schedule_delay_ms);
    (void)sp_env_number(of->timeout, 0, &options->export_timeout_ms);
    if (options->max_export_batch_size > options->max_queue_size) {
        if (chosen) {
            sp_env_warn(of->size, sp_env_text(of->size),
                        "larger than the queue; the default, or the queue's size, is used");
        }
        options->max_export_batch_size =
            default_size < options->max_queue_size ? default_size : options->max_queue_size;
    }
}
