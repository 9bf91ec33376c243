#include "supervisor/tenants/proposals/file_changes.h"

#include <map>

#include "supervisor/base/json/json.h"
#include "supervisor/tenants/index/changes.h"
#include "supervisor/tenants/index/interpreter_files.h"

namespace proposals {
namespace {

using tenants::Entry;
using tenants::FileKind;

struct SideEntry {
  Entry entry;
  std::string path;  // below the side's folder
};
// By path below the step's entry; "" is the entry itself. Folders are not in it, as they are no files.
using SideFiles = std::map<std::string, SideEntry>;

Result<SideFiles> files_of_side(int root, const std::string& path, uint64_t& remaining_entries) {
  SideFiles files;
  if (path.empty()) return files;
  TRY(const auto top, find_entry(root, path));
  if (!top) return files;
  if (top->kind != FileKind::directory) {
    files.emplace("", SideEntry{*top, path});
    return files;
  }
  CHECKED(each_below(root, path, remaining_entries, [&](const std::string& at, const Entry& entry) -> Result<> {
    if (entry.kind != FileKind::directory) files.emplace(at.substr(path.size() + 1), SideEntry{entry, at});
    return {};
  }));
  return files;
}

std::string path_below(const std::string& step, const std::string& below) {
  return below.empty() ? step : joined(step, below);
}

void add_to(StagedFiles::List& list, const FileChange& change) {
  if (!list.room.take(change.path, list.files.size(), tenants::kListedChanges)) {
    list.omitted++;
    list.beyond.add(change.path);
    return;
  }
  StagedFile file;
  file.path = valid_utf8(change.path);
  file.bytes = change.after ? change.after->size : change.before->size;
  if (change.after && change.before) file.bytes_before = change.before->size;
  list.files.push_back(std::move(file));
}

}  // namespace

Result<> each_file_change(const StagedStep& step, const StepSides& sides, uint64_t& remaining_entries,
                          const std::function<Result<bool>(const FileChange&)>& use) {
  if (step.kind == StepKind::mode) {
    TRY(const auto before, find_entry(sides.before, sides.before_path));
    FileChange change;
    change.path = step.path;
    change.before = before;
    change.after = before;
    if (change.after) change.after->mode = step.fresh.mode;
    if (change.before) change.before->mode = step.base.mode;
    TRY([[maybe_unused]] const bool more, use(change));
    return {};
  }
  TRY(const SideFiles before, files_of_side(sides.before, sides.before_path, remaining_entries));
  TRY(const SideFiles after, files_of_side(sides.after, sides.after_path, remaining_entries));
  auto old_file = before.begin();
  auto new_file = after.begin();
  while (old_file != before.end() || new_file != after.end()) {
    const bool has_old = old_file != before.end() && (new_file == after.end() || old_file->first <= new_file->first);
    const bool has_new = new_file != after.end() && (old_file == before.end() || new_file->first <= old_file->first);
    FileChange change;
    change.path = path_below(step.path, has_old ? old_file->first : new_file->first);
    if (has_old) {
      change.before = old_file->second.entry;
      change.before_path = old_file->second.path;
      ++old_file;
    }
    if (has_new) {
      change.after = new_file->second.entry;
      change.after_path = new_file->second.path;
      ++new_file;
    }
    TRY(const bool more, use(change));
    if (!more) return {};
  }
  return {};
}

Result<StagedFiles> list_files(const std::vector<StagedStep>& steps, int upper, int workspace) {
  StagedFiles lists;
  uint64_t remaining_entries = 2 * kMaxEntries;
  for (const StagedStep& step : steps) {
    StepSides sides{workspace, upper, "", ""};
    if (step.kind != StepKind::create) sides.before_path = step.path;
    if (step.kind != StepKind::remove) sides.after_path = step.path;
    CHECKED(each_file_change(step, sides, remaining_entries, [&](const FileChange& change) -> Result<bool> {
      if (step.kind == StepKind::mode || tenants::is_of_interpreter(change.path)) return true;
      add_to(!change.before ? lists.created : change.after ? lists.modified : lists.deleted, change);
      return true;
    }));
  }
  return lists;
}

}  // namespace proposals
