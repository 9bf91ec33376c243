#include "supervisor/programs/packages/tree_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace packages {
namespace {

class TreeCopy {
 public:
  TreeCopy(const TreeLimits& limits, uid_t owner) : limits_(limits), owner_(owner) {}
  const CopiedTree& copied() const { return copied_; }

  Result<> folder(int from, int to, unsigned depth) {
    if (depth > limits_.depth)
      return fail(Code::exhausted, fmt::format("folders are nested deeper than {}", limits_.depth));
    TRY(FolderReader entries, FolderReader::at(from, "."));
    for (;;) {
      TRY(const dirent* entry, entries.next());
      if (entry == nullptr) return {};
      const std::string name = entry->d_name;
      if (++copied_.entries > limits_.entries)
        return fail(Code::exhausted, fmt::format("more than {} files", limits_.entries));
      auto done = one(from, to, name, depth);
      if (!done) return tl::unexpected<Error>(std::move(done).error().within(printable(name, 100)));
    }
  }

 private:
  Result<> one(int from, int to, const std::string& name, unsigned depth) {
    struct stat status {};
    if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno(errno, "lstat");
    if (S_ISDIR(status.st_mode)) {
      TRY(const Fd inner, open_listed_beneath(from, name, O_RDONLY | O_DIRECTORY));
      if (::mkdirat(to, name.c_str(), 0755) < 0) return fail_errno(errno, "mkdir");
      Fd created(::openat(to, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      if (!created) return fail_errno(errno, "open");
      if (::fchmod(created.get(), 0755) < 0) return fail_errno(errno, "chmod");  // with any umask
      return folder(inner.get(), created.get(), depth + 1);
    }
    if (S_ISREG(status.st_mode)) return file(from, to, name);
    copied_.left_out++;
    return {};
  }

  Result<> file(int from, int to, const std::string& name) {
    TRY(const Fd source, open_listed_beneath(from, name, O_RDONLY | O_NONBLOCK));
    struct stat status {};
    if (::fstat(source.get(), &status) < 0) return fail_errno(errno, "fstat");
    if (!S_ISREG(status.st_mode)) return fail(Code::denied, "changed while it was read");
    if (status.st_nlink > 1 && status.st_uid != owner_) {
      copied_.left_out++;
      return {};
    }
    copied_.opened += (status.st_mode & S_IROTH) == 0;
    const mode_t mode = status.st_mode & S_IXUSR ? 0755 : 0644;
    Fd target(::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!target) return fail_errno(errno, "write");
    std::vector<char> part(256 << 10);
    for (;;) {
      const ssize_t got = ::read(source.get(), part.data(), part.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, "read");
      if (got == 0) break;
      copied_.bytes += static_cast<uint64_t>(got);
      if (copied_.bytes > limits_.bytes)
        return fail(Code::exhausted, fmt::format("more than {} MB", limits_.bytes >> 20));
      CHECKED(write_all(target.get(), {part.data(), static_cast<size_t>(got)}));
    }
    if (::fchmod(target.get(), mode) < 0) return fail_errno(errno, "chmod");
    return {};
  }

  TreeLimits limits_;
  uid_t owner_;  // of the tree's folder
  CopiedTree copied_;
};

// Adds the tree below `folder`. False: over a limit. Errors: a folder cannot be read to its end.
Result<bool> count_tree(int folder, unsigned depth, const TreeLimits& limits, CopiedTree& counted) {
  if (depth > limits.depth) return false;
  TRY(FolderReader entries, FolderReader::at(folder, "."));
  for (;;) {
    TRY(const dirent* entry, entries.next());
    if (entry == nullptr) return true;
    const std::string name = entry->d_name;
    struct stat status {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
    counted.entries++;
    counted.bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    if (counted.entries > limits.entries || counted.bytes > limits.bytes) return false;
    if (!S_ISDIR(status.st_mode)) continue;
    const auto inner = open_listed_beneath(folder, name, O_RDONLY | O_DIRECTORY);
    if (!inner) continue;
    TRY(const bool is_within, count_tree(inner->get(), depth + 1, limits, counted));
    if (!is_within) return false;
  }
}

// Reads the next `size` bytes, fewer at the end.
Result<> fill(int file, std::vector<char>& part, size_t size) {
  part.resize(size);
  size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(file, part.data() + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read");
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  part.resize(have);
  return {};
}

Result<bool> is_same_file(int first, int second) {
  std::vector<char> first_part, second_part;
  do {
    CHECKED(fill(first, first_part, 256 << 10));
    CHECKED(fill(second, second_part, 256 << 10));
    if (first_part != second_part) return false;
  } while (!first_part.empty());
  return true;
}

Result<bool> is_same_entry(int first, int second, const std::string& name) {
  const auto here = open_listed_beneath(first, name, O_RDONLY), there = open_listed_beneath(second, name, O_RDONLY);
  if (!here || !there) return false;
  struct stat of_here {
  }, of_there{};
  if (::fstat(here->get(), &of_here) < 0 || ::fstat(there->get(), &of_there) < 0) return fail_errno(errno, "fstat");
  if (of_here.st_mode != of_there.st_mode) return false;
  if (S_ISDIR(of_here.st_mode)) return is_same_tree(here->get(), there->get());
  if (!S_ISREG(of_here.st_mode) || of_here.st_size != of_there.st_size) return false;
  return is_same_file(here->get(), there->get());
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
  TreeCopy copy(limits, status.st_uid);
  CHECKED(copy.folder(from, to, 0));
  return copy.copied();
}

Result<bool> is_over_limits(int folder, const TreeLimits& limits) {
  CopiedTree counted;
  TRY(const bool is_within, count_tree(folder, 0, limits, counted));
  return !is_within;
}

}  // namespace packages
