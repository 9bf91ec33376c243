// DaemonParts: the parts of the daemon that serve clients. They are constructed whole, in the order of their
// dependencies, and destroyed in the reverse order. Each part gets its dependencies in its constructor. A pointer here
// is a part that is optional, and may be nullptr; no other part may.
// Source: Prepared, and the host of jails. Made by Daemon when the self-test of jails has passed. All of it runs on the
// event loop. Errors: those of opening files, sockets and threads.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/host.h"
#include "jail/pool.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/bus/service.h"
#include "supervisor/cluster/link/membership.h"
#include "supervisor/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration_reader.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/self_examination.h"
#include "supervisor/daemon/server_network.h"
#include "supervisor/daemon/state_disk.h"
#include "supervisor/daemon/tenant_removal.h"
#include "supervisor/discovery/catalog_watch.h"
#include "supervisor/discovery/search_learning.h"
#include "supervisor/discovery/stub_tree.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/http/endpoint.h"
#include "supervisor/journal/task_rows.h"
#include "supervisor/journal/workflow_rows.h"
#include "supervisor/mcp/listener.h"
#include "supervisor/metrics/busiest_tenants.h"
#include "supervisor/metrics/fleet.h"
#include "supervisor/moves/moves.h"
#include "supervisor/proposals/proposal_stores.h"
#include "supervisor/streamable_http/endpoint.h"
#include "supervisor/streamable_http/listener.h"
#include "supervisor/systemd/fd_store.h"
#include "supervisor/tasks/task_store.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog/call_tool.h"
#include "supervisor/tools/execution/execute_code.h"
#include "supervisor/tools/pii/pii_tools.h"
#include "supervisor/tools/skills/skill_tools.h"
#include "supervisor/tools/workspace/resource_changes.h"
#include "supervisor/traces/exporter.h"
#include "supervisor/workflows/workflow_store.h"

// DaemonControls: what the parts may ask of the daemon.
struct DaemonControls {
  std::function<Task<Result<>>()> reload;
  std::function<void()> drain;
  std::function<bool()> draining;
  std::function<void(const std::string& trouble)> show_trouble;  // of the state folder's disk; empty: none
};

// OpenedParts: the parts that cannot be opened on every machine. They need no other part.
struct OpenedParts {
  std::unique_ptr<tenants::IndexHost> indexes;
  tenants::Registry registry;
  std::unique_ptr<journal::Journal> journal;
  std::unique_ptr<WorkerThread> vault_disk, skill_disk, policy_thread;
  std::unique_ptr<discovery::Discovery> discovery;
  std::unique_ptr<discovery::StubTree> stubs;
  std::unique_ptr<FdStore> fd_store;  // optional: set if connections stay open over a restart

  static Result<OpenedParts> open(Loop& loop, Prepared& prepared);
};

class DaemonParts {
 public:
  // Loop, `prepared` and `host` must outlive the parts.
  static Result<std::unique_ptr<DaemonParts>> open(Loop& loop, Prepared& prepared, jail::Host& host,
                                                   DaemonControls controls);
  DaemonParts(const DaemonParts&) = delete;
  ~DaemonParts();

  // The start, in two steps. begin() starts the work beside clients, and is done when the stubs of /servers are
  // written; those of a large catalog are written later. serve() opens the sockets and connects to D-Bus.
  Task<> begin();
  Result<> serve();

  // The reload. adopt_policies(): every part follows the policies that `prepared` has now. adopt_servers(): the
  // upstream servers are these from now on; returns a sentence for each that needs a restart. end_executions(): no jail
  // can be trusted. show_reload(): shows the error of a reload on D-Bus, or its success (empty). answer_reload(): tells
  // `warderd --reload` the result. files_in_force(): what this daemon reads.
  Task<> reload_catalog() { return discovery_.reload(); }
  Task<Result<std::shared_ptr<ReadConfiguration>>> read_configuration();
  void adopt_policies();
  std::vector<std::string> adopt_servers(std::vector<upstream::ServerConfig> servers,
                                         const std::vector<std::string>& unreadable_imports);
  configuration::FilesInForce files_in_force() const;
  Task<> answer_reload(std::string request, configuration::ReloadAnswer answer);
  void end_executions(const std::string& why);
  void show_reload(const std::string& problem);

  // The end, in two steps: no new calls; then the answers of the running calls, and all records.
  void refuse_calls();
  Task<> finish_calls();
  // Ends all connections and all tasks. After it, only destruction.
  void disconnect();

