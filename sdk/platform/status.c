/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of the public lists of codes, made from the lists themselves. */
#include <spool/sdk/stats.h>
#include <spool/status.h>

#include <stddef.h>

typedef struct status_row {
    const char *name;
    const char *text;
} status_row;

#define STATUS_ROW(row_name, value, row_text) [value] = {#row_name, row_text},
static const status_row statuses[] = {SPOOL_STATUS_MAP(STATUS_ROW)};
#undef STATUS_ROW

#define DROP_ROW(name, index, text) [index] = text,
static const char *const drop_causes[] = {SPOOL_DROP_MAP(DROP_ROW)};
#undef DROP_ROW

static const char unknown_status[] = "unknown status";

static const status_row *status_find(spool_status status) {
    size_t index = (size_t)status;
    if (index >= sizeof statuses / sizeof statuses[0] || !statuses[index].name) {
        return NULL;
    }
    return &statuses[index];
}

const char *spool_status_name(spool_status status) {
    const status_row *row = status_find(status);
    return row ? row->name : unknown_status;
}

const char *spool_status_text(spool_status status) {
    const status_row *row = status_find(status);
    return row ? row->text : unknown_status;
}

const char *spool_drop_cause_name(uint32_t cause) {
    if (cause >= sizeof drop_causes / sizeof drop_causes[0] || !drop_causes[cause]) {
        return "unknown";
    }
    return drop_causes[cause];
}
