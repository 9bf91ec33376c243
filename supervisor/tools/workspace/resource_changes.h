// ResourceChanges: notifies a tenant's subscribed clients of created, changed and deleted files of the workspace.
// Source: the files that a tool wrote; the changes of an execution, after its end; for single subscribed files, the
// file system (file_watches.h). Used by: the workspace tools, execute_code, supervisor/daemon/. Errors: no
// function returns one; if inotify cannot be used, a line in the log says so.
#pragma once
#include <memory>
#include <string>

#include "supervisor/protocol/mcp/server.h"
#include "supervisor/tenants/index/changes.h"
#include "supervisor/tools/workspace/file_watches.h"

namespace tools {

class ResourceChanges {
 public:
  // The user data of the server's connections are tenants::Members. Both references must outlive this object.
  ResourceChanges(Loop& loop, mcp::Server& server);
  ~ResourceChanges();

  void notify(const tenants::Tenant& tenant, const tenants::Changes& changes);
  // The same for one file that a tool has written or removed.
  void notify(const tenants::Tenant& tenant, const std::string& filename);
  // For mcp::Subscriptions: watches a file of the workspace until the result is destroyed. nullptr: the URI names no
  // file of a workspace, or the file cannot be watched.
  std::shared_ptr<mcp::ResourceWatch> watch(const std::shared_ptr<tenants::Tenant>& tenant, const std::string& uri);

 private:
  void updated(const tenants::Tenant& tenant, const std::string& path);
  mcp::Server& server_;
  std::unique_ptr<FileWatches> watches_;  // nullptr without inotify
};

}  // namespace tools
