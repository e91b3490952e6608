// libcurl and libcrypto's digests. curl's setters and getters are variadic, which Swift cannot call; so is ioctl.
#pragma once
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline CURLcode segrec_curl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode segrec_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode segrec_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}

// Callbacks get their own setters, so that each is checked against the prototype that curl calls it with.
static inline CURLcode segrec_curl_set_read(CURL *handle, size_t (*callback)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(handle, CURLOPT_READFUNCTION, callback);
}
static inline CURLcode segrec_curl_set_seek(CURL *handle, int (*callback)(void *, curl_off_t, int)) {
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}
static inline CURLcode segrec_curl_set_write(CURL *handle, size_t (*callback)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, callback);
}
static inline CURLcode segrec_curl_set_header(CURL *handle, size_t (*callback)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, callback);
}
static inline CURLcode segrec_curl_set_open_socket(
  CURL *handle, curl_socket_t (*callback)(void *, curlsocktype, struct curl_sockaddr *)) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}
static inline CURLcode segrec_curl_set_close_socket(CURL *handle, int (*callback)(void *, curl_socket_t)) {
  return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode segrec_curl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLcode segrec_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}
static inline CURLMcode segrec_curl_set_multi_long(CURLM *handle, CURLMoption option, long value) {
  return curl_multi_setopt(handle, option, value);
}

// What a curl_multi_info_read message says; the result is in a union.
static inline CURLcode segrec_curl_message_result(const CURLMsg *message) { return message->data.result; }

// Opens the socket curl asks for. A TCP socket takes at most `unsent` bytes beyond its congestion window, so that what
// was handed over is close to what the peer has taken. Returns CURL_SOCKET_BAD with errno on failure.
static inline curl_socket_t segrec_open_socket(const struct curl_sockaddr *address, int unsent) {
  int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (descriptor >= 0 && address->socktype == SOCK_STREAM && address->family != AF_UNIX)
    setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
  return descriptor;
}
// Bytes in the send queue that the peer has not acknowledged; -1 where the socket cannot say.
static inline int segrec_socket_unacknowledged(int descriptor) {
  int bytes = -1;
  return ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}
// The local port of an IPv4 or IPv6 socket, 0 where it has none.
static inline int segrec_socket_local_port(int descriptor) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  return 0;
}

// Keeps SIGPIPE from the calling thread: OpenSSL writes to sockets without MSG_NOSIGNAL.
#include <signal.h>
static inline void segrec_block_sigpipe(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, 0);
}
