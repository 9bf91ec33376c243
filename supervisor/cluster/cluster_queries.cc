#include "supervisor/cluster/cluster_queries.h"

#include "policies/policy_parts.h"
#include "supervisor/base/version.h"
#include "supervisor/cluster/link/cluster_query.h"
#include "supervisor/records/journal/journal.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerUsed = 1s;
constexpr auto kExamineLimit = 2s;
constexpr size_t kMaxPoliciesShown = 1000;

std::optional<uint64_t> microseconds(const std::optional<double>& ms) {
  return ms && *ms >= 0 ? std::optional(static_cast<uint64_t>(*ms * 1000)) : std::nullopt;
}

FarExecution far_execution(const executions::ExecutionRecord& record) {
  const jail::LiveUsage usage = record.now();
  FarExecution execution;
  execution.id = record.id;
  execution.tenant = record.tenant.account;
  execution.language = record.language;
  execution.workspace = record.workspace;
  execution.state = executions::stage_name(record.stage);
  execution.policy = policies::name_of(*record.policy);
  execution.principal = record.principal;
  execution.is_background = record.background;
  execution.is_shared = policies::is_home_shared(*record.policy);
  const int64_t age_ms = std::max<int64_t>(journal::now_ms() - record.requested_ms, 0);
  execution.age_us = static_cast<uint64_t>(age_ms) * 1000;
  execution.wall_us = microseconds(usage.wall_ms);
  execution.cpu_us = microseconds(usage.cpu_ms);
  if (usage.memory_bytes > 0) execution.memory_bytes = usage.memory_bytes;
  return execution;
}

}  // namespace

// `order`: the query of another node, which sees some tenants only; nullptr: a query of this node.
std::vector<FarExecution> ClusterQueries::shown_executions(const QueryOrder* order, uint64_t& left_out) const {
  std::vector<FarExecution> far_executions;
  for (const auto& record : parts_.executions.all()) {
    if (record->stage == executions::Stage::ended || (order && !order->sees(record->tenant.account))) continue;
    if (far_executions.size() == kMaxQueryRows)
      left_out++;
    else
      far_executions.push_back(far_execution(*record));
  }
  return far_executions;
}

std::vector<FarPolicy> ClusterQueries::shared_policies() const {
  std::vector<FarPolicy> shared;
  for (const auto& name : parts_.policies.names()) {
    const auto policy = parts_.policies.find(name);
    if (!policy || !policies::is_home_shared(*policy) || shared.size() == kMaxPoliciesShown) continue;
    shared.push_back({name, policies::hash_of(*policy), kWarderVersion, parts_.members.user_accounts_with(name)});
  }
  return shared;
}

NodeListener::Rows ClusterQueries::answer(const QueryOrder& order, ClusterQueryKind kind) const {
  NodeListener::Rows rows;
  if (kind == ClusterQueryKind::executions) {
    for (const auto& execution : shown_executions(&order, rows.left_out))
      rows.rows.push_back(write_far_execution(execution));
  } else {
    for (const auto& policy : shared_policies()) rows.rows.push_back(write_far_policy(policy));
  }
  return rows;
}

Task<Result<ClusterQueries::ClusterExecutionsPtr>> ClusterQueries::executions_of_all() {
  if (last_query_.found && Monotonic::now() - last_query_.at < kAnswerUsed) co_return last_query_.found;
  OneShot<Result<ClusterExecutionsPtr>> waiter(parts_.loop, fail(Code::unavailable, "the daemon is ending"));
  last_query_.waiting.push_back(waiter.resolver());
  if (last_query_.waiting.size() == 1) tasks_.spawn(query_executions());
  auto match = co_await waiter;
  co_return match;
}

// The task continues when the caller that began it has gone.
Task<> ClusterQueries::query_executions() {
  auto executions = std::make_shared<ClusterExecutions>();
  ClusterQuery query;
  query.take = [&executions](const std::string& node, const std::vector<Json>& rows) -> Result<> {
    std::vector<FarExecution> read;
    for (const Json& row : rows) {
      TRY(auto execution, read_far_execution(row));
      read.push_back(std::move(execution));
    }
    for (auto& execution : read) executions->executions.emplace_back(node, std::move(execution));
    return {};
  };
  auto checked = co_await query_all_nodes(parts_.loop, parts_.link, std::move(query));
  const auto waiting = std::exchange(last_query_.waiting, {});
  if (!checked) {
    for (const auto& item : waiting) item.resolve(tl::unexpected<Error>(checked.error()));
    co_return;
  }
  executions->unanswered = std::move(checked->unanswered);
  executions->left_out = checked->left_out;
  for (auto& execution : shown_executions(nullptr, executions->left_out))
    executions->executions.emplace_back(parts_.link.node(), std::move(execution));
  last_query_.found = executions;
  last_query_.at = Monotonic::now();
  for (const auto& item : waiting) item.resolve(ClusterExecutionsPtr(executions));
}

Task<doctor::Findings> ClusterQueries::examine() {
  const NodeNumbers numbers = parts_.link.numbers();
  doctor::ClusterSeen seen;
  seen.standing = name_of(parts_.link.standing());
  seen.self = parts_.link.node();
  seen.bus = numbers.bus;
  seen.bus_silent_s = static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(numbers.bus_silent).count());
  seen.trust_serial = numbers.trust_serial;
  seen.trust_trouble = numbers.trust_trouble;
  for (const char* fault : {"expired", "from_the_future"})
    if (const auto counted = numbers.refused.find(fault); counted != numbers.refused.end())
      seen.refused_for_time += counted->second;
  const auto add = [&seen](const std::string& node, const FarPolicy& policy) {
    seen.policies.push_back({node, policy.name, policy.hash, policy.user_accounts});
  };
  ClusterQuery query;
  query.kind = ClusterQueryKind::policies;
  query.limit = kExamineLimit;
  query.take = [&add](const std::string& node, const std::vector<Json>& rows) -> Result<> {
    std::vector<FarPolicy> read;
    for (const Json& row : rows) {
      TRY(auto policy, read_far_policy(row));
      read.push_back(std::move(policy));
    }
    for (const auto& policy : read) add(node, policy);
    return {};
  };
  auto checked = co_await query_all_nodes(parts_.loop, parts_.link, std::move(query));
  for (const auto& policy : shared_policies()) add(seen.self, policy);
  if (!checked) co_return doctor::judge_cluster(seen);
  for (const auto& node : checked->nodes) {
    if (node.state == NodeState::removed)
      seen.left_homes.emplace_back(node.name, node.homes);
    else
      seen.nodes++;
    if (node.state == NodeState::silent) seen.silent.push_back(node.name);
    if (!node.version.empty()) seen.versions.emplace_back(node.name, node.version);
  }
  for (const auto& node : checked->unanswered)
    if (std::find(seen.silent.begin(), seen.silent.end(), node) == seen.silent.end()) seen.unanswered.push_back(node);
  co_return doctor::judge_cluster(seen);
}

}  // namespace cluster
