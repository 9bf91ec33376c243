// HomeMemory: a copy of the bucket `homes` on the disk of this node. NATS may lose values (a server writes them to its
// disk each two minutes, or its disk is lost): then each node puts the homes back that it remembers. Without this a
// workspace would get a new home, without its files.
// File: homes.json in the folder of warder-node, {KEY: {"node", "epoch", "of"}}. Disk waits are on a thread.
// Used by: home_directory.h. Errors of open(): those of WorkerThread. Later ones are logged: the homes themselves do
// not need the copy.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/cluster/placement/homes.h"

namespace cluster {

// The text of a home's record, in the bucket and in the copy. Errors of read_home_record(): invalid, naming the field.
std::string write_home_record(const HomeRecord& home);
Result<HomeRecord> read_home_record(std::string_view text);

class HomeMemory {
 public:
  using Records = std::map<std::string, HomeRecord>;  // by key of the bucket
  static constexpr size_t kMaxRecords = 200'000;      // further ones are not remembered

  // Loop and `records` must outlive the object.
  static Result<std::unique_ptr<HomeMemory>> open(Loop& loop, const std::string& folder, const Records& records);
  // The remembered homes. A damaged file is logged, and counts as empty.
  Task<Records> load();
  // The record of this key has changed, or is gone: it is on the disk about a second later. The file is written as a
  // whole: of many homes not more often than a twentieth of the time is spent on it.
  void note_change(const std::string& key);

 private:
  HomeMemory(Loop& loop, std::string file, const Records& records, std::unique_ptr<WorkerThread> worker)
      : loop_(loop), file_(std::move(file)), records_(records), worker_(std::move(worker)), tasks_(loop) {}
  using Changes = std::map<std::string, std::optional<HomeRecord>>;  // nullopt: it is gone
  Task<> store();

  Loop& loop_;
  const std::string file_;
  const Records& records_;
  const std::shared_ptr<Records> stored_ = std::make_shared<Records>();  // the thread's: what it writes
  std::set<std::string> changed_;                                        // keys
  bool is_storing_ = false, was_reported_ = false;
  std::unique_ptr<WorkerThread> worker_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
