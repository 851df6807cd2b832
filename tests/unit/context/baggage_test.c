/* SPDX-License-Identifier: Apache-2.0 */
/* Baggage as a value. */
#include "sdk/platform/diagnostics.h"

#include <spool/baggage.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_value(const spool_baggage *baggage, const char *name, const char *value) {
    spool_str got;
    cr_assert(spool_baggage_get(baggage, name, &got), "%s is not there", name);
    cr_assert_eq(got.len, strlen(value));
    cr_assert_eq(memcmp(got.ptr, value, got.len), 0);
}

Test(baggage, BG_01_immutable_and_one_value_for_a_name) {
    spool_baggage *one = spool_baggage_set(NULL, "a", "1");
    spool_baggage *two = spool_baggage_set(one, "b", "2");
    spool_baggage *three = spool_baggage_set(two, "a", "3");
    cr_assert_eq(spool_baggage_count(one), 1);
    cr_assert_eq(spool_baggage_count(two), 2);
    cr_assert_eq(spool_baggage_count(three), 2);
    expect_value(one, "a", "1");
    expect_value(two, "a", "1");
    expect_value(three, "a", "3");
    expect_value(three, "b", "2");
    spool_baggage_release(one);
    spool_baggage_release(two);
    spool_baggage_release(three);
    SPT_TEST_END;
}

Test(baggage, BG_02_names_and_values_come_back_unchanged) {
    spool_baggage *baggage = spool_baggage_set(NULL, "Am\xc3\xa9lie, = ;", " v\xe2\x82\xac\n ");
    expect_value(baggage, "Am\xc3\xa9lie, = ;", " v\xe2\x82\xac\n ");
    cr_assert_not(spool_baggage_get(baggage, "am\xc3\xa9lie, = ;", NULL));
    spool_baggage *empty_value = spool_baggage_set(baggage, "e", "");
    expect_value(empty_value, "e", "");
    spool_baggage *null_value = spool_baggage_set(baggage, "n", NULL);
    expect_value(null_value, "n", "");
    spool_baggage_release(baggage);
    spool_baggage_release(empty_value);
    spool_baggage_release(null_value);
    SPT_TEST_END;
}

Test(baggage, BG_03_remove_and_at) {
    spool_baggage *one =
        spool_baggage_set_n(NULL, SPOOL_STR("a"), SPOOL_STR("1"), SPOOL_STR("m;n=o"));
    spool_baggage *two = spool_baggage_set(one, "b", "2");
    spool_baggage *removed = spool_baggage_remove(two, "a");
    spool_baggage_entry entry;
    cr_assert(spool_baggage_at(two, 0, &entry));
    cr_assert_eq(entry.metadata.len, 5);
    cr_assert_eq(memcmp(entry.metadata.ptr, "m;n=o", 5), 0);
    cr_assert_eq(spool_baggage_count(removed), 1);
    cr_assert(spool_baggage_at(removed, 0, &entry));
    cr_assert_eq(memcmp(entry.name.ptr, "b", 1), 0);
    cr_assert_not(spool_baggage_at(removed, 1, &entry));
    cr_assert(spool_baggage_at(removed, 0, NULL));
    spool_baggage *same = spool_baggage_remove(two, "absent");
    cr_assert_eq(same, two);
    cr_assert_null(spool_baggage_remove(removed, "b"));
    spool_baggage_release(same);
    spool_baggage_release(one);
    spool_baggage_release(two);
    spool_baggage_release(removed);
    SPT_TEST_END;
}

Test(baggage, what_is_not_valid_gives_the_same_again_and_is_counted) {
    spool_baggage *base = spool_baggage_set(NULL, "a", "1");
    const spool_str bad = spool_str_n("\xff", 1);
    spool_baggage *same[] = {
        spool_baggage_set(base, "", "x"),
        spool_baggage_set(base, NULL, "x"),
        spool_baggage_set_n(base, bad, SPOOL_STR("x"), SPOOL_STR("")),
        spool_baggage_set_n(base, SPOOL_STR("x"), bad, SPOOL_STR("")),
        spool_baggage_set_n(base, SPOOL_STR("x"), SPOOL_STR("x"), bad),
        spool_baggage_set_n(base, SPOOL_STR("x"), (spool_str){NULL, 4}, SPOOL_STR("")),
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        cr_assert_eq(same[i], base);
        spool_baggage_release(same[i]);
    }
    cr_assert_eq(sp_misuse_read(SP_MISUSE_DROPPED_ATTRIBUTE), 6);
    cr_assert_null(spool_baggage_set(NULL, NULL, NULL));
    spool_baggage_release(base);
    SPT_TEST_END;
}

Test(baggage, T39_null_is_the_empty_baggage) {
    spool_str value;
    spool_baggage_release(NULL);
    cr_assert_null(spool_baggage_copy(NULL));
    cr_assert_null(spool_baggage_remove(NULL, "a"));
    cr_assert_null(spool_baggage_remove(NULL, NULL));
    cr_assert_null(spool_baggage_remove_n(NULL, (spool_str){NULL, 3}));
    cr_assert_eq(spool_baggage_count(NULL), 0);
    cr_assert_not(spool_baggage_at(NULL, 0, NULL));
    cr_assert_not(spool_baggage_get(NULL, "a", &value));
    cr_assert_not(spool_baggage_get(NULL, NULL, NULL));
    cr_assert_not(spool_baggage_get_n(NULL, (spool_str){NULL, 3}, &value));
    SPT_TEST_END;
}
