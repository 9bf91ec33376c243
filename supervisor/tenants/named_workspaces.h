// Named workspaces of one tenant: which there are, when each was last used, and which are to be removed.
// In tenants/<tenant>/workspaces/<name>/: the times of the files `used` and `warned` say when; `used` holds the rules
// of the policy under which that was, for the time when nobody of the tenant is connected. Source: Registry::workspace.
// Errors: exhausted (no room for another), or what the file system said.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/policy.h"
#include "supervisor/base/path.h"
#include "supervisor/base/task.h"

class Loop;

namespace tenants {

class Tenant;

constexpr std::string_view kNamedWorkspaces = "workspaces";

// Now, under these rules; whatever was announced about it is taken back.
Result<> mark_used(const Tenant& workspace, const policies::WorkspaceRules& rules);

struct NamedWorkspace {
  std::string name;
  policies::WorkspaceRules rules;
  std::chrono::seconds idle{0};                 // since its last use
  std::optional<std::chrono::seconds> removal;  // not before this time has passed; empty: not announced
};

class NamedWorkspaces {
 public:
  // Rules of a policy in force, or those of each workspace's last use.
  using Rules = std::optional<policies::WorkspaceRules>;

  // `tenant` is its folder (O_PATH will do).
  static Result<NamedWorkspaces> of(int tenant);

  // Those that there are, sorted; at most 100,000.
  Result<std::vector<NamedWorkspace>> list(const Rules& rules) const;
  // Errors, when `name` is not there yet: exhausted, it would be one too many; invalid, it differs from one that is
  // there, or from "default", in capitals only: people take these for one, and so do some file systems.
  Result<> check_room(std::string_view name, const policies::WorkspaceRules& rules) const;
  // Announces what has been idle for so long that it is to be removed. Returns those.
  Result<std::vector<NamedWorkspace>> announce(const Rules& rules) const;
  // Removes one with everything in it, in slices; nobody may be using it.
  Task<Result<>> remove(Loop& loop, std::string name) const;
  // Goes on with removals that were begun and did not come to their end, by this daemon or one that was killed.
  Task<Result<>> finish_removals(Loop& loop) const;

 private:
  explicit NamedWorkspaces(Fd directory) : directory_(std::move(directory)) {}
  Result<std::vector<std::string>> entries() const;
  Fd directory_;  // workspaces/; empty: there are none
};

}  // namespace tenants
