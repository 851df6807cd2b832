/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler offers beyond C11, under names of our own. */
#ifndef SPOOL_SDK_PLATFORM_COMPILER_H
#define SPOOL_SDK_PLATFORM_COMPILER_H

/*
 * An internal function that libspool-export calls too: written after the declarator, it gives the
 * function default visibility and the symbol name spool_private_<name>, so that every exported symbol
 * carries one prefix while sources keep theirs. No promise of stability is attached to it.
 */
#define SP_SHARED(name) __asm__("spool_private_" name) __attribute__((visibility("default")))

#define SP_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SP_NOINLINE __attribute__((noinline))
#define SP_COLD __attribute__((noinline, cold))
#define SP_UNUSED __attribute__((unused))
#define SP_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))

enum { SP_CACHE_LINE_BYTES = 64 };
#define SP_CACHE_ALIGNED _Alignas(64)

#endif /* SPOOL_SDK_PLATFORM_COMPILER_H */
