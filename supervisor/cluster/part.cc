#include "supervisor/cluster/cluster_part.h"

#include "policies/policy_parts.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/cluster_metrics.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/tenant_turns.h"

namespace cluster {
namespace {

constexpr std::chrono::seconds kHomePatience{60};  // for a lease of the cluster, after the start

}  // namespace

ClusterPart::ClusterPart(const Rooms& rooms) : rooms_(rooms), tasks_(rooms.loop) {
  rooms_.discovery.add_others([this] {
    discovery::ServerTools tools;
    if (rules()) tools.described = rules()->definitions();
    return tools;
  });
}

// The admission outlives this object, and is connected to it by join().
ClusterPart::~ClusterPart() { rooms_.admission.on_change({}); }

Task<Result<>> ClusterPart::begin() { co_return join(); }

Result<> ClusterPart::join() {
  const ClusterOptions& options = rooms_.prepared.options.cluster;
  if (options.socket.empty()) return {};
  joined_.membership = std::make_unique<Membership>(rooms_.loop, rooms_.host.work, rooms_.host.shares, options.socket,
                                                    rooms_.server, [this](LeaseEnd end) { end_shared_work(end); });
  rooms_.server.set_interceptor(joined_.membership->router());
  TRY(joined_.moves,
      moves::Moves::open(
          {.loop = rooms_.loop,
           .cluster = *joined_.membership,
           .registry = rooms_.registry,
           .policies = rooms_.prepared.policies,
           .executions = rooms_.executions,
           .sessions = rooms_.sessions,
           .proposals = rooms_.proposals,
           .tasks = rooms_.tasks,
           .named = rooms_.named,
           .workflows = rooms_.workflows,
           .vault_keys = [this](const std::string& tenant) { return rooms_.prepared.key.of_vault(tenant); },
           .close = [this](const tenants::TenantId& id) { close_tenant_workspace(rooms_.all, id); }}));
  const ClusterQueries::Parts query_parts{.loop = rooms_.loop,
                                          .link = joined_.membership->link(),
                                          .executions = rooms_.executions,
                                          .policies = rooms_.prepared.policies,
                                          .members = rooms_.members};
  joined_.queries = std::make_unique<ClusterQueries>(query_parts);
  joined_.membership->link().report_load_of([this] {
    return NodeLoad{rooms_.admission.running(), static_cast<uint32_t>(rooms_.admission.waiting()),
                    rooms_.admission.max_in_all(), rooms_.controls.draining()};
  });
  rooms_.admission.on_change([this] { joined_.membership->link().load_changed(); });
  RuleFollower::Uses uses;
  uses.reload = rooms_.controls.reload;
  uses.is_in_doubt = [this] {
    return rooms_.prepared.configuration.source != configuration::ConfigurationInForce::Source::files;
  };
  uses.catalog_changed = [this] { tasks_.spawn(rooms_.discovery.refresh()); };
  uses.skills_changed = [this] { adopt_skills(); };
  uses.has_policy = [this](const std::string& name) { return rooms_.prepared.policies.find(name) != nullptr; };
  return joined_.membership->take_rules({options.socket, options.trust, rooms_.prepared.options.state},
                                        std::move(uses));
}

Result<> ClusterPart::serve() {
  for (auto& socket : std::exchange(rooms_.prepared.passed.node, {}))
    if (joined_.membership)
      CHECKED(joined_.membership->listen(
          std::move(socket), rooms_.prepared.node_users, rooms_.doors.main_listener(),
          {[this](const QueryOrder& order, ClusterQueryKind kind) { return joined_.queries->answer(order, kind); },
           [this](AsyncFd from, Push push) { joined_.moves->receiver().take(std::move(from), std::move(push)); }}));
  return {};
}

void ClusterPart::refuse_calls() {
  if (joined_.membership) joined_.membership->stop_listening();
}

void ClusterPart::disconnect() {
  tasks_.cancel_all();
  if (joined_.queries) joined_.queries->cancel();
  refuse_calls();
}

void ClusterPart::adopt_skills() {
  const skills::Shared& skills = rules()->shared_skills();
  for (const std::string& name : rooms_.skills.set_cluster_skills(skills))
    log_notice("cluster: the cluster's skill '{}' is not used: Warder ships a skill of this name", name);
  if (skills.size() > 0) log_notice("cluster: skills of the cluster: {}", skills.size());
  const auto everyone = [](const std::shared_ptr<mcp::ConnectionUser>&) { return true; };
  rooms_.server.lists_changed(mcp::Changed::resources, everyone);
  rooms_.server.lists_changed(mcp::Changed::prompts, everyone);
}

// Programs of shared workspaces must end before another node may take the workspaces over: those of clients, those in
// the background (tasks, resumed workflows), and those that a session has left running.
void ClusterPart::end_shared_work(LeaseEnd end) {
  const bool ends_all = end == LeaseEnd::runs;
  const auto is_shared = [](const policies::Policy& policy) { return policies::is_home_shared(policy); };
  if (ends_all)
    rooms_.doors.disconnect_if(
        [&](const std::shared_ptr<mcp::ConnectionUser>& user) { return is_shared(*tenants::member_of(user).policy); });
  for (const auto& execution : rooms_.executions.all()) {
    const bool is_waiting = execution->stage == executions::Stage::waiting;
    const bool has_ended = execution->stage == executions::Stage::ended;
    if (!has_ended && (ends_all || is_waiting) && is_shared(*execution->policy))
      (void)rooms_.executions.cancel(*execution);
  }
  if (ends_all) rooms_.sessions.end_under(is_shared, "this node has lost its lease of the cluster");
}

void ClusterPart::add_bus_members(bus::OfferedMembers& members) {
  cluster::add_bus_members(members.of_interface("org.warder.Warder1.Cluster"), joined_);
}

Task<Result<>> ClusterPart::wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy) {
  if (!policies::is_home_shared(*policy) || !joined_.membership) co_return Result<>{};
  CO_TRY(const tenants::TenantId id, tenants::TenantId::parse(tenant));
  const auto until = Monotonic::now() + kHomePatience;
  for (;;) {
    const auto home = co_await joined_.membership->link().home_of(id);
    if (home && !home->is_here) co_return fail(Code::unavailable, "the workspace is at node " + home->node + " now");
    if (home && joined_.membership->link().may_start() && !joined_.membership->gate().is_held(id)) co_return Result<>{};
    if (Monotonic::now() > until) co_return fail(Code::unavailable, "this node has no lease of its cluster");
    co_await sleep_for(rooms_.loop, std::chrono::seconds(1));
  }
}

