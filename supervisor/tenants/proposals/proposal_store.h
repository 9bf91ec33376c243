// ProposalStore: all proposals of one tenant or named workspace, and the staging folders of its running executions.
//   staging/<id>/   one folder for each; proposal_folder.h has its files
// Source: Tenant. Used by: executions, tools and bus. All calls are for the loop's thread. Work that waits for the disk
// runs on a thread of the store, one job after the other, so there is one commit or undo at a time. A cancelled call
// runs to its end all the same.
// Errors: not_found, the store has no such proposal (another tenant's id is not found, too); exhausted, the rules allow
// no further proposal; invalid, the proposal or the paths do not fit; denied and unavailable, the disk or the moment.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/proposals/proposal.h"
#include "supervisor/tenants/proposals/proposal_folder.h"

namespace proposals {

// StagingFolder: the folders of one execution, from begin() to settle() or drop(). One that is only destroyed stays on
// the disk, and counts as open, until the store is opened the next time.
struct StagingFolder {
  std::string id;          // of the proposal that it may become
  Fd directory;            // staging/<id>, O_PATH; has the folders `l`, `u` and `w`, with the mode 0700
  int64_t started_ns = 0;  // of the clock that files have
};

class ProposalStore {
 public:
  struct Rules {
    uint64_t bytes = 0;            // the most that all open proposals and the undo store together may hold
    unsigned open = 0;             // the most open proposals
    unsigned undo = 0;             // the newest commits that can be undone; older ones lose their undo
    std::chrono::seconds keep{0};  // open proposals are discarded after this time; 0: never
  };
  struct Counters {  // since the store was opened
    uint64_t commits = 0, conflicts = 0, undone = 0, discarded = 0, expired = 0;
  };
  using Clock = std::function<int64_t()>;  // retention time (base/elapsed_clock.h)

  // `tenant`: the tenant's folder, in which it makes `staging`; `workspace`: its workspace; both O_PATH descriptors
  // that must stay open, on one file system. Completes interrupted commits, and removes folders of executions that a
  // killed daemon left. The loop must outlive the store.
  static Task<Result<std::unique_ptr<ProposalStore>>> open(Loop& loop, int tenant, int workspace, Clock retention = {});
  ~ProposalStore();  // waits for the running job; an interrupted commit is completed by the next open()
  ProposalStore(const ProposalStore&) = delete;

  // New rules apply to later calls; tidy() applies them at once.
  void set_rules(Rules rules) { rules_ = rules; }
  const Rules& rules() const { return rules_; }

  // Whether an execution may begin that may leave a proposal. Undo stores give way, the oldest first. Errors:
  // exhausted, with the rule.
  Task<Result<>> admit();
  // Folders for one jail, which may wait long for its execution.
  Task<Result<StagingFolder>> begin();
  // The bytes and files in the upper folder now, while the program runs.
  Task<Result<StagedUsage>> measure(const StagingFolder& folder);
  // Call it once the jail is gone. `base_changed`: what other programs changed in the workspace since begin(). The
  // state is `none` where no file was changed; the folder is then removed, also after an error.
  Task<Result<Proposal>> settle(StagingFolder folder, ProposalAbout about, tenants::Changes base_changed);
  // Removes the folder of an execution whose changes are not wanted.
  Task<> drop(StagingFolder folder);

  std::vector<Proposal> list() const;  // open, committed and damaged ones; the oldest first
  // Also the last ones that were discarded or undone. Errors: not_found.
  Result<Proposal> find(const std::string& id) const;
  // The folder of an open proposal's new and changed files (O_PATH). Errors: not_found.
  Result<Fd> open_files(const std::string& id) const;
  Task<Result<std::string>> diff(std::string id, size_t max_bytes);
  // No `paths`: all changes. An interference or a conflict is a report, not an error.
  Task<Result<CommitReport>> commit(std::string id, std::vector<std::string> paths);
  // Discards what is not committed: a proposal with commits stays as `committed`, and they can be undone.
  Task<Result<Proposal>> discard(std::string id);
  Task<Result<UndoReport>> undo(std::string id);
  // Discards open proposals that are too old, and removes undo stores beyond the rules. For a timer of the daemon;
  // settle() and commit() do it, too.
  Task<> tidy();

  // What proposals and undo stores hold, without the folders of running executions.
  StagedUsage usage() const;
  size_t open_proposals() const { return count_of(ProposalState::open); }
  size_t running() const { return running_.size(); }
  const Counters& counters() const { return counters_; }

 private:
  struct Folders;
  ProposalStore(Loop& loop, std::shared_ptr<Folders> folders, Clock retention);
  template <class T>
  using Job = std::function<Result<T>(const Folders& folders, const CommitHooks& hooks)>;
  template <class T>
  Task<Result<T>> run(Job<T> job);
  template <class T>
  Task<Result<T>> to_its_end(Task<Result<T>> work);

  Task<Result<bool>> do_admit();
  Task<Result<StagingFolder>> do_begin();
  Task<Result<Proposal>> do_settle(StagingFolder folder, ProposalAbout about, tenants::Changes base_changed);
  Task<Result<bool>> do_drop(StagingFolder folder);
  Task<Result<CommitReport>> do_commit(std::string id, std::vector<std::string> paths);
  Task<Result<Proposal>> do_discard(std::string id);
  Task<Result<Proposal>> discard_rest(std::string id);
  std::string undo_problem(uint64_t bytes) const;
  Task<Result<UndoReport>> do_undo(std::string id);
  Task<Result<bool>> do_tidy();
  Task<Result<bool>> remove(std::string id);
  Task<> refill();
  Result<WorkerThread*> started_worker();
  void job_ended();
  Result<> check_room() const;
  size_t count_of(ProposalState state) const;
  const Proposal* oldest(ProposalState state) const;
  void remember_end(Proposal proposal, ProposalState state);

  Loop& loop_;
  std::shared_ptr<Folders> folders_;
  Clock retention_;
  Rules rules_;
  Counters counters_;
  std::map<std::string, Proposal> proposals_;
  std::set<std::string> running_;
  std::vector<StagingFolder> spares_;
  bool is_refilling_ = false;
  std::deque<Proposal> ended_;  // the newest is the last
  size_t jobs_ = 0;
  std::unique_ptr<WorkerThread> worker_;
  Deadline worker_ends_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace proposals
