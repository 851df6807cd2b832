/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter's URL: every form that people write, and what becomes of it. */
#include "exporters/otlp/endpoint.h"

#include "tests/support/spt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct good_url {
    const char *text;
    const char *url;
    const char *authorization; /* after "Authorization: Basic ", or NULL */
} good_url;

static const good_url GOOD[] = {
    {"http://h:4318", "http://h:4318/", NULL},
    {"http://h:4318/", "http://h:4318/", NULL},
    {"http://h:4318/base", "http://h:4318/base", NULL},
    {"http://h:4318/base/", "http://h:4318/base/", NULL},
    {"http://h:4318/v1/traces", "http://h:4318/v1/traces", NULL},
    {"http://h:4318//twice//", "http://h:4318//twice//", NULL},
    {"http://h:4318/a/../b", "http://h:4318/a/../b", NULL},
    {"HTTP://H:4318", "http://H:4318/", NULL},
    {"HttpS://h", "https://h/", NULL},
    {"http://h", "http://h/", NULL},
    {"http://h:1", "http://h:1/", NULL},
    {"http://h:65535", "http://h:65535/", NULL},
    {"http://h:04318", "http://h:04318/", NULL},
    {"http://127.0.0.1:4318", "http://127.0.0.1:4318/", NULL},
    {"http://[::1]:4318", "http://[::1]:4318/", NULL},
    {"http://[2001:db8::7]", "http://[2001:db8::7]/", NULL},
    {"http://[fe80::1%25eth0]:4318/x", "http://[fe80::1%25eth0]:4318/x", NULL},
    {"http://a-b.c_d.example:4318", "http://a-b.c_d.example:4318/", NULL},
    {"http://h:4318?x=1", "http://h:4318/?x=1", NULL},
    {"http://h?x=1/2", "http://h/?x=1/2", NULL},
    {"http://h/p?x=a@b", "http://h/p?x=a@b", NULL},
    {"http://h/p@q", "http://h/p@q", NULL},
    {"http://user:pw@h:4318", "http://h:4318/", "dXNlcjpwdw=="},
    {"http://user@h", "http://h/", "dXNlcjo="},
    {"http://u%40x:p%3Aq@h/x", "http://h/x", "dUB4OnA6cQ=="},
    {"http://u:p@ss@h", "http://h/", "dTpwQHNz"},
    {"http://:@h", "http://h/", "Og=="},
};

static const char *const BAD[] = {
    "",
    "h:4318",
    "localhost",
    "//h",
    "http:/h",
    "http:h",
    "http://",
    "http:///path",
    "http://:4318",
    "http://?x=1",
    "http://u:p@",
    "http://h:",
    "http://h:0",
    "http://h:00000",
    "http://h:99999",
    "http://h:65536",
    "http://h:4294967297",
    "http://h:18446744073709551617",
    "http://h:4318x",
    "http://h:-1",
    "http://h:+1",
    "http://h:1:2",
    "http://::1:4318",
    "http://[::1",
    "http://[::1]4318",
    "http://[::1]:",
    "http://[]",
    "http://[g::1]",
    "http://[::1%eth0]",
    "http://[::1%25]",
    "http://[1.2.3.4]",
    "http://h#fragment",
    "http://h/#",
    "http://h h",
    " http://h",
    "http://h\n",
    "http://h\r\nX: 1",
    "http://h\tx",
    "http://h\x7f",
    "http://\xc3\xbc.example",
    "http://h%41",
    "http://h<x>",
    "ftp://h",
    "grpc://h",
    "unix:///run/x",
    "file:///etc/passwd",
};

Test(endpoint, good_forms_come_out_in_one_form) {
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        sp_endpoint made = {NULL, NULL, NULL};
        const char *reason = NULL;
        cr_assert(sp_endpoint_parse(GOOD[i].text, &made, &reason), "%s: %s", GOOD[i].text, reason);
        cr_expect_str_eq(made.url, GOOD[i].url);
        if (GOOD[i].authorization) {
            cr_assert_not_null(made.authorization, "%s", GOOD[i].text);
            cr_expect_eq(strncmp(made.authorization, "Authorization: Basic ", 21), 0);
            cr_expect_str_eq(made.authorization + 21, GOOD[i].authorization);
        } else {
            cr_expect_null(made.authorization, "%s", GOOD[i].text);
        }
        sp_endpoint_fini(&made);
    }
    SPT_TEST_END;
}

Test(endpoint, bad_forms_are_refused_with_a_reason) {
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        sp_endpoint made = {NULL, NULL, NULL};
        const char *reason = NULL;
        cr_expect_not(sp_endpoint_parse(BAD[i], &made, &reason), "taken: %s", BAD[i]);
        cr_assert_not_null(reason, "no reason: %s", BAD[i]);
        cr_expect_null(made.url);
        sp_endpoint_fini(&made);
    }
    SPT_TEST_END;
}

Test(endpoint, length_is_bounded) {
    static char text[10241];
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "http://h/", 9);
    sp_endpoint made = {NULL, NULL, NULL};
    const char *reason = NULL;
    cr_assert_not(sp_endpoint_parse(text, &made, &reason));
    cr_assert_not_null(reason);
    text[4096] = '\0';
    cr_assert(sp_endpoint_parse(text, &made, &reason));
    cr_assert_str_eq(made.url, text);
    sp_endpoint_fini(&made);
    SPT_TEST_END;
}

Test(endpoint, printable_form_has_no_secret) {
    sp_endpoint made;
    const char *reason = NULL;
    cr_assert(sp_endpoint_parse("https://user:hidden@h/p?key=hidden", &made, &reason));
    cr_expect_str_eq(made.printable, "https://h/p");
    cr_expect_str_eq(made.url, "https://h/p?key=hidden");
    sp_endpoint_fini(&made);
    SPT_TEST_END;
}

Test(endpoint, wrong_url_is_shown_without_secrets) {
    static const char *const LINES[][2] = {
        {"ftp://user:hidden@h:1/p?key=hidden", "ftp://***@h:1/p?..."},
        {"user:hidden@h:4318", "***@h:4318"},
        {"http://h:99999?key=hidden", "http://h:99999?..."},
        {"http://h:x#hidden", "http://h:x?..."},
        {"http://us/er:hid?den@h", "http://***@h"},
        {"h:4318", "h:4318"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        char shown[128];
        sp_endpoint_hide_secrets(LINES[i][0], shown, sizeof shown);
        cr_expect_str_eq(shown, LINES[i][1]);
    }
    static char longest[10001];
    memset(longest, 'x', sizeof longest - 1);
    char shown[64];
    sp_endpoint_hide_secrets(longest, shown, sizeof shown);
    cr_expect_eq(strlen(shown), 32 + 3);
    SPT_TEST_END;
}
