/* SPDX-License-Identifier: Apache-2.0 */
/* See environment.h. Numbers are read by hand: the host's locale must not change what they mean. */
#include "config/environment.h"

#include "sdk/platform/diagnostics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WARNED_NAMES = 64, SHOWN_BYTES = 64 };

static const double EXACT = 1e14;

const char *sp_env_text(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* True the first time it is asked about a name. Names are string literals of this library. */
static bool first_time(const char *name) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *warned[WARNED_NAMES];
    static size_t count;
    bool first = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && first; i++) {
        first = strcmp(warned[i], name) != 0;
    }
    if (first && count < WARNED_NAMES) {
        warned[count++] = name;
    }
    pthread_mutex_unlock(&lock);
    return first;
}

void sp_env_warn(const char *name, const char *value, const char *why) {
    if (!first_time(name)) {
        return;
    }
    if (value) {
        size_t len = strlen(value);
        size_t shown = len < SHOWN_BYTES ? len : SHOWN_BYTES;
        while (shown < len && shown && ((unsigned char)value[shown] & 0xc0) == 0x80) {
            shown--; /* not inside a character */
        }
        sp_diag(SPOOL_DIAG_WARN, "config", "%s=\"%.*s\"%s: %s", name, (int)shown, value,
                shown < len ? "..." : "", why);
    } else {
        sp_diag(SPOOL_DIAG_WARN, "config", "%s: %s", name, why);
    }
}

bool sp_env_bool(const char *name) {
    const char *value = sp_env_text(name);
    if (!value) {
        return false;
    }
    bool is_true = strcasecmp(value, "true") == 0;
    if (!is_true && strcasecmp(value, "false") != 0) {
        sp_env_warn(name, value, "neither true nor false; taken as false");
    }
    return is_true;
}

bool sp_env_number(const char *name, uint32_t least, uint32_t *out) {
    const char *value = sp_env_text(name);
    if (!value) {
        return false;
    }
    uint64_t number = 0;
    const char *at = value;
    for (; *at >= '0' && *at <= '9' && number <= INT32_MAX; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    if (*at || number > INT32_MAX || number < least) {
        sp_env_warn(name, value, "not a whole number in range; the default is used");
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

bool sp_env_ratio(const char *name, double *out) {
    const char *value = sp_env_text(name);
    if (!value) {
        return false;
    }
    /* Both parts stay exact below 10^15, so the one division rounds as strtod() would. */
    double digits = 0.0;
    double scale = 1.0;
    bool any = false;
    bool fraction = false;
    const char *at = value;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !fraction); at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        any = true;
        if (digits < EXACT && scale < EXACT) {
            digits = digits * 10.0 + (*at - '0');
            scale *= fraction ? 10.0 : 1.0;
        } else if (!fraction) {
            break;
        }
    }
    double ratio = digits / scale;
    if (*at || !any || ratio > 1.0) {
        sp_env_warn(name, value, "not a number from 0 to 1; taken as unset");
        return false;
    }
    *out = ratio;
    return true;
}

bool sp_env_next_item(const char **rest, spool_str *out_item) {
    while (*rest && **rest) {
        const char *begin = *rest;
        const char *comma = strchr(begin, ',');
        const char *end = comma ? comma : begin + strlen(begin);
        *rest = comma ? comma + 1 : end;
        while (begin < end && (*begin == ' ' || *begin == '\t')) {
            begin++;
        }
        while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
            end--;
        }
        if (begin < end) {
            *out_item = spool_str_n(begin, (size_t)(end - begin));
            return true;
        }
    }
    return false;
}

bool sp_env_is(spool_str item, const char *word) {
    return strlen(word) == item.len && strncasecmp(item.ptr, word, item.len) == 0;
}
