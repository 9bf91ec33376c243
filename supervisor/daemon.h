// Daemon: the unprivileged part of warderd, everything that runs on the loop. Built from parts that main.cc prepared
// while it still had privileges; no singletons, each part gets what it needs.
#pragma once
#include <memory>
#include <vector>

#include "jail/cgroup.h"
#include "jail/host.h"
#include "jail/pool.h"
#include "policies/store.h"
#include "supervisor/mcp/listener.h"
#include "supervisor/options.h"
#include "supervisor/privileges.h"
#include "supervisor/service_manager.h"
#include "supervisor/tenants/master_key.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/discovery.h"
#include "supervisor/tools/execute_code.h"
#include "supervisor/tools/pii_tools.h"
#include "supervisor/tools/search_learning.h"
#include "supervisor/tools/sessions.h"
#include "supervisor/tools/skill_tools.h"
#include "supervisor/tools/stub_tree.h"

struct Prepared {  // by main.cc, before privileges were dropped
  Options options;
  DaemonIdentity identity;
  jail::IdRange ids;
  std::optional<jail::CgroupTree> cgroups;
  std::string no_cgroups_why;
  policies::Store policies;
  Fd state;      // directory; tenants/ and self-test/ in it belong to the daemon
  Fd self_test;  // an empty directory there
  Fd jailer;     // the daemon's end
  std::vector<Fd> sockets;
  Fd state_lock;  // held as long as we live
  tenants::MasterKey key;
  Fd servers;  // the template's folder for stubs; the daemon's
};

class Daemon {
 public:
  explicit Daemon(Prepared prepared);
  ~Daemon();
  // Serves until a signal ends it. Returns the exit status: 0 after SIGTERM or SIGINT, 1 when it could not serve.
  int run();

 private:
  Task<> serve();
  Task<Result<>> start_serving();
  Task<Result<>> test_jails();
  void register_tools();
  void register_pii();
  Result<> open_journal();
  void open_catalog();
  Task<> show_servers();
  Task<> expire_workspaces();
  void open_skills();
  void expect_executions(const policies::Policy& policy);
  void watch_signals();
  Task<> reload();
  Task<> drain();
  void fail_to_serve(const Error& error);

  Loop loop_;
  Prepared prepared_;
  ServiceManager service_;
  int status_ = 0;
  bool ending_ = false;
  std::unique_ptr<jail::JailerClient> jailer_;
  std::unique_ptr<jail::Host> host_;
  std::unique_ptr<journal::Journal> journal_;  // before all that records in it
  std::unique_ptr<tenants::Registry> registry_;
  tools::Admission admission_;
  std::unique_ptr<jail::Pool> pool_;
  std::unique_ptr<tools::Sessions> sessions_;
  tools::GuestCalls guest_calls_;
  std::unique_ptr<tools::ExecuteEnvironment> execute_;
  std::unique_ptr<tools::Discovery> discovery_;
  std::unique_ptr<tools::StubTree> servers_;
  tools::SearchLearning learning_;
  tools::PiiVaults vaults_;
  std::unique_ptr<tools::Skills> skills_;
  std::unique_ptr<mcp::Server> server_;
  std::vector<std::unique_ptr<mcp::Listener>> listeners_;
  struct Signals;
  std::unique_ptr<Signals> signals_;
  Scope tasks_;  // last: cancelled first
};
