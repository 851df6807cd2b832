/* SPDX-License-Identifier: Apache-2.0 */
/* Severity names and the mapping from syslog (logs/data-model, appendix B). */
#include <spool/log.h>

const char *spool_severity_name(int severity) {
    static const char *const names[] = {
        "",       "TRACE",  "TRACE2", "TRACE3", "TRACE4", "DEBUG",  "DEBUG2", "DEBUG3", "DEBUG4",
        "INFO",   "INFO2",  "INFO3",  "INFO4",  "WARN",   "WARN2",  "WARN3",  "WARN4",  "ERROR",
        "ERROR2", "ERROR3", "ERROR4", "FATAL",  "FATAL2", "FATAL3", "FATAL4",
    };
    return severity >= 0 && severity <= SPOOL_SEVERITY_FATAL4 ? names[severity] : "";
}

int spool_severity_from_syslog(int priority) {
    static const int severities[8] = {
        SPOOL_SEVERITY_FATAL, SPOOL_SEVERITY_ERROR3, SPOOL_SEVERITY_ERROR2, SPOOL_SEVERITY_ERROR,
        SPOOL_SEVERITY_WARN,  SPOOL_SEVERITY_INFO2,  SPOOL_SEVERITY_INFO,   SPOOL_SEVERITY_DEBUG,
    };
    return severities[priority & 7];
}
