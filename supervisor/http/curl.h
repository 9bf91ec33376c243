// Curl: libcurl's functions, loaded when the first client is made. A daemon that asks no server over HTTP does without
// its thirty libraries: they would cost each start 5 ms, and each jail that is forked their mappings.
// Errors: unavailable: there is no libcurl, or one without a function that we need.
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

// For the whole life of the process.
Result<const Curl*> load_curl();

}  // namespace http
