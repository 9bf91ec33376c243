// Curl: libcurl's functions, loaded with dlopen(3) when the first HttpClient is made. A daemon without HTTP requests
// does not load libcurl's thirty libraries: they would cost 5 ms at each start, and their mappings in each forked jail.
// Used by: HttpClient. Errors: unavailable, libcurl is missing or lacks a function.
#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "supervisor/base/result.h"

namespace http {

struct Curl {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_pause) easy_pause;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_socket_action) multi_socket_action;
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
};

// The result is valid until the process ends. After an error, the next call tries again.
Result<const Curl*> load_curl();

}  // namespace http
