#include "supervisor/cluster/moves/move_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "policies/names.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/project_quota.h"
#include "supervisor/base/random.h"
#include "supervisor/tenants/executions.h"
#include "supervisor/tenants/named_workspaces.h"
#include "supervisor/tenants/vault_log.h"

namespace moves {
namespace {

constexpr std::string_view kMovesFolder = ".moves", kLeaving = "leaving.", kArriving = "arriving.", kTrash = "trash.";
constexpr char kOutputs[] = "executions";  // folder of a workspace: output, by id of the execution
constexpr size_t kMaxMark = 4096;          // bytes
constexpr unsigned kTrashSlice = 500;
constexpr uint64_t kMaxTrash = 10'000'000'000ull;  // operations: no jail adds files any longer
constexpr uint64_t kBesideBytes = 1 << 30;         // logs of sessions, skills, vault
constexpr uint64_t kBesideEntries = 200'000;
// Folders of the daemon's work at this moment, and of proposals, which name files by inode.
const std::array<const char*, 2> kOfThisNode = {"unfinished", "staging"};
// Folders of a workspace, and their contents in words.
constexpr std::pair<const char*, const char*> kContents[] = {{"workspace", "files"},
                                                             {"staging", "proposals"},
                                                             {"sessions", "sessions or their logs"},
                                                             {"skills", "skills"},
                                                             {"vault", "personal data behind tokens"}};

RelativePath folder_of(const tenants::TenantId& id) {
  return RelativePath::known(
      id.workspace.empty() ? id.account : fmt::format("{}/{}/{}", id.account, tenants::kNamedWorkspaces, id.workspace));
}

Result<std::vector<std::string>> names_in(int folder) { return read_names(FolderReader::at(folder, ".")); }

Result<bool> exists_in(int folder, const std::string& name) {
  struct stat seen {};
  if (::fstatat(folder, name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0) return true;
  return errno == ENOENT ? Result<bool>(false) : fail_path(errno, "look at", name);
}

Result<> sync_all(int folder) {
  TRY(const Fd opened, open_beneath(folder, RelativePath(), O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file_system(opened.get())) return fail_errno(failed, "write to the disk");
  return {};
}

// A new file, on the disk when this returns.
Result<> write_mark(int folder, const std::string& name, const std::string& text) {
  const RelativePath part = RelativePath::known(name + ".new");
  TRY(const Fd file, open_beneath(folder, part, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  CHECKED(write_all(file.get(), text));
  if (const int failed = durable::sync_data(file.get())) return fail_errno(failed, "write to the disk");
  CHECKED(rename_beneath(folder, part, RelativePath::known(name), Existing::replace));
  TRY(const Fd opened, open_beneath(folder, RelativePath(), O_RDONLY | O_DIRECTORY));
  if (const int failed = durable::sync_file(opened.get())) return fail_errno(failed, "write to the disk");
  return {};
}

Result<std::string> read_mark(int folder, const std::string& name, size_t max = kMaxMark) {
  TRY(const Fd file, open_regular_beneath(folder, RelativePath::known(name), O_RDONLY));
  return read_complete(file.get(), max);
}

Result<Json> parse_mark(int folder, const std::string& name) {
  TRY(const std::string text, read_mark(folder, name));
  return parse_json(text);
}

// The entries at the top of a snapshot become part of a tenant's folder.
Result<> check_top(int tree) {
  TRY(const auto names, names_in(tree));
  for (const std::string& name : names) {
    const bool is_of_node = std::find(kOfThisNode.begin(), kOfThisNode.end(), name) != kOfThisNode.end();
    if (is_of_node || name == tenants::kNamedWorkspaces || !policies::valid_name(name))
      return fail(Code::invalid, "the snapshot is refused: it has '" + printable(name, 64) + "' at its top");
  }
  return {};
}

// Only an owner with the right to write can rename a folder.
Result<> take_out(int tenants, int parent, const std::string& name, const std::string& from, const std::string& to) {
  struct stat seen {};
  if (::fstatat(parent, name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(seen.st_mode))
    (void)!::fchmodat(parent, name.c_str(), 0700, 0);
  return rename_beneath(tenants, RelativePath::known(from), RelativePath::known(to), Existing::refuse);
}

// Output of executions that the snapshot does not have stays. `from`: the folder with the contents that it replaced;
// `to`: the workspace's folder. Both are below `tenants`, and end with '/'.
Result<> bring_back_outputs(int tenants, const std::string& from, const std::string& to) {
  TRY(const Fd former, open_directory_beneath(tenants, RelativePath::known(from)));
  TRY(const auto names, names_in(former.get()));
  for (const std::string& name : names) {
    if (!name.starts_with(std::string(kOutputs) + ".")) continue;
    TRY(const Fd outputs, open_directory_beneath(former.get(), RelativePath::known(name)));
    TRY(const Fd target, make_directories_beneath(tenants, RelativePath::known(to + kOutputs), 0700));
    TRY(const auto ids, names_in(outputs.get()));
    for (const std::string& id : ids) {
      if (!tenants::check_execution_id(id)) continue;
      TRY(const bool is_there, exists_in(target.get(), id));
      if (is_there) continue;
      const std::string below = name + "/" + id;
      CHECKED(rename_beneath(tenants, RelativePath::known(from + below),
                             RelativePath::known(fmt::format("{}{}/{}", to, kOutputs, id)), Existing::refuse));
    }
  }
  return {};
}

Result<LeavingHome> read_leaving(int folder, const std::string& name) {
  TRY(const Json mark, parse_mark(folder, name));
  Fields in(mark, name);
  LeavingHome leaving{name, {}, 0};
  TRY(leaving.id.account, in.string("account", 64));
  TRY(leaving.id.workspace, in.string("workspace", 64));
  TRY(const int64_t epoch, in.integer("epoch", 1, int64_t{1} << 53));
  leaving.epoch = static_cast<uint64_t>(epoch);
  CHECKED(in.done());
  CHECKED(tenants::TenantId::parse(leaving.id.text()));  // paths are made of it
  return leaving;
}

Result<ArrivedHome> read_arrived(int folder, const std::string& name) {
  TRY(const Fd inside, open_directory_beneath(folder, RelativePath::known(name)));
  TRY(const Json mark, parse_mark(inside.get(), "complete"));
  Fields in(mark, name);
  const Json* order = in.find("push");
  TRY(const bool is_restored, in.boolean_or("is_restored", false));
  CHECKED(in.done());
  if (!order) return fail(Code::invalid, "no order");
  TRY(cluster::Push push, cluster::read_push(*order, name));
  return ArrivedHome{name, std::move(push), is_restored};
}

}  // namespace

cluster::UnpackLimits unpack_limits(const policies::QuotaRules& quota) {
  return {quota.workspace_bytes + quota.executions_kept_bytes + kBesideBytes, quota.workspace_files + kBesideEntries,
          quota.workspace_bytes, quota.workspace_files};
}

Result<Fd> MoveFiles::folder() const {
  return make_directories_beneath(tenants_, RelativePath::known(kMovesFolder), 0700);
}

Result<LeftMoves> MoveFiles::begin() const {
  LeftMoves left_moves;
  TRY(const Fd moves, folder());
  TRY(const auto names, names_in(moves.get()));
  for (const std::string& name : names) {
    if (name.starts_with(kLeaving) && !name.ends_with(".new")) {
      auto leaving = read_leaving(moves.get(), name);
      if (leaving)
        left_moves.leaving.push_back(*std::move(leaving));
      else
        log_error("a move of an earlier daemon cannot be completed: {}: {}", name, leaving.error().what);
    } else if (auto arrived =
                   name.starts_with(kArriving) ? read_arrived(moves.get(), name) : fail(Code::not_found, "")) {
      left_moves.arrived.push_back(*std::move(arrived));
    } else {
      const auto unlinked = unlink_beneath(moves.get(), RelativePath::known(name), Removing::file);
      if (!unlinked && unlinked.error().code != Code::not_found) left_moves.trash.push_back(name);  // a folder
    }
  }
  return left_moves;
}

Result<LeavingHome> MoveFiles::mark_leaving(const tenants::TenantId& id, uint64_t epoch) const {
  TRY(const Fd moves, folder());
  LeavingHome leaving{std::string(kLeaving) + random_hex(8), id, epoch};
  CHECKED(write_mark(moves.get(), leaving.file,
                     dump_json({{"account", id.account}, {"workspace", id.workspace}, {"epoch", epoch}})));
  return leaving;
}

Result<> MoveFiles::unmark_leaving(const LeavingHome& leaving) const {
  TRY(const Fd moves, folder());
  return unlink_beneath(moves.get(), RelativePath::known(leaving.file), Removing::file);
}

Result<PackedHome> MoveFiles::pack(const tenants::TenantId& id, cluster::SnapshotLabel label, std::string records,
                                   const std::string& to, const std::string& name, const Stop& stop) const {
  TRY(const Fd source, make_directories_beneath(tenants_, folder_of(id), 0700));
  TRY(const Fd moves, to.empty() ? folder() : open_directory(to));
  const std::string part = name.empty() ? std::string(kTrash) + random_hex(8) : name + ".part";
  TRY(Fd created, open_beneath(moves.get(), RelativePath::known(part), O_RDWR | O_CREAT | O_EXCL, 0600));
  TRY(const bool has_vault, exists_in(source.get(), "vault"));
  PackedHome packed{std::make_shared<Fd>(std::move(created)), {}, has_vault};
  if (name.empty()) CHECKED(unlink_beneath(moves.get(), RelativePath::known(part), Removing::file));
  cluster::SnapshotSource from{std::move(label), std::move(records), source.get(), {}};
  from.left_out.assign(kOfThisNode.begin(), kOfThisNode.end());
  if (id.workspace.empty()) from.left_out.emplace_back(tenants::kNamedWorkspaces);
  auto about = cluster::pack_snapshot(packed.file->get(), from, stop);
  if (about && !name.empty()) {
    const int failed = durable::sync_file(packed.file->get());
    if (failed != 0) about = fail_errno(failed, "write to the disk");
    const auto renamed =
        rename_beneath(moves.get(), RelativePath::known(part), RelativePath::known(name), Existing::refuse);
    if (about && !renamed) about = tl::unexpected<Error>(renamed.error());
  }
  if (!about) {
    if (!name.empty()) (void)unlink_beneath(moves.get(), RelativePath::known(part), Removing::file);
    return tl::unexpected<Error>(std::move(about).error());
  }
  packed.about = *std::move(about);
  return packed;
}

Result<std::string> MoveFiles::new_trash() const {
  TRY(const Fd moves, folder());
  std::string name = std::string(kTrash) + random_hex(8);
  TRY(const Fd trash_folder, make_directories_beneath(moves.get(), RelativePath::known(name), 0700));
  return name;
}

Result<std::string> MoveFiles::set_aside(const tenants::TenantId& id) const {
  TRY(const std::string trash, new_trash());
  const std::string below = fmt::format("{}/{}/", kMovesFolder, trash);
  if (!id.workspace.empty()) {
    const auto renamed =
        rename_beneath(tenants_, folder_of(id), RelativePath::known(below + "workspace"), Existing::refuse);
    if (!renamed && renamed.error().code != Code::not_found) return tl::unexpected<Error>(renamed.error());
  } else {
    TRY(const Fd source, make_directories_beneath(tenants_, folder_of(id), 0700));
    TRY(const auto names, names_in(source.get()));
    for (const std::string& name : names) {
      if (name == tenants::kNamedWorkspaces) continue;
      CHECKED(take_out(tenants_, source.get(), name, id.account + "/" + name, below + name));
    }
  }
  CHECKED(sync_all(tenants_));
  return trash;
}

Result<MoveFiles::Arriving> MoveFiles::begin_arriving() const {
  TRY(const Fd moves, folder());
  Arriving arriving{std::string(kArriving) + random_hex(8), nullptr, std::make_shared<cluster::RunningDigest>()};
  TRY(const Fd inside, make_directories_beneath(moves.get(), RelativePath::known(arriving.folder), 0700));
  TRY(Fd packed, open_beneath(inside.get(), RelativePath::known("packed"), O_RDWR | O_CREAT | O_EXCL, 0600));
  arriving.packed = std::make_shared<Fd>(std::move(packed));
  return arriving;
}

Result<MoveFiles::Parked> MoveFiles::open_parked(const std::string& file) const {
  TRY(Fd parked, open_without_links(file, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat seen {};
  if (::fstat(parked.get(), &seen) < 0 || !S_ISREG(seen.st_mode))
    return fail(Code::invalid, file + " is no regular file");
  TRY(cluster::SnapshotLabel label, cluster::read_snapshot_label(parked.get()));
  TRY(const Fd moves, folder());
  Arriving arriving{std::string(kArriving) + random_hex(8), std::make_shared<Fd>(std::move(parked)),
                    std::make_shared<cluster::RunningDigest>()};
  TRY(const Fd inside, make_directories_beneath(moves.get(), RelativePath::known(arriving.folder), 0700));
  return Parked{std::move(arriving), std::move(label)};
}

Result<std::vector<std::string>> MoveFiles::contents(const tenants::TenantId& id) const {
  std::vector<std::string> match;
  const auto folder = open_directory_beneath(tenants_, folder_of(id));
  if (!folder && folder.error().code == Code::not_found) return match;
  if (!folder) return tl::unexpected<Error>(folder.error());
  for (const auto& [name, what] : kContents) {
    TRY(const bool is_there, exists_in(folder->get(), name));
    if (!is_there) continue;
    TRY(const Fd inside, open_directory_beneath(folder->get(), RelativePath::known(name)));
    TRY(const bool has_some, has_entries(FolderReader::at(inside.get(), name)));
    if (has_some) match.emplace_back(what);
  }
  return match;
}

std::string MoveFiles::folder_name(const tenants::TenantId& id) { return folder_of(id).text(); }

Result<> MoveFiles::add(const Arriving& arriving, std::string_view bytes) {
  arriving.digest->add(bytes);
  return write_all(arriving.packed->get(), bytes);
}

// The vault of another machine is sealed with that machine's key.
Result<> MoveFiles::reseal_vault(int tree, const Staging& staging) const {
  TRY(const bool has_vault, exists_in(tree, "vault"));
  if (!has_vault) return {};
  if (!staging.has_vault)
    return fail(Code::invalid, "the snapshot has a vault, and the sender gave no key for the vault");
  tenants::VaultRecords records;
  const auto match = [&records](std::string_view token, std::string_view text, std::chrono::sys_seconds until) {
    records.add(token, text, until);
  };
  const auto before = tenants::VaultLog::open(tree, staging.from_seal, match);
  if (!before && before.error().code == Code::denied)
    return fail(Code::denied, "the vault of personal data is sealed with a key that this node cannot read",
                "restore it on a node that was in the cluster when the file was made, or without the vault: see "
                "units/cluster.md, \"Moving, draining, upgrading\"");
  if (!before) return tl::unexpected<Error>(before.error());
  if (!(*before)->damage().empty()) log_error("the vault of {}: {}", staging.push.id.text(), (*before)->damage());
  CHECKED(remove_tree_beneath(tree, RelativePath::known("vault")));
  const auto none = [](std::string_view, std::string_view, std::chrono::sys_seconds) {};
  TRY(const auto sealed, tenants::VaultLog::open(tree, staging.own_seal, none));
  return sealed->rewrite(records);
}

Result<> MoveFiles::stage(const Arriving& arriving, const Staging& staging, const Stop& stop) const {
  if (!staging.sha256.empty() && arriving.digest->hex() != staging.sha256)
    return fail(Code::invalid, "the snapshot is damaged: it has another digest than its sender says");
  TRY(const Fd moves, folder());
  TRY(const Fd inside, open_directory_beneath(moves.get(), RelativePath::known(arriving.folder)));
  TRY(const Fd tree, make_directories_beneath(inside.get(), RelativePath::known("tree"), 0700));
  {
    TRY(const Fd workspace, make_directories_beneath(tree.get(), RelativePath::known("workspace"), 0700));
    struct stat seen {};
    if (project_quota_enforced(workspace.get()) && ::fstat(workspace.get(), &seen) == 0 && seen.st_ino < kFirstProject)
      (void)set_project(workspace.get(), kFirstProject + static_cast<uint32_t>(seen.st_ino));  // tenants/project.h
  }
  if (::lseek(arriving.packed->get(), 0, SEEK_SET) != 0) return fail_errno(errno, "read the snapshot");
  TRY(const auto unpacked, cluster::unpack_snapshot(arriving.packed->get(), tree.get(), staging.limits, stop));
  const cluster::SnapshotLabel& label = unpacked.label;
  if (label.account != staging.push.id.account || label.workspace != staging.push.id.workspace)
    return fail(Code::invalid, "the snapshot is of another workspace than its sender says");
  CHECKED(check_top(tree.get()));
  CHECKED(reseal_vault(tree.get(), staging));
  CHECKED(write_mark(inside.get(), "records.jsonl", unpacked.records));
  const auto unlinked = unlink_beneath(inside.get(), RelativePath::known("packed"), Removing::file);
  if (!unlinked && unlinked.error().code != Code::not_found) return unlinked;
  CHECKED(sync_all(inside.get()));
  return write_mark(inside.get(), "complete",
                    dump_json({{"push", cluster::write_push(staging.push)}, {"is_restored", staging.sha256.empty()}}));
}

Result<std::string> MoveFiles::install(const ArrivedHome& arrived) const {
  TRY(const Fd moves, folder());
  TRY(const Fd inside, open_directory_beneath(moves.get(), RelativePath::known(arrived.folder)));
  TRY(const Fd tree, open_directory_beneath(inside.get(), RelativePath::known("tree")));
  TRY(const Fd old, make_directories_beneath(inside.get(), RelativePath::known("old"), 0700));
  TRY(const Fd target, make_directories_beneath(tenants_, folder_of(arrived.push.id), 0700));
  const std::string from = fmt::format("{}/{}/", kMovesFolder, arrived.folder);
  const std::string to = folder_of(arrived.push.id).text() + "/";
  TRY(const auto present, names_in(target.get()));
  TRY(const auto names, names_in(tree.get()));
  // Names that were placed before an interruption are in the tree no longer; without names there, all were.
  for (const std::string& name : names.empty() ? std::vector<std::string>() : present) {
    const bool is_saved = arrived.push.id.workspace.empty() && name == tenants::kNamedWorkspaces;
    TRY(const bool is_in_tree, exists_in(tree.get(), name));
    TRY(const bool is_marked, exists_in(old.get(), ".placed-" + name));
    if (is_saved || (!is_in_tree && is_marked)) continue;
    CHECKED(take_out(tenants_, target.get(), name, to + name, from + "old/" + name + "." + random_hex(4)));
  }
  for (const std::string& name : names) {
    TRY(const Fd mark, make_directories_beneath(old.get(), RelativePath::known(".placed-" + name), 0700));
    CHECKED(rename_beneath(tenants_, RelativePath::known(from + "tree/" + name), RelativePath::known(to + name),
                           Existing::refuse));
  }
  CHECKED(bring_back_outputs(tenants_, from + "old/", to));
  CHECKED(sync_all(tenants_));
  return read_mark(inside.get(), "records.jsonl", cluster::kMaxRecords);
}

Result<std::string> MoveFiles::give_up(const std::string& folder_name) const {
  TRY(const Fd moves, folder());
  const auto unmarked = unlink_beneath(moves.get(), RelativePath::known(folder_name + "/complete"), Removing::file);
  if (!unmarked && unmarked.error().code != Code::not_found) return tl::unexpected<Error>(unmarked.error());
  return folder_name;
}

Result<> MoveFiles::empty_trash(const std::string& trash, const Stop& stop) const {
  TRY(const Fd moves, folder());
  TRY(TreeRemoval removal, TreeRemoval::begin(moves.get(), RelativePath::known(trash), kMaxTrash));
  for (;;) {
    TRY(const bool removed, removal.step(kTrashSlice));
    if (removed) return {};
    if (stop()) return fail(Code::unavailable, "the daemon ends; the next start continues");
  }
}

}  // namespace moves
