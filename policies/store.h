// Store: the policies of this machine, complete and checked, and who has which.
// Source: folders of JSON files, later ones over earlier ones; a file masks the one of the same name before it.
// Asked by supervisor/tenants for each connection. Executions keep the snapshot they began with.
// Errors: invalid with every problem of every file, one a line: "/etc/warder/policies/a.json: limits.standard.cpus:
// ...".
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/policy.h"
#include "policies/tenant_rules.h"
#include "supervisor/base/result.h"

namespace policies {

// Where the daemon runs: chooses everybody's policy when no tenants.json does.
enum class Mode {
  checkout,  // "default": what the kernel lacks is reported
  system,    // "system": what it lacks is refused
};

struct Assignment {
  std::string tenant;
  std::shared_ptr<const Policy> policy;
};

class Store {
 public:
  // `folders` that do not exist are passed over, but not all of them.
  static Result<Store> load(std::vector<std::string> folders, Mode mode, HostCapacity host = HostCapacity::here());
  // The same folders as they are now; this store stays as it is.
  Result<Store> read_anew() const;

  // Whether a rule needs Peer::unit.
  bool asks_for_units() const { return set_.tenants.ask_for_units(); }
  // Errors: denied when no rule of tenants.json fits.
  Result<Assignment> tenant_of(const Peer& peer) const;
  // nullptr when there is none of that name.
  std::shared_ptr<const Policy> find(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::vector<std::string>& folders() const { return folders_; }
  // What is accepted, but should be changed, one sentence each: "/etc/warder/policies/a.json: pool.least is now named
  // pool.min_idle".
  const std::vector<std::string>& warnings() const { return set_.warnings; }

 private:
  // By the text of the profile and of those it extends: a reload compiles only what has changed.
  using Filters = std::map<std::string, std::shared_ptr<const SeccompFilter>>;
  struct Set {
    std::map<std::string, std::shared_ptr<const Policy>, std::less<>> policies;
    Filters filters;
    TenantRules tenants;
    std::vector<std::string> warnings;
  };
  class Loader;
  Store(std::vector<std::string> folders, Mode mode, HostCapacity host)
      : folders_(std::move(folders)), mode_(mode), host_(host) {}

  std::vector<std::string> folders_;
  Mode mode_;
  HostCapacity host_;
  Set set_;
};

}  // namespace policies
