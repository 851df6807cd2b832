/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler glue of the public headers: visibility, linkage, attributes. It declares no function. */
#ifndef SPOOL_EXPORT_H
#define SPOOL_EXPORT_H

#ifdef __cplusplus
#define SPOOL_BEGIN_DECLS extern "C" {
#define SPOOL_END_DECLS }
#else
#define SPOOL_BEGIN_DECLS
#define SPOOL_END_DECLS
#endif

#if defined(__GNUC__)
#define SPOOL_API __attribute__((visibility("default")))
#define SPOOL_MUST_USE __attribute__((warn_unused_result))
#define SPOOL_UNUSED __attribute__((unused))
#define SPOOL_PRINTF(format_index, first_index)                                                    \
    __attribute__((format(printf, format_index, first_index)))
#define SPOOL_CLEANUP(function) __attribute__((cleanup(function)))
#else
#error "Spool needs a compiler with GNU attributes (gcc or clang)"
#endif

#endif /* SPOOL_EXPORT_H */
