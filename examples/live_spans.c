/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is this process doing now? Live spans shown in ordinary code, from SIGUSR1, and from the
 * host's own fault handler, which is where one most wants to know. The work is done in a child
 * process, since the fault ends it.
 */
#define SPOOL_SCOPE "live_spans"
#include <spool/sdk/sdk.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text) {
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void on_user_signal(int number) {
    (void)number;
    say("on SIGUSR1:\n");
    (void)spool_dump_live_spans(STDOUT_FILENO);
}

/* Installed with SA_RESETHAND: when it returns the fault happens again and takes its usual course. */
static void on_fault(int number) {
    (void)number;
    say("on a fault:\n");
    (void)spool_dump_live_spans(STDOUT_FILENO);
}

static int handlers_install(void) {
    /* A stack of its own for the fault, which may be that the usual one has no room left. */
    static char stack[32768];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction user = {.sa_flags = SA_RESTART};
    struct sigaction fault = {.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
    user.sa_handler = on_user_signal;
    fault.sa_handler = on_fault;
    return sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &user, NULL) == 0 &&
           sigaction(SIGSEGV, &fault, NULL) == 0 && sigaction(SIGBUS, &fault, NULL) == 0;
}

static bool show(void *arg, const spool_live_span *span) {
    (void)arg;
    printf("%.*s: %zu attributes\n", (int)span->name.len, span->name.ptr, span->attr_count);
    return true;
}

static void work(void) {
    SPOOL_SPAN(request, SPOOL_TRACER(), "GET /basket", spool_string("http.request.method", "GET"));
    spool_span_set(request, spool_int("user.id", 4711));
    {
        SPOOL_SPAN(query, SPOOL_TRACER(), "SELECT basket", spool_string("db.system", "sqlite"),
                   spool_double("share", 0.25), spool_bool("cached", false));
        printf("%zu live spans\n", spool_live_spans(show, NULL));
        (void)fflush(stdout);
        (void)raise(SIGUSR1);
    }
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)page = 1;
}

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        spool_sdk *sdk = NULL;
        if (!handlers_install() || spool_sdk_create(NULL, &sdk) != SPOOL_OK) {
            return 1;
        }
        work();
        return 1; /* never comes here */
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return 1;
    }
    printf("ended by the fault: %s\n", WIFSIGNALED(status) ? "yes" : "no");
    return 0;
}
