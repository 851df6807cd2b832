/* SPDX-License-Identifier: Apache-2.0 */
/*
 * W3C trace state: an immutable, counted, validated text (W3C trace-context level 2, 3.3; trace/api
 * "TraceState"). NULL is the empty one. Threads: any.
 */
#ifndef SPOOL_SDK_CONTEXT_TRACE_STATE_H
#define SPOOL_SDK_CONTEXT_TRACE_STATE_H

#include <spool/value.h>

#include <stdbool.h>

enum { SP_TRACE_STATE_MEMBERS = 32 };

typedef struct sp_trace_state sp_trace_state;

/*
 * Parses a header value (several headers joined by ','). NULL when it is empty, not valid (PR-10: any
 * illegal member or a 33rd voids the whole), or without memory.
 */
sp_trace_state *sp_trace_state_parse(spool_str text);
sp_trace_state *sp_trace_state_retain(sp_trace_state *state);
void sp_trace_state_release(sp_trace_state *state);
/* Canonical text: members joined by ',', no spaces around, empty members gone. */
spool_str sp_trace_state_text(const sp_trace_state *state);
bool sp_trace_state_get(const sp_trace_state *state, spool_str key, spool_str *out_value);
/* A new state with the member in front (PR-11); a NULL value removes. Invalid input, or no memory: a
 * new reference to the same state. */
sp_trace_state *sp_trace_state_set(const sp_trace_state *state, spool_str key, spool_str value);

/* Members that are gathered from several headers before they become one state. */
typedef struct sp_trace_state_member {
    spool_str key;
    spool_str value;
} sp_trace_state_member;
typedef struct sp_trace_state_list {
    size_t count;
    size_t seen;                                           /* members met, repeated keys included */
    size_t looked;                                         /* bytes looked at */
    bool void_all;                                         /* something was not valid */
    sp_trace_state_member members[SP_TRACE_STATE_MEMBERS]; /* borrowed from the texts */
} sp_trace_state_list;
void sp_trace_state_list_init(sp_trace_state_list *list);
/* One header's value; false once the list is void and more is of no use. */
bool sp_trace_state_list_add(sp_trace_state_list *list, spool_str text);
/* NULL as sp_trace_state_parse(). */
sp_trace_state *sp_trace_state_of_list(const sp_trace_state_list *list);

#endif /* SPOOL_SDK_CONTEXT_TRACE_STATE_H */
