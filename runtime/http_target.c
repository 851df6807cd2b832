/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client's preparations: libcurl's global state, URL and proxy, files, close-on-exec. */
#include "runtime/http_target.h"

#include "sdk/platform/diagnostics.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char COMPONENT[] = "http";

/* CURLOPT_PROTOCOLS_STR came with 7.85; what we pass to it is what keeps file:// and the like out. */
enum { OLDEST_CURL = 0x075500, MAX_WAKE_CANDIDATES = 1024, WAKES = 3 };

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_result;

static void global_init(void) {
    global_result = curl_global_init(CURL_GLOBAL_ALL);
}

/* Never cleaned up: the host, or another library in the process, may use libcurl too. */
static spool_status curl_ready(void) {
    pthread_once(&global_once, global_init);
    if (global_result != CURLE_OK) {
        sp_diag(SPOOL_DIAG_ERROR, COMPONENT, "libcurl does not start: %s",
                curl_easy_strerror(global_result));
        return SPOOL_ERR_SYSTEM;
    }
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    if (info->version_num < OLDEST_CURL) {
        sp_diag(SPOOL_DIAG_ERROR, COMPONENT, "libcurl %s is too old, 7.85 is needed",
                info->version);
        return SPOOL_ERR_UNSUPPORTED;
    }
    return SPOOL_OK;
}

static bool curl_has_tls(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SSL) != 0;
}

/* --- URL and proxy --- */

static bool host_is_numeric(const char *host) {
    struct in_addr v4;
    struct in6_addr v6;
    return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1;
}

/* Takes "[::1]" to "::1". */
static void brackets_remove(char *host) {
    size_t len = strlen(host);
    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        memmove(host, host + 1, len - 2);
        host[len - 2] = '\0';
    }
}

/* libcurl's memory to ours, so that one function frees all. */
static char *part_copy(CURLU *url, CURLUPart part, unsigned flags) {
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK) {
        return NULL;
    }
    char *copy = strdup(text);
    curl_free(text);
    return copy;
}

static bool scheme_is(CURLU *url, const char *name) {
    char *scheme = NULL;
    bool same =
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK && strcmp(scheme, name) == 0;
    curl_free(scheme);
    return same;
}

/* libcurl would take 1080 for a proxy without a port; everybody else takes the scheme's. */
static bool default_port_set(CURLU *url) {
    char *port = NULL;
    bool has_one = curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK;
    curl_free(port);
    return has_one || curl_url_set(url, CURLUPART_PORT, scheme_is(url, "https") ? "443" : "80",
                                   0) == CURLUE_OK;
}

/* The text is not printed: it may hold a secret, and its owner has already looked at it. */
static spool_status url_parse(CURLU *url, const char *text, const char *what) {
    CURLUcode code =
        text ? curl_url_set(url, CURLUPART_URL, text, CURLU_PATH_AS_IS) : CURLUE_MALFORMED_INPUT;
    if (code == CURLUE_OUT_OF_MEMORY) {
        return SPOOL_ERR_NOMEM;
    }
    if (code != CURLUE_OK) {
        sp_diag(SPOOL_DIAG_ERROR, COMPONENT, "the %s is not valid: %s", what,
                curl_url_strerror(code));
        return SPOOL_ERR_INVALID;
    }
    bool secure = scheme_is(url, "https");
    if (!secure && !scheme_is(url, "http")) {
        sp_diag(SPOOL_DIAG_ERROR, COMPONENT, "the %s is neither http nor https", what);
        return SPOOL_ERR_INVALID;
    }
    if (secure && !curl_has_tls()) {
        sp_diag(SPOOL_DIAG_ERROR, COMPONENT, "the %s is https, but libcurl has no TLS", what);
        return SPOOL_ERR_UNSUPPORTED;
    }
    return SPOOL_OK;
}

