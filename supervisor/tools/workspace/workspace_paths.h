// Paths of workspace files as agents write them: "q.txt", "./q.txt", and as programs in a jail name them:
// "/workspace/q.txt", "/mnt/workspace/q.txt", "workspace:///q.txt", "file:///workspace/q.txt".
// Used by: the four file tools.
#pragma once
#include <string_view>

#include "supervisor/base/path.h"
#include "supervisor/tenants/tenant.h"

namespace tools {

// What the name "workspace" alone means where nothing of that name is in the workspace.
enum class BareWorkspace { top, name };

// The path below the workspace's top. A relative path that begins with "workspace/" is below what has that name, if
// anything has; else its writer means the workspace itself, and no such folder is made.
// Errors: invalid, for another absolute path too, with what is wrong about it.
Result<RelativePath> workspace_path(tenants::Tenant& tenant, std::string_view written,
                                    BareWorkspace bare = BareWorkspace::top);

}  // namespace tools
