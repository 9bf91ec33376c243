// NamedWorkspaces: the named workspaces of one tenant: their list, their times of last use, and their removal.
// In tenants/<tenant>/workspaces/<name>/, the time of the file `used` is the last use, and the time of `warned` is the
// announcement of the removal, both as retention time (base/elapsed_clock.h). `used` holds the policy's rules at that
// use, for times when no client of the tenant is connected. Source: Registry::workspace. Used by: Registry. Errors:
// exhausted (the limit of named workspaces), or the errno of the file system.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/workspace_rules.h"
#include "supervisor/base/path.h"
#include "supervisor/base/task.h"

class Loop;

namespace tenants {

class Tenant;

constexpr std::string_view kNamedWorkspaces = "workspaces";

// Marks the workspace as used now, under these rules. An announced removal is cancelled.
Result<> mark_used(const Tenant& workspace, const policies::WorkspaceRules& rules);

struct NamedWorkspace {
  std::string name;
  policies::WorkspaceRules rules;
  std::chrono::seconds idle{0};                 // time since its last use
  std::optional<std::chrono::seconds> removal;  // time until its removal is allowed; nullopt: not announced
};

class NamedWorkspaces {
 public:
  // The rules of a policy in force; nullopt: the rules at each workspace's last use.
  using Rules = std::optional<policies::WorkspaceRules>;

  // `tenant` is the tenant's folder (an O_PATH descriptor is enough).
  static Result<NamedWorkspaces> of(int tenant);

  // All named workspaces, sorted by name; at most 100,000.
  Result<std::vector<NamedWorkspace>> list(const Rules& rules) const;
  // Checks whether a workspace `name` may be made. No error for an existing one. Errors: exhausted, the tenant has
  // rules.max workspaces; invalid, the name differs from an existing one, or from "default", in capitals only: people
  // and some file systems do not tell the two apart.
  Result<> check_room(std::string_view name, const policies::WorkspaceRules& rules) const;
  // Announces the removal of each workspace that will be idle for rules.idle within rules.warning. Returns the newly
  // announced ones.
  Result<std::vector<NamedWorkspace>> announce(const Rules& rules) const;
  // Removes a workspace with all its files, in slices. It must not be in use.
  Task<Result<>> remove(Loop& loop, std::string name) const;
  // Completes removals that this daemon or a killed one started and did not finish.
  Task<Result<>> finish_removals(Loop& loop) const;

 private:
  explicit NamedWorkspaces(Fd directory) : directory_(std::move(directory)) {}
  Result<std::vector<std::string>> entries() const;
  Fd directory_;  // workspaces/; empty: the tenant has no named workspace
};

}  // namespace tenants