 private:
  // Reloadable: a part that follows a reload of the policies.
  struct Reloadable {
    const char* name;  // for the log
    std::function<void()> adopt;
  };
  DaemonParts(Loop& loop, Prepared& prepared, jail::Host& host, DaemonControls controls, OpenedParts opened);
  std::vector<Reloadable> all_reloadables();
  void connect_parts();
  void close_data_of(const tenants::TenantId& id);
  void forget_data_of(const tenants::TenantId& id);
  void disconnect_tenant(const std::string& tenant);
  void register_tools();
  void adopt_tasks();
  // An execution of a workflow that the last daemon's end interrupted, and the id under which it goes on.
  struct InterruptedRun {
    std::string before, now;
  };
  Task<> resume_run(InterruptedRun run);
  Task<Result<>> wait_for_home(std::string tenant, std::shared_ptr<const policies::Policy> policy);
  Result<std::shared_ptr<tenants::Member>> admit_again(const workflows::StoredRun& run);
  void register_pii(const tenants::RequesterOf& requester_of);
  Task<privacy::PiiVaults::Made> open_vault(tenants::TenantId id);
  discovery::ServerTools other_definitions() const;
  std::unique_ptr<bus::Service> make_bus();
  void offer_logins(bus::DaemonServices& services);
  void offer_cluster(bus::DaemonServices& services);
  std::vector<cluster::FarExecution> shown_executions(const cluster::QueryOrder* order, uint64_t& left_out) const;
  std::vector<cluster::FarPolicy> shared_policies() const;
  cluster::NodeListener::Rows answer_query(const cluster::QueryOrder& order, cluster::ClusterQueryKind kind) const;
  using ClusterExecutionsPtr = std::shared_ptr<const bus::ClusterExecutions>;
  Task<Result<ClusterExecutionsPtr>> cluster_executions();
  Task<> look_at_executions();
  Task<doctor::Findings> examine_cluster();
  Task<Result<>> leave_cluster(std::string tenant);
  void note_approval(const calls::Approval& approval, calls::Approvals::What what, std::string_view how);
  void skills_changed(const tenants::TenantId& tenant);
  void adopt_cluster_skills();
  Task<> complete_commits();
  Task<> show_servers();
  Task<> expire_workspaces();
  void expect_executions(const policies::Policy& policy);
  void empty_pool();
  Result<> listen();
  Result<> listen_for_http(mcp::Listener::Admit admit);
  Result<> join_cluster();
  Task<Result<bus::RestoredHome>> restore_home(std::string file);
  void end_shared_work(cluster::LeaseEnd end);
  void adopt_tokens();
  void disconnect_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen);
  Result<> open_metrics();
  metrics::HttpNumbers http_numbers() const;
  metrics::ClusterNumbers cluster_numbers() const;
  doctor::HttpUse http_use() const;
  metrics::FleetNumbers fleet_numbers(bool shows_tenants) const;
  traces::Queue* spans_queue() { return spans_ ? &spans_->queue() : nullptr; }

  Loop& loop_;
  Prepared& prepared_;
  jail::Host& host_;
  const DaemonControls controls_;
  OpenedParts opened_;
  tenants::Registry& registry_ = opened_.registry;
  journal::Journal& journal_ = *opened_.journal;
  discovery::Discovery& discovery_ = *opened_.discovery;
  discovery::StubTree& servers_ = *opened_.stubs;
  std::unique_ptr<traces::Exporter> spans_;  // optional: set if the options name a collector
  StateDisk state_disk_;
  proposals::ProposalStores proposals_;
  executions::Admission admission_;
  executions::ExecutionRegistry executions_;
  executions::RecentCode recent_code_;
  metrics::BusiestTenants busiest_tenants_;
  calls::Approvals approvals_;
  calls::Approvals::Observers::Place approvals_noted_;
  jail::Pool pool_;
  executions::TimelineRecorder timeline_;
  executions::Sessions sessions_;
  calls::GuestCalls guest_calls_;
  discovery::SearchLearning learning_;
  privacy::PiiVaults vaults_;
  egress::EgressLink egress_;
  EgressOfServers server_network_;
  upstream::UpstreamServers upstream_;
  calls::CallEnvironment calls_;
  skill_stores::TenantSkills skills_;
  journal::WorkflowRows workflow_rows_;
  workflows::WorkflowStore workflows_;
  journal::TaskRows task_rows_;
  tasks::TaskStore task_store_;
  journal::TaskRows named_rows_;
  tasks::TaskStore named_;  // executions with ids that their clients chose
  tools::ExecuteEnvironment execute_;
  mcp::Server server_;
  tools::ResourceChanges changes_;  // outlives the connections that subscribed
  SelfExamination examination_;
  TenantRemoval removal_;
  std::optional<streamable_http::HttpEndpoint> http_;  // made by serve(), as the next two
  const std::shared_ptr<streamable_http::TokenAuthenticator> tokens_in_force_ =
      std::make_shared<streamable_http::TokenAuthenticator>();
  std::vector<std::unique_ptr<streamable_http::HttpListener>> http_listeners_;
  std::vector<std::unique_ptr<mcp::Listener>> listeners_;
  std::unique_ptr<cluster::Membership> cluster_;  // optional: set if the configuration has "cluster"
  std::unique_ptr<moves::Moves> moves_;           // optional: set with cluster_
  // The last look at the executions of all nodes. Callers share one look, however many they are.
  struct LastLook {
    ClusterExecutionsPtr found;
    Monotonic::time_point at{};
    std::vector<OneShot<Result<ClusterExecutionsPtr>>::Resolver> waiting;
  };
  LastLook last_look_;
  std::vector<InterruptedRun> interrupted_runs_;                           // until serve()
  std::map<std::string, std::weak_ptr<tenants::Member>> resumed_members_;  // by StoredRun::caller
  bool reload_failed_ = false;                                             // the last one
  bus::Members members_;
  std::unique_ptr<bus::Service> bus_;                     // optional: set unless the option is "off"
  std::vector<std::unique_ptr<http::Endpoint>> metrics_;  // opened by serve()
  const std::vector<Reloadable> reloadables_;             // in the order of their adoption
  Scope tasks_;                                           // last: cancelled first
};
