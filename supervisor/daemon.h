// Daemon: the part of warderd without privileges. All of it runs on the event loop.
// Source: Prepared, the parts that main.cc made while it still had privileges. There are no singletons: each part gets
// its dependencies in its constructor. Used by: main.cc.
#pragma once
#include <memory>
#include <vector>

#include "jail/cgroup.h"
#include "jail/host.h"
#include "jail/pool.h"
#include "policies/store.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/bus/service.h"
#include "supervisor/discovery/catalog_watch.h"
#include "supervisor/discovery/search_learning.h"
#include "supervisor/discovery/stub_tree.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/http/endpoint.h"
#include "supervisor/mcp/listener.h"
#include "supervisor/options.h"
#include "supervisor/privileges.h"
#include "supervisor/service_manager.h"
#include "supervisor/state_disk.h"
#include "supervisor/tenants/master_key.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/catalog/call_tool.h"
#include "supervisor/tools/execution/execute_code.h"
#include "supervisor/tools/pii/pii_tools.h"
#include "supervisor/tools/skills/skill_tools.h"
#include "supervisor/tools/workspace/resource_changes.h"
#include "supervisor/traces/exporter.h"

struct Prepared {  // made by main.cc, before it dropped privileges
  Options options;
  DaemonIdentity identity;
  jail::IdRange ids;
  std::optional<jail::CgroupTree> cgroups;
  std::string no_cgroups_why;
  policies::Store policies;
  Fd state;      // the state folder; its folders tenants/ and self-test/ belong to the daemon
  Fd self_test;  // the folder self-test/, which is empty
  Fd jailer;     // the daemon's end of the socket to the jailer
  ServiceManager::Passed passed;
  Fd state_lock;  // locked until the process ends
  tenants::MasterKey key;
  Fd servers;   // the template's folder for stubs; it belongs to the daemon
  Fd upstream;  // the folder of upstream servers: their definitions, and the files of servers that all tenants share
};

class Daemon {
 public:
  explicit Daemon(Prepared prepared);
  ~Daemon();
  // Serves until a signal ends the daemon. Returns the exit status: 0 after SIGTERM or SIGINT, 1 if serving failed.
  int run();

 private:
  Task<> serve();
  Task<Result<>> start_serving();
  Task<Result<>> test_jails(const policies::Store& policies);
  void register_tools();
  Task<privacy::PiiVaults::Made> open_vault(tenants::TenantId id);
  void register_pii(const tenants::RequesterOf& requester_of);
  Result<> open_journal();
  Result<> listen();
  Result<> open_catalog();
  Task<> show_servers();
  Task<> expire_workspaces();
  void open_upstream();
  void open_approvals();
  void open_skills();
  void expect_executions(const policies::Policy& policy);
  void watch_signals();
  void open_bus();
  Result<> open_metrics();
  void open_traces();
  Result<policies::Store> read_policies() const;
  Task<Result<>> adopt_policies();
  void apply_policies();
  Task<Result<>> reload();
  Task<> reload_until_nobody_asks();
  Task<Result<>> reload_once();
  Task<> reload_on_signal();
  std::shared_ptr<const policies::Policy> standard_policy(const policies::Store& policies) const;
  Task<Result<doctor::Findings>> examine();
  Task<doctor::Finding> try_execution();
  doctor::Finding judge_cgroups() const;
  doctor::Finding judge_own_user() const;
  doctor::Finding judge_policy_files() const;
  doctor::Finding judge_pool() const;
  doctor::Finding judge_journal() const;
  doctor::Finding judge_state_disk() const;
  doctor::Finding judge_traces() const;  // only if spans_ is set
  void end_after_running_calls();
  Task<> drain(std::chrono::milliseconds most);
  Task<> end_without_jailer();
  void watch_state_disk();
  void fail_to_serve(const Error& error);

  Loop loop_;
  Prepared prepared_;
  ServiceManager service_;
  int status_ = 0;
  bool ending_ = false;
  struct Reload {  // a reload that a caller waits for
    Event done;
    Result<> result;
  };
  Event serving_;  // the start is done
  bool reloading_ = false;
  std::vector<std::shared_ptr<Reload>> reloads_asked_;
  bool examining_ = false;
  uint64_t examinations_ = 0;
  std::unique_ptr<jail::JailerClient> jailer_;
  std::unique_ptr<jail::Host> host_;
  std::unique_ptr<traces::Exporter> spans_;    // nullptr: no spans are recorded
  std::unique_ptr<journal::Journal> journal_;  // before the members that record in the journal
  std::unique_ptr<tenants::Registry> registry_;
  executions::Admission admission_;
  executions::ExecutionRegistry executions_;
  calls::Approvals approvals_;
  std::unique_ptr<jail::Pool> pool_;
  std::unique_ptr<executions::Sessions> sessions_;
  std::unique_ptr<calls::GuestCalls> guest_calls_;
  std::unique_ptr<tools::ExecuteEnvironment> execute_;
  std::unique_ptr<upstream::UpstreamServers> upstream_;  // before the members that call upstream servers
  std::unique_ptr<calls::CallEnvironment> calls_;
  std::unique_ptr<discovery::Discovery> discovery_;
  std::unique_ptr<discovery::StubTree> servers_;
  discovery::SearchLearning learning_;
  std::unique_ptr<WorkerThread> vault_disk_, skill_disk_;  // before the members whose jobs run on these threads
  std::unique_ptr<StateDisk> state_disk_;
  privacy::PiiVaults vaults_;
  std::unique_ptr<skill_stores::TenantSkills> skills_;
  std::unique_ptr<mcp::Server> server_;
  std::unique_ptr<tools::ResourceChanges> changes_;  // outlives the connections that subscribed
  std::unique_ptr<FdStore> store_;                   // set if connections stay open over a restart
  std::vector<std::unique_ptr<mcp::Listener>> listeners_;
  bus::Members members_;
  std::unique_ptr<bus::Service> bus_;
  std::vector<std::unique_ptr<http::Endpoint>> metrics_;
  struct Signals;
  std::unique_ptr<Signals> signals_;
  Scope tasks_;  // last: cancelled first
};
