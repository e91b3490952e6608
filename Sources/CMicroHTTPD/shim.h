// libmicrohttpd. MHD_start_daemon and MHD_get_connection_info are variadic and its log callback takes a va_list, none of
// which Swift can express: here they get fixed signatures.
#pragma once
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

// Everything a daemon is started with. Must outlive the daemon: the callbacks read it.
struct segrec_mhd_settings {
  unsigned int flags;
  int listening_socket;
  unsigned int connection_limit;
  unsigned int idle_seconds;
  unsigned int threads;
  size_t memory_per_connection;
  const char *certificate;  // PEM, NUL-terminated, or NULL without TLS
  const char *key;
  void *context;  // first argument of every callback below
  MHD_AcceptPolicyCallback accept;
  MHD_AccessHandlerCallback handle;
  void *(*begin)(void *context, const char *raw_target, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback connection;
  void (*notice)(void *context, const char *line);
};

static inline void segrec_mhd_log(void *settings, const char *format, va_list arguments) {
  const struct segrec_mhd_settings *s = settings;
  char line[512];
  vsnprintf(line, sizeof line, format, arguments);
  s->notice(s->context, line);
}

// Decoding is Swift's: MHD's own turns encoded slashes and NULs into real ones.
static inline size_t segrec_mhd_keep_escapes(void *settings, struct MHD_Connection *connection, char *text) {
  (void)settings;
  (void)connection;
  return strlen(text);
}

static inline struct MHD_Daemon *segrec_mhd_start(const struct segrec_mhd_settings *s) {
  struct MHD_OptionItem options[16];
  int n = 0;
  // The logger comes first, so that complaints about later options reach it.
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)segrec_mhd_log, (void *)s};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, s->listening_socket, NULL};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_LIMIT, (intptr_t)s->connection_limit, NULL};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)s->idle_seconds, NULL};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)s->memory_per_connection, NULL};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)s->threads, NULL};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)s->begin, s->context};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)segrec_mhd_keep_escapes, (void *)s};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)s->completed, s->context};
  options[n++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)s->connection, s->context};
  if (s->certificate != NULL) {
    options[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)s->certificate};
    options[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)s->key};
  }
  options[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
  return MHD_start_daemon(s->flags, 0, s->accept, s->context, s->handle, s->context,
                          MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

// The connection's socket, or -1.
static inline int segrec_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// The peer's address, valid while the connection is, or NULL.
static inline const struct sockaddr *segrec_mhd_peer(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}
