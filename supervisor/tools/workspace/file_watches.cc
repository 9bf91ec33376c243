#include "supervisor/tools/workspace/file_watches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "supervisor/base/tree.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

constexpr uint32_t kEvents =
    IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

// Stamp: metadata that changes with every change of the file. All zeros: the file does not exist.
struct FileWatches::Stamp {
  uint64_t inode = 0;
  int64_t size = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;

  static Stamp of(tenants::Tenant& tenant, const RelativePath& path) {
    auto info = stat_beneath(tenant.workspace().directory(), path);
    if (!info) return {};
    return {info->st_ino, info->st_size, info->st_ctim.tv_sec, info->st_ctim.tv_nsec};
  }
};

struct FileWatches::File : mcp::ResourceWatch {
  File(FileWatches& its, std::weak_ptr<tenants::Tenant> owner, Key name, RelativePath where, Stamp now, int watch)
      : all(its),
        tenant(std::move(owner)),
        key(std::move(name)),
        path(std::move(where)),
        reported(now),
        folder(watch) {}
  ~File() override { all.forget(key, folder); }

  FileWatches& all;
  std::weak_ptr<tenants::Tenant> tenant;
  Key key;
  RelativePath path;
  Stamp reported;
  int folder;
};

Result<std::unique_ptr<FileWatches>> FileWatches::open(Loop& loop, Changed changed) {
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd) return fail_errno(errno, "inotify_init1");
  TRY(AsyncFd inotify, AsyncFd::adopt(loop, std::move(fd)));
  return std::unique_ptr<FileWatches>(new FileWatches(loop, std::move(inotify), std::move(changed)));
}

FileWatches::FileWatches(Loop& loop, AsyncFd inotify, Changed changed)
    : loop_(loop), inotify_(std::move(inotify)), changed_(std::move(changed)), tasks_(loop) {
  tasks_.spawn(follow());
}

std::shared_ptr<mcp::ResourceWatch> FileWatches::watch(const std::shared_ptr<tenants::Tenant>& tenant,
                                                       const RelativePath& path) {
  Key key{tenant->name(), path.text()};
  if (const auto it = files_.find(key); it != files_.end()) {
    const auto file = it->second.lock();
    if (file && !file->tenant.expired() && folders_.contains(file->folder)) return file;
  }
  auto folder = open_beneath(tenant->workspace().directory(), path.parent(), O_PATH | O_DIRECTORY);
  if (path.is_root() || !folder) return nullptr;
  const int watch = ::inotify_add_watch(inotify_.get(), descriptor_path(folder->get()).c_str(), kEvents);
  if (watch < 0) return nullptr;
  auto file = std::make_shared<File>(*this, tenant, key, path, Stamp::of(*tenant, path), watch);
  files_.insert_or_assign(key, file);
  folders_[watch].insert(std::move(key));
  return file;
}

void FileWatches::forget(const Key& key, int folder) {
  if (const auto file = files_.find(key); file != files_.end() && file->second.expired()) files_.erase(file);
  const auto watched = folders_.find(folder);
  if (watched == folders_.end()) return;
  watched->second.erase(key);
  if (!watched->second.empty()) return;
  folders_.erase(watched);
  ::inotify_rm_watch(inotify_.get(), folder);
}

bool FileWatches::is_new(const tenants::Tenant& tenant, const std::string& path) {
  const auto it = files_.find({tenant.name(), path});
  const auto file = it == files_.end() ? nullptr : it->second.lock();
  const auto owner = file ? file->tenant.lock() : nullptr;
  if (!owner) return true;
  const Stamp now = Stamp::of(*owner, file->path);
  return std::exchange(file->reported, now) != now;
}

void FileWatches::look_at(const Key& key) {
  const auto it = files_.find(key);
  const auto file = it == files_.end() ? nullptr : it->second.lock();
  const auto tenant = file ? file->tenant.lock() : nullptr;
  if (tenant && is_new(*tenant, key.second)) changed_(*tenant, key.second);
}

void FileWatches::inspect(int folder, std::string_view name, std::set<Key>& touched) const {
  const auto watched = folders_.find(folder);
  if (watched == folders_.end()) return;
  for (const Key& key : watched->second) {
    const std::string& path = key.second;
    if (name.empty() || path == name || path.ends_with("/" + std::string(name))) touched.insert(key);
  }
}

std::set<FileWatches::Key> FileWatches::read_events() {
  alignas(inotify_event) std::array<char, 16384> buffer{};
  std::set<Key> touched;
  const ssize_t length = ::read(inotify_.get(), buffer.data(), buffer.size());
  if (length < 0 && errno != EAGAIN && errno != EINTR)  // what has changed is unknown
    for (const auto& [folder, keys] : folders_) touched.insert(keys.begin(), keys.end());
  for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= length;) {
    inotify_event event;
    std::memcpy(&event, buffer.data() + at, sizeof event);
    const std::string_view name = event.len > 0 ? buffer.data() + at + sizeof event : "";  // padded with zeros
    at += static_cast<ssize_t>(sizeof event + event.len);
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      for (const auto& [folder, keys] : folders_) touched.insert(keys.begin(), keys.end());
    } else {
      inspect(event.wd, name, touched);
    }
    if ((event.mask & IN_IGNORED) != 0) folders_.erase(event.wd);  // the folder was removed
  }
  return touched;
}

Task<> FileWatches::follow() {
  for (;;) {
    co_await inotify_.readable();
    const std::set<Key> touched = read_events();
    for (const Key& key : touched) look_at(key);
    co_await sleep_for(loop_, kPause);  // changes in this pause are reported as one
  }
}

}  // namespace tools
