/* SPDX-License-Identifier: Apache-2.0 */
/* Trace state: set, get, and the order of members. The grammar is tested in tests/conformance. */
#include "sdk/context/trace_state.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void expect_text(const sp_trace_state *state, const char *text) {
    spool_str got = sp_trace_state_text(state);
    cr_assert_eq(got.len, strlen(text), "%.*s", (int)got.len, got.ptr);
    cr_assert_eq(memcmp(got.ptr, text, got.len), 0, "%.*s", (int)got.len, got.ptr);
}

/* Sets and lets go of the old state. */
static sp_trace_state *changed(sp_trace_state *state, const char *key, const char *value) {
    sp_trace_state *made = sp_trace_state_set(state, spool_str_of(key), spool_str_of(value));
    sp_trace_state_release(state);
    return made;
}

Test(trace_state, PR_11_a_changed_member_moves_to_the_front) {
    sp_trace_state *state = sp_trace_state_parse(SPOOL_STR("a=1,b=2,c=3"));
    state = changed(state, "b", "4");
    expect_text(state, "b=4,a=1,c=3");
    state = changed(state, "new", "5");
    expect_text(state, "new=5,b=4,a=1,c=3");
    state = changed(state, "a", NULL);
    expect_text(state, "new=5,b=4,c=3");
    state = changed(state, "absent", NULL);
    expect_text(state, "new=5,b=4,c=3");
    state = changed(changed(changed(state, "new", NULL), "b", NULL), "c", NULL);
    cr_assert_null(state);
    SPT_TEST_END;
}

Test(trace_state, PR_11_past_32_the_right_most_goes) {
    sp_trace_state *state = NULL;
    char key[16];
    for (int i = 0; i < 32; i++) {
        snprintf(key, sizeof key, "k%d", i);
        state = changed(state, key, "v");
    }
    state = changed(state, "k5", "again");
    cr_assert(sp_trace_state_get(state, SPOOL_STR("k0"), NULL));
    state = changed(state, "last", "v");
    cr_assert_not(sp_trace_state_get(state, SPOOL_STR("k0"), NULL));
    cr_assert(sp_trace_state_get(state, SPOOL_STR("k1"), NULL));
    sp_trace_state_release(state);
    SPT_TEST_END;
}

Test(trace_state, get_compares_whole_keys) {
    sp_trace_state *state = sp_trace_state_parse(SPOOL_STR("ab=1,a=2,abc=3"));
    spool_str value;
    cr_assert(sp_trace_state_get(state, SPOOL_STR("a"), &value));
    cr_assert_eq(value.ptr[0], '2');
    cr_assert_eq(value.len, 1);
    cr_assert_not(sp_trace_state_get(state, SPOOL_STR("abcd"), &value));
    cr_assert_not(sp_trace_state_get(state, SPOOL_STR(""), &value));
    cr_assert_not(sp_trace_state_get(state, (spool_str){NULL, 0}, &value));
    cr_assert_not(sp_trace_state_get(NULL, SPOOL_STR("a"), &value));
    sp_trace_state_release(state);
    SPT_TEST_END;
}

Test(trace_state, invalid_changes_give_the_same_state_again) {
    sp_trace_state *state = sp_trace_state_parse(SPOOL_STR("a=1"));
    const char *bad_keys[] = {"", "A", "@a", "a b", "a=b", NULL};
    for (size_t i = 0; i < sizeof bad_keys / sizeof bad_keys[0]; i++) {
        sp_trace_state *same = sp_trace_state_set(state, spool_str_of(bad_keys[i]), SPOOL_STR("v"));
        cr_assert_eq(same, state);
        sp_trace_state_release(same);
    }
    const char *bad_values[] = {"", "v ", "a,b", "a=b", "\t", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad_values / sizeof bad_values[0]; i++) {
        sp_trace_state *same =
            sp_trace_state_set(state, SPOOL_STR("b"), spool_str_of(bad_values[i]));
        cr_assert_eq(same, state);
        sp_trace_state_release(same);
    }
    sp_trace_state_release(state);
    sp_trace_state_release(NULL);
    cr_assert_null(sp_trace_state_retain(NULL));
    expect_text(NULL, "");
    SPT_TEST_END;
}
