// Conflicts: the paths of a proposal that another program has changed in the workspace, while the proposal's program
// ran or afterwards.
// Source: the steps of a proposal, the changes that the workspace's index saw, and the workspace now. Used by:
// proposal_folder.cc. Errors: those of base/path.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/proposals/upper_layer.h"

namespace proposals {

struct PathConflict {
  std::string path;  // valid UTF-8
  std::string why;   // "it was changed meanwhile"
};

struct PathConflicts {
  std::vector<PathConflict> listed;  // at most tenants::kListedChanges
  uint64_t omitted = 0;              // conflicts that are not in `listed`
  bool empty() const { return listed.empty(); }
  void add(const std::string& path, std::string why);
};

// BaseChanges: what other programs changed in the workspace while the proposal's program ran.
struct BaseChanges {
  tenants::Changes changes;
  int64_t started_ns = 0;  // when the staging folder was given out; the clock of files
};

// Splits `steps` into those that can be made and those that are in conflict. A step is in conflict if its path, a path
// above it or a path below it is in `changes`; or if its entry in the workspace differs from the recorded one.
struct JudgedSteps {
  std::vector<StagedStep> clean;  // without the conflicting ones
  PathConflicts conflicts;
};
// `by`: the recorded changes alone need no look at the workspace.
enum class JudgedBy { changes, changes_and_workspace };
Result<JudgedSteps> judge_steps(const std::vector<StagedStep>& steps, const BaseChanges& changes, int workspace,
                                JudgedBy by);

}  // namespace proposals
