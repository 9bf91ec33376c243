// PrivateFolder: a folder for its owner only below $TMPDIR or /var/tmp, removed with its contents by the destructor.
// Used by: tenant_export.cc, backup.cc. Errors: those of mkdtemp(3).
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "supervisor/base/result.h"

namespace admin {

class [[nodiscard]] PrivateFolder {
 public:
  static Result<PrivateFolder> make() {
    const char* named = std::getenv("TMPDIR");
    std::string path = std::string(named ? named : "/var/tmp") + "/warder-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return fail_errno(errno, "make a folder " + path);
    return PrivateFolder(path);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace admin
