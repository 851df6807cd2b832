/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing allocates nothing once the scratch is warm, whatever way a value takes through the
 * writer.
 */
#include "sdk/wire/wire.h"
#include "tests/support/malloc_count.h"
#include "tests/support/spt.h"

#include <string.h>

enum { ROUNDS = 1000 };

static const sp_wire_limits limits = {64, 64, 4};
static uint8_t buffer[8192];

static size_t write_log(sp_scratch *scratch, const spool_attr *attrs, size_t count) {
    sp_scratch_mark mark = sp_scratch_hold(scratch);
    sp_wire_log_plan plan;
    spool_log_data log;
    memset(&log, 0, sizeof log);
    log.body = spool_value_string("connection \xFF lost");
    log.event_name = SPOOL_STR("lost\xFF");
    log.attrs = attrs;
    log.attr_count = count;
    size_t size = sp_wire_log_size(&log, &limits, scratch, &plan);
    size_t written = 0;
    if (size && size <= sizeof buffer) {
        written = (size_t)(sp_wire_log_write(buffer, &log, &plan) - buffer);
    }
    sp_scratch_release(scratch, mark);
    return written;
}

static size_t write_span(sp_scratch *scratch, const spool_attr *attrs, size_t count) {
    static const uint8_t id[16] = {1};
    sp_scratch_mark mark = sp_scratch_hold(scratch);
    sp_wire_field fields[3];
    spool_link link = {{{1}, {2}, 1, 0, {0}}, SPOOL_STR_INIT("a=b"), attrs, count};
    sp_wire_attr(scratch, SP_WIRE_SPAN_ATTRS, &attrs[count - 1], &limits, &fields[0]);
    sp_wire_event(scratch, SPOOL_STR("e"), 1, attrs, count, &limits, &fields[1]);
    sp_wire_link(scratch, &link, &limits, &fields[2]);
    sp_wire_piece pieces[3];
    for (size_t i = 0; i < 3; i++) {
        pieces[i] = (sp_wire_piece){fields[i].bytes, fields[i].len};
    }
    sp_wire_span span = {.trace_id = id, .span_id = id, .content = pieces, .content_count = 3};
    span.name = sp_wire_text(scratch, SPOOL_STR("name \xFF"), UINT32_MAX);
    size_t size = sp_wire_span_size(&span), written = 0;
    if (size <= sizeof buffer) {
        written = (size_t)(sp_wire_span_write(buffer, &span) - buffer);
    }
    sp_scratch_release(scratch, mark);
    return written;
}

static void nothing_is_allocated_after_the_first_record(void) {
    sp_scratch scratch = {NULL, NULL, NULL};
    spool_value list[] = {spool_value_int(1), spool_value_string("\xFF")};
    spool_attr attrs[24];
    static const char keys[24][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
                                     "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x"};
    for (size_t i = 0; i < 24; i++) {
        attrs[i] = spool_int(keys[i], (int64_t)i);
    }
    size_t simple = write_log(&scratch, attrs, 24);
    SPT_CHECK(simple > 0);
    uint64_t before = spt_mallocs_of_thread();
    for (int i = 0; i < ROUNDS; i++) {
        SPT_CHECK_UINT(write_log(&scratch, attrs, 24), simple);
    }
    SPT_CHECK_UINT(spt_mallocs_of_thread() - before, 0);

    attrs[1] = spool_array("b", list, 2);
    attrs[23] = spool_map("x", attrs, 3);
    write_log(&scratch, attrs, 24);
    size_t span = write_span(&scratch, attrs, 24);
    SPT_CHECK(span > 0);
    before = spt_mallocs_of_thread();
    uint64_t mapped = spt_mmaps_of_thread();
    for (int i = 0; i < ROUNDS; i++) {
        SPT_CHECK(write_log(&scratch, attrs, 24) > 0);
        SPT_CHECK_UINT(write_span(&scratch, attrs, 24), span);
    }
    SPT_CHECK_UINT(spt_mallocs_of_thread() - before, 0);
    SPT_CHECK_UINT(spt_mmaps_of_thread() - mapped, 0);
    sp_scratch_fini(&scratch);
}

SPT_MAIN("wire_allocation", SPT_CASE(nothing_is_allocated_after_the_first_record))
