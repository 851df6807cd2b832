/* SPDX-License-Identifier: Apache-2.0 */
/* SPOOL_FILTER and spool_options.filter. */
#include "tests/support/spt.h"

#include <spool/sdk/sdk.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char told[2048];
static void tell(void *arg, const spool_diagnostic *line) {
    (void)arg;
    if (strcmp(line->component, "filter") == 0) {
        strncat(told, line->text, sizeof told - strlen(told) - 2);
        strcat(told, "\n");
    }
}

static void emit_log(void *self, spool_log_data *log) {
    (void)self;
    (void)log;
}
static const spool_processor_ops takes_logs = {
    .struct_size = sizeof takes_logs, .name = "takes logs", .log_emit = emit_log};

static spool_status start(const char *env, const char *code, spool_sdk **out_sdk) {
    spool_processor processor = {&takes_logs, NULL};
    spool_options options = SPOOL_OPTIONS_INIT;
    options.traces_exporter = "none";
    options.logs_exporter = "none";
    options.no_exit_flush = 1;
    options.processors = &processor;
    options.processor_count = 1;
    options.filter = code;
    told[0] = '\0';
    spool_diagnostics_set(tell, NULL);
    cr_assert_eq(env ? setenv("SPOOL_FILTER", env, 1) : unsetenv("SPOOL_FILTER"), 0);
    spool_status status = spool_start(&options, out_sdk);
    spool_diagnostics_set(NULL, NULL);
    return status;
}

static bool passes(int severity, const char *scope) {
    return spool_logger_enabled(spool_logger_get(scope, ""), NULL, severity, NULL);
}

Test(filter_env, a_bad_part_is_named_and_left_out) {
    spool_sdk *sdk = NULL;
    cr_assert_eq(start("info,shop.db=loud,shop.http=debug", NULL, &sdk), SPOOL_OK);
    cr_expect_str_eq(told, "SPOOL_FILTER: \"shop.db=loud\": not a level; left out\n");
    cr_expect(passes(SPOOL_SEVERITY_DEBUG, "shop.http"));
    cr_expect(passes(SPOOL_SEVERITY_INFO, "shop.db"));
    cr_expect_not(passes(SPOOL_SEVERITY_DEBUG, "shop.db"));
    spool_sdk_free(sdk);
    SPT_TEST_END;
}

Test(filter_env, nothing_usable_is_as_if_it_were_unset) {
    static const char *const values[] = {NULL, "", " , ", "=info", "a=b"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        spool_sdk *sdk = NULL;
        cr_assert_eq(start(values[i], NULL, &sdk), SPOOL_OK);
        cr_expect(passes(SPOOL_SEVERITY_TRACE, "any"), "row %zu", i);
        spool_sdk_free(sdk);
    }
    SPT_TEST_END;
}

Test(filter_env, code_wins_and_its_mistakes_fail_the_start) {
    spool_sdk *sdk = NULL;
    cr_assert_eq(start("trace", "warn", &sdk), SPOOL_OK);
    cr_expect_not(passes(SPOOL_SEVERITY_INFO, "any"));
    spool_sdk_free(sdk);
    sdk = NULL;
    cr_expect_eq(start("trace", "info,shop=loud", &sdk), SPOOL_ERR_INVALID);
    cr_expect_str_eq(told, "spool_options.filter: \"shop=loud\": not a level\n");
    cr_expect_null(sdk);
    cr_expect_null(spool_sdk_default());
    SPT_TEST_END;
}
