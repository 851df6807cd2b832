/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables as carriers (context/env-carriers). Reading is from any array of "NAME=value";
 * writing is into a copy: the process's own environment is never touched.
 */
#include "sdk/context/header_text.h"
#include "sdk/platform/diagnostics.h"

#include <spool/propagation.h>

#include <stdint.h>
#include <stdlib.h>

struct spool_envp {
    char **items; /* count texts, then NULL; each from malloc */
    size_t count;
    size_t capacity; /* of items, the NULL not included */
};

/* PR-18: upper case, everything else than letters, digits and '_' becomes '_', no digit in front. */
static char normal_char(char c) {
    if (c >= 'a' && c <= 'z') {
        return (char)(c - ('a' - 'A'));
    }
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

static bool needs_prefix(spool_str name) {
    return name.len == 0 || (name.ptr[0] >= '0' && name.ptr[0] <= '9');
}

static size_t normal_bytes(spool_str name) {
    return name.len + (needs_prefix(name) ? 1 : 0);
}

static char *normal_put(char *at, spool_str name) {
    if (needs_prefix(name)) {
        *at++ = '_';
    }
    for (size_t i = 0; i < name.len; i++) {
        *at++ = normal_char(name.ptr[i]);
    }
    return at;
}

/* The value if the variable's name is the normalised `name`; else NULL. */
static const char *variable_value(const char *variable, spool_str name) {
    if (needs_prefix(name) && *variable++ != '_') {
        return NULL;
    }
    for (size_t i = 0; i < name.len; i++, variable++) {
        if (*variable != normal_char(name.ptr[i])) {
            return NULL; /* its NUL too: no normal character is one */
        }
    }
    return *variable == '=' ? variable + 1 : NULL;
}

/* As getenv(): of a name that occurs twice, the first counts. */
static bool envp_get(const void *carrier, spool_str name, size_t index, spool_str *out_value) {
    const char *const *envp = carrier;
    if (index > 0 || (!name.ptr && name.len)) {
        return false;
    }
    for (size_t i = 0; envp && envp[i]; i++) {
        const char *value = variable_value(envp[i], name);
        if (value) {
            *out_value = spool_str_of(value);
            return true;
        }
    }
    return false;
}

static bool envp_key(const void *carrier, size_t index, spool_str *out_name) {
    const char *const *envp = carrier;
    for (size_t i = 0; envp && envp[i]; i++) {
        const char *equals = strchr(envp[i], '=');
        spool_str name = spool_str_n(envp[i], equals ? (size_t)(equals - envp[i]) : 0);
        if (name.len && variable_value(envp[i], name) && !needs_prefix(name) && index-- == 0) {
            *out_name = name;
            return true;
        }
    }
    return false;
}

const spool_getter spool_envp_getter = {envp_get, envp_key};

/* ---- writing ---- */

/* Takes over `text`, also when it fails. */
static bool envp_append(spool_envp *envp, char *text) {
    if (text && envp->count == envp->capacity) {
        size_t capacity = envp->capacity ? 2 * envp->capacity : 16;
        char **items = realloc(envp->items, (capacity + 1) * sizeof *items);
        if (!items) {
            free(text);
            return false;
        }
        envp->items = items;
        envp->capacity = capacity;
    }
    if (!text) {
        return false;
    }
    envp->items[envp->count++] = text;
    envp->items[envp->count] = NULL;
    return true;
}

spool_envp *spool_envp_create(const char *const *base) {
    spool_envp *envp = calloc(1, sizeof *envp);
    for (size_t i = 0; envp && base && base[i]; i++) {
        if (!envp_append(envp, strdup(base[i]))) {
            spool_envp_destroy(envp);
            envp = NULL;
        }
    }
    if (!envp) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    }
    return envp;
}

static char *variable_make(spool_str name, spool_str value) {
    if (value.len > SIZE_MAX / 4 || name.len > SIZE_MAX / 4) {
        return NULL;
    }
    char *text = malloc(normal_bytes(name) + 1 + value.len + 1);
    if (text) {
        char *at = normal_put(text, name);
        *at++ = '=';
        at = sp_text_put(at, value);
        *at = '\0';
    }
    return text;
}

static void envp_set(void *carrier, spool_str name, spool_str value) {
    spool_envp *envp = carrier;
    /* A NUL would cut the value short: such a one is left out whole. */
    if (!envp || (!name.ptr && name.len) || (!value.ptr && value.len) ||
        (value.len && memchr(value.ptr, '\0', value.len))) {
        return;
    }
    char *text = variable_make(name, value);
    bool placed = false;
    for (size_t i = 0; text && i < envp->count;) {
        if (!variable_value(envp->items[i], name)) {
            i++;
            continue;
        }
        free(envp->items[i]);
        if (!placed) {
            envp->items[i++] = text;
            placed = true;
        } else {
            envp->count--;
            memmove(&envp->items[i], &envp->items[i + 1],
                    (envp->count - i + 1) * sizeof envp->items[0]);
        }
    }
    if (!placed && !envp_append(envp, text)) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
    }
}

const spool_setter spool_envp_setter = {envp_set};

char *const *spool_envp_array(const spool_envp *envp) {
    static char *const none[] = {NULL};
    return envp && envp->items ? envp->items : none;
}

void spool_envp_destroy(spool_envp *envp) {
    if (envp) {
        for (size_t i = 0; i < envp->count; i++) {
            free(envp->items[i]);
        }
        free(envp->items);
        free(envp);
    }
}
