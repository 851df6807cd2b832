/* SPDX-License-Identifier: Apache-2.0 */
/* Which replies are worth another try, and after how long. */
#include "exporters/otlp/retry.h"

#include "sdk/platform/clock.h"
#include "tests/support/spt.h"

#include <criterion/criterion.h>

enum { ROUNDS = 2000 };

static const sp_retry DEFAULT = {.initial_ms = 1000, .max_ms = 30000, .max_attempts = 0};

Test(retry, four_statuses_and_no_other) {
    for (long status = -1; status < 1000; status++) {
        bool want = status == 429 || status == 502 || status == 503 || status == 504;
        cr_expect_eq(sp_retry_is_status(status), want, "%ld", status);
    }
    SPT_TEST_END;
}

Test(retry, back_off_doubles_to_its_cap_within_a_fifth) {
    sp_random random = {.fork_generation = 0};
    static const uint64_t WANT_MS[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    for (uint32_t attempt = 1; attempt <= 8; attempt++) {
        uint64_t want = WANT_MS[attempt - 1] * SP_NS_PER_MS;
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;
        for (int i = 0; i < ROUNDS; i++) {
            uint64_t got = sp_retry_delay_ns(&DEFAULT, attempt, -1, &random);
            least = got < least ? got : least;
            most = got > most ? got : most;
        }
        cr_expect_geq(least, want / 10 * 8);
        cr_expect_leq(most, want / 10 * 12);
        /* The whole width is used: of 2000 draws some are in the outer twentieths. */
        cr_expect_leq(least, want / 100 * 82);
        cr_expect_geq(most, want / 100 * 118);
    }
    SPT_TEST_END;
}

Test(retry, wish_of_the_server_replaces_the_back_off_and_is_not_undercut) {
    sp_random random = {.fork_generation = 0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t got = sp_retry_delay_ns(&DEFAULT, 9, 3000, &random);
        cr_expect_geq(got, 3000 * SP_NS_PER_MS);
        cr_expect_leq(got, 3600 * SP_NS_PER_MS);
    }
    cr_expect_eq(sp_retry_delay_ns(&DEFAULT, 1, 0, &random), 0);
    SPT_TEST_END;
}

Test(retry, extremes_do_not_wrap) {
    sp_random random = {.fork_generation = 0};
    sp_retry wide = {.initial_ms = UINT32_MAX, .max_ms = UINT32_MAX, .max_attempts = 0};
    sp_retry none = {.initial_ms = 0, .max_ms = 0, .max_attempts = 0};
    uint64_t day = UINT64_C(86400) * SP_NS_PER_S;
    cr_expect_gt(sp_retry_delay_ns(&DEFAULT, 1, INT64_MAX, &random), day);
    cr_expect_gt(sp_retry_delay_ns(&wide, UINT32_MAX, -1, &random), day);
    cr_expect_eq(sp_retry_delay_ns(&none, 5, -1, &random), 0);
    uint64_t last = sp_retry_delay_ns(&DEFAULT, UINT32_MAX, -1, &random);
    cr_expect(last >= 24000 * SP_NS_PER_MS && last <= 36000 * SP_NS_PER_MS);
    SPT_TEST_END;
}
