/* SPDX-License-Identifier: Apache-2.0 */
/* Semantic conventions of the resource "service" and of where it is deployed. */
#ifndef SPOOL_SEMCONV_SERVICE_H
#define SPOOL_SEMCONV_SERVICE_H

#define SPOOL_SEMCONV_SERVICE_NAME "service.name"
#define SPOOL_SEMCONV_SERVICE_VERSION "service.version"
#define SPOOL_SEMCONV_SERVICE_NAMESPACE "service.namespace"
#define SPOOL_SEMCONV_SERVICE_INSTANCE_ID "service.instance.id"
#define SPOOL_SEMCONV_DEPLOYMENT_ENVIRONMENT_NAME "deployment.environment.name"

#endif /* SPOOL_SEMCONV_SERVICE_H */
