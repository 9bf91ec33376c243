#include "supervisor/base/tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "supervisor/base/folder.h"
#include "supervisor/base/loop.h"

namespace {

constexpr size_t kPartBytes = 256 << 10;
constexpr int64_t kSecond = 1'000'000'000;

class TreeWalk {
 public:
  TreeWalk(TreeBounds bounds, VanishedEntries vanished, const VisitEntry& visit)
      : bounds_(bounds), skips_(vanished == VanishedEntries::skip), visit_(visit) {}

  Result<> folder(int folder, const std::string& path, unsigned depth) {
    if (depth > bounds_.depth) return stop(TreeBound::depth, path);
    const auto names = read_names(FolderReader::at(folder, path.empty() ? "." : path), bounds_.entries - seen_);
    if (!names && names.error().code == Code::exhausted && names.error().err == 0)
      return stop(TreeBound::entries, path);
    if (!names) return tl::unexpected<Error>(names.error());
    seen_ += names->size();
    for (const std::string& name : *names) {
      CHECKED(entry(folder, name, path.empty() ? name : path + "/" + name, depth));
      if (end_.exceeded != TreeBound::none) return {};
    }
    return {};
  }
  TreeWalkEnd end() && { return std::move(end_); }

 private:
  Result<> entry(int folder, const std::string& name, const std::string& path, unsigned depth) {
    struct stat status {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (skips_) return {};
      return fail_path(errno, "look at", path);
    }
    CHECKED(visit_({folder, name, path, status, depth}));
    if (!S_ISDIR(status.st_mode)) return {};
    auto inner = open_listed_beneath(folder, name, O_RDONLY | O_DIRECTORY);
    if (!inner && skips_) return {};
    if (!inner) return tl::unexpected<Error>(std::move(inner).error());
    return this->folder(inner->get(), path, depth + 1);
  }

  Result<> stop(TreeBound exceeded, const std::string& folder) {
    end_ = {exceeded, folder};
    return {};
  }

  TreeBounds bounds_;
  bool skips_;
  const VisitEntry& visit_;
  uint64_t seen_ = 0;
  TreeWalkEnd end_;
};

}  // namespace

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

void allow_owner(int folder) {
  struct stat info;
  if (::fstat(folder, &info) == 0) (void)::chmod(descriptor_path(folder).c_str(), (info.st_mode & 07777) | 0700);
}

Result<TreeWalkEnd> walk_tree(int tree, TreeBounds bounds, VanishedEntries vanished, const VisitEntry& visit) {
  TreeWalk walk(bounds, vanished, visit);
  CHECKED(walk.folder(tree, "", 0));
  return std::move(walk).end();
}

Result<std::string> read_link_at(int folder, const std::string& name, std::string_view path, size_t max_bytes) {
  std::string target(max_bytes, '\0');
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size < 0) return fail_path(errno, "read the link", path);
  target.resize(static_cast<size_t>(size));
  return target;
}

Result<> read_parts(int file, std::string_view path, const std::function<Result<>(std::string_view part)>& use) {
  std::vector<char> part(kPartBytes);
  for (;;) {
    const ssize_t got = ::read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_path(errno, "read", path);
    if (got == 0) return {};
    CHECKED(use({part.data(), static_cast<size_t>(got)}));
  }
}

ssize_t read_fully_at(int file, char* bytes, size_t size, uint64_t offset) {
  size_t read = 0;
  while (read < size) {
    const ssize_t got = ::pread(file, bytes + read, size - read, static_cast<off_t>(offset + read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    read += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(read);
}

Result<bool> have_same_bytes(int a, int b) {
  // Not zeroed: most of the compared files are small, and there may be many.
  const auto of_a = std::make_unique_for_overwrite<char[]>(kPartBytes);
  const auto of_b = std::make_unique_for_overwrite<char[]>(kPartBytes);
  for (uint64_t at = 0;;) {
    const ssize_t read_a = read_fully_at(a, of_a.get(), kPartBytes, at);
    const ssize_t read_b = read_a < 0 ? -1 : read_fully_at(b, of_b.get(), kPartBytes, at);
    if (read_b < 0) return fail_errno(errno, "read");
    if (read_a != read_b || std::memcmp(of_a.get(), of_b.get(), static_cast<size_t>(read_a)) != 0) return false;
    if (read_a == 0) return true;
    at += static_cast<uint64_t>(read_a);
  }
}

int64_t nanoseconds_of(const timespec& time) { return int64_t{time.tv_sec} * kSecond + time.tv_nsec; }

timespec file_time(int64_t nanoseconds) {
  int64_t seconds = nanoseconds / kSecond, rest = nanoseconds % kSecond;
  if (rest < 0) seconds--, rest += kSecond;
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

Task<Result<>> remove_tree_in_turns(Loop& loop, int dirfd, RelativePath path, unsigned slice) {
  CO_TRY(TreeRemoval removal, TreeRemoval::begin(dirfd, path));
  for (;;) {
    CO_TRY(const bool done, removal.step(slice));
    if (done) co_return Result<>{};
    co_await next_turn(loop);
  }
}
