/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A processor that writes each finished span and each log record to a file, one JSON line for each: what
 * the service says about itself, to be compared with what arrives elsewhere.
 */
#ifndef SPOOL_EXAMPLES_SHOP_RECORDER_H
#define SPOOL_EXAMPLES_SHOP_RECORDER_H

#include <spool/ext/processor.h>

#include <stdbool.h>

/* False when the file cannot be written. The processor is destroyed by its table. */
bool recorder_create(const char *file, spool_processor *out_processor);

#endif /* SPOOL_EXAMPLES_SHOP_RECORDER_H */
