// Named workspaces of one tenant: which there are, when each was last used, and which are to be removed.
// In tenants/<tenant>/workspaces/<name>/: `used` and `warned` are empty files whose times say when.
// Source: Registry::workspace. Errors: exhausted (no room for another), or what the file system said.
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

// Now; whatever was announced about it is taken back.
Result<> mark_used(const Tenant& workspace);

struct NamedWorkspace {
  std::string name;
  std::chrono::seconds idle{0};                 // since its last use
  std::optional<std::chrono::seconds> removal;  // not before this time has passed; empty: not announced
};

class NamedWorkspaces {
 public:
  static Result<NamedWorkspaces> of(const Tenant& tenant);

  // Those that there are, sorted; at most 100,000.
  Result<std::vector<NamedWorkspace>> list(const policies::WorkspaceRules& rules) const;
  // Errors: exhausted, when `name` is not there yet and would be one too many.
  Result<> check_room(std::string_view name, const policies::WorkspaceRules& rules) const;
  // Announces what has been idle for so long that it is to be removed. Returns the names.
  Result<std::vector<std::string>> announce(const policies::WorkspaceRules& rules) const;
  // Removes one with everything in it, in slices; nobody may be using it.
  Task<Result<>> remove(Loop& loop, std::string name) const;

 private:
  explicit NamedWorkspaces(Fd directory) : directory_(std::move(directory)) {}
  Fd directory_;  // workspaces/; empty: there are none
};

}  // namespace tenants
