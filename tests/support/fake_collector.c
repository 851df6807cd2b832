/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted server. One thread accepts, one thread serves each connection, all are joined by the stop.
 * The lock guards the lists and all that is counted; a request's memory does not move once it is listed,
 * and is read by others only through a copy of its description made under the lock.
 */
#include "tests/support/fake_collector.h"

#include "tests/support/spt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_BYTES = 128 * 1024, SLICE_MS = 5, SLOW_READ_BYTES = 1024, CHUNK_BYTES = 16384 };

typedef struct entry {
    struct entry *next;
    spt_request request; /* lock */
    uint8_t *body;
    char *head;
} entry;

typedef struct connection {
    struct connection *next;
    struct spt_collector *collector;
    pthread_t thread;
    int descriptor;
    unsigned number;
} connection;

struct spt_collector {
    const spt_step *script;
    size_t steps;
    uint16_t port;
    int listener;
    pthread_t acceptor;
    pthread_mutex_t lock;
    bool stopping;
    entry *first;
    entry *last;
    size_t requests;
    size_t connection_count;
    uint64_t written;
    connection *connections;
};

static bool is_stopping(spt_collector *collector) {
    pthread_mutex_lock(&collector->lock);
    bool stopping = collector->stopping;
    pthread_mutex_unlock(&collector->lock);
    return stopping;
}

/* Waits in slices, so that a stop is never kept waiting. False: stop. */
static bool rest(spt_collector *collector, uint32_t ms) {
    uint64_t until = spt_deadline_ns(ms);
    while (!is_stopping(collector)) {
        if (!spt_pause_until(until)) {
            return true;
        }
    }
    return false;
}

/* Waits for the event; false: stop. */
static bool ready(connection *self, short event) {
    while (!is_stopping(self->collector)) {
        struct pollfd poller = {.fd = self->descriptor, .events = event};
        if (poll(&poller, 1, SLICE_MS) > 0) {
            return true;
        }
    }
    return false;
}

static bool send_all(connection *self, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len > 0) {
        if (!ready(self, POLLOUT)) {
            return false;
        }
        ssize_t sent = send(self->descriptor, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        len -= (size_t)sent;
        pthread_mutex_lock(&self->collector->lock);
        self->collector->written += (uint64_t)sent;
        pthread_mutex_unlock(&self->collector->lock);
    }
    return true;
}

static ssize_t receive(connection *self, void *to, size_t len) {
    return ready(self, POLLIN) ? recv(self->descriptor, to, len, 0) : -1;
}

/* --- a request --- */

static const char *header_find(const char *head, const char *name) {
    size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, len) == 0 && line[2 + len] == ':') {
            const char *value = line + 2 + len + 1;
            return value + strspn(value, " \t");
        }
    }
    return NULL;
}

/* Reads up to the empty line, byte by byte: what follows belongs to the body. */
static char *head_read(connection *self) {
    char *head = malloc(HEAD_BYTES);
    size_t len = 0;
    while (head && len < HEAD_BYTES - 1) {
        if (receive(self, head + len, 1) != 1) {
            break;
        }
        len++;
        if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0) {
            head[len] = '\0';
            return head;
        }
    }
    free(head);
    return NULL;
}

static entry *entry_add(connection *self, char *head, size_t body_len) {
    entry *added = calloc(1, sizeof *added);
    if (!added) {
        abort();
    }
    added->head = head;
    added->body = calloc(1, body_len + 1);
    if (!added->body) {
        abort();
    }
    added->request = (spt_request){.time_ns = spt_now_ns(),
                                   .connection = self->number,
                                   .head = added->head,
                                   .body = added->body};
    spt_collector *collector = self->collector;
    pthread_mutex_lock(&collector->lock);
    if (collector->last) {
        collector->last->next = added;
    } else {
        collector->first = added;
    }
    collector->last = added;
    collector->requests++;
    pthread_mutex_unlock(&collector->lock);
    return added;
}

