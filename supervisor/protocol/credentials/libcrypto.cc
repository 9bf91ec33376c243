#include "supervisor/protocol/credentials/libcrypto.h"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <type_traits>

namespace credentials {
namespace {

Result<Libcrypto> open_libcrypto() {
  constexpr const char* kInstall = "install the package libssl3";
  void* library = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(Code::unavailable, std::string("libcrypto cannot be loaded: ") + ::dlerror(), kInstall);
  const char* missing = nullptr;
  const auto take = [library, &missing](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) missing = name;
  };
  Libcrypto crypto{};
  take(crypto.d2i_pubkey, "d2i_PUBKEY");
  take(crypto.pkey_free, "EVP_PKEY_free");
  take(crypto.md_ctx_new, "EVP_MD_CTX_new");
  take(crypto.md_ctx_free, "EVP_MD_CTX_free");
  take(crypto.sha256, "EVP_sha256");
  take(crypto.digest_verify_init, "EVP_DigestVerifyInit");
  take(crypto.digest_verify, "EVP_DigestVerify");
  if (missing) return fail(Code::unavailable, std::string("libcrypto has no ") + missing, kInstall);
  return crypto;
}

}  // namespace

// Keys are read on a worker thread at a reload, and on the main thread at the start.
Result<const Libcrypto*> load_libcrypto() {
  static std::mutex mutex;
  static Result<Libcrypto> loaded = fail(Code::unavailable, "not loaded");
  const std::lock_guard lock(mutex);
  if (!loaded) loaded = open_libcrypto();
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return &*loaded;
}

}  // namespace credentials
