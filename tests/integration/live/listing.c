/* SPDX-License-Identifier: Apache-2.0 */
/* What the two listings of live spans say, with nothing else going on. */
#include "tests/integration/live/dump_line.h"
#include "tests/support/spt.h"
#include "tests/support/spt_pipeline.h"

#include <spool/sdk/live.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static spool_tracer *tracer(void) {
    return spool_tracer_get("live", NULL);
}

static int scratch_file(void) {
    return memfd_create("dump", MFD_CLOEXEC);
}

/* The text of a dump; its line count is checked. */
static char *dump(size_t expected_lines) {
    int file = scratch_file();
    size_t len = 0;
    SPT_CHECK_UINT(spool_dump_live_spans(file), expected_lines);
    char *text = dump_text(file, &len);
    size_t lines = 0;
    for (size_t i = 0; i < len; i++) {
        lines += text[i] == '\n';
    }
    SPT_CHECK_UINT(lines, expected_lines);
    (void)close(file);
    return text;
}

typedef struct sighting {
    size_t count;
    size_t stop_after;
    spool_live_span last;
    char name[64];
    bool attrs_good;
} sighting;

static bool see(void *arg, const spool_live_span *span) {
    sighting *seen = arg;
    seen->last = *span;
    (void)snprintf(seen->name, sizeof seen->name, "%.*s", (int)span->name.len, span->name.ptr);
    const spool_value *number = spt_attr(span->attrs, span->attr_count, "number");
    const spool_value *text = spt_attr(span->attrs, span->attr_count, "text");
    seen->attrs_good =
        number && number->as.integer == -7 && text && spt_text_is(text->as.string, "a\"b");
    return ++seen->count != seen->stop_after;
}

