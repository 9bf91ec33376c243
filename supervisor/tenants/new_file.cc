#include "supervisor/tenants/new_file.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "supervisor/base/ascii.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/random.h"
#include "supervisor/base/tree.h"

namespace tenants {
namespace {

constexpr std::string_view kPrefix = ".warder-";
constexpr size_t kDigits = 16;

// A name that the file has only until it is moved.
std::string temporary_name() { return std::string(kPrefix) + random_hex(kDigits / 2); }

bool is_temporary_name(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits || !name.starts_with(kPrefix)) return false;
  return std::all_of(name.begin() + kPrefix.size(), name.end(), is_lower_hex);
}

}  // namespace

NewFile::NewFile(int parent, int unfinished, Fd file, std::string name)
    : parent_(parent), unfinished_(unfinished), file_(std::move(file)), name_(std::move(name)) {}
NewFile::NewFile(NewFile&& other) noexcept
    : parent_(other.parent_),
      unfinished_(other.unfinished_),
      file_(std::move(other.file_)),
      name_(std::exchange(other.name_, "")) {}
NewFile::~NewFile() {
  if (!name_.empty()) ::unlinkat(unfinished_, name_.c_str(), 0);
}

// Makes the file without a name (O_TMPFILE: open(2)), or with a temporary name where the file system lacks O_TMPFILE.
// The unnamed file is made in `parent`, so that it belongs to that folder's project quota: the kernel refuses a link or
// a rename from a folder with another project (EXDEV).
Result<NewFile> NewFile::make(int parent, int unfinished, const RelativePath& for_path, mode_t mode) {
  auto unnamed = open_beneath(parent, RelativePath(), O_TMPFILE | O_WRONLY, mode);
  if (unnamed) return NewFile(parent, unfinished, std::move(*unnamed), "");
  int err = unnamed.error().err;
  if (err != EOPNOTSUPP && err != EISDIR && err != ENOENT) return fail_path(err, "write", for_path.text());
  std::string name = temporary_name();
  TRY(RelativePath path, RelativePath::parse(name));
  auto named = open_beneath(unfinished, path, O_CREAT | O_EXCL | O_WRONLY, mode);
  if (!named) return fail_path(named.error().err, "write", for_path.text());
  return NewFile(parent, unfinished, std::move(*named), std::move(name));
}

Result<> NewFile::move_to(const RelativePath& path, Existing existing) {
  const std::string target(path.name());
  if (name_.empty()) {
    const std::string self = descriptor_path(file_.get());
    if (::linkat(AT_FDCWD, self.c_str(), parent_, target.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
    if (errno != EEXIST || existing == Existing::refuse) return fail_path(errno, "write", path.text());
    // Only rename(2) can replace a file, and it needs a name.
    std::string name = temporary_name();
    if (::linkat(AT_FDCWD, self.c_str(), unfinished_, name.c_str(), AT_SYMLINK_FOLLOW) < 0)
      return fail_path(errno, "write", path.text());
    name_ = std::move(name);
  }
  const unsigned flags = existing == Existing::refuse ? 1u : 0u;  // RENAME_NOREPLACE
  if (::syscall(SYS_renameat2, unfinished_, name_.c_str(), parent_, target.c_str(), flags) < 0)
    return fail_path(errno, "write", path.text());
  name_.clear();
  return {};
}

Result<> sweep_unfinished(int unfinished) {
  TRY(const auto names, read_names(FolderReader::at(unfinished, "unfinished files")));
  for (const std::string& name : names) {
    if (!is_temporary_name(name)) continue;
    TRY(RelativePath path, RelativePath::parse(name));
    CHECKED(unlink_beneath(unfinished, path, Removing::file));
  }
  return {};
}

}  // namespace tenants
