/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks and deadlines. */
#include "sdk/platform/clock.h"

#include <spool/sdk/provider.h>

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <time.h>

Test(clock, wall_time_is_the_systems) {
    uint64_t before = (uint64_t)time(NULL);
    uint64_t precise = sp_clock_wall_ns(SPOOL_CLOCK_PRECISE);
    uint64_t coarse = sp_clock_wall_ns(SPOOL_CLOCK_COARSE);
    uint64_t after = (uint64_t)time(NULL);
    cr_assert(precise / SP_NS_PER_S >= before && precise / SP_NS_PER_S <= after + 1);
    cr_assert(coarse <= precise + SP_NS_PER_S && coarse + SP_NS_PER_S >= precise);
    SPT_TEST_END;
}

Test(clock, monotonic_time_never_goes_back) {
    for (uint32_t kind = SPOOL_CLOCK_PRECISE; kind <= SPOOL_CLOCK_COARSE; kind++) {
        uint64_t last = sp_clock_mono_ns(kind);
        cr_assert(last > 0);
        for (int i = 0; i < 10000; i++) {
            uint64_t now = sp_clock_mono_ns(kind);
            cr_assert(now >= last);
            last = now;
        }
    }
    SPT_TEST_END;
}

Test(clock, deadlines_saturate) {
    uint64_t now = sp_clock_mono_ns(SPOOL_CLOCK_PRECISE);
    uint64_t soon = sp_deadline_after_ms(1000);
    cr_assert(soon >= now + SP_NS_PER_S);
    cr_assert(soon < now + 60 * SP_NS_PER_S);
    cr_assert_eq(sp_deadline_after_ms(UINT64_MAX), SP_NO_DEADLINE);
    cr_assert_eq(sp_deadline_after_ms(UINT64_MAX / 1000), SP_NO_DEADLINE);
    SPT_TEST_END;
}
