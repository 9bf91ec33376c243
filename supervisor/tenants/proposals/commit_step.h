// One step of a commit, forward or back. A step that was made already is not made again, so that a journal can be
// continued after a crash. Used by: commit.cc. Errors: those of base/path.h; an interference of another program is no
// error.
#pragma once
#include <string>

#include "supervisor/tenants/proposals/commit_journal.h"

namespace proposals {

enum class StepEnd {
  done,        // by this call or an earlier one
  interfered,  // the workspace has another entry at the path than the journal says; the step was not made
  stopped,     // the daemon ends
};
struct StepReport {
  StepEnd end = StepEnd::done;
  std::string path, why;  // of an interference
};
// What follows a step with an interference: the end, or the next step.
enum class OnInterference { stop, skip };

// `staging`, `workspace`: open folders.
Result<StepReport> step_forward(int staging, int workspace, const JournalRow& row);
Result<StepReport> step_back(int staging, int workspace, const JournalRow& row);

// Writes all of the file system that has the folder to the disk.
Result<> sync_all(int folder);
// Writes the names that the steps have changed to the disk.
Result<> sync_names(int staging, int workspace, const CommitJournal& journal);

}  // namespace proposals
