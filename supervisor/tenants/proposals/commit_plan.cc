// The plan of a commit: its journal's rows, the folders that they need, and staged files that are safe on the disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "supervisor/base/durable.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/base/random.h"
#include "supervisor/tenants/proposals/commit.h"
#include "supervisor/tenants/proposals/commit_step.h"

namespace proposals {
namespace {

using tenants::FileKind;

constexpr size_t kFilesSyncedOneByOne = 8;

Result<> make_folder(int root, const std::string& path, uint32_t mode) {
  TRY(const Fd parent, open_folder(root, folder_of(path)));
  if (::mkdirat(parent.get(), name_in_folder(path).c_str(), 0700) < 0 && errno != EEXIST)
    return fail_path(errno, "create folder", valid_utf8(path));
  return set_mode(root, path, mode);
}

tl::unexpected<Error> lost_data(const std::string& path) {
  return fail(
      Code::unavailable,
      "the staged file '" + valid_utf8(path) +
          "' is not as the program left it: the machine stopped before the disk had it, or a backup was restored",
      "discard the proposal and run the program again");
}

class CommitPlan {
 public:
  CommitPlan(const CommitTarget& target, unsigned number) : target_(target) { journal_.number = number; }

  Result<CommitJournal> plan(const StepSelection& selection, const CommitHooks& hooks) {
    hooks.before_step();
    if (!selection.new_folders.empty()) CHECKED(make_folder(target_.staging, "made", 0700));
    CHECKED(make_folder(target_.staging, "old", 0700));
    for (const CreatedFolder& folder : selection.new_folders) CHECKED(add_made(folder, hooks));
    for (const StagedStep& step : selection.chosen) CHECKED(add(step));
    CHECKED(note_parents());
    hooks.before_step();
    CHECKED(sync_contents());
    return std::move(journal_);
  }

 private:
  std::string numbered(const char* folder) const {
    return fmt::format("{}/{}.{}-{}", folder, journal_.number, journal_.rows.size(), tag_);
  }

  Result<> add_made(const CreatedFolder& folder, const CommitHooks& hooks) {
    JournalRow row;
    row.path = folder.path;
    row.staged = numbered("made");
    hooks.before_step();
    CHECKED(make_folder(target_.staging, row.staged, folder.mode));
    TRY(const auto entry, find_entry(target_.staging, row.staged));
    if (!entry) return lost_data(folder.path);
    row.fresh = identity_of(*entry);
    row.fresh_mode = folder.mode;
    row.is_folder = true;
    journal_.rows.push_back(std::move(row));
    return {};
  }

  Result<> add(const StagedStep& step) {
    JournalRow row;
    row.kind = step.kind;
    row.path = step.path;
    if (step.kind == StepKind::create || step.kind == StepKind::replace) {
      row.staged = joined("u", step.path);
      TRY(const FreshEntry now, fresh_entry(target_.staging, row.staged, remaining_entries_));
      if (now != step.fresh) return lost_data(step.path);
      row.fresh = now.identity;
      row.is_folder = now.kind == FileKind::directory;
      if (now.kind == FileKind::file) files_.push_back(row.staged);
      has_folders_ |= row.is_folder;
    }
    row.fresh_mode = step.fresh.mode;
    if (step.kind == StepKind::remove) row.staged = numbered("old");
    if (step.kind != StepKind::create) {
      TRY(const auto base, find_entry(target_.workspace, step.path));
      if (!base)
        return fail(Code::unavailable, "'" + valid_utf8(step.path) + "' was removed a moment ago",
                    "commit again to see the conflicts");
      row.base = identity_of(*base);
      row.base_mode = base->mode;
      row.was_folder = base->kind == FileKind::directory;
    }
    journal_.rows.push_back(std::move(row));
    return {};
  }

  // Folders that this commit makes have no earlier state.
  Result<> note_parents() {
    std::set<std::string> paths;
    for (const JournalRow& row : journal_.rows) paths.insert(folder_of(row.path));
    for (const std::string& path : paths) {
      TRY(const auto entry, find_entry(target_.workspace, path));
      if (entry && entry->kind == FileKind::directory)
        journal_.parents.push_back({path, identity_of(*entry), entry->mode, entry->mtime_ns, 0, false});
    }
    return {};
  }

  // The overlay was mounted `volatile`: no file of the upper folder was synced.
  Result<> sync_contents() const {
    if (has_folders_ || files_.size() > kFilesSyncedOneByOne) return sync_all(target_.staging);
    for (const std::string& path : files_) {
      const auto file = open_regular(target_.staging, path);
      if (!file) return sync_all(target_.staging);
      if (const int err = durable::sync_file(file->get())) return fail_path(err, "write", valid_utf8(path));
    }
    return {};
  }

  CommitTarget target_;
  std::string tag_ = random_hex(4);  // an earlier attempt may have left folders
  CommitJournal journal_;
  uint64_t remaining_entries_ = 2 * kMaxEntries;
  std::vector<std::string> files_;
  bool has_folders_ = false;
};

}  // namespace

Result<CommitJournal> prepare_commit(const CommitTarget& target, unsigned number, const StepSelection& selection,
                                     const CommitHooks& hooks) {
  return CommitPlan(target, number).plan(selection, hooks);
}

}  // namespace proposals