/* Whom to connect to, from the URL of the server or of the proxy. */
static spool_status target_peer(CURLU *url, sp_http_target *out) {
    char *port = part_copy(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    out->host = part_copy(url, CURLUPART_HOST, 0);
    if (!port || !out->host) {
        free(port);
        return SPOOL_ERR_NOMEM;
    }
    out->port = (unsigned)strtoul(port, NULL, 10);
    free(port);
    brackets_remove(out->host);
    out->numeric = host_is_numeric(out->host);
    return SPOOL_OK;
}

static spool_status target_proxy(CURLU *url, const char *text, sp_http_target *out) {
    spool_status status = url_parse(url, text, "proxy URL");
    if (status != SPOOL_OK) {
        return status;
    }
    if (!default_port_set(url)) {
        return SPOOL_ERR_NOMEM;
    }
    out->proxy = part_copy(url, CURLUPART_URL, 0);
    return out->proxy ? target_peer(url, out) : SPOOL_ERR_NOMEM;
}

static spool_status target_urls(const sp_http_options *options, CURLU *url, sp_http_target *out) {
    spool_status status = url_parse(url, options->url, "URL");
    if (status != SPOOL_OK) {
        return status;
    }
    out->url = part_copy(url, CURLUPART_URL, 0);
    if (!out->url) {
        return SPOOL_ERR_NOMEM;
    }
    if (options->proxy) {
        return target_proxy(url, options->proxy, out);
    }
    out->proxy = strdup("");
    return out->proxy ? target_peer(url, out) : SPOOL_ERR_NOMEM;
}

/* --- files --- */

/*
 * A file that is missing or empty would otherwise fail each connection, long after the mistake was
 * made. What is in it is the TLS library's to judge.
 */
static bool file_is_readable(const char *path, const char *what) {
    if (!path) {
        return true;
    }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    const char *reason = NULL;
    if (descriptor < 0) {
        reason = errno == ENOENT ? "there is no such file" : "it cannot be opened";
    } else if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        reason = "it is not a file";
    } else if (info.st_size == 0) {
        reason = "it is empty";
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (reason) {
        sp_diag(SPOOL_DIAG_ERROR, COMPONENT, "the %s '%s' is of no use: %s", what, path, reason);
    }
    return !reason;
}

static bool files_are_readable(const sp_http_options *options) {
    return file_is_readable(options->certificate, "CA certificate file") &&
           file_is_readable(options->client_certificate, "client certificate file") &&
           file_is_readable(options->client_key, "client key file");
}

spool_status sp_http_target_init(const sp_http_options *options, sp_http_target *out) {
    memset(out, 0, sizeof *out);
    spool_status status = curl_ready();
    if (status != SPOOL_OK) {
        return status;
    }
    if (!files_are_readable(options)) {
        return SPOOL_ERR_INVALID;
    }
    CURLU *url = curl_url();
    if (!url) {
        return SPOOL_ERR_NOMEM;
    }
    status = target_urls(options, url, out);
    curl_url_cleanup(url);
    return status;
}

void sp_http_target_fini(sp_http_target *target) {
    free(target->url);
    free(target->proxy);
    free(target->host);
    memset(target, 0, sizeof *target);
}

spool_status sp_http_check(const sp_http_options *options) {
    sp_http_target target;
    spool_status status = sp_http_target_init(options, &target);
    sp_http_target_fini(&target);
    return status;
}

/* --- close-on-exec of libcurl's wake pair --- */

typedef struct wake_candidate {
    int descriptor;
    int sent_once; /* SIOCOUTQ after one wake */
} wake_candidate;

static int queue_bytes(int descriptor, unsigned long request) {
    int bytes = 0;
    return ioctl(descriptor, request, &bytes) == 0 ? bytes : 0;
}

static bool may_be_wake_end(int descriptor) {
    int flags = fcntl(descriptor, F_GETFD);
    int domain = 0;
    socklen_t size = sizeof domain;
    return flags >= 0 && (flags & FD_CLOEXEC) == 0 &&
           getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           domain == AF_UNIX && queue_bytes(descriptor, SIOCINQ) == 0 &&
           queue_bytes(descriptor, SIOCOUTQ) == 0;
}

static size_t wake_candidates(wake_candidate *list, size_t capacity) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        return 0;
    }
    size_t count = 0;
    for (struct dirent *entry; count < capacity && (entry = readdir(folder)) != NULL;) {
        char *end = NULL;
        long number = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0' && may_be_wake_end((int)number)) {
            list[count++] = (wake_candidate){.descriptor = (int)number, .sent_once = 0};
        }
    }
    closedir(folder);
    return count;
}

/*
 * Releases before 8 make the pair as plain sockets and do not tell their numbers. They are found by
 * their behaviour: of all idle unix sockets without close-on-exec, the one end holds exactly as many
 * unread bytes as there were wakes, the other's queue grew in step. The descriptors of others are not
 * touched but by looking.
 */
void sp_http_wake_pair_mark(CURLM *multi) {
    wake_candidate *list = calloc(MAX_WAKE_CANDIDATES, sizeof *list);
    if (!list) {
        return;
    }
    size_t count = wake_candidates(list, MAX_WAKE_CANDIDATES);
    for (int wake = 0; count > 0 && wake < WAKES; wake++) {
        curl_multi_wakeup(multi);
        for (size_t i = 0; wake == 0 && i < count; i++) {
            list[i].sent_once = queue_bytes(list[i].descriptor, SIOCOUTQ);
        }
    }
    for (size_t i = 0; i < count; i++) {
        int descriptor = list[i].descriptor;
        bool reads = queue_bytes(descriptor, SIOCINQ) == WAKES;
        bool writes =
            list[i].sent_once > 0 && queue_bytes(descriptor, SIOCOUTQ) == WAKES * list[i].sent_once;
        if (reads || writes) {
            fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        }
    }
    if (count > 0) {
        curl_multi_poll(multi, NULL, 0, 0, NULL); /* reads the wakes */
    }
    free(list);
}
