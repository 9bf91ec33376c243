// TextDiff: the changes of steps as a unified diff that people and agents read, and that `patch -p1` and `git apply`
// take as long as all files are ordinary text. A binary or large file, or one beyond the bounds, is
// one line that begins with '#', with its sizes. Git's objects, names of commits and index are
// counted only; its hooks and settings are shown. The files are hostile: control characters, and characters that
// deceive a reader, are shown as <U+001B>; names with other characters than printable ASCII stand in quotes with octal
// escapes, as git writes them. A diff with a replaced character says so. Source: file changes. Used by:
// proposal_folder.cc. Works on the calling thread; its time is bounded by the bounds. Errors: those of base/path.h.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/tenants/proposals/file_changes.h"

namespace proposals {

constexpr uint64_t kMaxDiffedFile = 64 << 10;  // bytes; larger files are one line
constexpr uint64_t kMaxDiffRead = 32 << 20;    // bytes of all files that are read for one diff

class TextDiff {
 public:
  // `max_bytes`: of the whole text, without the last line about left-out changes.
  explicit TextDiff(size_t max_bytes) : max_bytes_(max_bytes) {}

  // `before`, `after`: the open folders of the change's two paths. A change whose part is too long is one line. False:
  // the bound is reached, and the change is left out.
  Result<bool> add(const FileChange& change, int before, int after);
  std::string finished() &&;

 private:
  struct Side;
  Result<Side> read_side(const std::optional<tenants::Entry>& entry, int root, const std::string& path);
  std::string text_of(const FileChange& change, const Side& before, const Side& after);
  size_t max_bytes_;
  uint64_t read_left_ = kMaxDiffRead, left_out_ = 0, of_git_ = 0;
  bool is_full_ = false;
  std::string text_;
};

// `path` as git writes it behind "a/" or "b/": in quotes with octal escapes if it needs any.
std::string quoted_name(std::string_view prefix, std::string_view path);

}  // namespace proposals
