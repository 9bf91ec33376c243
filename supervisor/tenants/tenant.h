// Tenant: whose files and executions these are. Registry: which tenant a connecting process belongs to.
// Source: the peer's credentials as the kernel tells them, mapped by policies::Store. A tenant's folders are
// made at its first connection: tenants/<name>/{workspace,executions,sessions} below the state folder, 0700.
// Errors: denied (no rule fits the peer), or what the file system said.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/workspace.h"

namespace tenants {

class Tenant {
 public:
  // `tenants` is the folder of all tenants; it and the loop must outlive the tenant.
  static Result<std::shared_ptr<Tenant>> open(Loop& loop, int tenants, std::string name,
                                              const policies::Policy& policy);

  const std::string& name() const { return name_; }
  int directory() const { return directory_.get(); }  // tenants/<name>, O_PATH
  Workspace& workspace() { return workspace_; }
  Executions& executions() { return executions_; }
  SessionLogs& sessions() { return sessions_; }
  // What may be kept from now on; evicts kept output at once, and workspaces over their quota only refuse more.
  void set_quota(const policies::Quota& quota);

 private:
  Tenant(Loop& loop, std::string name, Fd directory, Fd workspace, QuotaLimits limits, Executions executions, Fd logs)
      : name_(std::move(name)),
        directory_(std::move(directory)),
        workspace_(loop, std::move(workspace), limits),
        executions_(std::move(executions)),
        sessions_(std::move(logs), name_) {}
  std::string name_;
  Fd directory_;
  Workspace workspace_;
  Executions executions_;
  SessionLogs sessions_;
};

// One connection's right to act for a tenant. The policy belongs to the member: two rules may give two users
// the same tenant under different policies.
struct Member {
  policies::Peer peer;
  std::shared_ptr<Tenant> tenant;
  std::shared_ptr<const policies::Policy> policy;  // executions keep the one they began with
  uint32_t requests = 0;  // executions of this connection that run or wait; policy->requests_in_flight bounds them
  uint64_t definition_bytes = 0;     // of other servers' tools, that this connection was told so far
  bool definitions_counted = false;  // in the ledger of an execution: once per connection
  bool revoked = false;              // a reload gave the peer another tenant, or none: end the connection
};

class Registry {
 public:
  // `state` is the daemon's state folder (O_PATH will do). Loop and store must outlive the registry, the
  // registry its tenants.
  static Result<Registry> open(Loop& loop, int state, const policies::Store& store);

  // A tenant's quota is that of the policy under which somebody connected to it last.
  Result<std::shared_ptr<Member>> admit(policies::Peer peer);
  // After the store has reloaded: members get their new policy, or are revoked.
  void apply_policies();

  // nullptr when nobody of that name has connected yet.
  std::shared_ptr<Tenant> find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  Registry(Loop& loop, Fd directory, const policies::Store& store)
      : loop_(loop), directory_(std::move(directory)), store_(store) {}
  Loop& loop_;
  Fd directory_;
  const policies::Store& store_;
  std::map<std::string, std::shared_ptr<Tenant>, std::less<>> tenants_;
  std::vector<std::weak_ptr<Member>> members_;
};

}  // namespace tenants
