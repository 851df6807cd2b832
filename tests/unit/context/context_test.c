/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as values. */
#include "sdk/context/stack.h"
#include "sdk/memory/registry.h"
#include "sdk/platform/diagnostics.h"

#include <spool/baggage.h>
#include <spool/context.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct spool_span_context some_ids = {{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                                    0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
                                                   {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
                                                   0xff,
                                                   0,
                                                   {9, 9, 9, 9, 9, 9}};

Test(context, with_remote_keeps_ids_and_the_known_flags) {
    spool_context context = spool_context_with_remote(NULL, &some_ids, SPOOL_STR("a=b , c=d"));
    cr_assert_eq(memcmp(context.span.trace_id, some_ids.trace_id, 16), 0);
    cr_assert_eq(context.span.flags, SPOOL_FLAG_SAMPLED | SPOOL_FLAG_RANDOM);
    cr_assert_eq(context.span.remote, 1);
    cr_assert_eq(context.handle.bits, 0);
    spool_str state = spool_context_trace_state(&context);
    cr_assert_eq(state.len, 7);
    cr_assert_eq(memcmp(state.ptr, "a=b,c=d", 7), 0);
    spool_context copy = spool_context_copy(&context);
    spool_context_release(&context);
    cr_assert_eq(spool_context_trace_state(&copy).len, 7);
    cr_assert_eq(spool_context_trace_state(&context).len, 0);
    spool_context_release(&copy);
    SPT_TEST_END;
}

Test(context, with_remote_leaves_out_a_bad_trace_state_and_ignores_bad_ids) {
    static const struct spool_span_context no_span = {{1}, {0}, 1, 0, {0}};
    spool_context context = spool_context_with_remote(NULL, &some_ids, SPOOL_STR("A=b"));
    cr_assert_null(context.block);
    spool_context same = spool_context_with_remote(&context, &no_span, SPOOL_STR("x=y"));
    cr_assert_eq(memcmp(&same, &context, sizeof same), 0);
    same = spool_context_with_remote(&context, NULL, SPOOL_STR(""));
    cr_assert_eq(memcmp(&same, &context, sizeof same), 0);
    SPT_TEST_END;
}

Test(context, hex_ids_are_those_of_the_current_context) {
    char trace[33];
    char span[17];
    cr_assert_not(spool_trace_id_hex(trace));
    cr_assert_not(spool_span_id_hex(span));
    cr_assert_str_eq(trace, "00000000000000000000000000000000");
    cr_assert_str_eq(span, "0000000000000000");
    spool_context context = spool_context_with_remote(NULL, &some_ids, SPOOL_STR(""));
    spool_token token = spool_context_attach(&context);
    cr_assert(spool_trace_id_hex(trace));
    cr_assert(spool_span_id_hex(span));
    cr_assert_str_eq(trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    cr_assert_str_eq(span, "00f067aa0ba902b7");
    cr_assert(spool_trace_id_hex(NULL));
    cr_assert(spool_span_id_hex(NULL));
    spool_context_detach(token);
    SPT_TEST_END;
}

/* A live span as the trace layer makes one. */
static spool_span span_made(const char *state, sp_slot **out_slot) {
    spool_span span;
    sp_slot *slot = sp_registry_acquire(sp_thread(), false, &span);
    struct spool_span_context ids = some_ids;
    ids.flags = 1;
    sp_slot_describe(slot, &ids, 0, 0, state ? sp_trace_state_parse(spool_str_of(state)) : NULL);
    sp_slot_publish(slot, SP_SLOT_LIGHT);
    *out_slot = slot;
    return span;
}

static void span_ended(spool_span span) {
    sp_slot *slot = sp_slot_take_light(sp_thread(), span);
    cr_assert_not_null(slot);
    sp_trace_state_release(slot->trace_state);
    slot->trace_state = NULL;
    sp_registry_release(sp_thread(), slot);
}

Test(context, with_span_takes_ids_and_trace_state_of_a_live_span) {
    sp_slot *slot;
    spool_span span = span_made("v=1", &slot);
    spool_baggage *baggage = spool_baggage_set(NULL, "k", "v");
    spool_context base = spool_context_with_baggage(NULL, baggage);
    spool_context context = spool_context_with_span(&base, span);
    cr_assert_eq(context.handle.bits, span.bits);
    cr_assert_eq(memcmp(context.span.span_id, some_ids.span_id, 8), 0);
    cr_assert_eq(context.span.remote, 0);
    cr_assert_eq(spool_context_baggage(&context), baggage);
    span_ended(span);
    cr_assert_eq(spool_context_trace_state(&context).len, 3);

    spool_context stale = spool_context_with_span(&context, span);
    cr_assert_eq(stale.handle.bits, 0);
    cr_assert_not(spool_span_context_is_valid(&stale.span));
    cr_assert_eq(spool_context_trace_state(&stale).len, 0);
    cr_assert_eq(spool_context_baggage(&stale), baggage);
    cr_assert_eq(sp_misuse_read(SP_MISUSE_STALE_HANDLE), 1);
    spool_context none = spool_context_with_span(&context, (spool_span){0});
    cr_assert_not(spool_span_context_is_valid(&none.span));
    cr_assert_eq(sp_misuse_read(SP_MISUSE_STALE_HANDLE), 1);

    spool_context_release(&none);
    spool_context_release(&stale);
    spool_context_release(&context);
    spool_context_release(&base);
    spool_baggage_release(baggage);
    SPT_TEST_END;
}

Test(context, BG_04_baggage_goes_in_and_out) {
    spool_baggage *baggage = spool_baggage_set(NULL, "k", "v");
    spool_context context = spool_context_with_remote(NULL, &some_ids, SPOOL_STR("a=b"));
    spool_context with = spool_context_with_baggage(&context, baggage);
    cr_assert_eq(spool_context_baggage(&with), baggage);
    cr_assert_eq(spool_context_trace_state(&with).len, 3);
    cr_assert_null(spool_context_baggage(&context));
    spool_context without = spool_context_with_baggage(&with, NULL);
    cr_assert_null(spool_context_baggage(&without));
    cr_assert_eq(spool_context_trace_state(&without).len, 3);
    spool_context_release(&context);
    spool_context_release(&with);
    spool_context_release(&without);
    spool_baggage_release(baggage);
    SPT_TEST_END;
}

Test(context, T39_null_is_harmless_everywhere) {
    spool_context empty = spool_context_copy(NULL);
    cr_assert_null(empty.block);
    spool_context_release(NULL);
    spool_context_release(&empty);
    cr_assert_eq(spool_context_trace_state(NULL).len, 0);
    cr_assert_null(spool_context_baggage(NULL));
    cr_assert_null(sp_context_trace_state_of(NULL));
    cr_assert_not(spool_span_context_is_valid(NULL));
    spool_context made = sp_context_make(NULL, NULL, (spool_span){0}, NULL);
    cr_assert_null(made.block);
    made = spool_context_with_baggage(NULL, NULL);
    cr_assert_null(made.block);
    made = spool_context_with_remote(NULL, NULL, (spool_str){NULL, 5});
    cr_assert_null(made.block);
    made = spool_context_with_remote(NULL, &some_ids, (spool_str){NULL, 5});
    cr_assert_null(made.block);
    made = spool_context_with_value(NULL, (spool_context_key){0}, NULL);
    cr_assert_null(made.block);
    cr_assert_null(spool_context_value(NULL, (spool_context_key){0}));
    spool_token token = spool_context_attach(NULL);
    cr_assert_eq(spool_context_detach(token), SPOOL_OK);
    SPT_TEST_END;
}
