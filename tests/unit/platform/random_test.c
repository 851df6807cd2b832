/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: seeds itself, its bits are balanced, processes and threads do not share a sequence. */
#include "sdk/platform/fork.h"
#include "sdk/platform/random.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

Test(random, follows_the_published_sequence) {
    /* xoshiro256++ from the state 1, 2, 3, 4. */
    sp_random random = {{1, 2, 3, 4}, sp_fork_generation()};
    static const uint64_t expected[] = {UINT64_C(41943041), UINT64_C(58720359),
                                        UINT64_C(3588806011781223), UINT64_C(3591011842654386)};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(sp_random_next(&random), expected[i]);
    }
    SPT_TEST_END;
}

Test(random, seeds_itself_and_keeps_errno) {
    sp_random one = {{0}, 0};
    sp_random two = {{0}, 0};
    errno = 4711;
    cr_assert_neq(sp_random_next(&one), sp_random_next(&two));
    cr_assert_eq(one.fork_generation, sp_fork_generation());
    cr_assert_eq(errno, 4711);
    SPT_TEST_END;
}

Test(random, every_bit_is_set_about_half_of_the_time) {
    enum { ROUNDS = 20000 };
    sp_random random = {{0}, 0};
    unsigned set[64] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t word = sp_random_next(&random);
        for (unsigned bit = 0; bit < 64; bit++) {
            set[bit] += (unsigned)(word >> bit) & 1u;
        }
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        /* Ten standard deviations of a fair coin: 10 * sqrt(20000) / 2. */
        cr_assert(set[bit] > ROUNDS / 2 - 710 && set[bit] < ROUNDS / 2 + 710, "bit %u", bit);
    }
    SPT_TEST_END;
}

Test(random, a_child_takes_a_sequence_of_its_own) {
    sp_random random = {{0}, 0};
    int ends[2];
    int status;
    uint64_t of_child = 0;
    (void)sp_random_next(&random);
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        uint64_t next = sp_random_next(&random);
        _exit(write(ends[1], &next, sizeof next) == sizeof next ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert_eq(read(ends[0], &of_child, sizeof of_child), sizeof of_child);
    cr_assert_neq(of_child, sp_random_next(&random));
    close(ends[0]);
    close(ends[1]);
    SPT_TEST_END;
}