static void reset(connection *self) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(self->descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* False: the connection is over. */
static bool body_read(connection *self, const spt_step *step, entry *into, size_t len) {
    size_t limit = step->reset_at && step->reset_at < len ? step->reset_at : len;
    size_t have = 0;
    while (have < limit) {
        size_t want =
            step->read_ms && limit - have > SLOW_READ_BYTES ? SLOW_READ_BYTES : limit - have;
        ssize_t got = receive(self, into->body + have, want);
        if (got <= 0) {
            return false;
        }
        have += (size_t)got;
        pthread_mutex_lock(&self->collector->lock);
        into->request.body_len = have;
        into->request.complete = have == len;
        pthread_mutex_unlock(&self->collector->lock);
        if (step->read_ms && !rest(self->collector, step->read_ms)) {
            return false;
        }
    }
    if (step->reset_at) {
        reset(self);
        return false;
    }
    return true;
}

/* --- an answer --- */

static bool flood(connection *self, uint64_t bytes) {
    static const char CHUNK[CHUNK_BYTES];
    while (bytes > 0) {
        size_t step = bytes < sizeof CHUNK ? (size_t)bytes : sizeof CHUNK;
        if (!send_all(self, CHUNK, step)) {
            return false;
        }
        bytes -= step;
    }
    return true;
}

static bool drip(connection *self, uint32_t ms) {
    while (rest(self->collector, ms)) {
        if (!send_all(self, "x", 1)) {
            break;
        }
    }
    return false;
}

static bool answer_write(connection *self, const spt_step *step) {
    if (step->raw) {
        return send_all(self, step->raw, step->raw_len ? step->raw_len : strlen(step->raw));
    }
    char head[512];
    int len = snprintf(head, sizeof head, "HTTP/1.1 %d Scripted\r\nContent-Length: %zu\r\n",
                       step->status ? step->status : 200, step->body_len);
    const char *further = step->headers ? step->headers : "";
    return send_all(self, head, (size_t)len) && send_all(self, further, strlen(further)) &&
           send_all(self, "\r\n", 2) && send_all(self, step->body, step->body_len);
}

/* False: the connection is over. */
static bool answer(connection *self, const spt_step *step) {
    if (step->delay_ms && !rest(self->collector, step->delay_ms)) {
        return false;
    }
    if (step->silent || !answer_write(self, step)) {
        return false;
    }
    if (step->flood_bytes && !flood(self, step->flood_bytes)) {
        return false;
    }
    if (step->drip_ms) {
        return drip(self, step->drip_ms);
    }
    return !step->close;
}

static const spt_step *step_next(spt_collector *collector) {
    static const spt_step DEFAULT;
    pthread_mutex_lock(&collector->lock);
    size_t index = collector->requests;
    pthread_mutex_unlock(&collector->lock);
    if (collector->steps == 0) {
        return &DEFAULT;
    }
    return &collector->script[index < collector->steps ? index : collector->steps - 1];
}

static bool serve_one(connection *self) {
    char *head = head_read(self);
    if (!head) {
        return false;
    }
    const char *length = header_find(head, "content-length");
    size_t len = length ? strtoul(length, NULL, 10) : 0;
    const spt_step *step = step_next(self->collector);
    entry *into = entry_add(self, head, len);
    if (step->early) {
        return answer(self, step) && body_read(self, step, into, len);
    }
    return body_read(self, step, into, len) && answer(self, step);
}

static void *serve(void *arg) {
    connection *self = arg;
    int on = 1;
    setsockopt(self->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (serve_one(self)) {
    }
    close(self->descriptor);
    return NULL;
}

static void *accept_all(void *arg) {
    spt_collector *collector = arg;
    while (!is_stopping(collector)) {
        struct pollfd poller = {.fd = collector->listener, .events = POLLIN};
        if (poll(&poller, 1, SLICE_MS) <= 0) {
            continue;
        }
        int descriptor = accept4(collector->listener, NULL, NULL, SOCK_CLOEXEC);
        if (descriptor < 0) {
            continue;
        }
        connection *self = calloc(1, sizeof *self);
        if (!self) {
            abort();
        }
        self->collector = collector;
        self->descriptor = descriptor;
        pthread_mutex_lock(&collector->lock);
        self->number = (unsigned)++collector->connection_count;
        self->next = collector->connections;
        collector->connections = self;
        pthread_mutex_unlock(&collector->lock);
        if (pthread_create(&self->thread, NULL, serve, self) != 0) {
            abort();
        }
    }
    return NULL;
}

/* --- its life --- */

static bool listen_on(spt_collector *collector, uint16_t port, bool ipv6) {
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons(port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                             .sin_port = htons(port)};
    struct sockaddr *address =
        ipv6 ? (struct sockaddr *)(void *)&v6 : (struct sockaddr *)(void *)&v4;
    socklen_t size = ipv6 ? sizeof v6 : sizeof v4;
    int on = 1;
    collector->listener = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (collector->listener < 0) {
        return false;
    }
    setsockopt(collector->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(collector->listener, address, size) != 0 || listen(collector->listener, 64) != 0 ||
        getsockname(collector->listener, address, &size) != 0) {
        close(collector->listener);
        return false;
    }
    collector->port = ntohs(ipv6 ? v6.sin6_port : v4.sin_port);
    return true;
}

spt_collector *spt_collector_start_at(uint16_t port, bool ipv6, const spt_step *script,
                                      size_t steps) {
    spt_collector *collector = calloc(1, sizeof *collector);
    if (!collector) {
        return NULL;
    }
    collector->script = script;
    collector->steps = steps;
    pthread_mutex_init(&collector->lock, NULL);
    if (!listen_on(collector, port, ipv6)) {
        perror("fake collector");
        free(collector);
        return NULL;
    }
    if (pthread_create(&collector->acceptor, NULL, accept_all, collector) != 0) {
        close(collector->listener);
        free(collector);
        return NULL;
    }
    return collector;
}

spt_collector *spt_collector_start(const spt_step *script, size_t steps) {
    return spt_collector_start_at(0, false, script, steps);
}

void spt_collector_stop(spt_collector *collector) {
    if (!collector) {
        return;
    }
    pthread_mutex_lock(&collector->lock);
    collector->stopping = true;
    pthread_mutex_unlock(&collector->lock);
    pthread_join(collector->acceptor, NULL);
    close(collector->listener);
    while (collector->connections) {
        connection *gone = collector->connections;
        collector->connections = gone->next;
        pthread_join(gone->thread, NULL);
        free(gone);
    }
    while (collector->first) {
        entry *gone = collector->first;
        collector->first = gone->next;
        free(gone->head);
        free(gone->body);
        free(gone);
    }
    pthread_mutex_destroy(&collector->lock);
    free(collector);
}

uint16_t spt_collector_port(const spt_collector *collector) {
    return collector->port;
}

size_t spt_collector_requests(spt_collector *collector) {
    pthread_mutex_lock(&collector->lock);
    size_t count = collector->requests;
    pthread_mutex_unlock(&collector->lock);
    return count;
}

size_t spt_collector_connections(spt_collector *collector) {
    pthread_mutex_lock(&collector->lock);
    size_t count = collector->connection_count;
    pthread_mutex_unlock(&collector->lock);
    return count;
}

uint64_t spt_collector_written(spt_collector *collector) {
    pthread_mutex_lock(&collector->lock);
    uint64_t written = collector->written;
    pthread_mutex_unlock(&collector->lock);
    return written;
}

bool spt_collector_request(spt_collector *collector, size_t index, spt_request *out) {
    pthread_mutex_lock(&collector->lock);
    entry *found = collector->first;
    while (found && index-- > 0) {
        found = found->next;
    }
    if (found) {
        *out = found->request;
    }
    pthread_mutex_unlock(&collector->lock);
    return found != NULL;
}

const char *spt_request_header(const spt_request *request, const char *name) {
    static _Thread_local char value[65536 + 64];
    const char *found = header_find(request->head, name);
    size_t len = found ? strcspn(found, "\r") : 0;
    if (len >= sizeof value) {
        len = sizeof value - 1;
    }
    memcpy(value, found ? found : "", len);
    value[len] = '\0';
    return value;
}
