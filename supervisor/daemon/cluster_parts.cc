#include "supervisor/daemon/cluster_parts.h"

#include "policies/policy_parts.h"
#include "supervisor/base/log.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/tenant_turns.h"

namespace {

constexpr std::chrono::seconds kHomePatience{60};  // for a lease of the cluster, after the start

template <class Page>
Task<Result<Page>> without_cluster() {
  co_return fail(Code::unavailable,
                 "this machine is in no cluster: the configuration of warderd has no key \"cluster\"",
                 "make one with warder cluster init, or join one: warder cluster join");
}

}  // namespace

ClusterParts::ClusterParts(const Parts& parts) : parts_(parts), tasks_(parts.loop) {
  parts_.discovery.add_others([this] {
    discovery::ServerTools tools;
    if (rules()) tools.described = rules()->definitions();
    return tools;
  });
}

// The admission outlives this object, and is connected to it by join().
ClusterParts::~ClusterParts() { parts_.admission.on_change({}); }

Task<Result<>> ClusterParts::begin() { co_return join(); }

Result<> ClusterParts::join() {
  const ClusterOptions& options = parts_.prepared.options.cluster;
  if (options.socket.empty()) return {};
  membership_ =
      std::make_unique<cluster::Membership>(parts_.loop, parts_.host.work, parts_.host.shares, options.socket,
                                            parts_.server, [this](cluster::LeaseEnd end) { end_shared_work(end); });
  parts_.server.set_interceptor(membership_->router());
  TRY(moves_, moves::Moves::open(
                  {.loop = parts_.loop,
                   .cluster = *membership_,
                   .registry = parts_.registry,
                   .policies = parts_.prepared.policies,
                   .executions = parts_.executions,
                   .sessions = parts_.sessions,
                   .proposals = parts_.proposals,
                   .tasks = parts_.tasks,
                   .named = parts_.named,
                   .workflows = parts_.workflows.disk(),
                   .vault_keys = [this](const std::string& tenant) { return parts_.prepared.key.of_vault(tenant); },
                   .close = [this](const tenants::TenantId& id) { close_tenant_workspace(parts_.all, id); }}));
  const ClusterQueries::Parts query_parts{.loop = parts_.loop,
                                          .link = membership_->link(),
                                          .executions = parts_.executions,
                                          .policies = parts_.prepared.policies,
                                          .members = parts_.members};
  queries_ = std::make_unique<ClusterQueries>(query_parts);
  membership_->link().report_load_of([this] {
    return cluster::NodeLoad{parts_.admission.running(), static_cast<uint32_t>(parts_.admission.waiting()),
                             parts_.admission.max_in_all(), parts_.controls.draining()};
  });
  parts_.admission.on_change([this] { membership_->link().load_changed(); });
  cluster::RuleFollower::Uses uses;
  uses.reload = parts_.controls.reload;
  uses.is_in_doubt = [this] {
    return parts_.prepared.configuration.source != configuration::ConfigurationInForce::Source::files;
  };
  uses.catalog_changed = [this] { tasks_.spawn(parts_.discovery.refresh()); };
  uses.skills_changed = [this] { adopt_skills(); };
  uses.has_policy = [this](const std::string& name) { return parts_.prepared.policies.find(name) != nullptr; };
  return membership_->take_rules({options.socket, options.trust, parts_.prepared.options.state}, std::move(uses));
}

Result<> ClusterParts::serve() {
  for (auto& socket : std::exchange(parts_.prepared.passed.node, {}))
    if (membership_)
      CHECKED(membership_->listen(
          std::move(socket), parts_.prepared.node_users, parts_.doors.main_listener(),
          {[this](const cluster::QueryOrder& order, cluster::ClusterQueryKind kind) {
             return queries_->answer(order, kind);
           },
           [this](AsyncFd from, cluster::Push push) { moves_->receiver().take(std::move(from), std::move(push)); }}));
  return {};
}

void ClusterParts::refuse_calls() {
  if (membership_) membership_->stop_listening();
}

void ClusterParts::disconnect() {
  tasks_.cancel_all();
  if (queries_) queries_->cancel();
  refuse_calls();
}

void ClusterParts::adopt_skills() {
  const skills::Shared& skills = rules()->shared_skills();
  for (const std::string& name : parts_.skills.set_cluster_skills(skills))
    log_notice("cluster: the cluster's skill '{}' is not used: Warder ships a skill of this name", name);
  if (skills.size() > 0) log_notice("cluster: skills of the cluster: {}", skills.size());
  const auto everyone = [](const std::shared_ptr<mcp::ConnectionUser>&) { return true; };
  parts_.server.lists_changed(mcp::Changed::resources, everyone);
  parts_.server.lists_changed(mcp::Changed::prompts, everyone);
}

// Programs of shared workspaces must end before another node may take the workspaces over: those of clients, those in
// the background (tasks, resumed workflows), and those that a session has left running.
void ClusterParts::end_shared_work(cluster::LeaseEnd end) {
  const bool ends_all = end == cluster::LeaseEnd::runs;
  const auto is_shared = [](const policies::Policy& policy) { return policies::is_home_shared(policy); };
  if (ends_all)
    parts_.doors.disconnect_if(
        [&](const std::shared_ptr<mcp::ConnectionUser>& user) { return is_shared(*tenants::member_of(user).policy); });
  for (const auto& execution : parts_.executions.all()) {
    const bool is_waiting = execution->stage == executions::Stage::waiting;
    const bool has_ended = execution->stage == executions::Stage::ended;
    if (!has_ended && (ends_all || is_waiting) && is_shared(*execution->policy))
      (void)parts_.executions.cancel(*execution);
  }
  if (ends_all) parts_.sessions.end_under(is_shared, "this node has lost its lease of the cluster");
}

