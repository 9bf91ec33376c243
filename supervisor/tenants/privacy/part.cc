// The tenants' vaults for personal data as a part of the daemon. Answers to agents hold tokens in the place of personal
// data.
#include "supervisor/base/log.h"
#include "supervisor/given_services.h"
#include "supervisor/parts.h"
#include "supervisor/tenants/master_key.h"
#include "supervisor/tenants/privacy/pii_response_filter.h"
#include "supervisor/tenants/privacy/pii_vaults.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tenants/vault.h"
#include "supervisor/tools/operation.h"

namespace privacy {
namespace {

// Opens the vault of a tenant, on the thread `disk`. References must outlive the task. Errors: those of
// SealedVault::open; internal: there is no tenant of this name.
Task<PiiVaults::VaultResult> open_vault(Loop& loop, WorkerThread& disk, tenants::Registry& registry,
                                        const tenants::MasterKey& key, tenants::TenantId id) {
  const std::string name = id.text();
  const auto tenant = registry.find(id);  // while this reference exists, the tenant's folder is not removed
  if (!tenant) co_return fail(Code::internal, "there is no tenant '" + name + "'");
  auto opening = tenants::SealedVault::open(loop, disk, tenant->directory(), key.of_vault(name));
  auto vault = co_await std::move(opening);
  if (!vault) co_return tl::unexpected<Error>(std::move(vault).error());
  if (!(*vault)->damage().empty()) log_error("tenant {}: the vault for personal data: {}", name, (*vault)->damage());
  co_return PiiVaults::VaultPtr(*std::move(vault));
}

class PrivacyPart final : public Part, public TenantDataOwner, public ToolSource {
 public:
  PrivacyPart(Loop& loop, Work& work, WorkerThread& disk, tenants::Registry& registry, const tenants::MasterKey& key)
      : work_(work), vaults_(loop, [&loop, &disk, &registry, &key](tenants::TenantId id) {
          return open_vault(loop, disk, registry, key, std::move(id));
        }) {}

  static Result<std::unique_ptr<PrivacyPart>> open(Loop& loop, Work& work, StateThreads& threads,
                                                   tenants::Registry& registry, tenants::MasterKey& key) {
    return std::make_unique<PrivacyPart>(loop, work, *threads.vaults, registry, key);
  }
  std::tuple<PiiVaults&> services() { return {vaults_}; }

  void close_workspace(const tenants::TenantId& id) override { vaults_.forget(id); }
  void add_tools(const tools::OperationRegistry& operations) override {
    auto reader_of = [requester_of =
                          operations.requester_of()](const mcp::RequestContext& context) -> Result<tenants::Requester> {
      if (auto requester = requester_of(context)) return requester;
      // The named workspace was refused: the refusal is filtered, too.
      return tenants::make_requester(context, tenants::member_of(context).tenant);
    };
    operations.server().set_response_filter(pii_response_filter(reader_of, vaults_, work_));
  }

 private:
  Work& work_;
  PiiVaults vaults_;
};

}  // namespace

PartEntry part() { return part_entry_of("privacy", PrivacyPart::open); }

}  // namespace privacy
