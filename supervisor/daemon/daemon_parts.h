// DaemonParts: the parts of the daemon that serve clients. They are constructed whole, in the order of their
// dependencies, and destroyed in the reverse order. Each part gets its dependencies in its constructor. A pointer here
// is a part that is optional, and may be nullptr; no other part may.
// Source: Prepared, and the host of jails. Made by Daemon when the self-test of jails has passed. All of it runs on the
// event loop. Errors: those of opening files, sockets and threads.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/host.h"
#include "jail/pool/pool.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/daemon/cluster_parts.h"
#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration_reader.h"
#include "supervisor/daemon/daemon_controls.h"
#include "supervisor/daemon/disk_floor.h"
#include "supervisor/daemon/expected_jails.h"
#include "supervisor/daemon/interrupted_runs.h"
#include "supervisor/daemon/metrics_sockets.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/self_examination.h"
#include "supervisor/daemon/server_network.h"
#include "supervisor/daemon/state_disk.h"
#include "supervisor/daemon/systemd/fd_store.h"
#include "supervisor/daemon/tenant_data.h"
#include "supervisor/daemon/tenant_removal.h"
#include "supervisor/executions/runs/execute_environment.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/operations/bus/service.h"
#include "supervisor/protocol/mcp/listener.h"
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/journal/task_rows.h"
#include "supervisor/records/journal/workflow_rows.h"
#include "supervisor/records/traces/exporter.h"
#include "supervisor/records/workflows/workflow_store.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog/call_tool.h"
#include "supervisor/tools/pii/pii_tools.h"
#include "supervisor/tools/skills/skill_tools.h"
#include "supervisor/tools/workspace/resource_changes.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/discovery/search_learning.h"
#include "supervisor/upstream/discovery/stub_tree.h"

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
  ClientDoors& doors() { return doors_; }
  MetricsSockets& metrics() { return metrics_; }
  // Writes the daemon's sockets for `warderd --check` (configuration/reload_exchange.h).
  Task<> publish_sockets();
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
  void register_tools();
  void choose_tools();
  void filter_responses(const tenants::RequesterOf& requester_of);
  void adopt_tasks();
  discovery::ServerTools other_definitions() const;
  bus::DaemonServices bus_services();
  std::unique_ptr<bus::Service> make_bus();
  void note_approval(const calls::Approval& approval, calls::Approvals::What what, std::string_view how);
  void skills_changed(const tenants::TenantId& tenant);
  Task<> complete_commits();
  Task<> show_servers();
  traces::Queue* spans_queue() { return spans_ ? &spans_->queue() : nullptr; }

  // The members are in the order of their construction: a part may use the parts above it. Parts that are used by parts
  // above them get there as functions, which are called only while all parts exist.
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
  DiskFloor disk_floor_;
  StateDisk state_disk_;
  proposals::ProposalStores proposals_;
  executions::Admission admission_;
  executions::ExecutionRegistry executions_;
  executions::RecentCode recent_code_;
  metrics::BusiestTenants busiest_tenants_;
  calls::Approvals approvals_;
  calls::Approvals::Observers::Place approvals_noted_;
  jail::Pool pool_;
  bus::Members members_;
  ExpectedJails expected_jails_;
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
  TenantData tenant_data_;
  runs::ExecuteEnvironment execute_;
  mcp::Server server_;
  tools::ResourceChanges changes_;  // outlives the connections that subscribed
  ClientDoors doors_;
  ClusterParts cluster_;  // the doors and the moves of workspaces close what is above
  InterruptedRuns interrupted_runs_;
  TenantRemoval removal_;
  SelfExamination examination_;
  MetricsSockets metrics_;
  bool reload_failed_ = false;                 // the last one
  std::unique_ptr<bus::Service> bus_;          // optional: set unless the option is "off"
  const std::vector<Reloadable> reloadables_;  // in the order of their adoption
  Scope tasks_;                                // last: cancelled first
};
