// execute_code, its calls for jailed code, and get_execution_stats as parts of the daemon: two, because clients see
// other tools between them.
#include "policies/store.h"
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/executions/skill_stores/tenant_skills.h"
#include "supervisor/parts.h"
#include "supervisor/tools/call_audit.h"
#include "supervisor/tools/execution/execute_code.h"
#include "supervisor/tools/execution/get_execution_stats.h"
#include "supervisor/tools/execution/layer_question.h"
#include "supervisor/tools/execution/session_calls.h"

namespace tools {
namespace {

class ExecutionToolsPart final : public Part, public ToolSource {
 public:
  ExecutionToolsPart(runs::ExecuteEnvironment& environment, const policies::Store& policies)
      : environment_(environment), policies_(policies) {}

  static Result<std::unique_ptr<ExecutionToolsPart>> open(runs::ExecuteEnvironment& environment,
                                                          policies::Store& policies) {
    return std::make_unique<ExecutionToolsPart>(environment, policies);
  }

  void add_tools(const OperationRegistry& operations) override {
    add_execute_code(operations.server(), environment_);
    add_session_calls(operations.guest_calls());
    operations.add(layer_question([this] { return policies_.layers(); }));
  }

 private:
  runs::ExecuteEnvironment& environment_;
  const policies::Store& policies_;
};

class StatisticsPart final : public Part, public ToolSource {
 public:
  StatisticsPart(journal::Journal& journal, discovery::Discovery& discovery, skill_stores::TenantSkills& skills,
                 const executions::Sessions& sessions)
      : journal_(journal), discovery_(discovery), skills_(skills), sessions_(sessions) {}

  static Result<std::unique_ptr<StatisticsPart>> open(journal::Journal& journal, discovery::Discovery& discovery,
                                                      skill_stores::TenantSkills& skills,
                                                      executions::Sessions& sessions) {
    return std::make_unique<StatisticsPart>(journal, discovery, skills, sessions);
  }

  void add_tools(const OperationRegistry& operations) override {
    add_get_execution_stats(
        operations, journal_, [this] { return discovery_.current(); },
        [this](std::shared_ptr<tenants::Tenant> tenant) { return skills_.library(std::move(tenant)); }, sessions_);
    operations.server().observe_calls(audit_calls(journal_));
  }

 private:
  journal::Journal& journal_;
  discovery::Discovery& discovery_;
  skill_stores::TenantSkills& skills_;
  const executions::Sessions& sessions_;
};

}  // namespace

PartEntry execution_part() { return part_entry_of("execute_code", ExecutionToolsPart::open); }
PartEntry statistics_part() { return part_entry_of("get_execution_stats", StatisticsPart::open); }

}  // namespace tools
