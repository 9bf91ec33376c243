// Store: the policies of this machine, complete and checked, and the rules that give each tenant its policy.
// Source: folders of JSON files; a file masks a file of the same name in an earlier folder. Used by supervisor/tenants
// for each connection. Executions keep the snapshot they began with.
// Errors: invalid with every problem of every file, one a line: "/etc/warder/policies/a.json: limits.standard.cpus:
// ...".
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/host_capacity.h"
#include "policies/package_layer.h"
#include "policies/policy_fwd.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/result.h"

namespace policies {

// Mode: the kind of installation. Selects the policy for all tenants when there is no tenants.json.
enum class Mode {
  checkout,  // policy "default": protections that the kernel lacks are reported
  system,    // policy "system": a jail without a protection is refused
};

struct Assignment {
  std::string tenant;
  std::shared_ptr<const Policy> policy;
};

// The folder of the installed policies.
inline constexpr char kInstalledFolder[] = "/usr/lib/warder/policies";
// The kind of an installation: system, if its folders of policies include kInstalledFolder.
Mode mode_of(const std::vector<std::string>& folders);

class Store {
 public:
  // Folders that do not exist are skipped. At least one of `folders` must exist.
  static Result<Store> load(std::vector<std::string> folders, Mode mode, HostCapacity host = HostCapacity::here());
  // Reads the same folders again; this store does not change.
  Result<Store> reread() const;
  // Reads other folders. Filters of this store are used again where their source text is the same.
  Result<Store> read_folders(std::vector<std::string> folders) const;
  // A store for a daemon that knows no good policies. Each user is a tenant of its own, under the policy "none": it
  // offers the tool execute_code alone, and no jail can be built under it, because its filter is empty. The daemon
  // answers each execution with the reason (jail::Host::unfit). `folders` are for folders() only.
  static Store refusing(std::vector<std::string> folders);

  // Whether a rule needs Peer::unit.
  bool asks_for_units() const { return set_.tenants.ask_for_units(); }
  // Errors: denied when no rule of tenants.json fits, and the token has no own rule.
  Result<Assignment> tenant_of(const Peer& peer) const;
  Result<Assignment> tenant_of(const TokenBearer& bearer) const;
  Result<Assignment> tenant_of(const SubjectBearer& bearer) const;
  Result<Assignment> tenant_of(const NodeOrder& order) const;
  Result<Assignment> tenant_of(const CallerCredentials& caller) const;
  // The own rules of tokens, in the place of those before. A later reading of the folders has none.
  void set_token_rules(const std::vector<TokenRule>& rules);
  // Gives each policy the layers that it names. `all`: the layers of this machine, for layers(). Returns a sentence for
  // each that was not found: "/etc/warder/policies/a.json: layers: ...". Its policy then has too few layers, and builds
  // no jails.
  std::vector<std::string> set_layers(const LayerLookup& find, PackageLayers all);
  // All package layers of this machine, also those that no policy names.
  const PackageLayers& layers() const { return layers_; }
  // nullptr when no policy has this name.
  std::shared_ptr<const Policy> find(std::string_view name) const;
  // The policy of tenants when there is no tenants.json, by the mode: "system" or "default". If no policy has that
  // name, the first policy. The self-test of jails, the doctor and shared upstream servers use it. Never nullptr.
  std::shared_ptr<const Policy> standard() const;
  std::vector<std::string> names() const;
  const std::vector<std::string>& folders() const { return folders_; }
  // Accepted keys and values that should be changed, and rules that are skipped, one sentence each:
  // "/etc/warder/policies/a.json: pool.least is now named pool.min_idle".
  const std::vector<std::string>& warnings() const { return set_.warnings; }

 private:
  // By the text of the profile and of the profiles that it extends: a reload compiles changed profiles only.
  using Filters = std::map<std::string, std::shared_ptr<const SeccompFilter>>;
  struct Set {
    std::map<std::string, std::shared_ptr<const Policy>, std::less<>> policies;
    Filters filters;
    TenantRules tenants;
    std::vector<std::string> warnings;
    std::map<std::string, TokenRule, std::less<>> token_rules;  // by the token's name
  };
  class Loader;
  Store(std::vector<std::string> folders, Mode mode, HostCapacity host)
      : folders_(std::move(folders)), mode_(mode), host_(host) {}

  std::vector<std::string> folders_;
  Mode mode_;
  HostCapacity host_;
  Set set_;
  PackageLayers layers_;
};

}  // namespace policies
