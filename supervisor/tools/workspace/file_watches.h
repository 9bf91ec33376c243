// File watches: which watched files of workspaces have changed, whoever wrote them: a running program, a session
// between its calls, an administrator. Source: inotify(7) on the files' folders, as replacing a file is atomic.
// Bounded: by the subscriptions that ask, and by fs.inotify.max_user_watches; a file that cannot be watched is told
// about when an execution or a tool is done with it, like all others.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/tenants/tenant.h"

namespace tools {

class FileWatches {
 public:
  // From the loop, at once for a first change, then at most ten times a second.
  using Changed = std::function<void(const tenants::Tenant& tenant, const std::string& path)>;
  // Errors: what inotify_init1(2) said.
  static Result<std::unique_ptr<FileWatches>> open(Loop& loop, Changed changed);

  // Watched for as long as the result lives, which the watches must outlive; the workspace is not kept by it. nullptr:
  // the file's folder is not there or cannot be watched.
  std::shared_ptr<void> watch(const std::shared_ptr<tenants::Tenant>& tenant, const RelativePath& path);
  // Is it another than when this was last asked or told? True for a file that nobody watches.
  bool is_new(const tenants::Tenant& tenant, const std::string& path);

 private:
  struct Stamp;
  struct File;
  using Key = std::pair<std::string, std::string>;  // a tenant's or named workspace's name, and a path
  FileWatches(Loop& loop, AsyncFd inotify, Changed changed);
  Task<> follow();
  std::set<Key> read_events();
  void look_into(int folder, std::string_view name, std::set<Key>& touched) const;
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