void ClusterPart::write_metrics(metrics::OpenMetricsText& text, Reader) const {
  write_cluster_metrics(text, joined_.membership.get());
}

Task<doctor::Findings> ClusterPart::examine() {
  if (!joined_.queries) co_return doctor::Findings{};
  auto findings = co_await joined_.queries->examine();
  co_return findings;
}

Task<Result<>> ClusterPart::leave(std::string tenant) {
  if (!joined_.queries || joined_.queries->shared_policies().empty()) co_return Result<>{};
  auto remaining = co_await joined_.membership->link().forget_homes(std::move(tenant));
  co_return remaining;
}

namespace {

Result<std::unique_ptr<ClusterPart>> open_cluster(
    Loop& loop, Prepared& prepared, jail::Host& host, DaemonControls& controls, mcp::Server& server, ClientDoors& doors,
    tenants::Registry& registry, bus::Members& members, executions::Admission& admission,
    executions::ExecutionRegistry& executions, executions::Sessions& sessions, proposals::ProposalStores& proposals,
    tasks::TaskStore& tasks, runs::NamedExecutions& named, workflows::WorkflowDisk& workflows,
    skill_stores::TenantSkills& skills, discovery::Discovery& discovery, Parts& all) {
  const ClusterPart::Rooms rooms{loop,     prepared,    host,      controls,   server,    doors,
                                 registry, members,     admission, executions, sessions,  proposals,
                                 tasks,    named.store, workflows, skills,     discovery, all};
  return std::make_unique<ClusterPart>(rooms);
}

}  // namespace

PartEntry part() { return part_entry_of("cluster", open_cluster); }

}  // namespace cluster
