/* SPDX-License-Identifier: Apache-2.0 */
/* Semantic conventions of source code: the attributes that callsites add with source_location set. */
#ifndef SPOOL_SEMCONV_CODE_H
#define SPOOL_SEMCONV_CODE_H

#define SPOOL_SEMCONV_CODE_FUNCTION_NAME "code.function.name"
#define SPOOL_SEMCONV_CODE_FILE_PATH "code.file.path"
#define SPOOL_SEMCONV_CODE_LINE_NUMBER "code.line.number"

#endif /* SPOOL_SEMCONV_CODE_H */