bus::ClusterServices ClusterParts::bus_services() {
  bus::ClusterServices services;
  services.standing = [this] { return membership_ ? membership_->link().standing() : cluster::Standing::no_cluster; };
  services.self = [this] { return membership_ ? membership_->link().node() : std::string(); };
  services.nodes_after = [this](std::string after) {
    return membership_ ? membership_->link().nodes_after(std::move(after)) : without_cluster<cluster::NodePage>();
  };
  services.homes = [this](cluster::HomeQuestion question) {
    return membership_ ? membership_->link().homes(std::move(question)) : without_cluster<cluster::HomePage>();
  };
  services.executions = [this] {
    return queries_ ? queries_->executions_of_all() : without_cluster<ClusterQueries::ClusterExecutionsPtr>();
  };
  using Text = std::string;
  services.set_drained = [this](bool is_drained) {
    return moves_ ? moves_->set_drained(is_drained) : without_cluster<std::vector<Text>>();
  };
  services.move = [this](Text workspace, Text node) {
    return moves_ ? moves_->move(std::move(workspace), std::move(node)) : without_cluster<Text>();
  };
  services.park = [this](Text workspace, Text folder) {
    return moves_ ? moves_->park(std::move(workspace), std::move(folder)) : without_cluster<Text>();
  };
  services.restore = [this](Text file) { return restore_home(std::move(file)); };
  return services;
}

Task<Result<bus::RestoredHome>> ClusterParts::restore_home(std::string file) {
  if (!moves_) co_return co_await without_cluster<bus::RestoredHome>();
  CO_TRY(const cluster::SnapshotLabel label, co_await moves_->receiver().restore(std::move(file)));
  bus::RestoredHome restored{tenants::TenantId{label.account, label.workspace}.text(), label.node, label.created_ms};
  co_return restored;
}

Task<Result<>> ClusterParts::wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy) {
  if (!policies::is_home_shared(*policy) || !membership_) co_return Result<>{};
  CO_TRY(const tenants::TenantId id, tenants::TenantId::parse(tenant));
  const auto until = Monotonic::now() + kHomePatience;
  for (;;) {
    const auto home = co_await membership_->link().home_of(id);
    if (home && !home->is_here) co_return fail(Code::unavailable, "the workspace is at node " + home->node + " now");
    if (home && membership_->link().may_start() && !membership_->gate().is_held(id)) co_return Result<>{};
    if (Monotonic::now() > until) co_return fail(Code::unavailable, "this node has no lease of its cluster");
    co_await sleep_for(parts_.loop, std::chrono::seconds(1));
  }
}

// All series exist without a cluster, too.
metrics::ClusterNumbers ClusterParts::numbers() const {
  constexpr std::pair<cluster::Standing, const char*> kStandings[] = {
      {cluster::Standing::no_cluster, "none"},
      {cluster::Standing::no_warder_node, "no_warder_node"},
      {cluster::Standing::fenced, "fenced"},
      {cluster::Standing::member, "member"}};
  metrics::ClusterNumbers numbers;
  const auto standing = membership_ ? membership_->link().standing() : cluster::Standing::no_cluster;
  for (const auto& [one, name] : kStandings) numbers.states.emplace_back(name, one == standing ? 1 : 0);
  const cluster::NodeNumbers of_node = membership_ ? membership_->link().numbers() : cluster::NodeNumbers{};
  const cluster::RoutingCounts requests = membership_ ? membership_->router().counts() : cluster::RoutingCounts{};
  if (membership_) {
    numbers.fenced_us = static_cast<uint64_t>(membership_->link().fenced_time().count());
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

void ClusterParts::write_metrics(metrics::OpenMetricsText& text, Reader) const {
  metrics::add_cluster(text, numbers());
}

Task<doctor::Findings> ClusterParts::examine() {
  if (!queries_) co_return doctor::Findings{};
  auto findings = co_await queries_->examine();
  co_return findings;
}

Task<Result<>> ClusterParts::leave(std::string tenant) {
  if (!queries_ || queries_->shared_policies().empty()) co_return Result<>{};
  auto remaining = co_await membership_->link().forget_homes(std::move(tenant));
  co_return remaining;
}

namespace {

Result<std::unique_ptr<ClusterParts>> open_cluster(
    Loop& loop, Prepared& prepared, jail::Host& host, DaemonControls& controls, mcp::Server& server, ClientDoors& doors,
    tenants::Registry& registry, bus::Members& members, executions::Admission& admission,
    executions::ExecutionRegistry& executions, executions::Sessions& sessions, proposals::ProposalStores& proposals,
    tasks::TaskStore& tasks, runs::NamedExecutions& named, workflows::WorkflowStore& workflows,
    skill_stores::TenantSkills& skills, discovery::Discovery& discovery, Parts& all) {
  const ClusterParts::Parts parts{loop,     prepared,    host,      controls,   server,    doors,
                                  registry, members,     admission, executions, sessions,  proposals,
                                  tasks,    named.store, workflows, skills,     discovery, all};
  return std::make_unique<ClusterParts>(parts);
}

}  // namespace

PartEntry cluster_part() { return part_entry_of("cluster", open_cluster); }
