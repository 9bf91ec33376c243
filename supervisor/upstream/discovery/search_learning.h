// SearchLearning: remembers which tool was chosen after which search, for later searches; and holds the thesaurus.
// Each tenant's searches teach the tenant's memory, or, if its policy says so, a memory of several tenants, where each
// tenant has a share. A tool is chosen if its definition is requested, or if it is called with success, within ten
// minutes after the tenant's last search. Memories are bounded (catalog/learning.h). keep() writes them to files below
// the state folder. A memory is deleted by an administrator (ForgetSearches over D-Bus) or with its tenant.
// Source: search_tools and upstream_call.cc. Used by: supervisor/tools/catalog, supervisor/daemon/. No errors: failures
// to read or write a file are logged.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "catalog/catalog.h"
#include "policies/learning_scope.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"

namespace discovery {

class SearchLearning {
 public:
  static constexpr std::chrono::minutes kPatience{10};

  // Sets the folder for the files of memories; it is made when needed. Without a folder memories end with the process.
  void keep_in(std::string folder) { folder_ = std::move(folder); }
  // The memory to compare a search with, as it is now. nullptr: learning is off, or the memory is empty.
  std::shared_ptr<const catalog::Learning> of(const std::string& tenant, policies::LearningScope scope);
  void searched(const std::string& tenant, policies::LearningScope scope, std::string query,
                Monotonic::time_point now = Monotonic::now());
  void chosen(const catalog::Catalog& catalog, const std::string& tenant, policies::LearningScope scope,
              const catalog::Learning::Tool& tool, Monotonic::time_point now = Monotonic::now());
  // Deletes a tenant's memory and the tenant's part of the shared memory. Empty name: deletes the shared memory.
  void forget(const std::string& tenant);
  // Writes changed memories to their files, every 30 s, on a separate thread. Returns only if no thread can be made.
  Task<> keep(Loop& loop, std::chrono::milliseconds between = std::chrono::seconds(30));
  // Writes all changed memories before it returns. For the end of the daemon: keep() writes no files afterwards.
  void write_all();

  // Reads WordNet, if it is installed, on a separate thread, which takes a processor for some tenths of a second: when
  // it is first asked for, at the latest `after` so long. Done when thesaurus() has it, or when it cannot be read.
  Task<> read_thesaurus(Loop& loop, std::chrono::milliseconds after, std::string folder = catalog::kWordNetFolder);
  // nullptr: it is not read yet.
  std::shared_ptr<const catalog::Thesaurus> thesaurus() {
    needs_thesaurus_.fire();
    return thesaurus_;
  }

 private:
  struct Last {
    std::string query;
    Monotonic::time_point when;
  };
  std::set<std::string, std::less<>> off_;  // tenants with learning off, whose memories are deleted already
  struct Memory {
    // Searches that run share it: what changes it makes a copy first. Never nullptr.
    std::shared_ptr<catalog::Learning> learning = std::make_shared<catalog::Learning>();
    catalog::Learning& own();
    bool changed = false;    // since the last write to the file
    bool is_unread = false;  // a system call could not read the file: it is not replaced
  };
  Memory& memory(const std::string& name);
  // One write of a file on the thread, and whether the memory was deleted meanwhile.
  struct Writing;
  std::string file_of(const std::string& name) const;

  std::string folder_;
  std::unique_ptr<WorkerThread> writer_;  // nullptr: keep() does not run
  std::string written_;                   // name of the memory in writing_
  std::shared_ptr<Writing> writing_;      // the running write, shared with its job; nullptr: no write runs
  Event needs_thesaurus_;
  std::shared_ptr<const catalog::Thesaurus> thesaurus_;
  std::map<std::string, Memory, std::less<>> memories_;  // by tenant; "": the shared memory, as no tenant has this name
  std::map<std::string, Last, std::less<>> last_;        // the last search of each tenant
};

}  // namespace discovery
