#include "supervisor/programs/packages/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"

namespace packages {
namespace {

namespace fs = std::filesystem;

constexpr char kParent[] = "/var/tmp";
constexpr size_t kRandomLetters = 6;  // of mkdtemp(3)

// The folder, locked. Without a value: it is another user's, no folder, or in use.
Fd lock_folder(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat opened {
  }, named{};
  if (!folder || ::fstat(folder.get(), &opened) < 0 || opened.st_uid != ::geteuid()) return {};
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) < 0) return {};
  // Another command may have removed it before it was locked.
  if (::lstat(path.c_str(), &named) < 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) return {};
  return folder;
}

// Removes what killed commands left. A folder that cannot be removed stays: the command does not need it.
void sweep(const std::string& prefix) {
  const auto names = read_names(FolderReader::open(kParent));
  if (!names) return log_warning("what killed commands left stays: {}", names.error().what);
  for (const std::string& name : *names) {
    const std::string path = std::string(kParent) + "/" + name;
    std::error_code error;
    if (path.size() != prefix.size() + kRandomLetters || !path.starts_with(prefix)) continue;
    if (const Fd folder = lock_folder(path)) fs::remove_all(path, error);
  }
}

}  // namespace

Result<ScratchFolder> ScratchFolder::make(std::string_view name) {
  const std::string prefix = std::string(kParent) + "/warder-" + std::string(name) + "-";
  sweep(prefix);
  ScratchFolder folder;
  // Another command may sweep between the two calls; it then removes a folder that is not locked yet.
  for (int attempt = 0; attempt < 10 && !folder.lock_; attempt++) {
    std::string path = prefix + std::string(kRandomLetters, 'X');
    if (!::mkdtemp(path.data())) return fail_errno(errno, "make a folder in /var/tmp");
    folder.lock_ = lock_folder(path);
    if (folder.lock_) folder.path_ = path;
  }
  if (!folder.lock_) return fail(Code::unavailable, "cannot lock a folder in /var/tmp", "try again");
  // Other users may go through it to the folders that are theirs, and cannot replace them.
  if (::fchmod(folder.lock_.get(), 0711) < 0) return fail_errno(errno, "chmod " + folder.path_);
  return folder;
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // the next command removes it
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace packages
