#include "supervisor/cluster/moves/home_settling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <vector>

#include "policies/policy.h"
#include "policies/store.h"
#include "supervisor/tenants/tenant.h"

namespace moves {
namespace {

using namespace std::chrono_literals;

constexpr auto kCheckInterval = 20ms;
constexpr size_t kMaxNamed = 3;  // ids in an error
constexpr policies::StagingRules kKeepProposals{};

std::vector<std::string> living_in(const MoveServices& services, const tenants::TenantId& id) {
  std::vector<std::string> living;
  services.executions.each_living([&](const executions::ExecutionRecord& record) {
    if (record.tenant == id && living.size() < kMaxNamed) living.push_back(record.id);
  });
  return living;
}

Task<Result<>> wait_for_rest(MoveServices& services, const tenants::TenantId& id) {
  const auto until = Monotonic::now() + kSettleLimit;
  for (;;) {
    const auto living = living_in(services, id);
    const size_t staying = services.gate.staying(id);
    if (living.empty() && staying == 0) co_return Result<>{};
    if (Monotonic::now() > until)
      co_return fail(
          Code::unavailable,
          fmt::format("after {} s the workspace is still in use: {} requests, executions: {}", kSettleLimit.count(),
                      staying, living.empty() ? "none" : fmt::format("{}", fmt::join(living, ", "))),
          "wait for them, or end them: warder kill");
    co_await sleep_for(services.loop, kCheckInterval);
  }
}

// Folders of proposals name files by their inodes, which are others on another machine.
Task<Result<>> check_proposals(MoveServices& services, const tenants::TenantId& id) {
  const auto tenant = services.registry.find(id);
  struct stat seen {};
  if (!tenant || ::fstatat(tenant->directory(), "staging", &seen, AT_SYMLINK_NOFOLLOW) < 0 || seen.st_nlink == 2)
    co_return Result<>{};
  const auto policy = services.registry.policy_of(id.account);
  CO_TRY(const auto store, co_await services.proposals.of(tenant, policy ? policy->staging : kKeepProposals));
  const size_t open = store->open_proposals();
  if (open == 0) co_return Result<>{};
  co_return fail(Code::denied, fmt::format("proposals that are open, which cannot move: {}", open),
                 "commit or discard them first: warder diff lists them");
}

}  // namespace

Task<Result<>> settle_home(MoveServices& services, tenants::TenantId id) {
  CO_CHECKED(co_await wait_for_rest(services, id));
  co_await services.sessions.leave_of(id.text());
  CO_CHECKED(co_await check_proposals(services, id));
  services.close(id);
  co_return Result<>{};
}

bool is_in_use(const MoveServices& services, const tenants::TenantId& id) {
  return services.gate.staying(id) > 0 || !living_in(services, id).empty();
}

Result<std::shared_ptr<const policies::Policy>> policy_of_home(const MoveServices& services,
                                                               const std::string& account) {
  if (auto policy = services.registry.policy_of(account); policy && policy->cluster.is_home_shared) return policy;
  std::shared_ptr<const policies::Policy> largest;
  for (const std::string& name : services.policies.names()) {
    auto policy = services.policies.find(name);
    const bool is_larger = !largest || policy->quota.workspace_bytes > largest->quota.workspace_bytes;
    if (policy->cluster.is_home_shared && is_larger) largest = std::move(policy);
  }
  if (largest) return largest;
  return fail(Code::not_found, "this node has no policy with \"cluster\": {\"home\": \"cluster\"}");
}

tl::unexpected<Error> daemon_ends() {
  return fail(Code::unavailable, "the daemon ends", "call again after its restart");
}

}  // namespace moves
