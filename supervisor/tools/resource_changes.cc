#include "supervisor/tools/resource_changes.h"

#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

mcp::Concerned members_of(const tenants::Tenant& tenant) {
  return [&tenant](const std::shared_ptr<void>& user) {
    return user && static_cast<const tenants::Member*>(user.get())->tenant.get() == &tenant;
  };
}

}  // namespace

void tell_changes(mcp::Server& server, const tenants::Tenant& tenant, const tenants::Changes& changes) {
  const mcp::Concerned concerned = members_of(tenant);
  for (const auto* list : {&changes.created, &changes.modified, &changes.deleted}) {
    for (const std::string& path : list->paths)
      server.resource_updated(std::string(kWorkspaceScheme) + encode_percent(path), concerned);
  }
  const bool listed = !changes.created.paths.empty() || !changes.deleted.paths.empty() || !changes.complete;
  if (listed) server.lists_changed(mcp::Changed::resources, concerned);
}

void tell_change(mcp::Server& server, const tenants::Tenant& tenant, const std::string& filename) {
  auto path = RelativePath::parse(filename);
  if (!path) return;
  tenants::Changes changes;
  changes.created.paths.push_back(path->text());  // or replaced: the list's sizes change either way
  tell_changes(server, tenant, changes);
}

}  // namespace tools
