#include "supervisor/tools/workspace/resource_changes.h"

#include "supervisor/base/log.h"
#include "supervisor/base/percent.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tenants/resource_uris.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

// Selects all clients of the tenant, also for a named workspace: each request of a client names its own workspace.
mcp::UserFilter members_of(const tenants::Tenant& tenant) {
  return [&tenant](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return user && tenants::member_of(user).tenant->account() == tenant.account();
  };
}

}  // namespace

ResourceChanges::ResourceChanges(Loop& loop, mcp::Server& server) : server_(server) {
  auto opened = FileWatches::open(
      loop, [this](const tenants::Tenant& tenant, const std::string& path) { updated(tenant, path); });
  if (opened) {
    watches_ = *std::move(opened);
  } else {
    log_warning("changes of workspace files are not watched while programs run: {}", opened.error().what);
  }
}

ResourceChanges::~ResourceChanges() = default;

void ResourceChanges::updated(const tenants::Tenant& tenant, const std::string& path) {
  server_.resource_updated(std::string(tenants::kWorkspaceScheme) + encode_percent(path), members_of(tenant));
}

void ResourceChanges::notify(const tenants::Tenant& tenant, const tenants::Changes& changes) {
  for (const auto* list : {&changes.created, &changes.modified, &changes.deleted}) {
    for (const std::string& path : list->paths) {
      if (!watches_ || watches_->is_new(tenant, path)) updated(tenant, path);
    }
  }
  const bool listed = !changes.created.paths.empty() || !changes.deleted.paths.empty() || !changes.complete;
  if (listed) server_.lists_changed(mcp::Changed::resources, members_of(tenant));
}

void ResourceChanges::notify(const tenants::Tenant& tenant, const std::string& filename) {
  auto path = RelativePath::parse(filename);
  if (!path) return;
  tenants::Changes changes;
  changes.created.paths.push_back(path->text());  // the same for a replaced or removed file: the list has sizes
  notify(tenant, changes);
}

std::shared_ptr<mcp::ResourceWatch> ResourceChanges::watch(const std::shared_ptr<tenants::Tenant>& tenant,
                                                           const std::string& uri) {
  if (!watches_ || !uri.starts_with(tenants::kWorkspaceScheme)) return nullptr;
  const auto decoded = decode_percent(std::string_view(uri).substr(tenants::kWorkspaceScheme.size()));
  if (!decoded) return nullptr;
  const auto path = RelativePath::parse(*decoded);
  return path ? watches_->watch(tenant, *path) : nullptr;
}

}  // namespace tools
