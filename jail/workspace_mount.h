// WorkspaceMount: how a tenant's workspace is mounted in a jail as /workspace.
//   direct     programs change its files
//   read_only  programs read its files
//   staged     programs see its files through an overlay; their changes are in a staging folder of the jail's own
// Used by: jail/execution/execution.h, jail/pool/pool.h, jail/jail.h. The staging folders come from the caller that
// asks for executions.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace jail {

enum class WorkspaceAccess { direct, read_only, staged };
constexpr std::string_view access_name(WorkspaceAccess access) {
  return access == WorkspaceAccess::direct ? "direct" : access == WorkspaceAccess::staged ? "staged" : "read_only";
}

// The folders `l`, `u` and `w` of one overlay. They must be empty, of the daemon's user, on the workspace's file
// system, and in no other jail. The destructor gives the folder back to its owner, which may remove it once no jail has
// it.
class OverlayFolder {
 public:
  virtual ~OverlayFolder() = default;
  virtual int directory() const = 0;  // O_PATH
};

class OverlayFolders {
 public:
  virtual ~OverlayFolders() = default;
  virtual Task<Result<std::shared_ptr<OverlayFolder>>> make() = 0;
};

struct WorkspaceMount {
  int directory = -1;  // of the workspace; borrowed
  WorkspaceAccess access = WorkspaceAccess::direct;
  std::shared_ptr<OverlayFolders> staging;  // set for staged
};

}  // namespace jail
