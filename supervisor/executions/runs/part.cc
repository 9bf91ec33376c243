// Calls of execute_code as a part of the daemon: what a call uses.
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/parts.h"
#include "supervisor/records/disk/state_disk.h"
#include "supervisor/tenants/tenant.h"

namespace runs {
namespace {

class RunsPart final : public Part {
 public:
  explicit RunsPart(ExecuteEnvironment environment) : environment_(std::move(environment)) {}

  static Result<std::unique_ptr<RunsPart>> open(
      jail::Host& host, executions::Admission& admission, executions::ExecutionRegistry& executions,
      executions::RecentCode& recent_code, jail::Pool& pool, executions::Sessions& sessions, calls::GuestCalls& calls,
      calls::CallEnvironment& upstream_calls, NetworkSource* network, journal::Journal& journal,
      tasks::TaskStore& tasks, NamedExecutions& named, workflows::WorkflowDisk& workflows,
      discovery::Discovery& discovery, tenants::Registry& registry, proposals::ProposalStores& proposals,
      StateDisk& disk, spans::Queue* spans) {
    ExecuteEnvironment environment{
        .host = host,
        .admission = admission,
        .executions = executions,
        .recent_code = recent_code,
        .pool = pool,
        .sessions = sessions,
        .calls = calls,
        .upstream_calls = upstream_calls,
        .network = network,
        .journal = journal,
        .tasks = tasks,
        .named = named.store,
        .workflows = workflows,
        .catalog_of = [&discovery] { return discovery.current(); },
        .requester_of = [&registry](const mcp::RequestContext& context) { return registry.requester_of(context); },
        .stateless_requester_of =
            [&registry](const mcp::RequestContext& context) { return registry.stateless_requester(context); },
        .proposals = proposals,
        .files_changed = {},  // tools/workspace/changes_part.cc sets it
        .refusal = [&disk] { return disk.refusal(); },
        .spans = spans};
    return std::make_unique<RunsPart>(std::move(environment));
  }
  std::tuple<ExecuteEnvironment&> services() { return {environment_}; }

 private:
  ExecuteEnvironment environment_;
};

}  // namespace

PartEntry part() { return part_entry_of("runs", RunsPart::open); }

}  // namespace runs
