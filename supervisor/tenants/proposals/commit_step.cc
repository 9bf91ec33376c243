#include "supervisor/tenants/proposals/commit_step.h"

#include <fcntl.h>

#include "supervisor/base/durable.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"

namespace proposals {
namespace {

constexpr size_t kSyncedOneByOne = 8;  // folders; more are written by one call for the whole file system

StepReport interfered(const JournalRow& row, std::string why) {
  return {StepEnd::interfered, row.path, std::move(why)};
}

// An errno of move_entry(). Errors: those that no other program causes.
Result<StepReport> moved_or(int err, const JournalRow& row) {
  switch (err) {
    case 0:
      return StepReport{};
    case EEXIST:
      return interfered(row, "it was created during the commit");
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return interfered(row, "its folder was removed or replaced");
    default:
      return fail_path(err, "move", valid_utf8(row.path));
  }
}

class StepTarget {
 public:
  StepTarget(int staging, int workspace, const JournalRow& row) : staging_(staging), workspace_(workspace), row_(row) {}

  // {} where there is no entry.
  Result<FileIdentity> in_workspace() const { return identity_at(workspace_, row_.path); }
  Result<FileIdentity> in_staging() const { return identity_at(staging_, row_.staged); }

  Result<StepReport> move_in() const {
    return moved_or(move_entry({staging_, row_.staged}, {workspace_, row_.path}, RenameMode::to_free_name), row_);
  }
  Result<StepReport> move_out() const {
    return moved_or(move_entry({workspace_, row_.path}, {staging_, row_.staged}, RenameMode::to_free_name), row_);
  }
  Result<StepReport> exchange() const {
    return moved_or(move_entry({staging_, row_.staged}, {workspace_, row_.path}, RenameMode::exchange), row_);
  }
  // After a move, which may have widened the mode of a moved folder.
  Result<StepReport> with_mode(bool is_folder, uint32_t mode) const {
    if (!is_folder) return StepReport{};
    TRY(const auto now, find_entry(workspace_, row_.path));
    if (now && now->mode != mode && now->kind == tenants::FileKind::directory)
      CHECKED(set_mode(workspace_, row_.path, mode));
    return StepReport{};
  }

 private:
  static Result<FileIdentity> identity_at(int root, const std::string& path) {
    TRY(const auto entry, find_entry(root, path));
    return entry ? identity_of(*entry) : FileIdentity{};
  }
  int staging_, workspace_;
  const JournalRow& row_;
};

Result<StepReport> replace_forward(const StepTarget& target, const JournalRow& row) {
  TRY(const FileIdentity now, target.in_workspace());
  if (now == row.fresh) return target.with_mode(row.is_folder, row.fresh_mode);
  TRY(const FileIdentity staged, target.in_staging());
  if (staged != row.fresh) return interfered(row, "the staged file is not there any longer");
  if (now != row.base) return interfered(row, "it was replaced or removed during the commit");
  TRY(StepReport moved, target.exchange());
  if (moved.end != StepEnd::done) return moved;
  TRY(const FileIdentity out, target.in_staging());
  if (out == row.base) return target.with_mode(row.is_folder, row.fresh_mode);
  TRY(moved, target.exchange());  // another program was faster: its entry goes back
  return interfered(row, "it was replaced during the commit");
}

Result<StepReport> create_forward(const StepTarget& target, const JournalRow& row) {
  TRY(const FileIdentity now, target.in_workspace());
  if (now == row.fresh) return target.with_mode(row.is_folder, row.fresh_mode);
  TRY(const FileIdentity staged, target.in_staging());
  if (staged != row.fresh) return interfered(row, "the staged file is not there any longer");
  TRY(StepReport moved, target.move_in());
  if (moved.end != StepEnd::done) return moved;
  return target.with_mode(row.is_folder, row.fresh_mode);
}

Result<StepReport> remove_forward(const StepTarget& target, const JournalRow& row) {
  TRY(const FileIdentity out, target.in_staging());
  if (out == row.base) return StepReport{};
  TRY(const FileIdentity now, target.in_workspace());
  if (now != row.base) return interfered(row, "it was replaced or removed during the commit");
  TRY(StepReport moved, target.move_out());
  if (moved.end != StepEnd::done) return moved;
  TRY(const FileIdentity removed, target.in_staging());
  if (removed == row.base) return StepReport{};
  TRY(moved, target.move_in());
  return interfered(row, "it was replaced during the commit");
}

// From the mode `from` to the mode `to`.
Result<StepReport> change_folder_mode(int workspace, const JournalRow& row, uint32_t from, uint32_t to) {
  TRY(const auto now, find_entry(workspace, row.path));
  if (!now || identity_of(*now) != row.base) return interfered(row, "the folder was replaced or removed");
  if (now->mode == to) return StepReport{};
  if (now->mode != from && now->mode != (from | 0700)) return interfered(row, "its mode was changed");
  CHECKED(set_mode(workspace, row.path, to));
  return StepReport{};
}

}  // namespace

Result<StepReport> step_forward(int staging, int workspace, const JournalRow& row) {
  const StepTarget target(staging, workspace, row);
  switch (row.kind) {
    case StepKind::create:
      return create_forward(target, row);
    case StepKind::replace:
      return replace_forward(target, row);
    case StepKind::remove:
      return remove_forward(target, row);
    case StepKind::mode:
      return change_folder_mode(workspace, row, row.base_mode, row.fresh_mode);
  }
  return StepReport{};
}

Result<StepReport> step_back(int staging, int workspace, const JournalRow& row) {
  const StepTarget target(staging, workspace, row);
  if (row.kind == StepKind::mode) return change_folder_mode(workspace, row, row.fresh_mode, row.base_mode);
  TRY(const FileIdentity now, target.in_workspace());
  TRY(const FileIdentity staged, target.in_staging());
  switch (row.kind) {
    case StepKind::create:
      if (staged == row.fresh) return StepReport{};
      if (now != row.fresh) return interfered(row, "it was replaced or removed");
      return target.move_out();
    case StepKind::replace: {
      if (now == row.base) return target.with_mode(row.was_folder, row.base_mode);
      if (now != row.fresh || staged != row.base) return interfered(row, "it was replaced or removed");
      TRY(StepReport moved, target.exchange());
      if (moved.end != StepEnd::done) return moved;
      return target.with_mode(row.was_folder, row.base_mode);
    }
    default: {
      if (now == row.base) return target.with_mode(row.was_folder, row.base_mode);
      if (staged != row.base) return interfered(row, "the removed file is not there any longer");
      TRY(StepReport moved, target.move_in());
      if (moved.end != StepEnd::done) return moved;
      return target.with_mode(row.was_folder, row.base_mode);
    }
  }
}

Result<> sync_all(int folder) {
  TRY(const Fd opened, open_listed_beneath(folder, ".", O_RDONLY | O_DIRECTORY));  // syncfs(2) takes no O_PATH
  const int err = durable::sync_file_system(opened.get());
  return err == 0 ? Result<>{} : fail_path(err, "write", "the file system of the workspace");
}

Result<> sync_names(int staging, int workspace, const CommitJournal& journal) {
  if (journal.parents.size() > kSyncedOneByOne) return sync_all(staging);
  for (const ParentFolder& parent : journal.parents) {
    const auto folder = open_listed_beneath(workspace, parent.path.empty() ? "." : parent.path, O_RDONLY | O_DIRECTORY);
    if (!folder) continue;  // it was removed or made unreadable meanwhile
    if (const int err = durable::sync_file(folder->get())) return fail_path(err, "write", valid_utf8(parent.path));
  }
  return {};
}

}  // namespace proposals
