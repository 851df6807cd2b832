/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is instrumented with Spool; it knows libspool alone. */
#ifndef SPT_PACKAGE_INSTRUMENTED_H
#define SPT_PACKAGE_INSTRUMENTED_H

/* Does some work inside a span named "package.work". Returns whether somebody recorded it. */
int instrumented_work(void);

#endif /* SPT_PACKAGE_INSTRUMENTED_H */
