// StagedWorkspace: the staging folder of one execution, from its jail to the proposal that its program leaves.
// Source: the tenant's ProposalStore, which gives folders to jails; a jail that waits has its folder already.
// Used by: workspace_guard.h. Errors: those of ProposalStore.
#pragma once
#include <memory>

#include "jail/execution.h"
#include "supervisor/base/loop.h"
#include "supervisor/proposals/proposal_store.h"

namespace executions {

// Gives staging folders of the store to jails, and takes back those that no program used.
std::shared_ptr<jail::StagingFolders> staging_folders(Loop& loop, std::shared_ptr<proposals::ProposalStore> store);

class StagedWorkspace {
 public:
  explicit StagedWorkspace(std::shared_ptr<proposals::ProposalStore> store) : store_(std::move(store)) {}

  // The folder of the jail that the execution got.
  void begin(std::shared_ptr<jail::StagingFolder> folder) { folder_ = std::move(folder); }
  // What the program has written so far; nothing before begin().
  Task<Result<proposals::StagedUsage>> measure();
  // Asked when the program has answered and its jail lives on. True: the program changed something, so the jail must
  // end before the changes are read. False: there is no proposal, whatever the dying jail still writes.
  Task<bool> has_changes();
  // Call it once, when the jail cannot change the folder any more, or had changed nothing. `others`: what other
  // programs changed in the workspace since `begun_ns`, when this program began. Proposal::state is `none` if nothing
  // changed.
  Task<Result<proposals::Proposal>> settle(proposals::ProposalAbout about, tenants::Changes others, int64_t begun_ns);

 private:
  std::shared_ptr<proposals::ProposalStore> store_;
  std::shared_ptr<jail::StagingFolder> folder_;
  bool is_unchanged_ = false;
};

}  // namespace executions
