// Tenant: whose files and executions these are. Registry: which tenant a connecting process belongs to.
// Source: the peer's credentials as the kernel tells them, mapped by policies::Store. A tenant's folders are
// made at its first connection: tenants/<name>/{workspace,unfinished,executions,sessions} below the state folder, 0700.
// A named workspace is a tenant of its own, with folders below tenants/<name>/workspaces/<workspace>: nothing but
// limits on what runs is shared with the tenant whose client named it. Errors: denied (no rule fits the peer), or what
// the file system said.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/store.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/workspace.h"
#include "supervisor/tenants/writers.h"

namespace tenants {

class Tenant {
 public:
  // `tenants` is the folder of all tenants; it and the loop must outlive the tenant.
  static Result<std::shared_ptr<Tenant>> open(Loop& loop, int tenants, std::string name,
                                              const policies::Policy& policy);

  // One of its named workspaces, made if it is not there. It and the loop must outlive that.
  static Result<std::shared_ptr<Tenant>> open_workspace(Loop& loop, const Tenant& of, std::string_view workspace,
                                                        const policies::Policy& policy);

  const std::string& name() const { return name_; }        // of a named workspace "<tenant>/<workspace>"
  const std::string& account() const { return account_; }  // the tenant's name, whatever the workspace
  int directory() const { return directory_.get(); }       // O_PATH
  Workspace& workspace() { return workspace_; }
  Executions& executions() { return executions_; }
  Writers& writers() { return writers_; }
  SessionLogs& sessions() { return sessions_; }
  // What may be kept from now on; evicts kept output at once, and workspaces over their quota only refuse more.
  void set_quota(const policies::QuotaRules& quota);
  // The kernel's project of its workspace (project.h), and the limits for which the kernel has it now.
  std::optional<uint32_t> project() const { return project_; }
  const std::optional<QuotaLimits>& held_by_kernel() const { return held_by_kernel_; }
  void set_held_by_kernel(QuotaLimits limits) { held_by_kernel_ = limits; }
  void leave_project() { project_.reset(), held_by_kernel_.reset(); }

 private:
  static Result<std::shared_ptr<Tenant>> open_in(Loop& loop, Fd directory, std::string name, std::string account,
                                                 const policies::Policy& policy);
  Tenant(std::string name, std::string account, Fd directory, Workspace workspace, Executions executions, Fd logs)
      : name_(std::move(name)),
        directory_(std::move(directory)),
        workspace_(std::move(workspace)),
        executions_(std::move(executions)),
        sessions_(std::move(logs), name_.substr(name_.find('/') + 1)),  // a customer is a workspace's name
        account_(std::move(account)) {}
  std::string name_;
  Fd directory_;
  Workspace workspace_;
  Executions executions_;
  Writers writers_;
  SessionLogs sessions_;
  std::string account_;
  std::optional<uint32_t> project_;
  std::optional<QuotaLimits> held_by_kernel_;
};

// One connection's right to act for a tenant. The policy belongs to the member: two rules may give two users
// the same tenant under different policies.
struct Member {
  policies::Peer peer;
  std::shared_ptr<Tenant> tenant;
  std::shared_ptr<const policies::Policy> policy;  // executions keep the one they began with
  uint64_t definition_bytes = 0;                   // of upstream servers' tools, that this connection was told so far
  bool definitions_counted = false;                // in the ledger of an execution: once per connection
  bool revoked = false;                            // a reload gave the peer another tenant, or none: end the connection
};

class Registry {
 public:
  // `state` is the daemon's state folder (O_PATH will do). Loop and store must outlive the registry, the
  // registry its tenants.
  static Result<Registry> open(Loop& loop, int state, const policies::Store& store);

  // A tenant's quota is that of the policy under which somebody connected to it last.
  Result<std::shared_ptr<Member>> admit(policies::Peer peer);
  // The named workspace of the member's tenant, in which a request is to work; its own for an empty name or "default".
  // Errors: denied (its policy does not allow the name), exhausted (it has as many as it may).
  Result<std::shared_ptr<Tenant>> workspace(const Member& member, std::string_view name);
  // After the store has reloaded: members get their new policy, or are revoked. Those who are offered other tools now.
  std::vector<std::shared_ptr<Member>> apply_policies();

  // Told of each workspace that is opened, and whenever the quota of one may have changed.
  void on_quota(std::function<void(std::shared_ptr<Tenant>)> changed) { quota_changed_ = std::move(changed); }
  // Told the name of each named workspace that is gone, for what is kept of it elsewhere to be forgotten.
  void on_removed(std::function<void(const std::string& name)> removed) { removed_ = std::move(removed); }

  // Of a tenant or a named workspace, by Tenant::name(). nullptr when nobody has connected to it yet.
  std::shared_ptr<Tenant> find(std::string_view name) const;
  std::vector<std::string> names() const;  // of tenants
  // The tenant of that name and its named workspaces, of those that find() finds.
  std::vector<std::shared_ptr<Tenant>> of_account(const std::string& name) const;
  // Named workspaces of all tenants there are, by the policies of those that are connected, or else the one under which
  // each was used last: announces (in the log) the removal of those that nobody uses, and removes those whose time has
  // come. When to look again.
  Task<std::chrono::seconds> expire_workspaces();

 private:
  Registry(Loop& loop, Fd directory, const policies::Store& store)
      : loop_(loop), directory_(std::move(directory)), store_(store) {}
  Result<std::vector<std::string>> all_tenants() const;
  void set_quota(const std::shared_ptr<Tenant>& tenant, const policies::QuotaRules& quota);
  // The shortest time without use that any of them is kept; nothing: all are kept for ever.
  Task<Result<std::optional<std::chrono::seconds>>> expire_workspaces_of(std::string tenant,
                                                                         std::optional<policies::WorkspaceRules> rules);
  Loop& loop_;
  Fd directory_;
  const policies::Store& store_;
  std::map<std::string, std::shared_ptr<Tenant>, std::less<>> tenants_;
  std::vector<std::weak_ptr<Member>> members_;
  std::function<void(const std::string&)> removed_;
  std::function<void(std::shared_ptr<Tenant>)> quota_changed_;
};

}  // namespace tenants
