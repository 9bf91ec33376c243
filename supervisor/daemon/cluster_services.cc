// The cluster on D-Bus, and the daemon as its member (../cluster/link/membership.h).
#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/cluster/link/cluster_query.h"
#include "supervisor/daemon/daemon_parts.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kLookUsed = 1s;
constexpr auto kExamineLimit = 2s;
constexpr size_t kMaxPoliciesShown = 1000;

std::optional<uint64_t> microseconds(const std::optional<double>& ms) {
  return ms && *ms >= 0 ? std::optional(static_cast<uint64_t>(*ms * 1000)) : std::nullopt;
}

cluster::FarExecution far_execution(const executions::ExecutionRecord& record) {
  const jail::LiveUsage usage = record.now();
  cluster::FarExecution execution;
  execution.id = record.id;
  execution.tenant = record.tenant.account;
  execution.language = record.language;
  execution.workspace = record.workspace;
  execution.state = executions::stage_name(record.stage);
  execution.policy = record.policy->name;
  execution.principal = record.principal;
  execution.is_background = record.background;
  execution.is_shared = record.policy->cluster.is_home_shared;
  const int64_t age_ms = std::max<int64_t>(journal::now_ms() - record.asked_ms, 0);
  execution.age_us = static_cast<uint64_t>(age_ms) * 1000;
  execution.wall_us = microseconds(usage.wall_ms);
  execution.cpu_us = microseconds(usage.cpu_ms);
  if (usage.memory_bytes > 0) execution.memory_bytes = usage.memory_bytes;
  return execution;
}

template <class Page>
Task<Result<Page>> without_cluster() {
  co_return fail(Code::unavailable,
                 "this machine is in no cluster: the configuration of warderd has no key \"cluster\"",
                 "make one with warder cluster init, or join one: warder cluster join");
}

}  // namespace

Result<> DaemonParts::join_cluster() {
  const ClusterOptions& options = prepared_.options.cluster;
  if (options.socket.empty()) return {};
  cluster_ = std::make_unique<cluster::Membership>(loop_, host_.json, host_.shares, options.socket, server_,
                                                   [this](cluster::LeaseEnd end) { end_shared_work(end); });
  server_.set_interceptor(cluster_->router());
  TRY(moves_,
      moves::Moves::open({.loop = loop_,
                          .cluster = *cluster_,
                          .registry = registry_,
                          .policies = prepared_.policies,
                          .executions = executions_,
                          .sessions = sessions_,
                          .proposals = proposals_,
                          .tasks = task_store_,
                          .named = named_,
                          .workflows = workflows_.disk(),
                          .vault_keys = [this](const std::string& tenant) { return prepared_.key.of_vault(tenant); },
                          .close = [this](const tenants::TenantId& id) { close_data_of(id); }}));
  cluster_->link().tell_load_of([this] {
    return cluster::NodeLoad{admission_.running(), static_cast<uint32_t>(admission_.waiting()), admission_.max_in_all(),
                             controls_.draining()};
  });
  admission_.on_change([this] {
    if (cluster_) cluster_->link().load_changed();
  });
  cluster::RuleFollower::Uses uses;
  uses.reload = controls_.reload;
  uses.is_in_doubt = [this] {
    return prepared_.configuration.source != configuration::ConfigurationInForce::Source::files;
  };
  uses.catalog_changed = [this] { tasks_.spawn(discovery_.refresh()); };
  uses.skills_changed = [this] { adopt_cluster_skills(); };
  return cluster_->take_rules({options.socket, options.trust, prepared_.options.state}, std::move(uses));
}

void DaemonParts::adopt_cluster_skills() {
  const skills::Shared& skills = cluster_->rules()->shared_skills();
  for (const std::string& name : skills_.set_cluster_skills(skills))
    log_notice("cluster: the cluster's skill '{}' is not used: Warder ships a skill of this name", name);
  if (skills.size() > 0) log_notice("cluster: skills of the cluster: {}", skills.size());
  const auto everyone = [](const std::shared_ptr<mcp::ConnectionUser>&) { return true; };
  server_.lists_changed(mcp::Changed::resources, everyone);
  server_.lists_changed(mcp::Changed::prompts, everyone);
}

// Programs of shared workspaces must end before another node may take the workspaces over: those of clients, those in
// the background (tasks, resumed workflows), and those that a session has left running.
void DaemonParts::end_shared_work(cluster::LeaseEnd end) {
  const bool ends_all = end == cluster::LeaseEnd::runs;
  const auto is_shared = [](const policies::Policy& policy) { return policy.cluster.is_home_shared; };
  if (ends_all)
    disconnect_if(
        [&](const std::shared_ptr<mcp::ConnectionUser>& user) { return is_shared(*tenants::member_of(user).policy); });
  for (const auto& execution : executions_.all()) {
    const bool is_waiting = execution->stage == executions::Stage::waiting;
    const bool has_ended = execution->stage == executions::Stage::ended;
    if (!has_ended && (ends_all || is_waiting) && is_shared(*execution->policy)) (void)executions_.cancel(*execution);
  }
  if (ends_all) sessions_.end_under(is_shared, "this node has lost its lease of the cluster");
}

