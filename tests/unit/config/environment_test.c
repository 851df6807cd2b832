/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, ratios, booleans and lists of the environment, each with nonsense (case T64). */
#include "config/environment.h"
#include "config/limits_env.h"
#include "config/otlp_env.h"
#include "tests/support/spt.h"
#include "tests/unit/config/caught.h"

#include <spool/sdk/batch.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <locale.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- every variable that holds a number ---- */

typedef enum place { SPAN_BATCH, LOG_BATCH, LIMITS, SPAN_OTLP, LOG_OTLP } place;

typedef struct variable {
    const char *name;
    place where;
    size_t offset;
    bool zero_allowed;
} variable;

#define BATCH(field) offsetof(spool_batch_options, field)
#define LIMIT(field) offsetof(spool_limits, field)
static const variable variables[] = {
    {"OTEL_BSP_MAX_QUEUE_SIZE", SPAN_BATCH, BATCH(max_queue_size), false},
    {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", SPAN_BATCH, BATCH(max_export_batch_size), false},
    {"OTEL_BSP_SCHEDULE_DELAY", SPAN_BATCH, BATCH(schedule_delay_ms), true},
    {"OTEL_BSP_EXPORT_TIMEOUT", SPAN_BATCH, BATCH(export_timeout_ms), true},
    {"OTEL_BLRP_MAX_QUEUE_SIZE", LOG_BATCH, BATCH(max_queue_size), false},
    {"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", LOG_BATCH, BATCH(max_export_batch_size), false},
    {"OTEL_BLRP_SCHEDULE_DELAY", LOG_BATCH, BATCH(schedule_delay_ms), true},
    {"OTEL_BLRP_EXPORT_TIMEOUT", LOG_BATCH, BATCH(export_timeout_ms), true},
    {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", LIMITS, LIMIT(span_attr_length), true},
    {"OTEL_ATTRIBUTE_COUNT_LIMIT", LIMITS, LIMIT(span_attr_count), true},
    {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", LIMITS, LIMIT(span_attr_length), true},
    {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", LIMITS, LIMIT(span_attr_count), true},
    {"OTEL_SPAN_EVENT_COUNT_LIMIT", LIMITS, LIMIT(span_event_count), true},
    {"OTEL_SPAN_LINK_COUNT_LIMIT", LIMITS, LIMIT(span_link_count), true},
    {"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", LIMITS, LIMIT(event_attr_count), true},
    {"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", LIMITS, LIMIT(link_attr_count), true},
    {"OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", LIMITS, LIMIT(log_attr_length), true},
    {"OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", LIMITS, LIMIT(log_attr_count), true},
    {"OTEL_EXPORTER_OTLP_TIMEOUT", SPAN_OTLP, offsetof(spool_otlp_options, timeout_ms), true},
    {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", SPAN_OTLP, offsetof(spool_otlp_options, timeout_ms),
     true},
    {"OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", LOG_OTLP, offsetof(spool_otlp_options, timeout_ms), true},
};
enum { VARIABLES = sizeof variables / sizeof variables[0] };

static uint32_t field(const void *options, size_t offset) {
    uint32_t number;
    memcpy(&number, (const char *)options + offset, sizeof number);
    return number;
}

/* What the library would use, now. */
static uint32_t effective(const variable *of) {
    static const sp_otlp_settings no_code = {NULL, NULL};
    spool_batch_options batch;
    spool_limits limits;
    spool_otlp_options otlp;
    char *url;
    switch (of->where) {
    case SPAN_BATCH:
    case LOG_BATCH:
        spool_batch_options_from_env(&batch, of->where == SPAN_BATCH ? SPOOL_SIGNAL_SPANS
                                                                     : SPOOL_SIGNAL_LOGS);
        return field(&batch, of->offset);
    case LIMITS:
        spool_limits_init(&limits);
        sp_limits_from_env(&limits);
        return field(&limits, of->offset);
    default:
        cr_assert_eq(
            sp_otlp_options_make(of->where == SPAN_OTLP ? SPOOL_SIGNAL_SPANS : SPOOL_SIGNAL_LOGS,
                                 &no_code, true, &otlp, &url),
            SPOOL_OK);
        free(url);
        return field(&otlp, of->offset);
    }
}

ParameterizedTestParameters(environment, T64_a_number_that_is_none_is_named_and_left_out) {
    static size_t indices[VARIABLES];
    for (size_t i = 0; i < VARIABLES; i++) {
        indices[i] = i;
    }
    return cr_make_param_array(size_t, indices, VARIABLES, NULL);
}

/*
 * A variable is named once a process, so the values after the first prove the default and the silence;
 * that each of them warns is the next test's.
 */
ParameterizedTest(size_t *index, environment, T64_a_number_that_is_none_is_named_and_left_out) {
    static const char *const nonsense[] = {
        "-1",   "abc",        " 512 ", "512abc",   "1e3", "99999999999999999999",
        "0x10", "2147483648", "+5",    "\xd9\xa5", /* a digit, but of another script */
    };
    const variable *of = &variables[*index];
    spt_caught_start();
    uint32_t normal = effective(of);
    setenv(of->name, "", 1);
    cr_expect_eq(effective(of), normal);
    cr_expect_eq(spt_caught_lines(), 0, "empty is unset");
    setenv(of->name, "7", 1);
    cr_expect_eq(effective(of), 7);
    cr_expect_eq(spt_caught_lines(), 0, "%s", spt_caught_line(0));
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        setenv(of->name, nonsense[i], 1);
        cr_expect_eq(effective(of), normal, "%s=%s", of->name, nonsense[i]);
        cr_expect_eq(spt_caught_lines(), 1);
    }
    cr_expect_eq(spt_caught_with(of->name), 1);
    cr_expect_eq(spt_caught_with("\"-1\""), 1, "%s", spt_caught_line(0));
    setenv(of->name, "0", 1);
    cr_expect_eq(effective(of), of->zero_allowed ? 0 : normal);
    cr_expect_eq(spt_caught_lines(), 1);
    SPT_TEST_END;
}

Test(environment, T64_each_kind_of_nonsense_is_named) {
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I"};
    static const char *const values[] = {
        "-1", "0", "abc", " 512 ", "512abc", "1e3", "99999999999999999999", "0x10", "2147483648"};
    spt_caught_start();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t number = 42;
        setenv(names[i], values[i], 1);
        cr_expect_not(sp_env_number(names[i], 1, &number), "%s", values[i]);
        cr_expect_eq(number, 42);
        cr_expect_eq(spt_caught_lines(), i + 1);
        cr_expect_not_null(strstr(spt_caught_line(i), names[i]));
        cr_expect_not_null(strstr(spt_caught_line(i), values[i]), "%s", spt_caught_line(i));
    }
    uint32_t number = 0;
    setenv("J", "2147483647", 1);
    cr_expect(sp_env_number("J", 1, &number));
    cr_expect_eq(number, INT32_MAX);
    SPT_TEST_END;
}

Test(environment, T64_a_megabyte_is_named_by_its_beginning) {
    enum { MEGABYTE = 1 << 20 };
    char *long_text = malloc(MEGABYTE + 1);
    cr_assert_not_null(long_text);
    memset(long_text, '9', MEGABYTE);
    long_text[MEGABYTE] = '\0';
    spt_caught_start();
    spool_batch_options batch;
    setenv("OTEL_BSP_MAX_QUEUE_SIZE", long_text, 1);
    spool_batch_options_from_env(&batch, SPOOL_SIGNAL_SPANS);
    cr_expect_eq(batch.max_queue_size, 2048);
    cr_expect_eq(spt_caught_lines(), 1);
    cr_expect_lt(strlen(spt_caught_line(0)), 256);
    cr_expect_not_null(strstr(spt_caught_line(0), "OTEL_BSP_MAX_QUEUE_SIZE=\"999"));
    cr_expect_not_null(strstr(spt_caught_line(0), "\"...:"));
    free(long_text);
    SPT_TEST_END;
}

Test(environment, a_long_value_is_not_cut_inside_a_character) {
    char text[101];
    text[0] = 'x';
    for (size_t i = 1; i < 100; i += 2) {
        memcpy(text + i, "\xc3\xa4", 2);
    }
    text[100] = '\0'; /* the 64th byte is the first half of a letter, the 65th its second */
    spt_caught_start();
    uint32_t number;
    setenv("A", text, 1);
    cr_expect_not(sp_env_number("A", 0, &number));
    const char *cut = strstr(spt_caught_line(0), "\"...:");
    cr_assert_not_null(cut);
    cr_expect_eq((unsigned char)cut[-1], 0xa4);
    SPT_TEST_END;
}

/* ---- batch against queue ---- */

typedef struct batch_case {
    const char *queue, *batch;
    uint32_t used_queue, used_batch;
    size_t warnings;
} batch_case;

Test(environment, T64_a_batch_larger_than_the_queue_is_named) {
    static const batch_case cases[] = {
        {"100", NULL, 100, 100, 0}, /* nobody asked for 512 */
        {"1000", "1000", 1000, 1000, 0},
        {"1000", "1001", 1000, 512, 1},
        {"100", "512", 100, 100, 1},
    };
    spt_caught_start();
    size_t expected = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t signal = i == 3 ? SPOOL_SIGNAL_LOGS : SPOOL_SIGNAL_SPANS;
        const char *queue = i == 3 ? "OTEL_BLRP_MAX_QUEUE_SIZE" : "OTEL_BSP_MAX_QUEUE_SIZE";
        const char *size =
            i == 3 ? "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE" : "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";
        setenv(queue, cases[i].queue, 1);
        if (cases[i].batch) {
            setenv(size, cases[i].batch, 1);
        }
        spool_batch_options batch;
        spool_batch_options_from_env(&batch, signal);
        expected += cases[i].warnings;
        cr_expect_eq(batch.max_queue_size, cases[i].used_queue);
        cr_expect_eq(batch.max_export_batch_size, cases[i].used_batch, "case %zu", i);
        cr_expect_eq(spt_caught_lines(), expected, "case %zu", i);
    }
    cr_expect_eq(spt_caught_with("OTEL_BSP_MAX_EXPORT_BATCH_SIZE=\"1001\""), 1);
    cr_expect_eq(spt_caught_with("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE=\"512\""), 1);
    SPT_TEST_END;
}

Test(environment, LI_07_the_models_own_limit_beats_the_general_one) {
    spool_limits limits;
    spool_limits_init(&limits);
    setenv("OTEL_ATTRIBUTE_COUNT_LIMIT", "10", 1);
    setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "20", 1);
    setenv("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "30", 1);
    setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "40", 1);
    sp_limits_from_env(&limits);
    cr_expect_eq(limits.span_attr_count, 10);
    cr_expect_eq(limits.log_attr_count, 30);
    cr_expect_eq(limits.span_attr_length, 40);
    cr_expect_eq(limits.log_attr_length, 20);
    cr_expect_eq(limits.event_attr_count, 128);
    SPT_TEST_END;
}

