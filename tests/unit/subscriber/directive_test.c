/* SPDX-License-Identifier: Apache-2.0 */
/* The language of filters: what is refused and how it is named, hostile text, limits, the examples. */
#include "tests/support/spt.h"

#include <spool/sdk/diagnostics.h>
#include <spool/sdk/filter.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static spool_filter *parse(const char *text) {
    spool_filter *filter = NULL;
    cr_assert_eq(spool_filter_create(text, &filter), SPOOL_OK, "%s", text);
    return filter;
}

static char last_text[600];
static unsigned lines;
static void catch_line(void *arg, const spool_diagnostic *line) {
    (void)arg;
    (void)snprintf(last_text, sizeof last_text, "%s", line->text);
    lines++;
}

Test(directive, bad_directives_are_named_and_create_nothing) {
    static const struct {
        const char *text, *named;
    } rows[] = {
        {"", "\"\""},
        {" , ,", "no directive"},
        {"info,shop=loud", "\"shop=loud\""},
        {"shop=", "\"shop=\""},
        {"shop==info", "\"shop==info\""},
        {"=info", "\"=info\""},
        {"info,shop[", "\"shop[\""},
        {"shop[a", "bracket"},
        {"shop[a]]=info", "\"shop[a]]=info\""},
        {"shop[]=info", "empty"},
        {"shop[{}]=info", "no key"},
        {"shop[{=7}]=info", "no key"},
        {"shop[a{user=7]=info", "out of place"},
        {"shop[a{user=7}x]=info", "bracket"},
        {"shop[a{user=\"7}]=info", "quote"},
        {"shop[a]info", "follows"},
        {"shop]=info", "out of place"},
        {"a\"b=info", "out of place"},
        {"\"a\"b=info", "follows"},
        {"shop[a{user={7}}]=info", "out of place"},
        {"shop=inf\xff", "not a level"},
    };
    spool_diagnostics_set(catch_line, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spool_filter *filter = NULL;
        last_text[0] = '\0';
        cr_expect_eq(spool_filter_create(rows[i].text, &filter), SPOOL_ERR_INVALID, "%s",
                     rows[i].text);
        cr_expect_null(filter);
        /* At most 10 lines a minute are told. */
        if (i < 9) {
            cr_expect_eq(lines, i + 1);
            cr_expect_not_null(strstr(last_text, rows[i].named), "%s: %s", rows[i].text, last_text);
        }
    }
    spool_filter *filter = NULL;
    cr_expect_eq(spool_filter_create(NULL, &filter), SPOOL_ERR_INVALID);
    cr_expect_eq(spool_filter_create("info", NULL), SPOOL_ERR_INVALID);
    spool_diagnostics_set(NULL, NULL);
    SPT_TEST_END;
}

Test(directive, hostile_text_is_harmless) {
    static const char alphabet[] = "[]{}=,\"\\ a7.off";
    static char text[4096];
    spt_random random = {spt_seed(11)};
    for (unsigned i = 0; i < 20000; i++) {
        size_t len = spt_random_below(&random, 40);
        for (size_t j = 0; j < len; j++) {
            text[j] = alphabet[spt_random_below(&random, sizeof alphabet - 1)];
        }
        text[len] = '\0';
        spool_filter *filter = NULL;
        cr_expect((spool_filter_create(text, &filter) == SPOOL_OK) == (filter != NULL));
        spool_filter_release(filter);
    }
    memset(text, '[', sizeof text - 1);
    spool_filter *filter = NULL;
    cr_expect_eq(spool_filter_create(text, &filter), SPOOL_ERR_INVALID);
    SPT_TEST_END;
}

Test(directive, limits_are_errors) {
    static char text[64 * 1024];
    size_t len = 0;
    for (unsigned i = 0; i < 1025; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "s%u=info,", i);
    }
    spool_filter *filter = NULL;
    cr_expect_eq(spool_filter_create(text, &filter), SPOOL_ERR_LIMIT);
    len = 0;
    for (unsigned i = 0; i < 33; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "[s%u]=info,", i);
    }
    cr_expect_eq(spool_filter_create(text, &filter), SPOOL_ERR_LIMIT);
    text[len - strlen("[s32]=info,")] = '\0';
    cr_assert_eq(spool_filter_create(text, &filter), SPOOL_OK);
    spool_filter *more = NULL;
    cr_expect_eq(spool_filter_and(filter, filter, &more), SPOOL_ERR_LIMIT);
    spool_filter_release(filter);
    filter = parse("info");
    unsigned depth = 1;
    while (spool_filter_not(filter, &more) == SPOOL_OK) {
        spool_filter_release(filter);
        filter = more;
        depth++;
    }
    cr_expect_eq(depth, 32);
    spool_filter_release(filter);
    cr_expect_eq(spool_filter_and(NULL, NULL, &more), SPOOL_ERR_INVALID);
    spool_filter_release(NULL);
    cr_expect_null(spool_filter_copy(NULL));
    SPT_TEST_END;
}

/* ---- the documentation ---- */

Test(directive, the_examples_of_the_documentation_are_valid) {
    FILE *page = fopen(SPT_FILTERS_PAGE, "r");
    cr_assert_not_null(page);
    char line[512];
    unsigned examples = 0;
    while (fgets(line, sizeof line, page)) {
        char *end = strncmp(line, "| `", 3) == 0 ? strchr(line + 3, '`') : NULL;
        if (end) {
            *end = '\0';
            spool_filter *filter = NULL;
            cr_expect_eq(spool_filter_create(line + 3, &filter), SPOOL_OK, "%s", line + 3);
            spool_filter_release(filter);
            examples++;
        }
    }
    (void)fclose(page);
    cr_expect_geq(examples, 12);
    SPT_TEST_END;
}
