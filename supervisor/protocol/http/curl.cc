#include "supervisor/protocol/http/curl.h"

#include <dlfcn.h>

namespace http {
namespace {

Result<Curl> load() {
  constexpr const char* kRemedy = "install the package libcurl4";
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(Code::unavailable, std::string("libcurl cannot be loaded: ") + ::dlerror(), kRemedy);
  const char* missing = nullptr;
  auto take = [library, &missing](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) missing = name;
  };
  Curl curl{};
  decltype(&::curl_global_init) global_init = nullptr;
  take(global_init, "curl_global_init");
  take(curl.easy_init, "curl_easy_init");
  take(curl.easy_setopt, "curl_easy_setopt");
  take(curl.easy_getinfo, "curl_easy_getinfo");
  take(curl.easy_pause, "curl_easy_pause");
  take(curl.easy_strerror, "curl_easy_strerror");
  take(curl.easy_cleanup, "curl_easy_cleanup");
  take(curl.multi_init, "curl_multi_init");
  take(curl.multi_setopt, "curl_multi_setopt");
  take(curl.multi_add_handle, "curl_multi_add_handle");
  take(curl.multi_remove_handle, "curl_multi_remove_handle");
  take(curl.multi_socket_action, "curl_multi_socket_action");
  take(curl.multi_info_read, "curl_multi_info_read");
  take(curl.multi_cleanup, "curl_multi_cleanup");
  take(curl.slist_append, "curl_slist_append");
  take(curl.slist_free_all, "curl_slist_free_all");
  if (missing) return fail(Code::unavailable, std::string("libcurl has no ") + missing, kRemedy);
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return fail(Code::unavailable, "libcurl cannot be initialised");
  return curl;
}

}  // namespace

Result<const Curl*> load_curl() {
  static Result<Curl> loaded = fail(Code::unavailable, "not loaded");
  if (!loaded) loaded = load();  // again after a failure: libcurl may have been installed meanwhile
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return &*loaded;
}

}  // namespace http
