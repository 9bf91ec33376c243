// FolderWatches: inotify(7) on the folders of one workspace. Each workspace has its own queue of events, so that a
// program that floods one queue makes no other tenant's queue overflow. WatchShares bounds their use of the kernel's
// limits.
// Facts: inotify(7). The queue holds fs.inotify.max_queued_events (16,384); a writing mmap(2) makes no event before the
// last mapping ends (IN_CLOSE_WRITE); a watch follows its folder through renames; an event names no process.
// Used by: WorkspaceIndex, on any thread, one at a time. Errors: exhausted (a limit), or the errno of inotify.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace tenants {

// The watches and instances that all workspaces of the daemon may take together. Threads: any.
class WatchShares {
 public:
  // Shares of the kernel's limits for this user, from /proc/sys/fs/inotify: all workspaces may take three quarters of
  // the watches, one a quarter, and all half of the instances.
  static WatchShares of_kernel();
  WatchShares(uint64_t all, uint64_t value, uint64_t instances) : all_(all), one_(value), instances_(instances) {}

  uint64_t of_one() const { return one_; }
  uint64_t instances() const { return instances_; }
  uint64_t claimed() const { return used_; }
  bool take_one() {
    if (++used_ <= all_) return true;
    --used_;
    return false;
  }
  void give_back(uint64_t watches) { used_ -= watches; }
  // Instances without a watch, for the next workspaces. keep() closes an instance beyond the most.
  Fd take_spare();
  void keep(Fd inotify);
  WatchShares(const WatchShares& other) : all_(other.all_), one_(other.one_), instances_(other.instances_) {}

 private:
  const uint64_t all_, one_, instances_;
  std::atomic<uint64_t> used_{0};
  std::mutex sparing_;
  std::vector<Fd> spare_;
};

class FolderWatches {
 public:
  struct Event {
    int watch = 0;
    uint32_t mask = 0;      // IN_...
    std::string_view name;  // valid until the handler returns
  };

  // The watches count in `shares`, which other workspaces share.
  static Result<FolderWatches> open(std::shared_ptr<WatchShares> shares);
  FolderWatches(FolderWatches&&) = default;
  FolderWatches& operator=(FolderWatches&&) = delete;
  ~FolderWatches();

  // Watches an open folder (O_PATH is enough). Returns the number of the watch; the same one for a watched folder.
  // `with_opens`: an event also for each opened file. Errors: exhausted, with the limit.
  Result<int> add(int folder, bool with_opens);
  // For a watched folder: from now on, an event for each opened file. False: the kernel refuses it.
  bool add_opens(int folder);
  void remove(int watch);
  // Ends all its watches, and keeps the instance for another workspace: closing one takes some 15 ms, because the
  // kernel waits until no processor uses it. An instance with many watches or many events is closed.
  void end(const std::vector<int>& watches);
  // The kernel has ended the watch (IN_IGNORED).
  void ended() { forget_entry(); }

  // The size of the events that wait now, in bytes.
  size_t waiting() const;
  // Hands over events, at most `bytes` of them and one read(2). Returns the bytes that it took; 0: none waits. Never
  // blocks. If they cannot be read, the event is IN_Q_OVERFLOW, as for lost events.
  size_t read(size_t bytes, const std::function<void(const Event&)>& handle);
  uint64_t count() const { return count_; }

 private:
  FolderWatches(Fd inotify, std::shared_ptr<WatchShares> shares)
      : inotify_(std::move(inotify)), shares_(std::move(shares)) {}
  void forget_entry();

  Fd inotify_;
  std::shared_ptr<WatchShares> shares_;
  uint64_t count_ = 0;
};

}  // namespace tenants
