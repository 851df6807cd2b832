/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Propagation: the context of one process becomes the parent in another, by headers and by environment
 * variables. It prints what travels; the program starts itself as the other process.
 */
#define SPOOL_SCOPE "example.propagation"

#include <spool/sdk/sdk.h>

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { HEADERS = 4, TEXT = 512 };

static void current_print(const char *who) {
    char trace_id[33];
    char span_id[17];
    (void)spool_trace_id_hex(trace_id);
    (void)spool_span_id_hex(span_id);
    printf("%s: trace %s span %s\n", who, trace_id, span_id);
}

static void tenant_print(const char *who) {
    spool_str tenant = {NULL, 0};
    (void)spool_baggage_get(spool_context_baggage(NULL), "tenant", &tenant);
    printf("%s: tenant %.*s\n", who, (int)tenant.len, tenant.ptr ? tenant.ptr : "");
}

/* ---- headers ---- */

/* What a server does with a request, whatever its HTTP library is. */
static void server(const spool_header *headers, size_t count) {
    static const spool_context nothing = SPOOL_CONTEXT_INIT;
    const spool_header_list list = {headers, count};
    spool_context caller = spool_extract(&nothing, &spool_header_getter, &list);
    spool_token token = spool_context_attach(&caller);
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_SERVER;
    {
        SPOOL_SPAN_WITH(span, SPOOL_TRACER(), "serve", &options);
        current_print("server");
        tenant_print("server");
    }
    (void)spool_context_detach(token);
    spool_context_release(&caller);
}

static void client(void) {
    spool_header items[HEADERS];
    char text[TEXT];
    spool_header_buffer headers = {
        .items = items, .capacity = HEADERS, .text = text, .text_capacity = sizeof text};
    spool_span_options options = SPOOL_SPAN_OPTIONS_INIT;
    options.kind = SPOOL_KIND_CLIENT;
    SPOOL_SPAN_WITH(span, SPOOL_TRACER(), "call", &options);
    current_print("client");
    spool_inject(NULL, &spool_header_setter, &headers);
    for (size_t i = 0; i < headers.count; i++) {
        printf("header: %s: %s\n", headers.items[i].name.ptr, headers.items[i].value.ptr);
    }
    server(headers.items, headers.count);
}

/* What arrives from strangers may be anything. It never fails a request. */
static void hostile(void) {
    static const spool_header headers[] = {
        {SPOOL_STR_INIT("traceparent"), SPOOL_STR_INIT("00-zz-zz-zz")},
        {SPOOL_STR_INIT("baggage"), SPOOL_STR_INIT("=,;,%%%")},
    };
    static const spool_context nothing = SPOOL_CONTEXT_INIT;
    const spool_header_list list = {headers, 2};
    spool_context caller = spool_extract(&nothing, &spool_header_getter, &list);
    printf("hostile headers: %s\n",
           spool_span_context_is_valid(&caller.span) ? "a parent" : "no parent");
    spool_context_release(&caller);
}

/* ---- environment ---- */

static int child(void) {
    const char *const *variables = (const char *const *)environ;
    spool_context parent = spool_extract(NULL, &spool_envp_getter, variables);
    spool_token token = spool_context_attach(&parent);
    current_print("child process");
    tenant_print("child process");
    (void)spool_context_detach(token);
    spool_context_release(&parent);
    return EXIT_SUCCESS;
}

static bool spawn(char *program) {
    char mode[] = "child";
    char *const arguments[] = {program, mode, NULL};
    pid_t pid;
    int status = -1;
    SPOOL_SPAN(span, SPOOL_TRACER(), "spawn");
    current_print("parent process");
    (void)fflush(stdout);
    spool_envp *variables = spool_envp_create((const char *const *)environ);
    spool_inject(NULL, &spool_envp_setter, variables);
    bool started =
        posix_spawn(&pid, program, NULL, NULL, arguments, spool_envp_array(variables)) == 0;
    spool_envp_destroy(variables);
    return started && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv) {
    spool_options options = SPOOL_OPTIONS_INIT;
    spool_sdk *sdk = NULL;
    options.service_name = "propagation";
    options.traces_exporter = "none";
    options.logs_exporter = "none";
    if (spool_start(&options, &sdk) != SPOOL_OK) {
        return EXIT_FAILURE;
    }
    int result = EXIT_SUCCESS;
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        result = child();
    } else {
        spool_baggage *baggage = spool_baggage_set(NULL, "tenant", "blue & white");
        spool_context context = spool_context_with_baggage(NULL, baggage);
        spool_token token = spool_context_attach(&context);
        spool_baggage_release(baggage);
        spool_context_release(&context);
        client();
        hostile();
        result = spawn(argv[0]) ? EXIT_SUCCESS : EXIT_FAILURE;
        (void)spool_context_detach(token);
    }
    (void)spool_shutdown(sdk, 1000, NULL);
    spool_sdk_free(sdk);
    return result;
}
