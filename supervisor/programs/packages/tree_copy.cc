#include "supervisor/programs/packages/tree_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"

namespace packages {
namespace {

// The error with the names of the path before it: "a: b: more than 2 MB".
tl::unexpected<Error> within_path(Error error, std::string_view path) {
  std::string names;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    names += printable(path.substr(at, end - at), 100) + ": ";
    at = end + 1;
  }
  error.what.insert(0, names);
  return tl::unexpected<Error>(std::move(error));
}

class TreeCopy {
 public:
  TreeCopy(uint64_t max_bytes, uid_t owner, int to) : max_bytes_(max_bytes), owner_(owner), to_(to) {}
  const CopiedTree& copied() const { return copied_; }

  Result<> visit(const TreeEntry& entry) {
    copied_.entries++;
    auto done = copy(entry);
    if (!done) return within_path(std::move(done).error(), entry.path);
    return {};
  }

 private:
  Result<> copy(const TreeEntry& entry) {
    folders_.resize(entry.depth);
    const int to = folders_.empty() ? to_ : folders_.back().get();
    if (S_ISREG(entry.status.st_mode)) return file(entry, to);
    if (!S_ISDIR(entry.status.st_mode)) {
      copied_.left_out++;
      return {};
    }
    if (::mkdirat(to, entry.name.c_str(), 0755) < 0) return fail_errno(errno, "mkdir");
    Fd created(::openat(to, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!created) return fail_errno(errno, "open");
    if (::fchmod(created.get(), 0755) < 0) return fail_errno(errno, "chmod");  // with any umask
    folders_.push_back(std::move(created));
    return {};
  }

  Result<> file(const TreeEntry& entry, int to) {
    TRY(const Fd source, open_listed_beneath(entry.folder, entry.name, O_RDONLY | O_NONBLOCK));
    struct stat status {};
    if (::fstat(source.get(), &status) < 0) return fail_errno(errno, "fstat");
    if (!S_ISREG(status.st_mode)) return fail(Code::denied, "changed while it was read");
    if (status.st_nlink > 1 && status.st_uid != owner_) {
      copied_.left_out++;
      return {};
    }
    copied_.opened += (status.st_mode & S_IROTH) == 0;
    const mode_t mode = status.st_mode & S_IXUSR ? 0755 : 0644;
    Fd target(::openat(to, entry.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!target) return fail_errno(errno, "write");
    CHECKED(read_parts(source.get(), entry.name, [&](std::string_view part) -> Result<> {
      copied_.bytes += part.size();
      if (copied_.bytes > max_bytes_) return fail(Code::exhausted, fmt::format("more than {} MB", max_bytes_ >> 20));
      return write_all(target.get(), part);
    }));
    if (::fchmod(target.get(), mode) < 0) return fail_errno(errno, "chmod");
    return {};
  }

  uint64_t max_bytes_;
  uid_t owner_;  // of the tree's folder
  int to_;
  std::vector<Fd> folders_;  // below `to_`: those of the entry that is copied
  CopiedTree copied_;
};

Result<bool> is_same_entry(int first, int second, const std::string& name) {
  const auto here = open_listed_beneath(first, name, O_RDONLY), there = open_listed_beneath(second, name, O_RDONLY);
  if (!here || !there) return false;
  struct stat of_here {
  }, of_there{};
  if (::fstat(here->get(), &of_here) < 0 || ::fstat(there->get(), &of_there) < 0) return fail_errno(errno, "fstat");
  if (of_here.st_mode != of_there.st_mode) return false;
  if (S_ISDIR(of_here.st_mode)) return is_same_tree(here->get(), there->get());
  if (!S_ISREG(of_here.st_mode) || of_here.st_size != of_there.st_size) return false;
  return have_same_bytes(here->get(), there->get());
}

}  // namespace

Result<bool> is_same_tree(int a, int b) {
  TRY(const auto names, read_names(FolderReader::at(a, ".")));
  TRY(const auto other_names, read_names(FolderReader::at(b, ".")));
  if (names != other_names) return false;
  for (const std::string& name : names) {
    TRY(const bool is_same, is_same_entry(a, b, name));
    if (!is_same) return false;
  }
  return true;
}

Result<CopiedTree> copy_tree(int from, int to, const TreeLimits& limits) {
  struct stat status {};
  if (::fstat(from, &status) < 0) return fail_errno(errno, "fstat");
  TreeCopy copy(limits.bytes, status.st_uid, to);
  TRY(const TreeWalkEnd end, walk_tree(from, {limits.entries, limits.depth}, VanishedEntries::fail,
                                       [&copy](const TreeEntry& entry) { return copy.visit(entry); }));
  if (end.exceeded == TreeBound::none) return copy.copied();
  const std::string problem = end.exceeded == TreeBound::depth
                                  ? fmt::format("folders are nested deeper than {}", limits.depth)
                                  : fmt::format("more than {} files", limits.entries);
  return within_path(fail(Code::exhausted, problem).value(), end.folder);
}

Result<bool> is_over_limits(int folder, const TreeLimits& limits) {
  uint64_t bytes = 0;
  const auto end = walk_tree(folder, {limits.entries, limits.depth}, VanishedEntries::skip,
                             [&bytes, &limits](const TreeEntry& entry) -> Result<> {
                               bytes += static_cast<uint64_t>(entry.status.st_blocks) * 512;
                               if (bytes > limits.bytes)
                                 return fail(Code::exhausted, "too many bytes");  // ends the walk
                               return {};
                             });
  if (bytes > limits.bytes) return true;
  if (!end) return tl::unexpected<Error>(end.error());
  return end->exceeded != TreeBound::none;
}

}  // namespace packages
