// SessionStaging: the staged workspace of one session, from its first program to the one proposal of all its programs.
// A session's jail keeps its mount from program to program, so a proposal exists only when the session is over. What
// other programs change in the workspace meanwhile may stay unseen in the session (overlayfs.rst, "Changes to
// underlying filesystems"); where both changed a file, it is in conflict. Source: sessions.h makes one for each staged
// session. Used by: workspace_guard.h, runs/code_execution.cc. Errors: those of ProposalStore; exhausted,
// with the rule, where the changes are more than the quota allows.
#pragma once
#include <memory>
#include <optional>

#include "supervisor/executions/staged_workspace.h"
#include "supervisor/tenants/workspace.h"

namespace tenants {
class Tenant;
}

namespace executions {

class SessionStaging : public std::enable_shared_from_this<SessionStaging> {
 public:
  // The loop must outlive it.
  SessionStaging(Loop& loop, std::shared_ptr<tenants::Tenant> tenant, std::shared_ptr<proposals::ProposalStore> store);

  // The folder of the session's jail. No effect if it has this folder already.
  void begin(std::shared_ptr<jail::OverlayFolder> folder);
  // Before each program. From the first one on, what others change in the workspace is remembered.
  Task<> watch_peers();
  // What all programs of the session have written so far.
  Task<Result<proposals::StagedUsage>> measure();
  const proposals::StagedUsage& last_measured() const { return last_; }
  // Whether the session holds more than the workspace may still take.
  bool is_over_quota() const;

  // The proposal is that of the last program.
  void program_begins(proposals::ProposalAbout about);
  void program_ended(bool is_ok) { ended_well_ = is_ok; }
  // The session is over, and takes no further program.
  void end() { is_over_ = true; }
  bool is_over() const { return is_over_; }
  // The last program ended with the outcome `ok`.
  bool ended_well() const { return ended_well_; }

  // Call it after end(). Waits until the session's jail is gone. Without changed files, Proposal::state is `none`.
  // After a cancelled call the work goes on, and the next call has its result; after a call that returned, there is
  // none.
  Task<Result<proposals::Proposal>> settle();
  bool is_settled() const { return is_settled_; }
  const proposals::ProposalStore& store() const { return staged_.store(); }

 private:
  Task<tenants::Changes> peer_changes();
  static Task<> keep_settled(std::shared_ptr<SessionStaging> self);
  Task<Result<proposals::Proposal>> make_proposal();

  Loop& loop_;
  std::shared_ptr<tenants::Tenant> tenant_;
  StagedWorkspace staged_;
  const jail::OverlayFolder* started_ = nullptr;  // only compared
  std::optional<tenants::WorkspaceBefore> before_;
  proposals::StagedUsage last_;
  proposals::ProposalAbout about_;
  bool ended_well_ = false, is_over_ = false, is_settling_ = false, is_settled_ = false;
  Event settled_;
  Result<proposals::Proposal> result_;
};

}  // namespace executions