/* ---- ratios ---- */

Test(environment, T64_ratios_that_are_none) {
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I"};
    static const char *const values[] = {"1.5", "-0.1", "nan",   "0,5",  "1e3",
                                         "0x1", "0.5x", " 0.5 ", "1.0.0"};
    spt_caught_start();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double ratio = 0.25;
        setenv(names[i], values[i], 1);
        cr_expect_not(sp_env_ratio(names[i], &ratio), "%s", values[i]);
        cr_expect_float_eq(ratio, 0.25, 0.0);
        cr_expect_not_null(strstr(spt_caught_line(i), values[i]), "%s", spt_caught_line(i));
    }
    SPT_TEST_END;
}

Test(environment, ratios_are_read_as_strtod_would) {
    static const char *const values[] = {
        "0",
        "1",
        "0.0",
        "1.0",
        "1.",
        ".5",
        "0.1",
        "0.3",
        "0.7",
        "0.000001",
        "0.123456789012",
        "00.25",
        "0.3333333333333333333333333333",
        "0.99999999999999999999999999999999999999",
        "0.00000000000000000000000000000000001",
        "1.00000000000000000000000",
    };
    spt_caught_start();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        double ratio = -1.0;
        setenv("RATIO", values[i], 1);
        cr_expect(sp_env_ratio("RATIO", &ratio), "%s", values[i]);
        double expected = strtod(values[i], NULL);
        double allowed = strlen(values[i]) <= 14 ? 0.0 : 1e-13;
        cr_expect_float_eq(ratio, expected, allowed, "%s: %.17g", values[i], ratio);
    }
    cr_expect_eq(spt_caught_lines(), 0);
    SPT_TEST_END;
}

