/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace state. The grammar is that of the level 2 editors' draft: a key is 1 to 256 of a-z 0-9 _ - * / @
 * and starts with a letter or digit; a value is 1 to 256 printable ASCII characters without ',' and '='
 * and does not end in a space.
 */
#include "sdk/context/trace_state.h"

#include "sdk/context/header_text.h"
#include "sdk/platform/atomics.h"
#include "sdk/platform/diagnostics.h"

#include <stdint.h>
#include <stdlib.h>

enum {
    KEY_BYTES = 256,
    VALUE_BYTES = 256,
    /* Four times what 32 members can take: beyond it, it is padding sent to cost us time. */
    LOOKED_BYTES = 64 * 1024
};

struct sp_trace_state {
    _Atomic uint32_t references;
    size_t len;
    char text[];
};

static bool key_is_valid(spool_str key) {
    if (!key.ptr || key.len == 0 || key.len > KEY_BYTES) {
        return false;
    }
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool mark = c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
        if (!alnum && !(mark && i > 0)) {
            return false;
        }
    }
    return true;
}

static bool value_is_valid(spool_str value) {
    if (!value.ptr || value.len == 0 || value.len > VALUE_BYTES ||
        value.ptr[value.len - 1] == ' ') {
        return false;
    }
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c < 0x20 || c > 0x7e || c == ',' || c == '=') {
            return false;
        }
    }
    return true;
}

/* ---- gathering members ---- */

void sp_trace_state_list_init(sp_trace_state_list *list) {
    list->count = 0;
    list->seen = 0;
    list->looked = 0;
    list->void_all = false;
}

static bool list_holds(const sp_trace_state_list *list, spool_str key) {
    for (size_t i = 0; i < list->count; i++) {
        if (sp_text_equal(list->members[i].key, key)) {
            return true;
        }
    }
    return false;
}

static bool member_add(sp_trace_state_list *list, spool_str text) {
    const char *equals = memchr(text.ptr, '=', text.len);
    if (!equals || list->seen == SP_TRACE_STATE_MEMBERS) {
        return false;
    }
    size_t key_len = (size_t)(equals - text.ptr);
    sp_trace_state_member member = {spool_str_n(text.ptr, key_len),
                                    spool_str_n(equals + 1, text.len - key_len - 1)};
    if (!key_is_valid(member.key) || !value_is_valid(member.value)) {
        return false;
    }
    list->seen++;
    /* The first of a repeated key is the most recent one; the sender should not have sent the other. */
    if (!list_holds(list, member.key)) {
        list->members[list->count++] = member;
    }
    return true;
}

bool sp_trace_state_list_add(sp_trace_state_list *list, spool_str text) {
    if (!text.ptr || list->void_all) {
        return !list->void_all;
    }
    if (text.len > LOOKED_BYTES - list->looked) {
        list->void_all = true;
        return false;
    }
    list->looked += text.len;
    spool_str rest = text;
    spool_str member;
    while (sp_text_split(&rest, ',', &member)) {
        member = sp_text_trimmed(member);
        if (member.len && !member_add(list, member)) {
            list->void_all = true;
            return false;
        }
    }
    return true;
}

sp_trace_state *sp_trace_state_of_list(const sp_trace_state_list *list) {
    if (list->void_all || list->count == 0) {
        return NULL;
    }
    size_t len = list->count - 1;
    for (size_t i = 0; i < list->count; i++) {
        len += list->members[i].key.len + 1 + list->members[i].value.len;
    }
    sp_trace_state *state = malloc(sizeof *state + len + 1);
    if (!state) {
        sp_misuse_count(SP_MISUSE_NO_MEMORY, 1);
        return NULL;
    }
    atomic_init(&state->references, 1);
    state->len = len;
    char *at = state->text;
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) {
            *at++ = ',';
        }
        at = sp_text_put(at, list->members[i].key);
        *at++ = '=';
        at = sp_text_put(at, list->members[i].value);
    }
    *at = '\0';
    return state;
}

sp_trace_state *sp_trace_state_parse(spool_str text) {
    sp_trace_state_list list;
    sp_trace_state_list_init(&list);
    sp_trace_state_list_add(&list, text);
    return sp_trace_state_of_list(&list);
}

/* ---- holding ---- */

sp_trace_state *sp_trace_state_retain(sp_trace_state *state) {
    if (state) {
        /* Relaxed: who calls holds a reference, the text is immutable. */
        sp_add_relaxed(&state->references, 1);
    }
    return state;
}

void sp_trace_state_release(sp_trace_state *state) {
    /* Acquire and release: the last holder frees after every other's reads. */
    if (state && sp_sub_acq_rel(&state->references, 1) == 1) {
        free(state);
    }
}

spool_str sp_trace_state_text(const sp_trace_state *state) {
    return state ? spool_str_n(state->text, state->len) : spool_str_n("", 0);
}

/* ---- members ---- */

bool sp_trace_state_get(const sp_trace_state *state, spool_str key, spool_str *out_value) {
    spool_str rest = sp_trace_state_text(state);
    spool_str member;
    while (key.ptr && sp_text_split(&rest, ',', &member)) {
        if (member.len > key.len && member.ptr[key.len] == '=' &&
            memcmp(member.ptr, key.ptr, key.len) == 0) {
            if (out_value) {
                *out_value = spool_str_n(member.ptr + key.len + 1, member.len - key.len - 1);
            }
            return true;
        }
    }
    return false;
}

/* Another reference through a pointer to const: the count is not part of the value. */
static sp_trace_state *same_again(const sp_trace_state *state) {
    union {
        const sp_trace_state *in;
        sp_trace_state *out;
    } pointer = {.in = state};
    return sp_trace_state_retain(pointer.out);
}

sp_trace_state *sp_trace_state_set(const sp_trace_state *state, spool_str key, spool_str value) {
    if (!key_is_valid(key) || (value.ptr && !value_is_valid(value))) {
        return same_again(state);
    }
    sp_trace_state_list before;
    sp_trace_state_list after;
    sp_trace_state_list_init(&before);
    sp_trace_state_list_init(&after);
    sp_trace_state_list_add(&before, sp_trace_state_text(state));
    if (value.ptr) {
        after.members[after.count++] = (sp_trace_state_member){key, value};
    }
    for (size_t i = 0; i < before.count && after.count < SP_TRACE_STATE_MEMBERS; i++) {
        if (!sp_text_equal(before.members[i].key, key)) {
            after.members[after.count++] = before.members[i];
        }
    }
    if (after.count == 0) {
        return NULL;
    }
    sp_trace_state *made = sp_trace_state_of_list(&after);
    return made ? made : same_again(state);
}
