// StagedFiles: the files that steps create, modify and delete, with their sizes, as answers list them. The contents of
// new, replaced and removed folders are listed, too. Files that interpreters make for themselves are not
// (tenants/index/interpreter_files.h): no proposal has them.
// Source: the steps, the folder of their new entries and the folder of their old ones. Used by: proposal_folder.cc,
// text_diff.cc. Errors: those of base/path.h; exhausted, folders with too many entries.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/proposals/upper_layer.h"

namespace proposals {

struct StagedFile {
  std::string path;           // valid UTF-8
  uint64_t bytes = 0;         // of the new file; deleted: of the old file
  uint64_t bytes_before = 0;  // modified: of the old file; otherwise 0
};

struct StagedFiles {
  struct List {
    std::vector<StagedFile> files;  // sorted by path, at most tenants::kListedChanges
    uint64_t omitted = 0;           // changes that are not in `files`
    tenants::FolderCounts beyond;   // where these are; not stored
    tenants::ListRoom room;
  };
  List created, modified, deleted;
};

// FileChange: one file of a step, on both sides. A side without the file has no entry.
struct FileChange {
  std::string path;  // bytes as they are on disk
  std::optional<tenants::Entry> before, after;
  std::string before_path, after_path;  // below the folders of the call
};

// Where a step's entries are: its old entry in `before`, its new entry in `after`.
struct StepSides {
  int before = -1, after = -1;          // open folders
  std::string before_path, after_path;  // of the step's entry below them; empty: this side has no entry
};
// Calls `use` for each file, link and folder mode that the step changes. `remaining_entries` counts down. False of
// `use` ends the walk.
Result<> each_file_change(const StagedStep& step, const StepSides& sides, uint64_t& remaining_entries,
                          const std::function<Result<bool>(const FileChange&)>& use);
// The lists of steps that are not committed: `upper` and `workspace` are open folders.
Result<StagedFiles> list_files(const std::vector<StagedStep>& steps, int upper, int workspace);

}  // namespace proposals
