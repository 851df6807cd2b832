/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP client's sockets and time, between libcurl and the loop.
 *
 * libcurl says which sockets to watch for what, and the loop's events go back to it. It does not look
 * at idle connections, and would take whatever a server has sent on one of them for the reply to the
 * next request. So we keep a list of its sockets, know the idle ones (those it does not want watched),
 * and look at them before a request.
 */
#include "runtime/http_internal.h"
#include "runtime/loop_internal.h"

#include "sdk/platform/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/*
 * libcurl does not report each close (one in the middle of connecting it makes itself), so a number may
 * long be somebody else's: the inode tells.
 */
struct sp_http_socket {
    sp_http_socket *next;
    curl_socket_t descriptor;
    ino_t inode;
    bool idle; /* it has been watched, and is no more */
};

struct sp_http_watch {
    uv_poll_t uv; /* first: the handle is the watch */
    sp_http *client;
    sp_http_watch *next;
    curl_socket_t socket;
};
typedef sp_http_watch watch;

static void socket_mark(sp_http *client, curl_socket_t descriptor, bool idle) {
    for (sp_http_socket *entry = client->sockets; entry; entry = entry->next) {
        if (entry->descriptor == descriptor) {
            entry->idle = idle;
        }
    }
}

static void watch_closed(uv_handle_t *handle) {
    free(handle);
}

static void watch_close(watch *self) {
    sp_http_watch **at = &self->client->watches;
    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
    uv_close((uv_handle_t *)&self->uv, watch_closed);
}

void sp_http_watches_close(sp_http *client) {
    while (client->watches) {
        watch_close(client->watches);
    }
}

/* Tells libcurl of a socket or of time that has passed, unless its handle is to be given up. */
static void drive(sp_http *client, curl_socket_t socket, int flags) {
    int running = 0;
    if (client->broken == SP_HTTP_SOUND &&
        curl_multi_socket_action(client->multi, socket, flags, &running) != CURLM_OK) {
        client->broken = SP_HTTP_LOST;
    }
}

/*
 * An error that the loop reports may stand behind bytes that can still be read, a refusal above all, and
 * libcurl would not read on when told of it. So it first finds out itself; only if it then goes on with
 * the socket, which the loop has ceased to watch, is it told.
 */
static void watch_event(uv_poll_t *handle, int status, int events) {
    watch *self = (watch *)(void *)handle;
    sp_http *client = self->client;
    if (status < 0) {
        drive(client, self->socket, CURL_CSELECT_IN | CURL_CSELECT_OUT);
        if (!uv_is_closing((uv_handle_t *)&self->uv)) {
            drive(client, self->socket, CURL_CSELECT_ERR);
        }
    } else {
        int flags = events & UV_READABLE ? CURL_CSELECT_IN : 0;
        flags |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
        drive(client, self->socket, flags);
    }
    sp_http_reap(client);
}

static watch *watch_create(sp_http *client, curl_socket_t socket) {
    watch *self = calloc(1, sizeof *self);
    if (!self) {
        return NULL;
    }
    if (uv_poll_init(sp_runtime_uv(client->runtime), &self->uv, socket) != 0) {
        free(self);
        return NULL;
    }
    self->client = client;
    self->socket = socket;
    self->next = client->watches;
    client->watches = self;
    curl_multi_assign(client->multi, socket, self);
    return self;
}

int sp_http_socket_changed(CURL *easy, curl_socket_t socket, int what, void *arg,
                           void *socket_arg) {
    (void)easy;
    sp_http *client = arg;
    watch *self = socket_arg;
    socket_mark(client, socket, what == CURL_POLL_REMOVE);
    if (what == CURL_POLL_REMOVE) {
        if (self) {
            curl_multi_assign(client->multi, socket, NULL);
            watch_close(self);
        }
        return 0;
    }
    if (!self) {
        self = watch_create(client, socket);
        if (!self) {
            client->broken = SP_HTTP_UNWATCHED;
            return 0; /* an error from here would make libcurl forget what it must clean up */
        }
    }
    int events = 0;
    events |= what & CURL_POLL_IN ? UV_READABLE : 0;
    events |= what & CURL_POLL_OUT ? UV_WRITABLE : 0;
    if (uv_poll_start(&self->uv, events, watch_event) != 0) {
        client->broken = SP_HTTP_UNWATCHED;
    }
    return 0;
}

int sp_http_timer_changed(CURLM *multi, long timeout_ms, void *arg) {
    (void)multi;
    sp_http *client = arg;
    if (!client->timer) {
        return 0;
    }
    if (timeout_ms < 0) {
        sp_timer_clear(client->timer);
    } else {
        sp_timer_set(client->timer, sp_deadline_after_ms((uint64_t)timeout_ms));
    }
    return 0;
}

void sp_http_timer_fired(void *arg) {
    sp_http *client = arg;
    drive(client, CURL_SOCKET_TIMEOUT, 0);
    sp_http_reap(client);
}

/* 0: not open. */
static ino_t descriptor_inode(int descriptor) {
    struct stat info;
    return fstat(descriptor, &info) == 0 ? info.st_ino : 0;
}

/* libcurl 7.88 has no close-on-exec of its own. */
curl_socket_t sp_http_socket_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    sp_http *client = arg;
    sp_http_socket *entry = calloc(1, sizeof *entry);
    if (!entry) {
        return CURL_SOCKET_BAD;
    }
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (descriptor < 0) {
        free(entry);
        return CURL_SOCKET_BAD;
    }
    entry->descriptor = descriptor;
    entry->inode = descriptor_inode(descriptor);
    entry->next = client->sockets;
    client->sockets = entry;
    return descriptor;
}

static void socket_forget(sp_http_socket **link) {
    sp_http_socket *gone = *link;
    *link = gone->next;
    free(gone);
}

int sp_http_socket_close(void *arg, curl_socket_t descriptor) {
    sp_http *client = arg;
    for (sp_http_socket **link = &client->sockets; *link; link = &(*link)->next) {
        if ((*link)->descriptor == descriptor) {
            socket_forget(link);
            break;
        }
    }
    return close(descriptor);
}

void sp_http_sockets_forget(sp_http *client) {
    while (client->sockets) {
        socket_forget(&client->sockets);
    }
}

bool sp_http_idle_connections_spoke(sp_http *client) {
    bool spoke = false;
    for (sp_http_socket **link = &client->sockets; *link;) {
        sp_http_socket *entry = *link;
        if (descriptor_inode(entry->descriptor) != entry->inode) {
            socket_forget(link);
            continue;
        }
        struct pollfd poller = {.fd = entry->descriptor, .events = POLLIN};
        if (entry->idle && poll(&poller, 1, 0) != 0) {
            shutdown(entry->descriptor, SHUT_RDWR);
            spoke = true;
        }
        link = &entry->next;
    }
    return spoke;
}
