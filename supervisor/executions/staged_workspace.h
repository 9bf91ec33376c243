// StagedWorkspace: the staging folder of one jail, from its begin to the proposal that its programs leave.
// Source: the tenant's ProposalStore, which gives folders to jails; a jail that waits has its folder already.
// Used by: workspace_guard.h, session_staging.h. Errors: those of ProposalStore.
#pragma once
#include <memory>
#include <optional>

#include "jail/workspace_mount.h"
#include "supervisor/base/loop.h"
#include "supervisor/tenants/proposals/proposal_store.h"

namespace executions {

// Gives staging folders of the store to jails, and takes back those that no program used.
std::shared_ptr<jail::OverlayFolders> staging_folders(Loop& loop, std::shared_ptr<proposals::ProposalStore> store);

// The same files as a list of changes.
tenants::Changes changes_of(const proposals::StagedFiles& files);

class StagedWorkspace {
 public:
  // The loop must outlive it.
  StagedWorkspace(Loop& loop, std::shared_ptr<proposals::ProposalStore> store)
      : loop_(loop), store_(std::move(store)) {}

  // The folder of the jail that the execution got.
  void begin(std::shared_ptr<jail::OverlayFolder> folder);
  // The size of what the program has written so far; 0 before begin().
  Task<Result<proposals::StagedUsage>> measure();
  // Asked when the program has answered and its jail still lives. True: there are changed files, and the jail must end
  // before they are read. False: there is no proposal, and later writes of the ending jail are dropped with the folder.
  Task<bool> has_changes();
  // Waits until no jail has the folder: from then on, nobody changes its files. Call settle() afterwards.
  Task<> wait_until_unused();
  // Call it once, when the jail has ended, or has_changes() was false. `changes`: the changes of other programs in the
  // workspace since `started_ns`, the begin of this program. Without changed files, Proposal::state is `none`.
  Task<Result<proposals::Proposal>> settle(proposals::ProposalAbout about, tenants::Changes changes,
                                           int64_t started_ns);

  Task<> discard(std::string proposal);
  const proposals::ProposalStore& store() const { return *store_; }

 private:
  bool is_untouched() const;

  Loop& loop_;
  std::shared_ptr<proposals::ProposalStore> store_;
  std::shared_ptr<jail::OverlayFolder> folder_;
  std::optional<proposals::StagingFolder> unused_;  // after wait_until_unused()
  int64_t upper_ctime_ns_ = 0;  // of the upper folder, before the program began; 0: it was made only just now
  bool is_unchanged_ = false;
};

}  // namespace executions
