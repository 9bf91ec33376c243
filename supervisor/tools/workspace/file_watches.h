// FileWatches: reports changes of watched workspace files by any writer: a running program, a session between its
// calls, an administrator. Source: inotify(7) on the files' folders, because a write may replace the file.
// Used by: resource_changes.h. The number of watches is bounded by the subscriptions, and by
// fs.inotify.max_user_watches. A change of a file without a watch is reported after the execution or the tool call.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/path.h"
#include "supervisor/protocol/mcp/subscriptions.h"

namespace tenants {
class Tenant;
}

namespace tools {

class FileWatches {
 public:
  // Called on the loop: at once for the first change, then at most ten times a second.
  using Changed = std::function<void(const tenants::Tenant& tenant, const std::string& path)>;
  // Errors: those of inotify_init1(2).
  static Result<std::unique_ptr<FileWatches>> open(Loop& loop, Changed changed);

  // Watches the file until the result is destroyed. FileWatches must outlive the result. The result does not own the
  // workspace. nullptr: the file's folder does not exist or cannot be watched.
  std::shared_ptr<mcp::ResourceWatch> watch(const std::shared_ptr<tenants::Tenant>& tenant, const RelativePath& path);
  // True if the file has changed since the last call of is_new() or `changed`. True for a file without a watch.
  bool is_new(const tenants::Tenant& tenant, const std::string& path);

 private:
  struct Stamp;
  struct File;
  using Key = std::pair<std::string, std::string>;  // a tenant's or named workspace's name, and a path
  FileWatches(Loop& loop, AsyncFd inotify, Changed changed);
  Task<> follow();
  std::set<Key> read_events();
  void inspect(int folder, std::string_view name, std::set<Key>& touched) const;
  void look_at(const Key& key);
  void forget(const Key& key, int folder);

  Loop& loop_;
  AsyncFd inotify_;
  Changed changed_;
  std::map<Key, std::weak_ptr<File>> files_;
  std::map<int, std::set<Key>> folders_;  // by watch descriptor
  Scope tasks_;                           // last: cancelled first
};

}  // namespace tools
