// Tenant: the owner of files and executions. Registry: finds the tenant of a principal that connects.
// Source: the principal's credentials from the kernel, mapped by policies::Store. Used by: the daemon and its tools.
// A tenant's folders are made at its first connection:
// tenants/<name>/{workspace,unfinished,staging,executions,sessions} below the state folder, mode 0700. A named
// workspace is a Tenant object, too, with folders below tenants/<name>/workspaces/<workspace>. It shares only the
// limits on running executions with its tenant. Errors: denied (no rule fits the principal), exhausted (limits of the
// policy), or the errno of the file system.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/policy_fwd.h"
#include "policies/quota_rules.h"
#include "policies/tenant_id.h"
#include "policies/tenant_rules.h"
#include "policies/workspace_rules.h"
#include "supervisor/protocol/mcp/connection_user.h"
#include "supervisor/protocol/mcp/principal.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/workspace.h"

namespace mcp {
class RequestContext;
}

namespace tenants {

struct Requester;

// The key of a request's _meta that names a workspace.
inline constexpr char kWorkspaceKey[] = "org.warder/workspace";

class Tenant {
 public:
  // `tenants` is the folder of all tenants; it and the loop must outlive the tenant.
  static Result<std::shared_ptr<Tenant>> open(Loop& loop, int tenants, std::string name,
                                              const policies::Policy& policy);

  // A named workspace of the tenant `of`; made if it does not exist. `of` and the loop must outlive it.
  static Result<std::shared_ptr<Tenant>> open_workspace(Loop& loop, const Tenant& of, std::string_view workspace,
                                                        const policies::Policy& policy);

  const TenantId& id() const { return id_; }
  const std::string& name() const { return name_; }           // TenantId::text(): "<tenant>" or "<tenant>/<workspace>"
  const std::string& account() const { return id_.account; }  // "<tenant>", also of a named workspace
  bool is_workspace() const { return !id_.workspace.empty(); }
  int directory() const { return directory_.get(); }  // O_PATH
  Workspace& workspace() { return workspace_; }
  Executions& executions() { return executions_; }
  SessionLogs& sessions() { return sessions_; }
  // Sets new limits. Recorded output beyond them is removed at once. A workspace beyond them only refuses to grow.
  void set_quota(const policies::QuotaRules& quota);
  // The project of the workspace (project.h), and the account's limits for which the kernel's limits are set now.
  std::optional<uint32_t> project() const { return project_; }
  const std::optional<QuotaLimits>& held_by_kernel() const { return held_by_kernel_; }
  void set_held_by_kernel(QuotaLimits limits) { held_by_kernel_ = limits; }
  void leave_project() { project_.reset(), held_by_kernel_.reset(); }

 private:
  static Result<std::shared_ptr<Tenant>> open_in(Loop& loop, Fd directory, TenantId id, const policies::Policy& policy);
  Tenant(TenantId id, Fd directory, Workspace workspace, Executions executions, Fd logs)
      : id_(std::move(id)),
        name_(id_.text()),
        directory_(std::move(directory)),
        workspace_(std::move(workspace)),
        executions_(std::move(executions)),
        sessions_(std::move(logs), id_.workspace.empty() ? id_.account : id_.workspace) {}
  TenantId id_;
  std::string name_;
  Fd directory_;
  Workspace workspace_;
  Executions executions_;
  SessionLogs sessions_;
  std::optional<uint32_t> project_;
  std::optional<QuotaLimits> held_by_kernel_;
};

// Member: the right of one principal to act for a tenant: on a Unix socket in one connection, over HTTP in all of its
// connections and sessions. The policy belongs to the member: two rules may give two users the same tenant under
// different policies.
struct Member : mcp::ConnectionUser {
  mcp::Principal principal;
  policies::CallerCredentials credentials;  // of the principal, as the rules of tenants.json judge it
  std::shared_ptr<Tenant> tenant;
  std::shared_ptr<const policies::Policy> policy;  // an execution keeps the policy that it began with
  uint64_t definition_bytes = 0;                   // definitions of upstream tools that were sent to this connection
  bool definitions_counted = false;                // counted in the ledger of an execution; once per connection
  bool revoked = false;  // after a reload, the principal has another tenant or no tenant: end the connection
};

class Registry {
 public:
  // `state` is the daemon's state folder (an O_PATH descriptor is enough). Loop and store must outlive the registry,
  // and the registry must outlive its tenants.
  // `indexes`: workspaces are followed by indexes, and are walked through where they cannot be. nullptr: they are
  // always walked through. It must outlive the registry.
  static Result<Registry> open(Loop& loop, int state, const policies::Store& store, IndexHost* indexes = nullptr);

