#include "supervisor/tenants/index/folder_watches.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/tree.h"

namespace tenants {
namespace {

constexpr uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM |
                              IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR;

constexpr size_t kMaxSpare = 8;            // instances
constexpr size_t kMaxEnded = 256;          // watches, removed one by one
constexpr size_t kMaxDropped = 128 << 10;  // bytes of events

uint64_t kernel_limit(const char* name, uint64_t otherwise) {
  std::ifstream file(std::string("/proc/sys/fs/inotify/") + name);
  uint64_t limit = 0;
  return file >> limit ? limit : otherwise;
}

}  // namespace

WatchShares WatchShares::of_kernel() {
  const uint64_t watches = kernel_limit("max_user_watches", 8192), instances = kernel_limit("max_user_instances", 128);
  return {watches / 4 * 3, watches / 4, std::max<uint64_t>(1, instances / 2)};
}

Fd WatchShares::take_spare() {
  const std::lock_guard lock(sparing_);
  if (spare_.empty()) return {};
  Fd inotify = std::move(spare_.back());
  spare_.pop_back();
  return inotify;
}

void WatchShares::keep(Fd inotify) {
  const std::lock_guard lock(sparing_);
  if (spare_.size() < kMaxSpare) spare_.push_back(std::move(inotify));
}

Result<FolderWatches> FolderWatches::open(std::shared_ptr<WatchShares> shares) {
  Fd inotify = shares->take_spare();
  if (!inotify) inotify = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify) return fail_errno(errno, "inotify_init1");
  return FolderWatches(std::move(inotify), std::move(shares));
}

FolderWatches::~FolderWatches() {
  if (shares_) shares_->give_back(count_);
}

Result<int> FolderWatches::add(int folder, bool with_opens) {
  constexpr char kRemedy[] = "raise fs.inotify.max_user_watches (sysctl)";
  if (count_ >= shares_->of_one() || !shares_->take_one())
    return fail(Code::exhausted, "this workspace's share of the inotify watches is used up", kRemedy);
  const std::string path = descriptor_path(folder);
  const uint32_t mask = kChanges | (with_opens ? IN_OPEN : 0);
  int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), mask | IN_MASK_CREATE);
  if (watch >= 0) {
    count_++;
    return watch;
  }
  const int err = errno;
  shares_->give_back(1);
  if (err == EEXIST) watch = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
  if (watch >= 0) return watch;
  if (err == ENOSPC) return fail(Code::exhausted, "the kernel allows no more inotify watches", kRemedy);
  return fail_errno(err, "inotify_add_watch");
}

bool FolderWatches::add_opens(int folder) {
  const std::string path = descriptor_path(folder);
  return ::inotify_add_watch(inotify_.get(), path.c_str(), IN_OPEN | IN_MASK_ADD | IN_ONLYDIR) >= 0;
}

void FolderWatches::remove(int watch) {
  if (::inotify_rm_watch(inotify_.get(), watch) == 0) forget_entry();
}

void FolderWatches::end(const std::vector<int>& watches) {
  if (watches.size() > kMaxEnded || watches.size() != count_) return;
  for (const int watch : watches) (void)::inotify_rm_watch(inotify_.get(), watch);
  size_t dropped = 0;
  while (const size_t bytes = read(kMaxDropped, [](const Event&) {}))
    if ((dropped += bytes) > kMaxDropped) return;
  shares_->give_back(std::exchange(count_, 0));
  shares_->keep(std::move(inotify_));
}

void FolderWatches::forget_entry() {
  if (count_ == 0) return;
  count_--;
  shares_->give_back(1);
}

size_t FolderWatches::waiting() const {
  int bytes = 0;
  if (::ioctl(inotify_.get(), FIONREAD, &bytes) < 0) return kMaxDropped;  // read() meets the same error
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

size_t FolderWatches::read(size_t bytes, const std::function<void(const Event&)>& handle) {
  if (bytes == 0) return 0;
  alignas(inotify_event) std::array<char, 65536> buffer;
  constexpr size_t kLargestEvent = sizeof(inotify_event) + NAME_MAX + 1;  // less room is EINVAL
  const size_t room = std::min(std::max(bytes, kLargestEvent), buffer.size());
  ssize_t length = 0;
  do length = ::read(inotify_.get(), buffer.data(), room);
  while (length < 0 && errno == EINTR);
  if (length < 0 && errno != EAGAIN) handle({-1, IN_Q_OVERFLOW, ""});  // what has changed is unknown
  if (length <= 0) return 0;
  for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= length;) {
    inotify_event event;
    std::memcpy(&event, buffer.data() + at, sizeof event);
    const std::string_view name = event.len > 0 ? buffer.data() + at + sizeof event : "";  // padded with zeros
    handle({event.wd, event.mask, name});
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
  return static_cast<size_t>(length);
}

}  // namespace tenants
