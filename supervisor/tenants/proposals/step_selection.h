// Step selection: the steps of a commit for some paths only. A new folder of which only some entries are
// asked for is split: the folder is made, and its entries become steps of their own.
// Source: the `paths` of a commit, from a client. Used by: proposal_folder.cc. Errors: invalid, a path that names no
// change, or a part of a folder that moves as a whole; those of base/path.h.
#pragma once
#include <string>
#include <vector>

#include "supervisor/tenants/proposals/upper_layer.h"

namespace proposals {

struct CreatedFolder {
  std::string path;  // in the workspace
  uint32_t mode = 0;
};

struct StepSelection {
  std::vector<StagedStep> chosen, rest;    // sorted by path
  std::vector<CreatedFolder> new_folders;  // folders of chosen steps that must be made first, parents first
};

// `paths`: as lists show them or as they are on disk; an empty list: all steps. "." is all steps, too. `upper`: an open
// folder.
Result<StepSelection> select_steps(std::vector<StagedStep> steps, const std::vector<std::string>& paths, int upper);

constexpr size_t kMaxSelectedPaths = 1000;

}  // namespace proposals
