// SearchLearning: which tool was chosen after which search, for search_tools to know the next time; and the thesaurus.
// Each tenant's searches teach its own memory, or, where its policy says so, one that several share, in which each has
// a share. A tool is chosen when its definition is asked for, or it is called with success, within ten minutes of the
// tenant's last search. Bounded; kept in files below the state folder, written by keep(), beside the requests;
// forgotten when an administrator says so (ForgetSearches over D-Bus) or the tenant goes.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "catalog/catalog.h"
#include "policies/policy.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {

class SearchLearning {
 public:
  static constexpr std::chrono::minutes kPatience{10};

  // Where memories are kept: a folder that is made when it is needed. Without one they end with the process.
  void keep_in(std::string folder) { folder_ = std::move(folder); }
  // What to compare a search with; nullptr: nothing is learned.
  const catalog::Learning* of(const std::string& tenant, policies::LearningScope whose);
  void searched(const std::string& tenant, policies::LearningScope whose, std::string query,
                Monotonic::time_point now = Monotonic::now());
  void chosen(const catalog::Catalog& catalog, const std::string& tenant, policies::LearningScope whose,
              const catalog::Learning::Tool& tool, Monotonic::time_point now = Monotonic::now());
  // What a tenant's own searches have taught, or, with an empty name, the shared ones.
  void forget(const std::string& tenant);
  // Writes what has changed, at most every half minute, on a thread of its own. Never returns.
  Task<> keep(Loop& loop, std::chrono::milliseconds between = std::chrono::seconds(30));
  // The same at once, at the end of the daemon. keep() writes no more.
  void write_all();

  // WordNet, where it is installed: read once, on a thread. Done when it is there, or is not to be had.
  Task<> read_thesaurus(Loop& loop, std::string folder = catalog::kWordNetFolder);
  std::shared_ptr<const catalog::Thesaurus> thesaurus() const { return thesaurus_; }

 private:
  struct Last {
    std::string query;
    Monotonic::time_point when;
  };
  std::set<std::string, std::less<>> off_;  // tenants that learn nothing, of whom nothing is left
  struct Memory {
    catalog::Learning learning;
    bool changed = false;  // since it was written
  };
  Memory& memory(const std::string& name);
  // A file that is written beside the requests, and whether its memory was forgotten meanwhile.
  struct Writing;
  std::string file_of(const std::string& name) const;

  std::string folder_;
  std::unique_ptr<WorkerThread> writer_;  // nullptr: nothing is written beside the requests
  std::string written_;                   // whose memory is being written, and
  std::shared_ptr<Writing> writing_;      // what its job looks at; nullptr: none
  std::shared_ptr<const catalog::Thesaurus> thesaurus_;
  std::map<std::string, Memory, std::less<>> memories_;  // "": the shared one; no tenant has that name
  std::map<std::string, Last, std::less<>> last_;        // search of each tenant
};

}  // namespace discovery
