// libcurl and libcrypto's digests. curl's setters and getters are variadic, which Swift cannot call.
#pragma once
#include <curl/curl.h>
#include <openssl/evp.h>

static inline CURLcode segrec_curl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode segrec_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode segrec_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}