Test(environment, numbers_do_not_depend_on_the_locale) {
    static const char *const comma_locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
                                                "fr_FR"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof comma_locales / sizeof comma_locales[0]; i++) {
        found = setlocale(LC_ALL, comma_locales[i]) != NULL;
    }
    if (!found) {
        cr_skip_test("no locale with a decimal comma is installed");
    }
    double ratio;
    setenv("RATIO", "0.5", 1);
    cr_expect(sp_env_ratio("RATIO", &ratio));
    cr_expect_float_eq(ratio, 0.5, 0.0);
    setenv("RATIO", "0,5", 1);
    cr_expect_not(sp_env_ratio("RATIO", &ratio));
    SPT_TEST_END;
}

/* ---- booleans and lists ---- */

Test(environment, EV_02_only_true_is_true) {
    static const struct {
        const char *value;
        bool is_true;
        size_t warnings;
    } cases[] = {
        {"true", true, 0},   {"TRUE", true, 0},   {"True", true, 0}, {"false", false, 0},
        {"", false, 0},      {"1", false, 1},     {"yes", false, 1}, {" true", false, 1},
        {"truee", false, 1}, {"FALSE", false, 0},
    };
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"};
    spt_caught_start();
    size_t expected = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv(names[i], cases[i].value, 1);
        cr_expect_eq(sp_env_bool(names[i]), cases[i].is_true, "'%s'", cases[i].value);
        expected += cases[i].warnings;
        cr_expect_eq(spt_caught_lines(), expected, "'%s'", cases[i].value);
    }
    SPT_TEST_END;
}

Test(environment, items_of_a_list_are_trimmed_and_the_empty_ones_skipped) {
    const char *rest = " a,,\tb c ,, ,d";
    static const char *const expected[] = {"a", "b c", "d"};
    spool_str item;
    for (size_t i = 0; i < 3; i++) {
        cr_assert(sp_env_next_item(&rest, &item));
        cr_expect(sp_env_is(item, expected[i]));
    }
    cr_expect_not(sp_env_next_item(&rest, &item));
    const char *none = NULL;
    cr_expect_not(sp_env_next_item(&none, &item));
    SPT_TEST_END;
}

Test(environment, a_secret_is_not_shown_and_errno_stays) {
    spt_caught_start();
    errno = 77;
    sp_env_warn("SECRET", NULL, "malformed");
    uint32_t number;
    setenv("A", "99999999999999999999", 1);
    (void)sp_env_number("A", 0, &number);
    cr_expect_eq(errno, 77);
    cr_expect_str_eq(spt_caught_line(0), "SECRET: malformed");
    SPT_TEST_END;
}