void DaemonParts::offer_cluster(bus::DaemonServices& services) {
  services.cluster.standing = [this] { return cluster_ ? cluster_->link().standing() : cluster::Standing::no_cluster; };
  services.cluster.self = [this] { return cluster_ ? cluster_->link().node() : std::string(); };
  services.cluster.nodes_after = [this](std::string after) {
    return cluster_ ? cluster_->link().nodes_after(std::move(after)) : without_cluster<cluster::NodePage>();
  };
  services.cluster.homes = [this](cluster::HomeQuestion question) {
    return cluster_ ? cluster_->link().homes(std::move(question)) : without_cluster<cluster::HomePage>();
  };
  services.cluster.executions = [this] { return cluster_executions(); };
  using Text = std::string;
  services.cluster.set_drained = [this](bool is_drained) {
    return moves_ ? moves_->set_drained(is_drained) : without_cluster<std::vector<Text>>();
  };
  services.cluster.move = [this](Text workspace, Text node) {
    return moves_ ? moves_->move(std::move(workspace), std::move(node)) : without_cluster<Text>();
  };
  services.cluster.park = [this](Text workspace, Text folder) {
    return moves_ ? moves_->park(std::move(workspace), std::move(folder)) : without_cluster<Text>();
  };
  services.cluster.restore = [this](Text file) { return restore_home(std::move(file)); };
}

Task<Result<bus::RestoredHome>> DaemonParts::restore_home(std::string file) {
  if (!moves_) co_return co_await without_cluster<bus::RestoredHome>();
  CO_TRY(const cluster::SnapshotLabel label, co_await moves_->receiver().restore(std::move(file)));
  bus::RestoredHome restored{tenants::TenantId{label.account, label.workspace}.text(), label.node, label.made_ms};
  co_return restored;
}

// `order`: of another node; nullptr: of this one.
std::vector<cluster::FarExecution> DaemonParts::shown_executions(const cluster::QueryOrder* order,
                                                                 uint64_t& left_out) const {
  std::vector<cluster::FarExecution> shown;
  for (const auto& record : executions_.all()) {
    if (record->stage == executions::Stage::ended || (order && !order->sees(record->tenant.account))) continue;
    if (shown.size() == cluster::kMaxQueryRows)
      left_out++;
    else
      shown.push_back(far_execution(*record));
  }
  return shown;
}

std::vector<cluster::FarPolicy> DaemonParts::shared_policies() const {
  std::vector<cluster::FarPolicy> shared;
  for (const auto& name : prepared_.policies.names()) {
    const auto policy = prepared_.policies.find(name);
    if (!policy || !policy->cluster.is_home_shared || shared.size() == kMaxPoliciesShown) continue;
    shared.push_back({name, policy->hash, kWarderVersion, members_.user_accounts_with(name)});
  }
  return shared;
}

cluster::NodeListener::Rows DaemonParts::answer_query(const cluster::QueryOrder& order,
                                                      cluster::ClusterQueryKind kind) const {
  cluster::NodeListener::Rows rows;
  if (kind == cluster::ClusterQueryKind::executions) {
    for (const auto& execution : shown_executions(&order, rows.left_out))
      rows.rows.push_back(cluster::write_far_execution(execution));
  } else {
    for (const auto& policy : shared_policies()) rows.rows.push_back(cluster::write_far_policy(policy));
  }
  return rows;
}

Task<Result<DaemonParts::ClusterExecutionsPtr>> DaemonParts::cluster_executions() {
  if (!cluster_) {
    auto none = co_await without_cluster<ClusterExecutionsPtr>();
    co_return none;
  }
  if (last_look_.found && Monotonic::now() - last_look_.at < kLookUsed) co_return last_look_.found;
  OneShot<Result<ClusterExecutionsPtr>> looked(loop_, fail(Code::unavailable, "the daemon is ending"));
  last_look_.waiting.push_back(looked.resolver());
  if (last_look_.waiting.size() == 1) tasks_.spawn(look_at_executions());
  auto found = co_await looked;
  co_return found;
}

// A task of its own: it goes on when the caller that began it has gone.
Task<> DaemonParts::look_at_executions() {
  auto found = std::make_shared<bus::ClusterExecutions>();
  cluster::ClusterQuery query;
  query.take = [&found](const std::string& node, const std::vector<Json>& rows) -> Result<> {
    std::vector<cluster::FarExecution> read;
    for (const Json& row : rows) {
      TRY(auto execution, cluster::read_far_execution(row));
      read.push_back(std::move(execution));
    }
    for (auto& execution : read) found->executions.emplace_back(node, std::move(execution));
    return {};
  };
  auto looked = co_await cluster::query_all_nodes(loop_, cluster_->link(), std::move(query));
  const auto waiting = std::exchange(last_look_.waiting, {});
  if (!looked) {
    for (const auto& one : waiting) one.resolve(tl::unexpected<Error>(looked.error()));
    co_return;
  }
  found->unanswered = std::move(looked->unanswered);
  found->left_out = looked->left_out;
  for (auto& execution : shown_executions(nullptr, found->left_out))
    found->executions.emplace_back(cluster_->link().node(), std::move(execution));
  last_look_.found = found;
  last_look_.at = Monotonic::now();
  for (const auto& one : waiting) one.resolve(ClusterExecutionsPtr(found));
}

