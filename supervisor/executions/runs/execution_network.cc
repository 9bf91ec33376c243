#include "supervisor/executions/runs/execution_network.h"

#include "policies/egress_rules.h"
#include "policies/policy_parts.h"
#include "supervisor/upstream/calls/call_context.h"

namespace runs {
namespace {

class AbsentNetwork final : public ExecutionNetwork {
 public:
  Task<Result<>> prepare() override { co_return Result<>{}; }
  void begin(int) override {}
  Task<> finish() override { co_return; }
  std::optional<NetworkTotals> totals() const override { return std::nullopt; }
  const std::vector<RefusedRequest>& refused() const override { return refused_; }
  const std::string& trouble() const override { return trouble_; }

 private:
  const std::vector<RefusedRequest> refused_;
  const std::string trouble_ = "the policy has egress rules, and this Warder was built without egress";
};

}  // namespace

std::unique_ptr<ExecutionNetwork> network_of(NetworkSource* source, calls::CallEnvironment& environment,
                                             const calls::CallContext& caller) {
  if (!policies::egress_of(*caller.policy).is_on()) return nullptr;
  if (!source) return std::make_unique<AbsentNetwork>();
  return source->open(environment, caller);
}

}  // namespace runs
