/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random header text: nothing crashes, and what is accepted is stable: what is sent on is accepted
 * again, and sent on as the same text.
 */
#include "carrier.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = SPT_ASAN ? 20000 : 100000, MOST = 400 };

/* Exactly the text, on the heap, so that AddressSanitizer sees the first byte read past it. */
static spool_str exact(const char *text, size_t len) {
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    return spool_str_n(copy, len);
}

static void freed(spool_str text) {
    union {
        const char *in;
        char *out;
    } pointer = {.in = text.ptr};
    free(pointer.out);
}

static size_t random_text(spt_random *random, const char *alphabet, const char *base, char *out) {
    size_t len = 0;
    if (spt_random_below(random, 2)) {
        size_t letters = strlen(alphabet);
        len = (size_t)spt_random_below(random, MOST);
        for (size_t i = 0; i < len; i++) {
            out[i] = alphabet[spt_random_below(random, letters)];
        }
        return len;
    }
    len = strlen(base);
    memcpy(out, base, len);
    for (uint64_t i = spt_random_below(random, 4); i > 0 && len > 0; i--) {
        size_t at = (size_t)spt_random_below(random, len);
        switch (spt_random_below(random, 3)) {
        case 0:
            out[at] = (char)spt_random_next(random);
            break;
        case 1:
            len = at;
            break;
        default:
            memmove(out + at, out + at + 1, len - at - 1);
            len--;
        }
    }
    return len;
}

static void expect_stable(const char *name, const char *alphabet, const char *base, uint64_t seed) {
    spt_random random = {spt_seed(seed)};
    char text[MOST + 100];
    unsigned accepted = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t len = random_text(&random, alphabet, base, text);
        spool_header headers[2] = {{spool_str_of(name), exact(text, len)},
                                   {SPOOL_STR("traceparent"), SPOOL_STR(W3C_PARENT)}};
        size_t count = strcmp(name, "traceparent") == 0 ? 1 : 2;
        spool_context context = extracted(headers, count);
        freed(headers[0].value);
        const char *out = injected(&context, name);
        if (out) {
            accepted++;
            char *sent = strdup(out);
            headers[0].value = spool_str_of(sent);
            spool_context again = extracted(headers, count);
            const char *out_again = injected(&again, name);
            cr_assert_not_null(out_again, "%s", sent);
            cr_assert_str_eq(out_again, sent);
            spool_context_release(&again);
            free(sent);
        }
        spool_context_release(&context);
    }
    cr_assert(accepted > 0 && accepted < ROUNDS, "%u of %d accepted", accepted, ROUNDS);
}

Test(w3c_random, traceparent_is_stable) {
    expect_stable("traceparent", "0123456789abcdef-- ", W3C_PARENT, 1);
    SPT_TEST_END;
}

Test(w3c_random, tracestate_is_stable) {
    expect_stable("tracestate", "ab@=, \t1", "foo=1,bar=2 , baz@vendor=x y", 2);
    SPT_TEST_END;
}

Test(w3c_random, baggage_is_stable) {
    expect_stable("baggage", "ab=,; \t%4F\xc3\xa9", "a=1;p=q, b=%C3%A9%20, c=%FF;x", 3);
    SPT_TEST_END;
}
