#include "supervisor/tenants/workspace.h"

#include <algorithm>

#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/tree.h"
#include "supervisor/tenants/new_file.h"

namespace tenants {
namespace {

constexpr mode_t kFileMode = 0644;  // in the workspace's folder, which has mode 0700
constexpr mode_t kDirectoryMode = 0755;

}  // namespace

// The target of a write: the existing file, or the folders to make.
struct Workspace::Target {
  std::optional<Entry> existing;
  std::vector<RelativePath> missing_folders;  // outermost first
};

Result<FileRange> read_range(int file, uint64_t offset, size_t limit) {
  struct stat info;
  if (::fstat(file, &info) < 0) return fail_errno(errno, "look at the file");
  FileRange range;
  range.offset = offset;
  range.size = static_cast<uint64_t>(info.st_size);
  if (offset >= range.size) return range;
  range.bytes.resize(static_cast<size_t>(std::min<uint64_t>(limit, range.size - offset)));
  const ssize_t got = read_fully_at(file, range.bytes.data(), range.bytes.size(), offset);
  if (got < 0) return fail_errno(errno, "read");
  range.bytes.resize(static_cast<size_t>(got));  // fewer bytes: truncated meanwhile
  return range;
}

Result<Fd> Workspace::open_file(const RelativePath& path) const {
  return open_regular_beneath(directory_.get(), path, O_RDONLY);
}

Result<FileRange> Workspace::read(const RelativePath& path, uint64_t offset, size_t limit) const {
  TRY(Fd file, open_file(path));
  return read_range(file.get(), offset, limit);
}

Task<Result<Listing>> Workspace::list(RelativePath path, ListOptions options) {
  WalkBounds bounds;
  bounds.depth = options.depth;
  CO_TRY(Walk walk, Walk::begin(directory_.get(), path, bounds, WalkOrder::sorted));
  Listing listing;
  std::vector<Entry> batch;
  for (;;) {
    batch.clear();
    CO_TRY(bool ended, walk.step(kSlice, batch));
    for (Entry& entry : batch) {
      if (entry.kind == FileKind::directory && options.folders == ListOptions::Folders::left_out) continue;
      if (listing.entries.size() == options.limit) {
        listing.more = true;
        co_return listing;
      }
      listing.entries.push_back(std::move(entry));
    }
    if (ended) break;
    co_await next_turn(loop_);
  }
  listing.more = !walk.missed().empty();
  co_return listing;
}

Task<Result<uint64_t>> Workspace::write(RelativePath path, std::string bytes, WriteMode mode) {
  CO_CHECKED(co_await count());
  co_return write_now(path, bytes, mode);
}

Result<Workspace::Target> Workspace::examine(const RelativePath& path, WriteMode mode) const {
  if (path.is_root()) return fail_path(EISDIR, "write", path.text());
  Target target;
  auto existing = describe(directory_.get(), path);
  if (existing) {
    switch (existing->kind) {
      case FileKind::directory:
        return fail_path(EISDIR, "write", path.text());
      case FileKind::link:
        return fail_path(ELOOP, "write", path.text());
      case FileKind::other:
        return fail_path(ENXIO, "write", path.text());
      case FileKind::file:
        break;
    }
    if (existing->links > 1)
      return fail(
          Code::denied,
          "cannot write '" + path.text() + "': it has " + std::to_string(existing->links) + " names (hard links)",
          "delete this name first: only files with one name can be changed");
    if (mode == WriteMode::create) return fail_path(EEXIST, "create", path.text());
    target.existing = std::move(*existing);
    return target;
  }
  if (existing.error().code != Code::not_found) return fail_path(existing.error().err, "write", path.text());
  for (RelativePath folder = path.parent(); !folder.is_root(); folder = folder.parent()) {
    if (describe(directory_.get(), folder)) break;
    target.missing_folders.insert(target.missing_folders.begin(), folder);
  }
  return target;
}

Result<uint64_t> Workspace::write_now(const RelativePath& path, std::string_view bytes, WriteMode mode) {
  TRY(Target target, examine(path, mode));
  auto added = static_cast<int64_t>(bytes.size());
  int64_t old_charge = target.existing ? static_cast<int64_t>(charge_of(*target.existing)) : 0;
  int64_t folders = static_cast<int64_t>(target.missing_folders.size());
  int64_t files = folders + (target.existing ? 0 : 1);
  CHECKED(quota_.check(path.text(), mode == WriteMode::append ? added : added - old_charge, files));

  auto written = [&]() -> Result<> {
    TRY(Fd parent, make_directories_beneath(directory_.get(), path.parent(), kDirectoryMode));
    if (mode == WriteMode::append && target.existing) return append(path, bytes);
    return put(parent.get(), path, bytes, target, mode);
  }();
  if (!written) {
    for (auto folder = target.missing_folders.rbegin(); folder != target.missing_folders.rend(); ++folder)
      (void)unlink_beneath(directory_.get(), *folder, Removing::empty_directory);
    return tl::unexpected<Error>(std::move(written).error());
  }
  changes_++;
  const auto now = describe(directory_.get(), path);
  if (!now) {  // a program has taken the file away already
    quota_.add(-old_charge, files - 1);
    return bytes.size() + (mode == WriteMode::append && target.existing ? target.existing->size : 0);
  }
  quota_.add(static_cast<int64_t>(charge_of(*now)) - old_charge, files);
  return now->size;
}

Result<> Workspace::append(const RelativePath& path, std::string_view bytes) {
  TRY(Fd file, open_regular_beneath(directory_.get(), path, O_WRONLY | O_APPEND));
  struct stat before;
  if (::fstat(file.get(), &before) < 0) return fail_path(errno, "append to", path.text());
  auto written = write_all(file.get(), bytes);
  if (written) return {};
  (void)!::ftruncate(file.get(), before.st_size);  // removes the written part
  return fail_path(written.error().err, "append to", path.text());
}

Result<> Workspace::put(int parent, const RelativePath& path, std::string_view bytes, const Target& target,
                        WriteMode mode) {
  TRY(NewFile file, NewFile::make(parent, unfinished_.get(), path, kFileMode));
  if (auto written = write_all(file.file(), bytes); !written)
    return fail_path(written.error().err, "write", path.text());
  mode_t bits = target.existing ? target.existing->mode & 0777 : kFileMode;
  if (::fchmod(file.file(), bits) < 0) return fail_path(errno, "write", path.text());  // fchmod() ignores the umask
  return file.move_to(path, mode == WriteMode::replace ? Existing::replace : Existing::refuse);
}

Task<Result<>> Workspace::remove(RelativePath path, Removal removal) {
  if (path.is_root() && removal == Removal::recursive) {
    auto emptied = co_await empty();
    co_return emptied;
  }
  if (path.is_root()) {
    auto root = fail_path(EBUSY, "delete", ".");
    root.value().hint = "name a file or folder in the workspace; recursive deletes the whole content";
    co_return root;
  }
  CO_TRY(Entry entry, describe(directory_.get(), path));
  changes_++;
  if (!quota_.usage().problem.empty()) stale_ = true;  // the next count may succeed
  if (entry.kind != FileKind::directory) {
    CO_CHECKED(unlink_beneath(directory_.get(), path, Removing::file));
    if (entry.links == 1) quota_.add(-static_cast<int64_t>(charge_of(entry)), -1);
    co_return Result<>();
  }
  if (removal == Removal::one) {
    CO_CHECKED(unlink_beneath(directory_.get(), path, Removing::empty_directory));
    quota_.add(0, -1);
    co_return Result<>();
  }
  stale_ = true;
  auto removed = co_await remove_folder(std::move(path));
  co_return removed;
}

// Removes all entries by their names on disk: some names are not valid in a RelativePath.
Task<Result<>> Workspace::empty() {
  CO_CHECKED(restore_mode());
  changes_++;
  stale_ = true;
  CO_TRY(const RelativePath condemned, RelativePath::parse(".deleted"));  // a valid RelativePath
  CO_TRY(FolderReader listing, FolderReader::at(directory_.get(), "."));
  const int top = listing.fd();
  (void)::unlinkat(top, condemned.text().c_str(), 0);  // removes a file with that name
  unsigned slice = kSlice;
  for (;;) {
    CO_TRY(const dirent* entry, listing.next());
    if (entry == nullptr) co_return Result<>{};
    const std::string name = entry->d_name;
    if (--slice == 0) {
      slice = kSlice;
      co_await next_turn(loop_);
    }
    if (::unlinkat(top, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR) co_return fail_path(errno, "delete", valid_utf8(name));
    if (name != condemned.text()) {
      auto other = co_await remove_folder(condemned);
      if (!other && other.error().code != Code::not_found) co_return other;
      if (::renameat(top, name.c_str(), top, condemned.text().c_str()) < 0)
        co_return fail_path(errno, "delete", valid_utf8(name));
    }
    CO_CHECKED(co_await remove_folder(condemned));
  }
}

Task<Result<>> Workspace::remove_folder(RelativePath path) {
  return remove_tree_in_turns(loop_, directory_.get(), std::move(path), kSlice);
}

}  // namespace tenants