  // Finds or opens the principal's tenant. The quota of the principal's policy becomes the tenant's quota. `unit`: see
  // policies::Peer. Errors: denied; exhausted, the tenant has as many connections as the policy allows.
  Result<std::shared_ptr<Member>> admit(mcp::Principal principal, std::optional<std::string> unit = {});
  // The named workspace `name` of the member's tenant, opened for a request; the tenant itself for an empty name or
  // "default". Errors: denied (the policy does not allow the name), and those of NamedWorkspaces::check_room().
  Result<std::shared_ptr<Tenant>> workspace(const Member& member, std::string_view name);
  // The workspace that a request's `_meta` names with kWorkspaceKey. Errors: those of workspace(); invalid, no string.
  Result<std::shared_ptr<Tenant>> workspace_in(const Member& member, const Json& meta);
  // The requester of a request from a member's connection. Errors: those of workspace_in().
  Result<Requester> requester_of(const mcp::RequestContext& context);
  // The same for an execution that may run anywhere (requester.h): the tenant is a workspace that stays empty, and the
  // policy lets programs read it only, and keeps no workflows. Errors: denied by the policy; those of the file system.
  Result<Requester> stateless_requester(const mcp::RequestContext& context);
  // Call it after the store has reloaded: members get their new policy, or are revoked. Returns the members to which
  // other tools, or other limits of execute_code, are offered now.
  std::vector<std::shared_ptr<Member>> apply_policies();

  // The tenant or named workspace, opened from its folders if no client has used it since the start: for acts of
  // administrators. Until a client brings its policy, its quotas remove nothing. Errors: not_found, it has no folder;
  // unavailable: its removal is under way.
  Result<std::shared_ptr<Tenant>> open_stored(const TenantId& id);

  // `changed` is called when a tenant or named workspace was opened, and whenever its quota may have changed.
  void on_quota(std::function<void(std::shared_ptr<Tenant>)> changed) { quota_changed_ = std::move(changed); }
  // `removed` is called with the id of each removed named workspace, so that the daemon deletes its other data.
  void on_removed(std::function<void(const TenantId& id)> removed) { removed_ = std::move(removed); }

  // The removal of a whole tenant (removed_tenants.h). From begin_removal() to end_removal() no client gets the tenant.
  // Errors: unavailable: its removal is under way.
  Result<> begin_removal(const std::string& account);
  void end_removal(const std::string& account) { removing_.erase(account); }
  bool is_removing(const std::string& account) const { return removing_.contains(account); }
  // Closes the folders of the tenant and its named workspaces as far as no task uses them. False: some are in use.
  bool close_account(const std::string& account);
  // Names of all tenants that have a folder, open or not.
  Result<std::vector<std::string>> all_tenants() const;
  // The folder of all tenants (O_PATH).
  int directory() const { return directory_.get(); }

  // The policy of a client of the account that is connected now; nullptr: none is.
  std::shared_ptr<const policies::Policy> policy_of(const std::string& account) const;
  // The folder of the tenant or named workspace has other contents from now on, or none: what is open of it is opened
  // anew, if it is a tenant. Tasks that use the former object may go on with it; they see the former folders.
  Result<> reopen(const TenantId& id);

  // The tenant or named workspace. nullptr when no client has used it yet.
  std::shared_ptr<Tenant> find(const TenantId& id) const;
  // The same for the text of an id; nullptr also for a text that names no tenant.
  std::shared_ptr<Tenant> find_text(std::string_view text) const;
  std::vector<std::string> names() const;  // open tenants, without named workspaces
  // The tenant with this name and its named workspaces, as far as they are open.
  std::vector<std::shared_ptr<Tenant>> of_account(const std::string& name) const;
  // Expires the named workspaces of all tenants. The rules are those of a connected member's policy, or else of each
  // workspace's last use. Unused workspaces are announced in the log, and removed when their time is over. Returns the
  // time until the next call: 1 to 60 seconds.
  Task<std::chrono::seconds> expire_workspaces();

 private:
  Registry(Loop& loop, Fd directory, const policies::Store& store, IndexHost* indexes)
      : loop_(loop), directory_(std::move(directory)), store_(store), indexes_(indexes) {}
  using Tenants = std::map<TenantId, std::shared_ptr<Tenant>>;
  Result<std::shared_ptr<Tenant>> stateless_workspace(const Member& member);
  std::shared_ptr<const policies::Policy> stateless_policy(const std::shared_ptr<const policies::Policy>& of);
  Tenants::iterator keep(const TenantId& id, std::shared_ptr<Tenant> opened);
  void set_quota(const std::shared_ptr<Tenant>& tenant, const policies::QuotaRules& quota);
  // Returns the shortest `idle` of the rules; nullopt: no workspace expires.
  Task<Result<std::optional<std::chrono::seconds>>> expire_workspaces_of(std::string tenant,
                                                                         std::optional<policies::WorkspaceRules> rules);
  Loop& loop_;
  Fd directory_;
  const policies::Store& store_;
  IndexHost* indexes_;
  Tenants tenants_;
  std::map<std::shared_ptr<const policies::Policy>, std::shared_ptr<const policies::Policy>> stateless_policies_;
  std::vector<std::shared_ptr<Tenant>> former_;  // that tasks may still use, since the last reopen()
  std::set<std::string> removing_;
  std::vector<std::weak_ptr<Member>> members_;
  std::function<void(const TenantId&)> removed_;
  std::function<void(std::shared_ptr<Tenant>)> quota_changed_;
};

}  // namespace tenants
