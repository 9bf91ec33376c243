#include "supervisor/tools/workspace/workspace_paths.h"

#include "supervisor/base/log.h"
#include "supervisor/base/percent.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kMounts[] = {"/workspace", "/mnt/workspace"};
constexpr std::string_view kBareMount = "workspace";

// True if `path` is `folder` or is below it. `path` then becomes the part below, without leading slashes.
bool take_folder(std::string_view& path, std::string_view folder) {
  if (!path.starts_with(folder)) return false;
  const std::string_view rest = path.substr(folder.size());
  if (!rest.empty() && rest[0] != '/') return false;
  const size_t begin = rest.find_first_not_of('/');
  path = begin == rest.npos ? std::string_view() : rest.substr(begin);
  return true;
}

// True if the workspace has an entry named "workspace": a folder, a file or a link. True also after an error.
bool has_one_of_its_own(tenants::Tenant& tenant) {
  auto match = stat_beneath(tenant.workspace().directory(), RelativePath::known(kBareMount));
  return match || match.error().code != Code::not_found;
}

// The path without the workspace's mount point. Errors: invalid, an absolute path outside the workspace.
Result<std::string_view> below_workspace(std::string_view path) {
  for (const std::string_view mount : kMounts)
    if (take_folder(path, mount)) return path;
  if (!path.starts_with('/')) return path;
  if (path.find_first_not_of('/') == path.npos)
    return std::string_view();  // "/" is the workspace's top: tools see no other folder
  return fail(Code::invalid, "'" + printable(path, 256) + "' is not in /workspace",
              "name a file below /workspace; only code in execute_code can read other files of a jail");
}

}  // namespace

Result<RelativePath> workspace_path(tenants::Tenant& tenant, std::string_view written, BareWorkspace bare) {
  if (written.empty()) return RelativePath::parse(written);
  std::string decoded;
  std::string_view path = written;
  for (const std::string_view scheme : {tenants::kWorkspaceScheme, kFileScheme}) {
    if (!written.starts_with(scheme)) continue;
    TRY(decoded, decode_percent(written.substr(scheme.size())));
    path = decoded;
    break;
  }
  const bool absolute = path.starts_with('/');
  TRY(path, below_workspace(path));
  while (path.starts_with("./")) path.remove_prefix(2);
  std::string_view below = path;
  if (!absolute && take_folder(below, kBareMount) && (!below.empty() || bare == BareWorkspace::top) &&
      !has_one_of_its_own(tenant))
    path = below;
  if (path.empty()) return RelativePath();
  return RelativePath::parse(path);
}

}  // namespace tools
