// StagingRules: how programs get the workspace, and who decides about the changes of a staged one.
// Source: "workspace" of a policy. Applied by supervisor/tenants/proposals and supervisor/executions. No errors.
#pragma once
#include <chrono>
#include <cstdint>

namespace policies {

// direct: programs change its files. read_only: they read them. staged: what they change is a proposal, and is
// committed or discarded later.
enum class WorkspaceMode { direct, staged, read_only };
// Who commits a proposal. agent: the client. ask: a person. automatic: the daemon, if the program's outcome is ok;
// otherwise the proposal is discarded.
enum class CommitBy { agent, ask, automatic };

struct StagingRules {
  WorkspaceMode mode = WorkspaceMode::direct;
  bool choose = false;  // in the mode direct, a call may ask for a staged workspace
  CommitBy commit = CommitBy::agent;
  uint32_t undo = 0;             // commits that can be undone
  uint32_t open = 0;             // proposals that wait for a decision
  uint64_t proposals_bytes = 0;  // of all open proposals, and of the files that undo would bring back
  std::chrono::seconds keep{0};  // a proposal without a decision is discarded after this time

  bool offers() const { return mode == WorkspaceMode::staged || (mode == WorkspaceMode::direct && choose); }
};

}  // namespace policies
