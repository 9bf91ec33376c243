// Registration of all tools, resources, prompts and calls of jailed code, in the order in which clients see them.
#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/tools/call_audit.h"
#include "supervisor/tools/catalog/catalog_resources.h"
#include "supervisor/tools/catalog/stub_calls.h"
#include "supervisor/tools/execution/get_execution_stats.h"
#include "supervisor/tools/execution/session_calls.h"
#include "supervisor/tools/execution/shown_limits.h"
#include "supervisor/tools/nearest_tool.h"
#include "supervisor/tools/skills/skill_resources.h"
#include "supervisor/tools/workspace/workspace_tools.h"

void DaemonParts::register_tools() {
  auto catalog_of = [this] { return discovery_.current(); };
  server_.watch_resources(
      [this](const std::shared_ptr<void>& user, const Json& meta, const std::string& uri) -> std::shared_ptr<void> {
        const auto tenant = tenant_of(*static_cast<tenants::Member*>(user.get()), meta);
        return tenant ? changes_.watch(*tenant, uri) : nullptr;
      });
  auto tenant_of = [this](const mcp::RequestContext& context) {
    return this->tenant_of(context.user_as<tenants::Member>(), context.meta);
  };
  server_.set_nearest_tool(tools::nearest_tool);
  tools::add_execute_code(server_, execute_);
  tools::add_session_calls(guest_calls_);
  tools::add_workspace_tools(server_, changes_, tenant_of);
  server_.add_resources(tools::workspace_resources(tenant_of, journal_));
  server_.add_completion(tools::workspace_completion(tenant_of));
  auto asker_of = [tenant_of](const mcp::RequestContext& context) -> Result<tools::Asker> {
    TRY(std::shared_ptr<tenants::Tenant> tenant, tenant_of(context));
    return tools::Asker{std::move(tenant), context.user_as<tenants::Member>().policy};
  };
  auto library_of = [this](tenants::Tenant& tenant) { return skills_.library(tenant); };
  tools::add_catalog_tools(server_, catalog_of, asker_of, library_of, learning_);
  tools::add_catalog_resources(server_, catalog_of, asker_of);
  tools::add_stub_calls(guest_calls_, servers_);
  tools::add_catalog_calls(guest_calls_, catalog_of, library_of, learning_);
  tools::add_call_tool(server_, calls_, asker_of);
  tools::add_tool_calls(guest_calls_, calls_);
  auto count_skills = [library_of](tenants::Tenant& tenant) -> Result<uint64_t> {
    TRY(skills::Library library, library_of(tenant));
    return library.all().size();
  };
  tools::add_get_execution_stats(server_, journal_, catalog_of, count_skills, sessions_, tenant_of);
  server_.observe_calls(tools::audit_calls(journal_));
  register_pii(asker_of);
  tools::add_skill_tools(server_, skills_, asker_of);
  tools::add_skill_resources(server_, skills_, asker_of);
  tools::add_skill_calls(guest_calls_, skills_);
}

// The tenant's own workspace, or the one that a trusted client names.
Result<std::shared_ptr<tenants::Tenant>> DaemonParts::tenant_of(tenants::Member& member, const Json& meta) {
  const auto named = meta.is_object() ? meta.find(tools::kWorkspaceKey) : meta.end();
  if (named == meta.end()) return member.tenant;
  if (!named->is_string()) return fail(Code::invalid, "_meta: org.warder/workspace is not a string");
  return registry_.workspace(member, named->get_ref<const std::string&>());
}

void DaemonParts::register_pii(const tools::AskerOf& asker_of) {
  auto user_of = [asker_of](const mcp::RequestContext& context) -> Result<privacy::PiiUser> {
    TRY(tools::Asker asker, asker_of(context));
    return privacy::PiiUser{asker.tenant->name(), asker.policy->pii, asker.tenant};
  };
  tools::add_pii_tools(server_, user_of, vaults_);
  tools::add_pii_calls(guest_calls_, vaults_, loop_);
  server_.set_tool_choice([](const std::shared_ptr<void>& user) -> std::function<bool(std::string_view)> {
    const auto policy = static_cast<tenants::Member*>(user.get())->policy;
    if (policy->tools.every) return nullptr;
    return [policy](std::string_view name) { return policy->tools.offers(name); };
  });
  server_.set_tool_variants(
      [](const std::shared_ptr<void>& user) {
        return tools::shown_limits(*static_cast<tenants::Member*>(user.get())->policy);
      },
      tools::show_limits);
  auto reader_of = [user_of](const mcp::RequestContext& context) -> Result<privacy::PiiUser> {
    if (auto user = user_of(context)) return user;
    const auto& member = context.user_as<tenants::Member>();  // the named workspace was refused: filter the refusal
    return privacy::PiiUser{member.tenant->name(), member.policy->pii, member.tenant};
  };
  server_.set_json_work(host_.json);
  server_.set_loop_shares(host_.shares);
  server_.set_response_filter(privacy::pii_response_filter(reader_of, vaults_));
}
