// workspace_path(): the path of a workspace file from the forms that agents write: "q.txt", "./q.txt", and the names
// inside a jail: "/workspace/q.txt", "/mnt/workspace/q.txt", "workspace:///q.txt", "file:///workspace/q.txt".
// Source: arguments of tools. Used by: the four file tools. Errors: invalid.
#pragma once
#include <string_view>

#include "supervisor/base/path.h"

namespace tenants {
class Tenant;
}

namespace tools {

// The meaning of the path "workspace" if the workspace has no entry of that name. top: the workspace itself. name: an
// entry named "workspace".
enum class BareWorkspace { top, name };

// The path below the workspace's top folder. A relative path that begins with "workspace/" is below the entry of that
// name, if the workspace has one. Otherwise it is below the top folder, and no folder "workspace" is made.
// Errors: invalid, also for an absolute path outside the workspace; the message names the mistake.
Result<RelativePath> workspace_path(tenants::Tenant& tenant, std::string_view written,
                                    BareWorkspace bare = BareWorkspace::top);

}  // namespace tools