static void a_span_is_listed_with_all_it_says(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span root = spool_span_start(tracer(), "root", NULL);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.parent_span = root;
    options.kind = SPOOL_KIND_CLIENT;
    spool_attr attrs[] = {spool_int("number", -7), spool_string("text", "a\"b")};
    options.attrs = attrs;
    options.attr_count = 2;
    spool_span child = spool_span_start(tracer(), "child", &options);
    spool_span_end(root);
    sighting seen = {0};
    SPT_CHECK_UINT(spool_live_spans(see, &seen), 1);
    SPT_CHECK_UINT(seen.count, 1);
    SPT_CHECK_STRING(seen.name, "child");
    SPT_CHECK(seen.attrs_good);
    SPT_CHECK_UINT(seen.last.attr_count, 2);
    SPT_CHECK_UINT(seen.last.span.bits, child.bits);
    SPT_CHECK_UINT(seen.last.kind, SPOOL_KIND_CLIENT);
    SPT_CHECK(seen.last.sdk == pipeline.sdk);
    SPT_CHECK(spt_text_is(seen.last.scope->name, "live"));
    struct spool_span_context context = spool_span_context(child);
    SPT_CHECK(memcmp(&context, &seen.last.context, sizeof context) == 0);
    SPT_CHECK(seen.last.parent_span_id[0] | seen.last.parent_span_id[7]);
    SPT_CHECK(seen.last.thread != 0);
    spool_span_end(child);
    SPT_CHECK_UINT(spool_live_spans(see, &seen), 0);
    SPT_CHECK_UINT(spool_live_spans(NULL, NULL), 0);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static bool end_it(void *arg, const spool_live_span *span) {
    sighting *seen = arg;
    spool_span_end(span->span);
    sighting inner = {.stop_after = 1};
    (void)spool_live_spans(see, &inner);
    seen->count += inner.count;
    /* The copy is this call's own, whatever happened to the span. */
    return spt_text_is(span->name, "one");
}

static void a_callback_may_do_anything(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    for (int i = 0; i < 5; i++) {
        (void)spool_span_start(tracer(), "one", NULL);
    }
    sighting stopped = {.stop_after = 2};
    SPT_CHECK_UINT(spool_live_spans(see, &stopped), 2);
    sighting seen = {0};
    SPT_CHECK_UINT(spool_live_spans(end_it, &seen), 5);
    SPT_CHECK_UINT(seen.count, 4);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void a_line_has_the_promised_format(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "say \"hi\"\n\\", NULL);
    spool_value items[] = {spool_value_int(1)};
    spool_span_set(span, spool_string("text", "x\ty\xc3\xa4"));
    spool_span_set(span, spool_int("int", INT64_MIN));
    spool_span_set(span, spool_double("double", -2.5));
    spool_span_set(span, spool_bool("bool", true));
    spool_span_set(span, spool_bytes("bytes", "abc", 3));
    spool_span_set(span, spool_array("array", items, 1));
    spool_span_set(span, spool_string("odd key", ""));
    spool_span_event(span, "event", NULL, 0);
    char *text = dump(1);
    static const char expected[] =
        " name=\"say \\\"hi\\\"\\x0a\\\\\" text=\"x\\x09y\xc3\xa4\" int=-9223372036854775808 "
        "double=-2.5 bool=true bytes=<bytes 3> array=<array> \"odd key\"=\"\"\n";
    const char *name = strstr(text, " name=");
    SPT_CHECK_STRING(name ? name : text, expected);
    dump_line line;
    SPT_REQUIRE(dump_line_read(text, &line));
    SPT_CHECK(!line.busy && !line.parent && line.thread && line.age < 60);
    SPT_CHECK_STRING(line.name, "say \"hi\"\n\\");
    struct spool_span_context context = spool_span_context(span);
    char hex[33] = "";
    for (int i = 0; i < 16; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", context.trace_id[i]);
    }
    SPT_CHECK(memcmp(hex, line.trace_id, 32) == 0);
    free(text);
    spool_span_end(span);
    free(dump(0));
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void what_does_not_fit_is_counted(void) {
    enum { ATTRS = 100, LONG = 20000 };
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    static char long_text[LONG + 1];
    memset(long_text, 'n', LONG);
    spool_span span = spool_span_start(tracer(), long_text, NULL);
    spool_span_rename(span, "short again");
    for (int i = 0; i < ATTRS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "key.%d", i);
        spool_span_set(span, spool_string(key, "some text that is not short"));
    }
    char *text = dump(1);
    dump_line line;
    SPT_REQUIRE(dump_line_read(text, &line));
    SPT_CHECK_STRING(line.name, "short again");
    SPT_CHECK(line.attr_count > 10);
    SPT_CHECK_UINT(line.attr_count + line.left_out, ATTRS);
    free(text);
    spool_span_rename(span, long_text); /* on the heap: the dump must not follow it */
    text = dump(1);
    SPT_REQUIRE(dump_line_read(text, &line));
    SPT_CHECK_STRING(line.name, "");
    free(text);
    spool_span_rename(span, long_text + LONG - 2000); /* pooled, longer than a line */
    text = dump(1);
    SPT_REQUIRE(dump_line_read(text, &line));
    SPT_CHECK(strlen(line.name) > 800 && strspn(line.name, "n") == strlen(line.name));
    SPT_CHECK_UINT(line.left_out + line.attr_count, ATTRS);
    free(text);
    spool_span_end(span);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static void *start_some(void *arg) {
    spool_span *spans = arg;
    for (int i = 0; i < 10; i++) {
        spans[i] = spool_span_start(tracer(), "left behind", NULL);
    }
    return NULL;
}

static void spans_of_threads_that_are_gone_are_listed(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span spans[10];
    pthread_t thread;
    SPT_REQUIRE(pthread_create(&thread, NULL, start_some, spans) == 0);
    (void)pthread_join(thread, NULL);
    free(dump(10));
    sighting seen = {0};
    SPT_CHECK_UINT(spool_live_spans(see, &seen), 10);
    for (int i = 0; i < 10; i++) {
        spool_span_end(spans[i]);
    }
    free(dump(0));
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

static bool count_only(void *arg, const spool_live_span *span) {
    size_t *counts = arg;
    const spool_value *number = spt_attr(span->attrs, span->attr_count, "number");
    if (number) {
        counts[0]++;
        counts[1] += (size_t)number->as.integer;
    }
    return true;
}

static void a_hundred_thousand_are_listed(void) {
    enum { SPANS = SPT_TSAN || SPT_ASAN ? 20000 : 100000 };
    spool_sdk *sdk;
    SPT_REQUIRE(spool_sdk_create(NULL, &sdk) == SPOOL_OK);
    spool_span *spans = calloc(SPANS, sizeof *spans);
    SPT_REQUIRE(spans != NULL);
    for (int i = 0; i < SPANS; i++) {
        spans[i] = spool_span_start(tracer(), "many", NULL);
        spool_span_set(spans[i], spool_int("number", i));
    }
    size_t counts[2] = {0, 0};
    SPT_CHECK_UINT(spool_live_spans(count_only, counts), SPANS);
    SPT_CHECK_UINT(counts[0], SPANS);
    SPT_CHECK_UINT(counts[1], (size_t)SPANS * (SPANS - 1) / 2);
    char *text = dump(SPANS);
    size_t sum = 0;
    for (char *at = text, *next; *at; at = next) {
        char *end = strchr(at, '\n');
        next = end + 1;
        char saved = *next;
        *next = '\0';
        dump_line line;
        const char *number = dump_line_read(at, &line) ? dump_line_attr(&line, "number") : NULL;
        *next = saved;
        if (!SPT_CHECK(number != NULL)) {
            break;
        }
        sum += strtoull(number, NULL, 10);
    }
    SPT_CHECK_UINT(sum, (size_t)SPANS * (SPANS - 1) / 2);
    free(text);
    for (int i = 0; i < SPANS; i++) {
        spool_span_end(spans[i]);
    }
    free(spans);
    SPT_CHECK(spt_balanced(sdk));
    spool_sdk_free(sdk);
}

static void a_bad_descriptor_ends_the_dump(void) {
    spt_pipeline pipeline;
    SPT_REQUIRE(spt_pipeline_open(&pipeline, NULL));
    spool_span span = spool_span_start(tracer(), "one", NULL);
    SPT_CHECK_UINT(spool_dump_live_spans(-1), 0);
    spool_span_end(span);
    SPT_CHECK(spt_pipeline_close(&pipeline));
}

SPT_MAIN("live.listing", SPT_CASE(a_span_is_listed_with_all_it_says),
         SPT_CASE(a_callback_may_do_anything), SPT_CASE(a_line_has_the_promised_format),
         SPT_CASE(what_does_not_fit_is_counted),
         SPT_CASE(spans_of_threads_that_are_gone_are_listed),
         SPT_CASE(a_hundred_thousand_are_listed), SPT_CASE(a_bad_descriptor_ends_the_dump))
