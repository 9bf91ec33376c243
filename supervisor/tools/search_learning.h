// SearchLearning: which tool was chosen after which search, for search_tools to know the next time. Each tenant's
// searches teach its own memory, or, where its policy says so, one that several share. A tool is chosen when its
// definition is asked for, or it is called with success, within ten minutes of the tenant's last search. Bounded;
// forgets with the process, or when an administrator says so (ForgetSearches over D-Bus).
#pragma once
#include <chrono>
#include <map>
#include <string>

#include "catalog/catalog.h"
#include "policies/policy.h"

namespace tools {

class SearchLearning {
 public:
  static constexpr std::chrono::minutes kPatience{10};

  // What to compare a search with; nullptr: nothing is learned.
  const catalog::Learning* of(const std::string& tenant, policies::Learning whose) const;
  void searched(const std::string& tenant, policies::Learning whose, std::string query,
                Monotonic::time_point now = Monotonic::now());
  void chosen(const catalog::Catalog& catalog, const std::string& tenant, policies::Learning whose,
              const catalog::Learning::Tool& tool, Monotonic::time_point now = Monotonic::now());
  // What a tenant's own searches have taught, or, with an empty name, the shared ones.
  void forget(const std::string& tenant) {
    memories_.erase(tenant);
    last_.erase(tenant);
  }

 private:
  struct Last {
    std::string query;
    Monotonic::time_point when;
  };
  std::map<std::string, catalog::Learning, std::less<>> memories_;  // "": the shared one; no tenant has that name
  std::map<std::string, Last, std::less<>> last_;                   // search of each tenant
};

}  // namespace tools
