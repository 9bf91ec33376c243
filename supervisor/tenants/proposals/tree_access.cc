#include "supervisor/tenants/proposals/tree_access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"

namespace proposals {
namespace {

constexpr size_t kWalkSlice = 1000;

std::string listed(const std::string& path) { return path.empty() ? "." : path; }

}  // namespace

FileIdentity identity_of(const tenants::Entry& entry) { return {entry.inode, entry.btime_ns}; }

bool is_relative(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes || path.find('\0') != path.npos) return false;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == ".." || part.size() > kMaxComponentBytes) return false;
    at = end + 1;
  }
  return true;
}

std::string joined(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty()) path += '/';
  return path += name;
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? std::string_view() : path.substr(0, slash));
}

std::string name_in_folder(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

bool is_at_or_below(std::string_view path, std::string_view above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

Result<std::optional<tenants::Entry>> find_entry(int root, const std::string& path) {
  auto listed_beneath = open_listed_beneath(root, listed(path), O_PATH);
  if (!listed_beneath) {
    const int err = listed_beneath.error().err;
    if (err == ENOENT || err == ENOTDIR || err == ELOOP) return std::nullopt;
    return tl::unexpected<Error>(std::move(listed_beneath).error());
  }
  tenants::Entry entry;
  if (!tenants::stat_entry(listed_beneath->get(), "", AT_EMPTY_PATH, entry))
    return fail_path(errno, "look at", valid_utf8(path));
  entry.path = path;
  return entry;
}

Result<Fd> open_folder(int root, const std::string& path) {
  return open_listed_beneath(root, listed(path), O_PATH | O_DIRECTORY);
}

Result<std::vector<std::string>> list_names(int root, const std::string& path, uint64_t max) {
  auto folder = open_listed_beneath(root, listed(path), O_RDONLY | O_DIRECTORY);
  if (!folder && folder.error().err == EACCES) {
    tenants::restore_owner_rights(root, listed(path));
    folder = open_listed_beneath(root, listed(path), O_RDONLY | O_DIRECTORY);
  }
  if (!folder) return tl::unexpected<Error>(std::move(folder).error());
  return read_names(FolderReader::of(*std::move(folder), path), max);
}

Result<Fd> open_regular(int root, const std::string& path) {
  TRY(const Fd listed_beneath, open_listed_beneath(root, path, O_PATH));
  struct stat info;
  if (::fstat(listed_beneath.get(), &info) < 0) return fail_path(errno, "read", valid_utf8(path));
  if (!S_ISREG(info.st_mode)) return fail_path(ENXIO, "read", valid_utf8(path));
  Fd file(::open(descriptor_path(listed_beneath.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_path(errno, "read", valid_utf8(path));
  return file;
}

Result<std::string> read_regular(int root, const std::string& path, size_t max_bytes) {
  TRY(const Fd file, open_regular(root, path));
  return read_complete(file.get(), max_bytes);
}

Result<std::string> read_link(int root, const std::string& path) {
  TRY(const Fd listed_beneath, open_listed_beneath(root, path, O_PATH));
  return read_link_at(listed_beneath.get(), "", valid_utf8(path), PATH_MAX);
}

int move_entry(PlacedPath from, PlacedPath to, RenameMode how) {
  const auto source = open_folder(from.root, folder_of(from.path));
  if (!source) return source.error().err;
  const auto target = open_folder(to.root, folder_of(to.path));
  if (!target) return target.error().err;
  const std::string old_name = name_in_folder(from.path), new_name = name_in_folder(to.path);
  const unsigned flags = how == RenameMode::exchange ? 2u : 1u;  // RENAME_EXCHANGE, RENAME_NOREPLACE
  const auto move = [&] {
    return ::syscall(SYS_renameat2, source->get(), old_name.c_str(), target->get(), new_name.c_str(), flags) < 0 ? errno
                                                                                                                 : 0;
  };
  const int err = move();
  if (err != EACCES) return err;
  allow_owner(source->get());
  allow_owner(target->get());
  for (const PlacedPath& moved : {from, to}) {
    const auto folder = open_folder(moved.root, moved.path);
    if (folder) allow_owner(folder->get());
  }
  return move();
}

Result<> remove_entry(int root, const std::string& path) {
  TRY(const Fd folder, open_folder(root, folder_of(path)));
  if (::unlinkat(folder.get(), name_in_folder(path).c_str(), 0) < 0 && errno != ENOENT)
    return fail_path(errno, "delete", valid_utf8(path));
  return {};
}

Result<> set_mode(int root, const std::string& path, uint32_t mode) {
  TRY(const Fd listed_beneath, open_listed_beneath(root, listed(path), O_PATH));
  struct stat info;
  if (::fstat(listed_beneath.get(), &info) < 0) return fail_path(errno, "change the mode of", valid_utf8(path));
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return fail_path(ENXIO, "change the mode of", valid_utf8(path));
  if (::chmod(descriptor_path(listed_beneath.get()).c_str(), mode & 07777) < 0)
    return fail_path(errno, "change the mode of", valid_utf8(path));
  return {};
}

Result<> set_mtime(int root, const std::string& path, int64_t mtime_ns) {
  TRY(const Fd folder, open_folder(root, path));
  const timespec times[2] = {{0, UTIME_OMIT}, file_time(mtime_ns)};
  if (::utimensat(AT_FDCWD, descriptor_path(folder.get()).c_str(), times, 0) < 0)
    return fail_path(errno, "set the time of", valid_utf8(path));
  return {};
}

Result<> each_below(int root, const std::string& path, uint64_t& remaining, const UseEntry& use) {
  // The walk names no folder of other bytes than UTF-8 as its start.
  auto opened = open_folder(root, path);
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  auto it =
      tenants::Walk::begin(opened->get(), RelativePath(), {kMaxPathComponents, remaining}, tenants::WalkOrder::sorted);
  if (!it && it.error().err == EACCES) {
    tenants::restore_owner_rights(root, listed(path));
    it = tenants::Walk::begin(opened->get(), RelativePath(), {kMaxPathComponents, remaining},
                              tenants::WalkOrder::sorted);
  }
  TRY(tenants::Walk walk, std::move(it));
  std::vector<tenants::Entry> batch;
  for (bool ended = false; !ended;) {
    batch.clear();
    TRY(ended, walk.step(kWalkSlice, batch));
    for (const tenants::Entry& entry : batch) {
      remaining -= std::min<uint64_t>(remaining, 1);
      CHECKED(use(joined(path, entry.path), entry));
    }
  }
  if (walk.missed().empty()) return {};
  return fail(Code::exhausted, "folder '" + valid_utf8(path) + "' cannot be read as a whole: " + walk.missed());
}

}  // namespace proposals
