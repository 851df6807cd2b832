/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the OTLP exporter says: one line with the URL and the status for a batch that was not taken, none
 * for one that was, and never a secret. Apart from the other tests, since lines are limited per minute.
 */
#include "tests/integration/otlp/made_batch.h"

#include "tests/support/fake_collector.h"
#include "tests/support/spt.h"

#include <spool/sdk/diagnostics.h>
#include <spool/sdk/otlp.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PATIENT_MS = 15000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last_line[512];
static unsigned lines;

static void line_seen(void *arg, const spool_diagnostic *line) {
    (void)arg;
    pthread_mutex_lock(&lock);
    lines++;
    snprintf(last_line, sizeof last_line, "%s", line->text);
    pthread_mutex_unlock(&lock);
}

static void lines_forget(void) {
    spool_diagnostics_set(line_seen, NULL);
    pthread_mutex_lock(&lock);
    lines = 0;
    last_line[0] = '\0';
    pthread_mutex_unlock(&lock);
}

static unsigned line_get(char *out, size_t size) {
    pthread_mutex_lock(&lock);
    snprintf(out, size, "%s", last_line);
    unsigned count = lines;
    pthread_mutex_unlock(&lock);
    return count;
}

/* One batch of ten spans to a URL with two secrets. */
static unsigned batch_says(const spt_step *script, char *out, size_t size) {
    spt_collector *collector = spt_collector_start(script, 1);
    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "http://me:hidden@127.0.0.1:%u/v1/traces?key=hidden",
             collector ? spt_collector_port(collector) : 1);
    spool_otlp_options options = SPOOL_OTLP_OPTIONS_INIT;
    options.endpoint = endpoint;
    options.headers = "authorization=hidden";
    options.max_attempts = 2;
    options.retry_initial_ms = 1;
    spool_exporter exporter = {NULL, NULL};
    made_batch made;
    lines_forget();
    if (SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_SPANS, &options, &exporter), SPOOL_OK)) {
        made_batch_init(&made, "ten records", 10);
        exporter.ops->export_batch(exporter.self, &made.batch, spt_deadline_ns(PATIENT_MS));
        made_batch_wait(&made);
        exporter.ops->destroy(exporter.self);
    }
    unsigned count = line_get(out, size);
    SPT_CHECK(strstr(out, "hidden") == NULL);
    spt_collector_stop(collector);
    return count;
}

static void success_says_nothing(void) {
    const spt_step script[] = {{.status = 200}};
    char line[512];
    SPT_CHECK_UINT(batch_says(script, line, sizeof line), 0);
}

static void refusal_is_one_line_with_url_and_status(void) {
    const spt_step script[] = {{.status = 404, .body = "no such\npage", .body_len = 12}};
    char line[512];
    SPT_CHECK_UINT(batch_says(script, line, sizeof line), 1);
    SPT_CHECK(strncmp(line, "10 spans refused by http://127.0.0.1:", 37) == 0);
    SPT_CHECK(strstr(line, "/v1/traces: status 404: no such page") != NULL);
}

static void partial_success_is_one_line_with_the_message(void) {
    const spt_step script[] = {{.body = "\x0a\x09\x08\x07\x12\x05short", .body_len = 11}};
    char line[512];
    SPT_CHECK_UINT(batch_says(script, line, sizeof line), 1);
    SPT_CHECK(strncmp(line, "7 of 10 spans refused by http://127.0.0.1:", 42) == 0);
    SPT_CHECK(strstr(line, "status 200: short") != NULL);
}

static void giving_up_is_one_line_with_the_last_failure(void) {
    const spt_step script[] = {{.status = 503}};
    char line[512];
    SPT_CHECK_UINT(batch_says(script, line, sizeof line), 1);
    SPT_CHECK(strncmp(line, "10 spans not delivered, 2 tries to http://127.0.0.1:", 52) == 0);
    SPT_CHECK(strstr(line, "status 503") != NULL);
}

static void wrong_settings_are_named_without_secrets(void) {
    spool_otlp_options options = SPOOL_OTLP_OPTIONS_INIT;
    spool_exporter exporter = {NULL, NULL};
    char line[512];
    lines_forget();
    options.endpoint = "ftp://me:hidden@h:1/p?key=hidden";
    SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_SPANS, &options, &exporter), SPOOL_ERR_INVALID);
    SPT_CHECK_UINT(line_get(line, sizeof line), 1);
    SPT_CHECK(strstr(line, "ftp://***@h:1/p") && !strstr(line, "hidden"));

    lines_forget();
    options.endpoint = NULL;
    options.headers = "a=1,hid den=hidden,hidden,b=2";
    SPT_CHECK_UINT(spool_otlp_create(SPOOL_SIGNAL_SPANS, &options, &exporter), SPOOL_OK);
    SPT_CHECK_UINT(line_get(line, sizeof line), 1);
    SPT_CHECK(strstr(line, "2 left out; the first is number 2") && !strstr(line, "hid"));
    exporter.ops->destroy(exporter.self);
}

SPT_MAIN("otlp_diagnostics", SPT_CASE(success_says_nothing),
         SPT_CASE(refusal_is_one_line_with_url_and_status),
         SPT_CASE(partial_success_is_one_line_with_the_message),
         SPT_CASE(giving_up_is_one_line_with_the_last_failure),
         SPT_CASE(wrong_settings_are_named_without_secrets))
