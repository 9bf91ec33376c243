// Commit: moves the entries of a proposal into the workspace, all or none, also when the daemon is killed at any
// moment. Every step is one rename that keeps the entry that it replaces: a new entry gets a free name, a replaced
// entry changes places with the new one, a removed entry moves into `old`. So the staging folder becomes the store of
// the undo. Source: chosen steps without conflicts. Used by: proposal_folder.cc. Works on the calling thread and waits
// for the disk. Errors: those of base/path.h; the journal then has the state in which roll() continues.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "supervisor/tenants/proposals/commit_journal.h"
#include "supervisor/tenants/proposals/conflicts.h"
#include "supervisor/tenants/proposals/step_selection.h"

namespace proposals {

struct CommitTarget {
  int staging = -1, workspace = -1;  // open folders of one file system
};

struct CommitHooks {
  // Called before each change of the disk. Tests end the process in it.
  std::function<void()> before_step = [] {};
  // True: the daemon ends. The steps that are left are made by the next roll().
  std::function<bool()> must_stop = [] { return false; };
};

// Makes the folders that the steps need in the staging folder, and writes the staged files to the disk. The journal is
// not written yet. Errors: also unavailable, a staged entry is not as it was recorded.
Result<CommitJournal> prepare_commit(const CommitTarget& target, unsigned number, const StepSelection& selection,
                                     const CommitHooks& hooks);

enum class RollEnd {
  done,         // all steps are made
  withdrawn,    // another program interfered; no step is made, and the journal is removed
  undone,       // all steps are taken back
  interrupted,  // CommitHooks::must_stop
};
struct RollResult {
  RollEnd end = RollEnd::done;
  PathConflicts conflicts;  // of an interference: why the commit or the undo did not happen
};
// Continues the journal from its state to an end: of a new commit, of an undo, of the work of a daemon that was killed.
// `journal` then has the state on the disk. A journal that is `done` or `undone` is at its end. Errors: a step
// failed (a full disk); all steps were then made the other way, or the next roll() continues.
Result<RollResult> roll(const CommitTarget& target, CommitJournal& journal, const CommitHooks& hooks);

// Checks that the entries of a commit that is done were not changed since. If so, writes the journal in the state
// `back`: roll() then takes the steps back.
Result<PathConflicts> begin_undo(const CommitTarget& target, CommitJournal& journal, const CommitHooks& hooks);

}  // namespace proposals
