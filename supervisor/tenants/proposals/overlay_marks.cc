#include "supervisor/tenants/proposals/overlay_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <array>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"

namespace proposals {
namespace {

constexpr std::string_view kOverlay = "user.overlay.";

bool can_have_marks(const tenants::Entry& entry) {
  return entry.kind == tenants::FileKind::file || entry.kind == tenants::FileKind::directory;
}

// The names of the entry's attributes that belong to overlayfs. `self`: the path of its descriptor.
Result<std::vector<std::string>> marks_of(const std::string& self, const std::string& path) {
  std::string names(1024, '\0');
  ssize_t size = ::listxattr(self.c_str(), names.data(), names.size());
  if (size < 0 && errno == ERANGE) {
    names.resize(1 << 16);  // XATTR_LIST_MAX
    size = ::listxattr(self.c_str(), names.data(), names.size());
  }
  if (size < 0 && errno == ENOTSUP) return std::vector<std::string>{};
  if (size < 0) return fail_path(errno, "read the attributes of", valid_utf8(path));
  std::vector<std::string> match;
  for (size_t at = 0; at < static_cast<size_t>(size);) {
    const std::string_view name(names.c_str() + at);
    if (name.starts_with(kOverlay)) match.emplace_back(name);
    at += name.size() + 1;
  }
  return match;
}

Result<bool> is_null_device(int root, const std::string& path) {
  TRY(const Fd listed_beneath, open_listed_beneath(root, path, O_PATH));
  struct stat info;
  if (::fstat(listed_beneath.get(), &info) < 0) return fail_path(errno, "look at", valid_utf8(path));
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
}

}  // namespace

Result<OverlayMarks> read_marks(int root, const std::string& path, const tenants::Entry& entry) {
  OverlayMarks marks;
  if (entry.kind == tenants::FileKind::other) {
    TRY(marks.is_whiteout, is_null_device(root, path));
    return marks;
  }
  if (!can_have_marks(entry)) return marks;
  TRY(const Fd listed_beneath, open_listed_beneath(root, path, O_PATH));
  const std::string self = descriptor_path(listed_beneath.get());
  TRY(const auto names, marks_of(self, path));
  for (const std::string& name : names) {
    const std::string_view mark = std::string_view(name).substr(kOverlay.size());
    if (mark == "opaque") {
      std::array<char, 8> value{};
      const ssize_t size = ::getxattr(self.c_str(), name.c_str(), value.data(), value.size());
      marks.is_opaque = size == 1 && value[0] == 'y' && entry.kind == tenants::FileKind::directory;
    } else if (mark == "whiteout") {
      marks.is_whiteout = entry.kind == tenants::FileKind::file && entry.size == 0;
    } else if (mark == "origin") {
      marks.is_copy = true;
    } else if (mark == "metacopy" || mark == "redirect") {
      marks.is_partial = true;
    }
  }
  return marks;
}

Result<> strip_marks(int root, const std::string& path, const tenants::Entry& entry) {
  if (!can_have_marks(entry)) return {};
  TRY(const Fd listed_beneath, open_listed_beneath(root, path, O_PATH));
  const std::string self = descriptor_path(listed_beneath.get());
  TRY(const auto names, marks_of(self, path));
  if (names.empty()) return {};
  const bool is_locked = (entry.mode & 0200) == 0;
  if (is_locked) (void)::chmod(self.c_str(), entry.mode | 0200);
  int failed = 0;
  for (const std::string& name : names)
    if (::removexattr(self.c_str(), name.c_str()) < 0 && errno != ENODATA) failed = errno;
  if (is_locked) (void)::chmod(self.c_str(), entry.mode);
  if (failed != 0) return fail_path(failed, "remove an attribute of", valid_utf8(path));
  return {};
}

}  // namespace proposals
