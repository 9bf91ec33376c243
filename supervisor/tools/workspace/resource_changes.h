// Resource changes: tells a tenant's clients which files of the workspace came, went or changed, when somebody asked to
// hear of it. Source: what a tool wrote, what an execution changed once it has ended, and for single files that a
// client subscribed to, the file system (file_watches.h).
#pragma once
#include <memory>
#include <string>

#include "supervisor/mcp/server.h"
#include "supervisor/tenants/changes.h"
#include "supervisor/tools/workspace/file_watches.h"

namespace tools {

class ResourceChanges {
 public:
  // The user data of the server's connections are tenants::Members. Both must outlive this.
  ResourceChanges(Loop& loop, mcp::Server& server);
  ~ResourceChanges();

  void tell(const tenants::Tenant& tenant, const tenants::Changes& changes);
  // One file, written or removed by name.
  void tell(const tenants::Tenant& tenant, const std::string& filename);
  // For mcp::Subscriptions: watches a file of the workspace as long as the result lives. nullptr: it is none.
  std::shared_ptr<void> watch(const std::shared_ptr<tenants::Tenant>& tenant, const std::string& uri);

 private:
  void updated(const tenants::Tenant& tenant, const std::string& path);
  mcp::Server& server_;
  std::unique_ptr<FileWatches> watches_;  // nullptr where there is no inotify
};

}  // namespace tools
