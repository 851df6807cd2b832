/* SPDX-License-Identifier: Apache-2.0 */
/* Carriers made of arrays of headers: a list to read from, a buffer to write into. */
#include "sdk/context/header_text.h"

#include <spool/propagation.h>

static bool list_get(const void *carrier, spool_str name, size_t index, spool_str *out_value) {
    const spool_header_list *list = carrier;
    for (size_t i = 0; list && list->items && i < list->count; i++) {
        const spool_header *header = &list->items[i];
        if (header->name.ptr && sp_text_equal_caseless(header->name, name) && index-- == 0) {
            *out_value = spool_str_n(header->value.ptr, header->value.len);
            return true;
        }
    }
    return false;
}

static bool list_key(const void *carrier, size_t index, spool_str *out_name) {
    const spool_header_list *list = carrier;
    if (!list || !list->items || index >= list->count) {
        return false;
    }
    *out_name = list->items[index].name;
    return true;
}

const spool_getter spool_header_getter = {list_get, list_key};

/* ---- writing ---- */

static spool_str text_place(spool_header_buffer *buffer, spool_str text) {
    char *at = buffer->text + buffer->text_used;
    char *end = sp_text_put(at, text);
    *end = '\0';
    buffer->text_used += text.len + 1;
    return spool_str_n(at, text.len);
}

/* Takes a header's name and value out of the text, if they are the last in it. */
static void text_reclaim(spool_header_buffer *buffer, const spool_header *header) {
    const char *end = buffer->text + buffer->text_used;
    if (header->value.ptr && header->value.ptr + header->value.len + 1 == end) {
        buffer->text_used -= header->value.len + 1;
        end -= header->value.len + 1;
        if (header->name.ptr && header->name.ptr + header->name.len + 1 == end) {
            buffer->text_used -= header->name.len + 1;
        }
    }
}

/* Removes a header of this name: one that is out of date must not stay when the new one has no room. */
static void buffer_remove(spool_header_buffer *buffer, spool_str name) {
    for (size_t i = 0; i < buffer->count;) {
        if (!sp_text_equal_caseless(buffer->items[i].name, name)) {
            i++;
            continue;
        }
        text_reclaim(buffer, &buffer->items[i]);
        buffer->count--;
        memmove(&buffer->items[i], &buffer->items[i + 1],
                (buffer->count - i) * sizeof buffer->items[0]);
    }
}

static void buffer_set(void *carrier, spool_str name, spool_str value) {
    spool_header_buffer *buffer = carrier;
    if (!buffer) {
        return;
    }
    if (!buffer->items || !buffer->text || buffer->count > buffer->capacity ||
        buffer->text_used > buffer->text_capacity || !name.ptr) {
        buffer->dropped++;
        return;
    }
    buffer_remove(buffer, name);
    size_t room = buffer->text_capacity - buffer->text_used;
    /* Compared one by one: the sum of hostile lengths could wrap. */
    bool fits = name.len < room && value.len < room - name.len - 1;
    if (buffer->count == buffer->capacity || !fits) {
        buffer->dropped++;
        return;
    }
    spool_header *header = &buffer->items[buffer->count++];
    header->name = text_place(buffer, name);
    header->value = text_place(buffer, value);
}

const spool_setter spool_header_setter = {buffer_set};
