// The tenants' skills as a part of the daemon.
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/given_services.h"
#include "supervisor/parts.h"
#include "supervisor/tools/operation.h"

namespace skill_stores {
namespace {

// Clients list skills as resources and as prompts.
void notify_clients(mcp::Server& server, const tenants::TenantId& tenant) {
  const auto concerns = [account = tenant.account](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return tenants::member_of(user).tenant->account() == account;
  };
  server.lists_changed(mcp::Changed::resources, concerns);
  server.lists_changed(mcp::Changed::prompts, concerns);
}

class SkillsPart final : public Part, public TenantDataOwner, public ToolSource {
 public:
  SkillsPart(jail::Host& host, jail::Pool& pool, WorkerThread& disk, skills::Shared shipped)
      : skills_(host, pool, disk, std::move(shipped), [this](const tenants::TenantId& tenant) {
          if (server_) notify_clients(*server_, tenant);
        }) {}

  static Result<std::unique_ptr<SkillsPart>> open(jail::Host& host, jail::Pool& pool, StateThreads& threads,
                                                  skills::Shared& shipped) {
    return std::make_unique<SkillsPart>(host, pool, *threads.disk, std::move(shipped));
  }
  std::tuple<TenantSkills&> services() { return {skills_}; }

  void close_workspace(const tenants::TenantId& id) override { skills_.forget(id); }
  void add_tools(const tools::OperationRegistry& operations) override { server_ = &operations.server(); }

 private:
  mcp::Server* server_ = nullptr;  // set before the first client
  TenantSkills skills_;
};

}  // namespace

PartEntry part() { return part_entry_of("skills", SkillsPart::open); }

}  // namespace skill_stores
