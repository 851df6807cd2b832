/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live spans, listed: what is this process doing now? One function for ordinary code, one that a
 * signal handler may call, also after a fault. Both look at all SDKs of the process.
 */
#ifndef SPOOL_SDK_LIVE_H
#define SPOOL_SDK_LIVE_H

#include <spool/trace.h>
#include <spool/value.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

SPOOL_BEGIN_DECLS

/* A copy of a span as it was a moment ago; all that it points to is valid until the callback returns. */
typedef struct spool_live_span {
    size_t struct_size;
    spool_span span; /* may be stale by now */
    struct spool_span_context context;
    uint8_t parent_span_id[8]; /* all zero: a root */
    uint32_t kind;             /* SPOOL_KIND_* */
    uint32_t thread;           /* number of the thread that started it; numbers are used again */
    uint64_t start_time_ns;    /* since the epoch */
    uint64_t age_ns;
    spool_str name;
    const spool_attr *attrs;
    size_t attr_count;
    const spool_scope *scope;
    const spool_sdk *sdk; /* to compare, not to use; NULL: shut down and freed */
} spool_live_span;

/* False ends the listing. It may call every function of the API. */
typedef bool (*spool_live_span_callback)(void *arg, const spool_live_span *span);

/*
 * Calls back for each live recorded span, in no order, and returns how many calls were made. Each span
 * is pinned, copied, unpinned, and only then handed on: no lock is held and no span is kept from
 * ending meanwhile. One that starts or ends during the listing may be missing; one that is ending on
 * another thread is.
 * Threads: any. Blocks: no; waits for a copy in progress. Allocates. Signals: unsafe, see below.
 * Failure: a span that finds no memory is left out, counted.
 */
SPOOL_API size_t spool_live_spans(spool_live_span_callback callback, void *arg);

/*
 * Writes one line for each live recorded span to a descriptor:
 *
 *     span <trace id> <span id> parent=<span id> age=<seconds> thread=<number> name="<name>" <key>=<value>...
 *     span <trace id> <span id> <busy>
 *
 * parent= is missing for a root; age has three decimals. A name, and each text, is in quotes, with
 * \", \\ and \xNN for quotes, backslashes and control characters; a key is the same, but without the
 * quotes when it has only letters, digits and "._-/". Numbers are decimal; doubles have up to six
 * decimals, or are hexadecimal (as by %a); false, true, null, <array>, <map>, <bytes N> are the rest.
 * " +N" at the end: so many attributes are not shown, because they did not fit the line (at most 1,023
 * bytes) or are kept outside the registry (single ones of more than 4 KiB).
 * <busy>: another thread is in the middle of a change, or this one is, below the handler.
 *
 * Takes no lock, waits for nobody, allocates nothing, needs under 4 KiB of stack. errno is kept. A write
 * that fails ends the dump. Returns the number of lines.
 * Threads: any. Blocks: as write() on the descriptor does. Signals: safe, also in a handler of SIGSEGV,
 * SIGBUS or SIGABRT. Fork: child may call.
 */
SPOOL_API size_t spool_dump_live_spans(int descriptor);

SPOOL_END_DECLS
#endif /* SPOOL_SDK_LIVE_H */
