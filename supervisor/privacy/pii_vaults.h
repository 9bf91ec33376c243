// PiiVaults: the vaults of all tenants, each opened at its first use. Opening one may read a large file: those who ask
// for it meanwhile wait for the same opening, and everybody else goes on.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/pii/tokens.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace privacy {

class PiiVaults {
 public:
  // What opens a tenant's vault; by default one in memory, which forgets with the process. The tenant's folder must
  // stay until it has ended.
  using Made = Result<std::unique_ptr<policies::PiiVault>>;
  using Make = std::function<Task<Made>(std::string tenant)>;
  // The loop must outlive it.
  explicit PiiVaults(Loop& loop, Make make = {}) : make_(std::move(make)), tasks_(loop) {}

  // Keeps tokens for this long from now on. A vault that is open is found without a wait. Errors: what Make says, for
  // all who waited for it; the next caller asks it again. A caller that is cancelled leaves the opening to the others.
  Task<Result<policies::PiiVault*>> of(const std::string& tenant, std::chrono::seconds lifetime);
  // The tenant's folder is gone.
  void forget(const std::string& tenant) { vaults_.erase(tenant); }

 private:
  struct Waiting {  // of one caller
    Result<policies::PiiVault*> vault;
    Event done;
  };
  using Waiters = std::vector<std::shared_ptr<Waiting>>;
  Task<> open(std::string tenant);

  Make make_;
  std::map<std::string, std::unique_ptr<policies::PiiVault>, std::less<>> vaults_;
  std::map<std::string, Waiters, std::less<>> opening_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace privacy
