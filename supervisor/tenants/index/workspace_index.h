// WorkspaceIndex: answers which files a workspace has, and which changed, at a cost that follows the changes and not
// the size. A look reads the events of inotify since the last one. Few changes are looked at on the loop, many on a
// worker thread. IndexHost is what all indexes of the daemon share. An index that cannot follow its workspace
// (index_state.h) says why, and Workspace walks instead. Owned by: Workspace. Used on the loop's thread. No errors:
// each answer says whether it is complete.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/result.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/tenants/index/index_state.h"
#include "supervisor/tenants/index/writers.h"

namespace tenants {

class WorkspaceIndex;

class IndexHost {
 public:
  // The loop must outlive it. Errors: those of WorkerThread.
  static Result<std::unique_ptr<IndexHost>> start(Loop& loop);
  IndexHost(const IndexHost&) = delete;
  // Indexes may outlive it: they follow no workspace any more.
  ~IndexHost();

  WorkerThread& worker() { return *worker_; }
  const std::shared_ptr<WatchShares>& shares() { return shares_; }
  // Makes room for one more index: the one that was not used for longest ends. False: all are in use.
  bool make_room();

  struct Totals {
    uint64_t indexes = 0, files = 0, watches = 0;
    uint64_t walks = 0;       // looks since the start that had to list all folders
    uint64_t without = 0;     // workspaces that no index can follow
    std::string without_why;  // of one index
  };
  Totals totals() const;

 private:
  friend class WorkspaceIndex;
  IndexHost(Loop& loop, std::unique_ptr<WorkerThread> worker, std::shared_ptr<WatchShares> shares)
      : worker_(std::move(worker)), shares_(std::move(shares)), tasks_(loop) {}
  Task<> free_beside(std::shared_ptr<IndexState> state);
  std::unique_ptr<WorkerThread> worker_;
  std::shared_ptr<WatchShares> shares_;
  std::set<WorkspaceIndex*> all_;
  std::list<WorkspaceIndex*> by_use_;                     // that follow a workspace; the last used is the last
  std::map<const WorkspaceIndex*, std::string> without_;  // and why
  uint64_t walks_ = 0;
  Scope tasks_;
};

// What a look has found.
struct IndexScan {
  bool current = false;     // false: the index cannot tell, or the workspace changes faster than it can be looked at
  Usage usage;              // `problem` is not set
  uint64_t total_size = 0;  // of all files, in bytes
  std::vector<std::pair<uint64_t, std::string>> largest;  // sizes and paths of the four largest files
  std::string walked;                                     // why all folders had to be listed; empty: they had not
  std::shared_ptr<ChangeLog> log;                         // of begin_log()
  std::unique_ptr<Writers::Turn> turn;                    // likewise
  LoggedChanges changes;                                  // of end_log()
};

class WorkspaceIndex {
 public:
  // `writers`: changes that a look finds while they are several may be of each of them. So each writer asks for a look
  // before it begins, and before it ends. Loop and `writers` must outlive the index.
  WorkspaceIndex(Loop& loop, IndexHost& host, Writers& writers)
      : loop_(loop), host_(&host), writers_(writers), list_position_(host.by_use_.end()), tasks_(loop) {
    host.all_.insert(this);
  }
  ~WorkspaceIndex();
  WorkspaceIndex(const WorkspaceIndex&) = delete;

  // Begins to follow the workspace, unless it does, or could not until a moment ago. The first look lists all files.
  // `directory`: of the workspace; it is opened again.
  void follow(int directory, IndexState::Bounds bounds);
  // Whether it follows the workspace: a look will answer, the first one late.
  bool is_following() const { return state_ != nullptr; }
  // Why it does not. Empty: it does, or it has not begun.
  const std::string& unusable() const { return unusable_; }

  Task<IndexScan> inspect() { return ask({std::nullopt, nullptr, 0}); }
  // A look; from then on all changes are logged while the caller keeps `log`, and a writer is one while it keeps
  // `turn`. Both begin within the look: another look may begin before the caller learns that this one has ended.
  Task<IndexScan> begin_log(LogFor log_for) { return ask({log_for, nullptr, 0}); }
  Task<IndexScan> end_log(std::shared_ptr<ChangeLog> log, size_t max_listed) {
    return ask({std::nullopt, std::move(log), max_listed});
  }

  // While a program keeps it, the files that programs have opened are looked at again in each look. Takes effect with
  // the next look.
  std::shared_ptr<const void> watch_opened();

  uint64_t files() const { return files_; }
  uint64_t watches() const { return watches_; }
  bool is_in_use() const;

 private:
  friend class IndexHost;
  struct WatchRequest {
    std::optional<LogFor> begins_log;
    std::shared_ptr<ChangeLog> log;
    size_t max_listed = 0;
  };
  struct WaitingScan {
    WatchRequest watch_request;
    OneShot<IndexScan>::Resolver resolver;
  };
  Task<IndexScan> ask(WatchRequest request);
  Task<> work();
  bool step_here();
  Task<bool> look_beside();
  Task<LoggedChanges> changes_beside(WatchRequest request);
  IndexScan answered(const WatchRequest& request);
  void noted();
  // Gives back what it takes. `may_restart`: without a pause.
  void end(std::string why, bool may_restart = false);

  Loop& loop_;
  IndexHost* host_;  // nullptr: it has ended
  Writers& writers_;
  std::shared_ptr<IndexState> state_;  // nullptr: it does not follow the workspace. A worker's job holds it, too
  std::string unusable_;
  Monotonic::time_point ended_;  // when `unusable_` was set
  bool may_restart_ = false;
  bool ready_ = false;  // the first look has ended
  bool working_ = false;
  std::vector<WaitingScan> waiting_;
  std::weak_ptr<ChangeLog> last_log_;
  std::weak_ptr<const void> living_;
  uint64_t files_ = 0, watches_ = 0;
  std::list<WorkspaceIndex*>::iterator list_position_;
  Scope tasks_;
};

}  // namespace tenants
