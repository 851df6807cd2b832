/* SPDX-License-Identifier: Apache-2.0 */
/* A child process with two pipes, and an HTTP client of the smallest kind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "tests/tools/tail_process.h"

#include "tests/support/spt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 10000, ARGUMENTS_MAX = 16, REPLY_MAX = 4096 };

static void child_run(const char *locale, const char *const *arguments, int out_fd, int err_fd) {
    char *argv[ARGUMENTS_MAX + 4] = {(char *)(uintptr_t) "spool-tail", (char *)(uintptr_t) "--port",
                                     (char *)(uintptr_t) "0"};
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i] != NULL; i++) {
        argv[3 + i] = (char *)(uintptr_t)arguments[i];
    }
    setenv("LC_ALL", locale, 1);
    dup2(out_fd, STDOUT_FILENO);
    dup2(err_fd, STDERR_FILENO);
    execv(SPT_TAIL_PATH, argv);
    _exit(127);
}

/* Reads what is there; false at the end of the output. */
static bool output_read(spt_tail *tail) {
    char chunk[4096];
    ssize_t got = read(tail->out_fd, chunk, sizeof chunk);
    if (got <= 0) {
        return got < 0 && errno == EINTR;
    }
    char *grown = realloc(tail->out, tail->out_len + (size_t)got + 1);
    if (grown == NULL) {
        abort();
    }
    memcpy(grown + tail->out_len, chunk, (size_t)got);
    tail->out = grown;
    tail->out_len += (size_t)got;
    tail->out[tail->out_len] = '\0';
    return true;
}

bool spt_tail_wait(spt_tail *tail, const char *text) {
    uint64_t deadline = spt_deadline_ns(WAIT_MS);
    while (tail->out == NULL || strstr(tail->out, text) == NULL) {
        uint64_t now = spt_now_ns();
        struct pollfd fd = {.fd = tail->out_fd, .events = POLLIN};
        if (now >= deadline || poll(&fd, 1, (int)((deadline - now) / 1000000) + 1) <= 0 ||
            !output_read(tail)) {
            return false;
        }
    }
    return true;
}

bool spt_tail_start(spt_tail *tail, const char *locale, const char *const *arguments) {
    int out[2];
    int err[2];
    *tail = (spt_tail){.pid = -1, .out_fd = -1, .err_fd = -1};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        return false;
    }
    tail->pid = fork();
    if (tail->pid == 0) {
        child_run(locale, arguments, out[1], err[1]);
    }
    close(out[1]);
    close(err[1]);
    tail->out_fd = out[0];
    tail->err_fd = err[0];
    return tail->pid > 0 && spt_tail_wait(tail, "\n") &&
           sscanf(tail->out, "spool-tail listening on http://127.0.0.1:%u\n", &tail->port) == 1;
}

int spt_tail_stop(spt_tail *tail, int signal) {
    int status = 0;
    if (tail->pid <= 0) {
        return -1;
    }
    if (signal != 0) {
        kill(tail->pid, signal);
    }
    while (output_read(tail)) {
    }
    ssize_t got;
    while ((got = read(tail->err_fd, tail->err + tail->err_len,
                       sizeof tail->err - 1 - tail->err_len)) > 0) {
        tail->err_len += (size_t)got;
    }
    pid_t ended = waitpid(tail->pid, &status, 0);
    tail->pid = -1;
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void spt_tail_fini(spt_tail *tail) {
    if (tail->pid > 0) {
        kill(tail->pid, SIGKILL);
        waitpid(tail->pid, NULL, 0);
    }
    close(tail->out_fd);
    close(tail->err_fd);
    free(tail->out);
}

static bool all_send(int fd, const void *data, size_t len) {
    const uint8_t *at = data;
    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

static spt_reply reply_parse(const char *text, size_t len) {
    spt_reply reply = {0};
    const char *body = strstr(text, "\r\n\r\n");
    const char *type = strstr(text, "Content-Type: ");
    if (body == NULL || sscanf(text, "HTTP/1.1 %d ", &reply.status) != 1) {
        return reply;
    }
    if (type != NULL && type < body) {
        sscanf(type, "Content-Type: %63[^\r]", reply.type);
    }
    reply.body_len = len - (size_t)(body + 4 - text);
    reply.body_len = reply.body_len < sizeof reply.body ? reply.body_len : sizeof reply.body;
    memcpy(reply.body, body + 4, reply.body_len);
    return reply;
}

spt_reply spt_tail_request(const spt_tail *tail, const char *request, const char *headers,
                           const void *body, size_t len) {
    char head[1024];
    char text[REPLY_MAX + 1];
    size_t used = 0;
    spt_reply reply = {0};
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)tail->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int head_len = snprintf(head, sizeof head,
                            "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s"
                            "Content-Length: %zu\r\n\r\n",
                            request, headers, len);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        all_send(fd, head, (size_t)head_len)) {
        /* A body that is refused from its head may not be taken; the reply still comes. */
        all_send(fd, body, len);
        ssize_t got;
        while (used < REPLY_MAX && (got = recv(fd, text + used, REPLY_MAX - used, 0)) > 0) {
            used += (size_t)got;
        }
        text[used] = '\0';
        reply = reply_parse(text, used);
    }
    if (fd >= 0) {
        close(fd);
    }
    return reply;
}

int spt_tail_post(const spt_tail *tail, const char *path, spt_body body) {
    char request[64];
    snprintf(request, sizeof request, "POST %s", path);
    spt_reply reply = spt_tail_request(tail, request, "Content-Type: application/x-protobuf\r\n",
                                       body.data, body.len);
    free(body.data);
    return reply.status;
}
