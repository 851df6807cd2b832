/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semantic conventions that several others use: error, server, client, network, url, user agent. Names of
 * stable attributes only, unless it says so. Constants of this folder are outside the ABI promise.
 */
#ifndef SPOOL_SEMCONV_GENERAL_H
#define SPOOL_SEMCONV_GENERAL_H

/* What kind of error ended the operation: a class, a status code, never a message. */
#define SPOOL_SEMCONV_ERROR_TYPE "error.type"
#define SPOOL_SEMCONV_ERROR_TYPE_OTHER "_OTHER"

/* Who is asked: a name or address without reverse look-up, and the port (int). */
#define SPOOL_SEMCONV_SERVER_ADDRESS "server.address"
#define SPOOL_SEMCONV_SERVER_PORT "server.port"
/* Who asks, behind proxies if that is known. */
#define SPOOL_SEMCONV_CLIENT_ADDRESS "client.address"
#define SPOOL_SEMCONV_CLIENT_PORT "client.port"

/* The other end of the socket, and what is spoken on it. */
#define SPOOL_SEMCONV_NETWORK_PEER_ADDRESS "network.peer.address"
#define SPOOL_SEMCONV_NETWORK_PEER_PORT "network.peer.port"
#define SPOOL_SEMCONV_NETWORK_PROTOCOL_NAME "network.protocol.name"
#define SPOOL_SEMCONV_NETWORK_PROTOCOL_VERSION "network.protocol.version"

/* Parts of a URL as they came, not decoded; the full one without user information. */
#define SPOOL_SEMCONV_URL_FULL "url.full"
#define SPOOL_SEMCONV_URL_PATH "url.path"
#define SPOOL_SEMCONV_URL_QUERY "url.query"
#define SPOOL_SEMCONV_URL_SCHEME "url.scheme"
/* In development: the path with its variable parts named, as "/articles/{id}". */
#define SPOOL_SEMCONV_URL_TEMPLATE "url.template"

#define SPOOL_SEMCONV_USER_AGENT_ORIGINAL "user_agent.original"

#endif /* SPOOL_SEMCONV_GENERAL_H */