// All series exist without a cluster, too.
metrics::ClusterNumbers DaemonParts::cluster_numbers() const {
  constexpr std::pair<cluster::Standing, const char*> kStandings[] = {
      {cluster::Standing::no_cluster, "none"},
      {cluster::Standing::no_warder_node, "no_warder_node"},
      {cluster::Standing::fenced, "fenced"},
      {cluster::Standing::member, "member"}};
  metrics::ClusterNumbers numbers;
  const auto standing = cluster_ ? cluster_->link().standing() : cluster::Standing::no_cluster;
  for (const auto& [one, name] : kStandings) numbers.states.emplace_back(name, one == standing ? 1 : 0);
  const cluster::NodeNumbers of_node = cluster_ ? cluster_->link().numbers() : cluster::NodeNumbers{};
  const cluster::RoutingCounts requests = cluster_ ? cluster_->router().counts() : cluster::RoutingCounts{};
  if (cluster_) {
    numbers.fenced_us = static_cast<uint64_t>(cluster_->link().fenced_time().count());
    numbers.bus_silent_us = static_cast<uint64_t>(of_node.bus_silent.count());
  }
  for (size_t i = 0; i < cluster::kNodeStates; i++)
    numbers.nodes.emplace_back(cluster::name_of(static_cast<cluster::NodeState>(i)), of_node.nodes[i]);
  numbers.homes = of_node.homes;
  numbers.connections = of_node.connections;
  numbers.sent = {{"answered", requests.answered},
                  {"unreachable", requests.unreachable},
                  {"lost", requests.lost},
                  {"busy", requests.busy_there},
                  {"homeless", requests.homeless}};
  numbers.received = {{"served", requests.served},
                      {"fenced", requests.fenced},
                      {"moved", requests.moved},
                      {"busy", requests.busy_here}};
  numbers.orders = {{"opened", of_node.opened},
                    {"refused_there", of_node.refused_there},
                    {"unreachable", of_node.unreachable},
                    {"opened_here", of_node.opened_here},
                    {"refused_here", of_node.refused_here}};
  numbers.refused.assign(of_node.refused.begin(), of_node.refused.end());
  numbers.hop_bounds.assign(requests.hops.kBounds.begin(), requests.hops.kBounds.end());
  numbers.hops.assign(requests.hops.counts.begin(), requests.hops.counts.end());
  numbers.hops_us = requests.hops.sum_us;
  return numbers;
}

Task<doctor::Findings> DaemonParts::examine_cluster() {
  if (!cluster_) co_return doctor::Findings{};
  const cluster::NodeNumbers numbers = cluster_->link().numbers();
  doctor::ClusterSeen seen;
  seen.standing = cluster::name_of(cluster_->link().standing());
  seen.self = cluster_->link().node();
  seen.bus = numbers.bus;
  seen.bus_silent_s = static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(numbers.bus_silent).count());
  seen.trust_serial = numbers.trust_serial;
  seen.trust_trouble = numbers.trust_trouble;
  for (const char* fault : {"expired", "from_the_future"})
    if (const auto counted = numbers.refused.find(fault); counted != numbers.refused.end())
      seen.refused_for_time += counted->second;
  const auto add = [&seen](const std::string& node, const cluster::FarPolicy& policy) {
    seen.policies.push_back({node, policy.name, policy.hash, policy.user_accounts});
  };
  cluster::ClusterQuery query;
  query.kind = cluster::ClusterQueryKind::policies;
  query.limit = kExamineLimit;
  query.take = [&add](const std::string& node, const std::vector<Json>& rows) -> Result<> {
    std::vector<cluster::FarPolicy> read;
    for (const Json& row : rows) {
      TRY(auto policy, cluster::read_far_policy(row));
      read.push_back(std::move(policy));
    }
    for (const auto& policy : read) add(node, policy);
    return {};
  };
  auto looked = co_await cluster::query_all_nodes(loop_, cluster_->link(), std::move(query));
  for (const auto& policy : shared_policies()) add(seen.self, policy);
  if (!looked) co_return doctor::judge_cluster(seen);
  for (const auto& node : looked->nodes) {
    if (node.state == cluster::NodeState::removed)
      seen.left_homes.emplace_back(node.name, node.homes);
    else
      seen.nodes++;
    if (node.state == cluster::NodeState::silent) seen.silent.push_back(node.name);
    if (!node.version.empty()) seen.versions.emplace_back(node.name, node.version);
  }
  for (const auto& node : looked->unanswered)
    if (std::find(seen.silent.begin(), seen.silent.end(), node) == seen.silent.end()) seen.unanswered.push_back(node);
  co_return doctor::judge_cluster(seen);
}

Task<Result<>> DaemonParts::leave_cluster(std::string tenant) {
  if (!cluster_ || shared_policies().empty()) co_return Result<>{};
  auto left = co_await cluster_->link().forget_homes(std::move(tenant));
  co_return left;
}
